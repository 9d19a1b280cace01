//! The bridge's tables in the session store: devices, the audit log and settings.

use openagents_sessions::store::{Store, StoreError};
use openagents_wire::Scope;
use rusqlite::{Row, params};
use std::path::Path;

const TABLES: &str = "
    CREATE TABLE settings (
        key TEXT PRIMARY KEY NOT NULL,
        value_json TEXT NOT NULL
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
    ) STRICT;";

/// Opens the store of a data folder with all tables of this program. Blocks.
pub fn open_store(home: &Path) -> Result<Store, StoreError> {
    Store::open(home, TABLES)
}

/// A paired device. Changes are durable, so a removed device stays removed after a power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) scope: Scope,
    /// SHA-256 of its token. The token itself is not stored.
    pub(crate) token_hash: [u8; 32],
    /// Milliseconds since the epoch.
    pub(crate) created_ts: i64,
    /// Last connection, in milliseconds since the epoch.
    pub(crate) last_seen_ts: Option<i64>,
    pub(crate) last_address: Option<String>,
}

impl DeviceRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let scope: String = row.get(2)?;
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            // An unknown scope grants the least.
            scope: serde_json::from_value(scope.into()).unwrap_or(Scope::View),
            token_hash: row.get(3)?,
            created_ts: row.get(4)?,
            last_seen_ts: row.get(5)?,
            last_address: row.get(6)?,
        })
    }
}

pub(crate) fn add_device(store: &Store, device: &DeviceRow) -> Result<(), StoreError> {
    let device = device.clone();
    store.write_durably(move |transaction, _| {
        let DeviceRow { id, name, scope, token_hash, created_ts, last_seen_ts, last_address } = &device;
        transaction
            .execute(
                "INSERT INTO devices (id, name, scope, token_hash, created_ts, last_seen_ts, last_address)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![id, name, scope.as_str(), token_hash, created_ts, last_seen_ts, last_address],
            )
            .map(drop)
    })
}

pub(crate) fn update_device(store: &Store, id: &str, name: &str, scope: Scope) -> Result<(), StoreError> {
    let (id, name) = (id.to_owned(), name.to_owned());
    store.write_durably(move |transaction, _| {
        let values = params![id, name, scope.as_str()];
        transaction.execute("UPDATE devices SET name = ?2, scope = ?3 WHERE id = ?1", values).map(drop)
    })
}

pub(crate) fn remove_device(store: &Store, id: &str) -> Result<(), StoreError> {
    let id = id.to_owned();
    store.write_durably(move |transaction, _| {
        transaction.execute("DELETE FROM devices WHERE id = ?1", [&id]).map(drop)
    })
}

/// Stores the time and the address of the last connection; a power cut may undo this. Blocks.
pub(crate) fn set_last_seen(store: &Store, id: &str, seen: i64, address: &str) -> Result<(), StoreError> {
    let (id, address) = (id.to_owned(), address.to_owned());
    store.write(move |transaction, _| {
        transaction
            .prepare_cached("UPDATE devices SET last_seen_ts = ?2, last_address = ?3 WHERE id = ?1")?
            .execute(params![id, seen, address])
            .map(drop)
    })
}

pub fn load_devices(store: &Store) -> Result<Vec<DeviceRow>, StoreError> {
    store.query(|connection| {
        let mut statement = connection.prepare_cached(
            "SELECT id, name, scope, token_hash, created_ts, last_seen_ts, last_address FROM devices
             ORDER BY created_ts, id",
        )?;
        statement.query_map([], DeviceRow::from_row)?.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_survive_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let store = open_store(home.path()).unwrap();
        let device = |id: &str, byte, created_ts| DeviceRow {
            id: id.to_owned(),
            name: "Phone".to_owned(),
            scope: Scope::Approve,
            token_hash: [byte; 32],
            created_ts,
            last_seen_ts: None,
            last_address: None,
        };
        let (first, second) = (device("b", 1, 5), device("a", 2, 6));
        add_device(&store, &first).unwrap();
        add_device(&store, &second).unwrap();
        assert!(add_device(&store, &device("c", 1, 7)).is_err(), "a token belongs to one device");
        update_device(&store, "b", "Old phone", Scope::View).unwrap();
        set_last_seen(&store, "b", 8, "192.168.1.9").unwrap();
        drop(store);
        let store = open_store(home.path()).unwrap();
        let changed = DeviceRow {
            name: "Old phone".to_owned(),
            scope: Scope::View,
            last_seen_ts: Some(8),
            last_address: Some("192.168.1.9".to_owned()),
            ..first
        };
        assert_eq!(load_devices(&store), Ok(vec![changed, second.clone()]));
        remove_device(&store, "b").unwrap();
        assert_eq!(load_devices(&store), Ok(vec![second]));
    }
}
