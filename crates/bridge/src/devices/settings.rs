//! The settings: one JSON value per key, shared by all clients.

use openagents_core::model::{SettingsError, SettingsStore};
use openagents_sessions::store::{DATABASE_FILE, Store, StoreError};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};
use serde_json::Value;
use std::{path::PathBuf, time::Duration};

/// Time that a read waits for another process's lock.
const BUSY: Duration = Duration::from_secs(1);

/// The settings in a store.
#[derive(Debug, Clone)]
pub struct Settings(pub Store);

impl SettingsStore for Settings {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        let read = self.0.read(|connection| {
            connection
                .prepare_cached("SELECT value_json FROM settings WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()
        });
        let json: Option<String> = read.map_err(settings_error)?;
        let parse =
            |json: String| serde_json::from_str(&json).map_err(|error| SettingsError(error.to_string()));
        json.map(parse).transpose()
    }

    fn set(&self, key: &str, value: Value) -> Result<(), SettingsError> {
        let (key, json) = (key.to_owned(), value.to_string());
        let write = move |transaction: &Transaction<'_>, _| {
            transaction
                .prepare_cached(
                    "INSERT INTO settings (key, value_json) VALUES (?1, ?2)
                     ON CONFLICT (key) DO UPDATE SET value_json = excluded.value_json",
                )?
                .execute(params![key, json])?;
            Ok(())
        };
        self.0.write(write).map_err(settings_error)
    }
}

/// The settings in the data folder of a bridge that may run: read only, for programs that are not its clients.
#[derive(Debug, Clone)]
pub struct StoredSettings(pub PathBuf);

impl SettingsStore for StoredSettings {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        let path = self.0.join(DATABASE_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let failed = |error: rusqlite::Error| SettingsError(error.to_string());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        let select = "SELECT value_json FROM settings WHERE key = ?1";
        let json: Option<String> =
            connection.query_row(select, [key], |row| row.get(0)).optional().map_err(failed)?;
        json.map(|json| serde_json::from_str(&json).map_err(|error| SettingsError(error.to_string())))
            .transpose()
    }

    /// Fails: only the bridge writes to its data folder.
    fn set(&self, key: &str, _: Value) -> Result<(), SettingsError> {
        Err(SettingsError(format!("{key} can be set only through the bridge")))
    }
}

fn settings_error(error: StoreError) -> SettingsError {
    SettingsError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tables::open_store;
    use serde_json::json;

    #[test]
    fn settings_are_stored_by_key() {
        let home = tempfile::tempdir().unwrap();
        let store = Settings(open_store(home.path()).unwrap());
        assert_eq!(store.get("a"), Ok(None));
        store.set("a", json!({"x": 1})).unwrap();
        store.set("b", json!(null)).unwrap();
        store.set("a", json!([2])).unwrap();
        drop(store);
        let store = Settings(open_store(home.path()).unwrap());
        assert_eq!(store.get("a"), Ok(Some(json!([2]))));
        assert_eq!(store.get("b"), Ok(Some(json!(null))));
        Connection::open(home.path().join(DATABASE_FILE))
            .unwrap()
            .execute_batch("UPDATE settings SET value_json = '{' WHERE key = 'a'")
            .unwrap();
        assert!(store.get("a").unwrap_err().to_string().starts_with("the settings cannot be kept: "));
    }

    #[test]
    fn settings_can_be_read_beside_the_bridge_that_writes_them() {
        let home = tempfile::tempdir().unwrap();
        let beside = StoredSettings(home.path().to_owned());
        assert_eq!(beside.get("a"), Ok(None));
        assert!(!home.path().join(DATABASE_FILE).exists());
        let store = Settings(open_store(home.path()).unwrap());
        for value in [json!(1), json!(2)] {
            store.set("a", value.clone()).unwrap();
            assert_eq!(beside.get("a"), Ok(Some(value)));
        }
        assert_eq!(beside.get("b"), Ok(None));
        assert!(beside.set("a", json!(3)).is_err());
        drop(store);
        assert_eq!(beside.get("a"), Ok(Some(json!(2))));
    }
}
