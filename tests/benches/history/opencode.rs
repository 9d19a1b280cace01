//! opencode's database, in the format of its 1.x versions.

use super::agents::{Session, Turn};
use anyhow::Result;
use rusqlite::{Connection, params};
use std::{fs, path::Path};

pub(crate) struct Database(Connection);

impl Database {
    pub(crate) fn create(home: &Path) -> Result<Self> {
        let folder = home.join(".local/share/opencode");
        fs::create_dir_all(&folder)?;
        let database = Connection::open(folder.join("opencode.db"))?;
        database.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
             CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
                 directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL,
                 time_updated INTEGER NOT NULL, time_archived INTEGER);
             CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
                 time_updated INTEGER NOT NULL, data TEXT NOT NULL);
             CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
                 time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
             CREATE INDEX message_session_idx ON message (session_id);
             CREATE INDEX part_message_idx ON part (message_id);
             CREATE INDEX part_session_idx ON part (session_id);",
        )?;
        Ok(Self(database))
    }

    pub(crate) fn write(&mut self, mut session: Session<'_>) -> Result<()> {
        let (id, cwd) = (format!("ses_{:012x}", session.number), session.cwd.clone());
        let transaction = self.0.transaction()?;
        let (mut written, mut end) = (0, session.at);
        for number in 0.. {
            let turn = session.turn(number);
            let Turn { prompt, answer, command, output, millis, tokens, .. } = &turn;
            let mut message =
                transaction.prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)")?;
            let mut part = transaction.prepare_cached("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)")?;
            let (asked, reply) = (format!("msg_{id}_{number:06}a"), format!("msg_{id}_{number:06}b"));
            message.execute(params![asked, id, millis, r#"{"role":"user","time":{"created":1}}"#])?;
            let data = format!(
                r#"{{"role":"assistant","modelID":"m","providerID":"p","time":{{"created":{millis},"completed":{millis}}},"cost":0,"tokens":{{"input":{tokens},"output":9,"reasoning":0,"cache":{{"read":0,"write":0}}}}}}"#
            );
            message.execute(params![reply, id, millis + 1, data])?;
            let parts = [
                (&asked, format!(r#"{{"type":"text","text":"{prompt}"}}"#)),
                (&reply, format!(r#"{{"type":"text","text":"{answer}"}}"#)),
                (
                    &reply,
                    format!(
                        r#"{{"type":"tool","callID":"c{number}","tool":"bash","state":{{"status":"completed","input":{{"command":"{command}"}},"output":"{output}"}}}}"#
                    ),
                ),
            ];
            for (at, (of, data)) in parts.iter().enumerate() {
                written += data.len() as u64;
                part.execute(params![format!("prt_{id}_{number:06}{at}"), of, id, millis + at as i64, data])?;
            }
            end = *millis;
            if written >= session.bytes {
                break;
            }
        }
        let title = format!("Session {}", session.number);
        transaction.execute(
            "INSERT INTO session VALUES (?1, 'p', NULL, 's', ?2, ?3, '1.17.3', ?4, ?5, NULL)",
            params![id, cwd, title, session.at, end],
        )?;
        Ok(transaction.commit()?)
    }

    pub(crate) fn close(self) -> Result<()> {
        self.0.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")?;
        Ok(())
    }
}
