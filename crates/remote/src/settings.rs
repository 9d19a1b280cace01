//! The settings: one JSON value per key, shared by all clients.
//!
//! The settings of other agents' transcripts are in a file next to the database: when a damaged or newer database is
//! moved aside, the user's exclusions must not go with it.

use crate::token;
use openagents_core::model::{SettingsError, SettingsStore};
use openagents_sessions::store::{DATABASE_FILE, Store, StoreError};
use openagents_transcripts::history::{HISTORY_SETTINGS, HistorySettings};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Time that a read waits for another process's lock.
const BUSY: Duration = Duration::from_secs(1);

const HISTORY_FILE: &str = "history-settings.json";

const LOST: &str = "What was excluded from other agents' sessions was in that database. None of them are shown until you \
                    choose under Settings → History.";

/// The settings in a store, and in the file next to it.
#[derive(Debug, Clone)]
pub struct Settings {
    store: Store,
    home: PathBuf,
}

impl Settings {
    /// Returns the settings in the data folder `home`, whose open store is `store`.
    pub fn new(store: Store, home: &Path) -> Self {
        Self { store, home: home.to_owned() }
    }

    /// Moves the settings of other agents' transcripts from the database, where earlier versions kept them, into their
    /// own file. Returns a notice if they were in a database that was moved aside; in this case all transcripts are
    /// excluded. Blocks.
    pub fn separate_history(&self) -> Result<Option<&'static str>, SettingsError> {
        if history_file(&self.home)?.is_some() {
            return Ok(None);
        }
        let stored = self.stored(HISTORY_SETTINGS)?;
        let is_lost = stored.is_none() && self.store.is_renewed();
        let lost = HistorySettings::unreadable();
        match stored {
            Some(stored) => self.set(HISTORY_SETTINGS, stored)?,
            None if is_lost => lost.store(self)?,
            None => HistorySettings::default().store(self)?,
        }
        let delete = |transaction: &Transaction<'_>, _| {
            transaction.execute("DELETE FROM settings WHERE key = ?1", [HISTORY_SETTINGS]).map(drop)
        };
        self.store.write_durably(delete).map_err(settings_error)?;
        Ok(is_lost.then_some(LOST))
    }

    fn stored(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        let read = self.store.query(|connection| {
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
}

impl SettingsStore for Settings {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        match key {
            HISTORY_SETTINGS => {
                history_file(&self.home)?.map_or_else(|| self.stored(key), |value| Ok(Some(value)))
            }
            _ => self.stored(key),
        }
    }

    /// Stores a value durably: it survives a power cut.
    fn set(&self, key: &str, value: Value) -> Result<(), SettingsError> {
        if key == HISTORY_SETTINGS {
            let path = self.home.join(HISTORY_FILE);
            return token::write_private_file(&path, &value.to_string())
                .map_err(|error| file_error(&path, &error));
        }
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
        self.store.write_durably(write).map_err(settings_error)
    }
}

/// Read-only settings in the data folder of a bridge that may be running, for programs that are not its clients.
#[derive(Debug, Clone)]
pub struct StoredSettings(pub PathBuf);

impl SettingsStore for StoredSettings {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        if key == HISTORY_SETTINGS
            && let Some(value) = history_file(&self.0)?
        {
            return Ok(Some(value));
        }
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

    /// Always fails: only the bridge writes to its data folder.
    fn set(&self, key: &str, _: Value) -> Result<(), SettingsError> {
        Err(SettingsError(format!("{key} can be set only through the bridge")))
    }
}

/// Reads the settings of other agents' transcripts; `None` if the file does not exist.
fn history_file(home: &Path) -> Result<Option<Value>, SettingsError> {
    let path = home.join(HISTORY_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| file_error(&path, &error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(&path, &error)),
    }
}

fn file_error(path: &Path, error: &io::Error) -> SettingsError {
    SettingsError(format!("{}: {error}", path.display()))
}

fn settings_error(error: StoreError) -> SettingsError {
    SettingsError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tables::open_store;
    use openagents_transcripts::history::ExcludedSessions;
    use serde_json::json;

    #[test]
    fn settings_are_stored_by_key() {
        let home = tempfile::tempdir().unwrap();
        let store = Settings::new(open_store(home.path()).unwrap(), home.path());
        assert_eq!(store.get("a"), Ok(None));
        store.set("a", json!({"x": 1})).unwrap();
        store.set("b", json!(null)).unwrap();
        store.set("a", json!([2])).unwrap();
        drop(store);
        let store = Settings::new(open_store(home.path()).unwrap(), home.path());
        assert_eq!(store.get("a"), Ok(Some(json!([2]))));
        assert_eq!(store.get("b"), Ok(Some(json!(null))));
        Connection::open(home.path().join(DATABASE_FILE))
            .unwrap()
            .execute_batch("UPDATE settings SET value_json = '{' WHERE key = 'a'")
            .unwrap();
        assert!(store.get("a").unwrap_err().to_string().starts_with("the settings cannot be saved: "));
    }

    #[test]
    fn stored_settings_read_a_running_bridge() {
        let home = tempfile::tempdir().unwrap();
        let stored = StoredSettings(home.path().to_owned());
        assert_eq!(stored.get("a"), Ok(None));
        assert!(!home.path().join(DATABASE_FILE).exists());
        let store = Settings::new(open_store(home.path()).unwrap(), home.path());
        for value in [json!(1), json!(2)] {
            store.set("a", value.clone()).unwrap();
            assert_eq!(stored.get("a"), Ok(Some(value)));
        }
        assert_eq!(stored.get("b"), Ok(None));
        assert!(stored.set("a", json!(3)).is_err());
        drop(store);
        assert_eq!(stored.get("a"), Ok(Some(json!(2))));
    }

    fn history(index: bool, workspace: &str) -> HistorySettings {
        let mut excluded = ExcludedSessions::default();
        excluded.exclude_workspace(workspace.into());
        HistorySettings { index, devices: true, excluded, ..HistorySettings::default() }
    }

    /// Regression: a privacy switch or a network that was switched off was on again after a power cut.
    #[test]
    fn settings_survive_a_power_cut() {
        let home = tempfile::tempdir().unwrap();
        let settings = Settings::new(open_store(home.path()).unwrap(), home.path());
        let database = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
        database
            .execute_batch(
                "CREATE TABLE synced (synchronous, fullfsync);
                 CREATE TRIGGER added AFTER INSERT ON settings BEGIN
                     INSERT INTO synced SELECT synchronous, fullfsync FROM pragma_synchronous, pragma_fullfsync;
                 END",
            )
            .unwrap();
        settings.set("network", json!({"lan": false})).unwrap();
        let synced = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        assert_eq!(database.query_row("SELECT * FROM synced", [], synced), Ok((2, 1)));
    }

    #[test]
    fn earlier_history_settings_leave_the_database() {
        let home = tempfile::tempdir().unwrap();
        let store = open_store(home.path()).unwrap();
        let settings = Settings::new(store.clone(), home.path());
        let before = history(false, "/secret");
        let json = serde_json::to_string(&before).unwrap();
        let insert = move |transaction: &Transaction<'_>, _| {
            let insert = "INSERT INTO settings VALUES (?1, ?2)";
            transaction.execute(insert, [HISTORY_SETTINGS, &json]).map(drop)
        };
        store.write(insert).unwrap();
        let stored = StoredSettings(home.path().to_owned());
        assert_eq!(HistorySettings::stored(&stored), Ok(before.clone()));
        assert_eq!(settings.separate_history(), Ok(None));
        assert_eq!(settings.stored(HISTORY_SETTINGS), Ok(None));
        for read in [HistorySettings::stored(&settings), HistorySettings::stored(&stored)] {
            assert_eq!(read, Ok(before.clone()));
        }
        let after = history(true, "/other");
        after.store(&settings).unwrap();
        assert_eq!(settings.separate_history(), Ok(None));
        assert_eq!(HistorySettings::stored(&stored), Ok(after));
        std::fs::write(home.path().join(HISTORY_FILE), "{").unwrap();
        for read in [HistorySettings::stored(&settings), HistorySettings::stored(&stored)] {
            assert!(read.unwrap_err().to_string().contains(HISTORY_FILE));
        }
    }

    /// Regression: when the database was moved aside, excluded transcripts came back.
    #[test]
    fn exclusions_survive_a_replaced_database() {
        type Harm = fn(&Path);
        let harms: [Harm; 2] = [
            |database| std::fs::write(database, "no database, despite its name".repeat(100)).unwrap(),
            |database| Connection::open(database).unwrap().pragma_update(None, "user_version", 999).unwrap(),
        ];
        for (harm, is_separate) in harms.iter().flat_map(|harm| [(harm, true), (harm, false)]) {
            let home = tempfile::tempdir().unwrap();
            let open = || Settings::new(open_store(home.path()).unwrap(), home.path());
            let kept = history(false, "/secret");
            let settings = open();
            if is_separate {
                assert_eq!(settings.separate_history(), Ok(None));
                assert_eq!(HistorySettings::stored(&settings), Ok(HistorySettings::default()));
                kept.store(&settings).unwrap();
            }
            drop(settings);
            harm(&home.path().join(DATABASE_FILE));
            let settings = open();
            assert_eq!(settings.separate_history(), Ok((!is_separate).then_some(LOST)));
            let expected = match is_separate {
                true => kept,
                // The settings of an earlier version were lost with the database.
                false => HistorySettings::unreadable(),
            };
            assert_eq!(HistorySettings::stored(&settings), Ok(expected.clone()));
            assert_eq!(HistorySettings::stored(&StoredSettings(home.path().to_owned())), Ok(expected));
        }
    }
}
