//! The settings: one JSON value per key, shared by all clients.

use openagents_core::model::{SettingsError, SettingsStore};
use openagents_sessions::store::{Store, StoreError};
use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value;

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

fn settings_error(error: StoreError) -> SettingsError {
    SettingsError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tables::open_store;
    use openagents_sessions::store::DATABASE_FILE;
    use rusqlite::Connection;
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
}
