//! What a person chose: one JSON value for each key, the same for every client.

use super::{Store, StoreError};
use openagents_core::model::{SettingsError, SettingsStore};
use rusqlite::{Transaction, params};
use serde_json::Value;

impl SettingsStore for Store {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        let json = self.readers.with(|reader| reader.setting(key)).map_err(unkept)?;
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
        self.write(write).map_err(unkept)
    }
}

fn unkept(error: StoreError) -> SettingsError {
    SettingsError(error.to_string())
}
