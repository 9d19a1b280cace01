//! What a person chose: one JSON value for each key, the same for every client.

use super::{Store, StoreError, writer::Job};
use openagents_core::model::{SettingsError, SettingsStore};
use serde_json::Value;
use tokio::sync::oneshot;

impl SettingsStore for Store {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        let json = self.readers.with(|reader| reader.setting(key)).map_err(unkept)?;
        let parse =
            |json: String| serde_json::from_str(&json).map_err(|error| SettingsError(error.to_string()));
        json.map(parse).transpose()
    }

    fn set(&self, key: &str, value: Value) -> Result<(), SettingsError> {
        let (done, result) = oneshot::channel();
        let job = Job::Set { key: key.to_owned(), json: value.to_string(), done };
        self.writer.send(job).map_err(unkept)?;
        result.blocking_recv().unwrap_or(Err(StoreError::Closed)).map_err(unkept)
    }
}

fn unkept(error: StoreError) -> SettingsError {
    SettingsError(error.to_string())
}
