//! The bridge's tables in the session store: devices, the audit log and settings.

use openagents_sessions::store::{Step, Store, StoreError};
use std::path::Path;

/// The migration steps; see [`Step`] for the version numbers.
const STEPS: &[Step] = &[
    // Settings.
    Step {
        version: 2,
        sql: "CREATE TABLE settings (
        key TEXT PRIMARY KEY NOT NULL,
        value_json TEXT NOT NULL
    ) STRICT;",
    },
    // Paired devices, and the audit log.
    Step {
        version: 5,
        sql: "CREATE TABLE devices (
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
    ) STRICT;",
    },
];

/// Opens the store of a data folder with all tables of this program. Blocks.
pub fn open_store(home: &Path) -> Result<Store, StoreError> {
    Store::open(home, STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::settings::Settings;
    use openagents_core::model::SettingsStore;
    use openagents_sessions::store::{DATABASE_FILE, run_to};
    use rusqlite::Connection;
    use serde_json::json;

    /// Returns the columns of the database at a version, one per line.
    fn shape(version: u32) -> String {
        let mut connection = Connection::open_in_memory().unwrap();
        run_to(&mut connection, version, STEPS).unwrap();
        let mut statement = connection
            .prepare("SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid")
            .unwrap();
        let columns: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        columns.join("\n")
    }

    #[test]
    fn version_two_adds_the_settings_and_nothing_else() {
        let (one, two) = (shape(1), shape(2));
        let added: Vec<&str> = two.lines().filter(|line| !one.lines().any(|known| known == *line)).collect();
        assert_eq!(added, ["settings.key TEXT", "settings.value_json TEXT"]);
        assert_eq!(two.lines().count(), one.lines().count() + added.len());
    }

    #[test]
    fn version_five_adds_devices_and_the_audit() {
        let (four, five) = (shape(4), shape(5));
        let added: Vec<&str> =
            five.lines().filter(|line| !four.lines().any(|known| known == *line)).collect();
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
    fn a_database_of_version_two_keeps_its_data() {
        let home = tempfile::tempdir().unwrap();
        {
            let mut connection = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
            run_to(&mut connection, 2, STEPS).unwrap();
            connection
                .execute_batch(
                    r#"INSERT INTO sessions VALUES ('old', '/work', 'Old', 'codex', 1, 2, 1);
                    INSERT INTO events VALUES ('old', 1, 2, '{"kind":"tool_call_update","call_id":"c","status":{"status":"completed","output":null}}');
                    INSERT INTO settings VALUES ('local_model', '{"a":1}')"#,
                )
                .unwrap();
        }
        let store = open_store(home.path()).unwrap();
        assert_eq!(store.notices(), Vec::<String>::new());
        let row = store.session("old").unwrap().unwrap();
        assert_eq!((row.mode.as_str(), row.parent, row.policy), ("codex", None, Default::default()));
        assert_eq!(store.updates_after("old", 0, 10).unwrap().len(), 1);
        assert_eq!(store.sessions(10, None, None, false).unwrap().len(), 1);
        assert_eq!(Settings::new(store.clone(), home.path()).get("local_model"), Ok(Some(json!({"a": 1}))));
        assert_eq!(store.agent_session("old", "codex"), Ok(None));
        assert_eq!(store.decisions(), Ok(Vec::new()));
    }

    #[test]
    fn a_database_of_version_one_keeps_its_sessions() {
        let home = tempfile::tempdir().unwrap();
        {
            let mut connection = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
            run_to(&mut connection, 1, STEPS).unwrap();
            connection
                .execute_batch("INSERT INTO sessions VALUES ('old', '/work', 'Old', 'default_mode', 1, 2, 0)")
                .unwrap();
        }
        let store = open_store(home.path()).unwrap();
        assert_eq!(store.notices(), Vec::<String>::new());
        assert_eq!(store.session("old").unwrap().and_then(|row| row.title).as_deref(), Some("Old"));
        assert_eq!(Settings::new(store.clone(), home.path()).get("local_model"), Ok(None));
    }
}
