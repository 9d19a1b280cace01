-- A database of version 10, with the schema as SQLite stored it.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY NOT NULL,
  cwd TEXT NOT NULL,
  title TEXT,
  mode TEXT NOT NULL,
  created_ts INTEGER NOT NULL,
  last_ts INTEGER NOT NULL,
  last_seq INTEGER NOT NULL DEFAULT 0
, parent_id TEXT, parent_call_id TEXT, policy_json TEXT, limits_json TEXT, tracks_work INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX sessions_by_change ON sessions (last_ts DESC, id DESC);
CREATE TABLE events (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  update_json TEXT NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT;
CREATE TABLE settings (
  key TEXT PRIMARY KEY NOT NULL,
  value_json TEXT NOT NULL
) STRICT;
CREATE TABLE approvals (
  id TEXT PRIMARY KEY NOT NULL,
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  agent_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  state TEXT NOT NULL,
  answered_ts INTEGER,
  applies_once INTEGER NOT NULL DEFAULT 0,
  approval_json TEXT NOT NULL
, standing INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX approvals_by_question ON approvals (session_id, hash);
CREATE TABLE agent_sessions (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  agent_id TEXT NOT NULL,
  agent_session_id TEXT NOT NULL,
  PRIMARY KEY (session_id, agent_id)
) STRICT;
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY NOT NULL,
  ts INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  prompt TEXT NOT NULL,
  decision_json TEXT NOT NULL
) STRICT;
CREATE TABLE devices (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  created_ts INTEGER NOT NULL,
  last_seen_ts INTEGER,
  last_address TEXT
) STRICT;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY NOT NULL,
  ts INTEGER NOT NULL,
  device_id TEXT,
  name TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE TABLE open_work (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  part TEXT NOT NULL,
  PRIMARY KEY (session_id, seq, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE trusted_workspaces (
  path TEXT PRIMARY KEY NOT NULL,
  trusted_by TEXT NOT NULL,
  trusted_ts INTEGER NOT NULL,
  accepted_json TEXT NOT NULL
) STRICT;
CREATE TABLE transcript_labels (
  provider TEXT NOT NULL,
  id TEXT NOT NULL,
  title TEXT,
  pinned INTEGER NOT NULL,
  archived INTEGER NOT NULL,
  PRIMARY KEY (provider, id)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 10;

INSERT INTO sessions VALUES ('s', '/work', 'Fix it', 'codex', 1, 5, 4, NULL, NULL, NULL, NULL, 1, 1, 0);
INSERT INTO events VALUES ('s', 1, 2, '{"kind":"user_message","text":"Fix it","message_id":"m1"}');
INSERT INTO events VALUES ('s', 2, 3, '{"kind":"agent_message","text":"Done","message_id":"m2","ended":true}');
INSERT INTO events VALUES ('s', 3, 4, '{"kind":"user_message","text":"And this","message_id":"m3"}');
INSERT INTO events VALUES ('s', 4, 5, '{"kind":"agent_thought","text":"Hm"}');
INSERT INTO open_work VALUES ('s', 4, 'answer');
INSERT INTO agent_sessions VALUES ('s', 'codex', 'c1');
INSERT INTO trusted_workspaces VALUES ('/work', 'Window', 1, '[]');
INSERT INTO transcript_labels VALUES ('codex', 't', 'Mine', 1, 0);
INSERT INTO settings VALUES ('local_model', '{"a":1}');
INSERT INTO devices VALUES ('d', 'Phone', 'view', x'01', 1, NULL, NULL);
