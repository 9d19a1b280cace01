use super::*;
use openagents_core::model::SettingsStore;
use rusqlite::Connection;

#[test]
fn every_version_becomes_the_current_one() {
    for version in 0..=migrations::current() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::run_to(&mut connection, version).unwrap();
        assert_eq!(migrations::version(&connection).unwrap(), version);
        migrations::run(&mut connection).unwrap();
        assert_eq!(migrations::version(&connection).unwrap(), migrations::current());
        // Twice changes nothing.
        migrations::run(&mut connection).unwrap();
    }
}

/// The columns of the database at a version, one a line.
fn shape(version: u32) -> String {
    let mut connection = Connection::open_in_memory().unwrap();
    migrations::run_to(&mut connection, version).unwrap();
    let mut statement = connection
        .prepare("SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid")
        .unwrap();
    let columns: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    columns.join("\n")
}

#[test]
fn the_shape_of_version_one_is_fixed() {
    insta::assert_snapshot!(shape(1), @r"
    events.session_id TEXT
    events.seq INTEGER
    events.ts INTEGER
    events.update_json TEXT
    sessions.id TEXT
    sessions.cwd TEXT
    sessions.title TEXT
    sessions.mode TEXT
    sessions.created_ts INTEGER
    sessions.last_ts INTEGER
    sessions.last_seq INTEGER
    transcripts.path TEXT
    transcripts.size INTEGER
    transcripts.mtime_ns INTEGER
    transcripts.reader INTEGER
    transcripts.row_json TEXT
    ");
}

#[test]
fn version_two_adds_the_settings_and_nothing_else() {
    let (one, two) = (shape(1), shape(2));
    let added: Vec<&str> = two.lines().filter(|line| !one.lines().any(|known| known == *line)).collect();
    assert_eq!(added, ["settings.key TEXT", "settings.value_json TEXT"]);
    assert_eq!(two.lines().count(), one.lines().count() + added.len());
}

#[test]
fn version_three_adds_delegates_approvals_and_decisions() {
    let (two, three) = (shape(2), shape(3));
    let added: Vec<&str> = three.lines().filter(|line| !two.lines().any(|known| known == *line)).collect();
    insta::assert_snapshot!(added.join("\n"), @r"
    agent_sessions.session_id TEXT
    agent_sessions.agent_id TEXT
    agent_sessions.agent_session_id TEXT
    approvals.id TEXT
    approvals.session_id TEXT
    approvals.agent_id TEXT
    approvals.hash TEXT
    approvals.state TEXT
    approvals.answered_ts INTEGER
    approvals.applies_once INTEGER
    approvals.approval_json TEXT
    decisions.id INTEGER
    decisions.ts INTEGER
    decisions.session_id TEXT
    decisions.prompt TEXT
    decisions.decision_json TEXT
    sessions.parent_id TEXT
    sessions.parent_call_id TEXT
    sessions.policy_json TEXT
    ");
    assert_eq!(three.lines().count(), two.lines().count() + added.len());
}

#[test]
fn version_five_adds_devices_and_the_audit() {
    let (four, five) = (shape(4), shape(5));
    let added: Vec<&str> = five.lines().filter(|line| !four.lines().any(|known| known == *line)).collect();
    insta::assert_snapshot!(added.join("\n"), @r"
    audit.id INTEGER
    audit.ts INTEGER
    audit.device_id TEXT
    audit.name TEXT
    audit.address TEXT
    audit.action TEXT
    audit.detail TEXT
    devices.id TEXT
    devices.name TEXT
    devices.scope TEXT
    devices.token_hash BLOB
    devices.created_ts INTEGER
    devices.last_seen_ts INTEGER
    devices.last_address TEXT
    ");
    assert_eq!(five.lines().count(), four.lines().count() + added.len());
}

#[test]
fn a_database_of_version_two_keeps_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    {
        let mut connection = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
        migrations::run_to(&mut connection, 2).unwrap();
        connection
            .execute_batch(
                r#"INSERT INTO sessions VALUES ('old', '/work', 'Old', 'codex', 1, 2, 1);
                INSERT INTO events VALUES ('old', 1, 2, '{"kind":"tool_call_update","call_id":"c","status":{"status":"completed","output":null}}');
                INSERT INTO settings VALUES ('local_model', '{"a":1}')"#,
            )
            .unwrap();
    }
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.notices(), Vec::<String>::new());
    let row = store.session("old").unwrap().unwrap();
    assert_eq!((row.mode.as_str(), row.parent, row.policy), ("codex", None, Default::default()));
    assert_eq!(store.updates_after("old", 0, 10).unwrap().len(), 1);
    assert_eq!(store.sessions(10, None, None).unwrap().len(), 1);
    assert_eq!(store.get("local_model"), Ok(Some(serde_json::json!({"a": 1}))));
    assert_eq!(store.approval("none"), Ok(None));
    assert_eq!(store.agent_session("old", "codex"), Ok(None));
    assert_eq!(store.decisions(), Ok(Vec::new()));
}

#[test]
fn a_database_of_version_one_keeps_its_sessions() {
    let home = tempfile::tempdir().unwrap();
    {
        let mut connection = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
        migrations::run_to(&mut connection, 1).unwrap();
        connection
            .execute_batch("INSERT INTO sessions VALUES ('old', '/work', 'Old', 'default_mode', 1, 2, 0)")
            .unwrap();
    }
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.notices(), Vec::<String>::new());
    assert_eq!(store.session("old").unwrap().and_then(|row| row.title).as_deref(), Some("Old"));
    assert_eq!(store.get("local_model"), Ok(None));
}
