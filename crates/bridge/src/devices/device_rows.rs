//! The table of paired devices. Changes are durable, so a removed device stays removed after a power cut.

use crate::base::scope::Scope;
use openagents_sessions::store::{Store, StoreError};
use rusqlite::{Row, params};

/// A paired device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceRow {
    pub(crate) id: String,
    /// The name that the user gave the device.
    pub(crate) name: String,
    pub(crate) scope: Scope,
    /// SHA-256 of its token. The token itself is not stored.
    pub(crate) token_hash: [u8; 32],
    /// Milliseconds since the epoch.
    pub(crate) created_ts: i64,
    /// Last connection, in milliseconds since the epoch.
    pub(crate) last_seen_ts: Option<i64>,
    /// Address of the last connection.
    pub(crate) last_address: Option<String>,
}

impl DeviceRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
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

/// Stores a new device. Blocks.
pub(crate) fn add(store: &Store, device: &DeviceRow) -> Result<(), StoreError> {
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

/// Changes the name and the scope of a device. Blocks.
pub(crate) fn change(store: &Store, id: &str, name: &str, scope: Scope) -> Result<(), StoreError> {
    let (id, name) = (id.to_owned(), name.to_owned());
    store.write_durably(move |transaction, _| {
        let values = params![id, name, scope.as_str()];
        transaction.execute("UPDATE devices SET name = ?2, scope = ?3 WHERE id = ?1", values).map(drop)
    })
}

/// Deletes a device and its token. Blocks.
pub(crate) fn remove(store: &Store, id: &str) -> Result<(), StoreError> {
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

/// Returns every device, oldest first. Blocks.
pub(crate) fn all(store: &Store) -> Result<Vec<DeviceRow>, StoreError> {
    store.read(|connection| {
        let mut statement = connection.prepare_cached(
            "SELECT id, name, scope, token_hash, created_ts, last_seen_ts, last_address FROM devices
             ORDER BY created_ts, id",
        )?;
        statement.query_map([], DeviceRow::read)?.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tables::open_store;

    #[test]
    fn devices_come_back_after_a_restart() {
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
        add(&store, &first).unwrap();
        add(&store, &second).unwrap();
        assert!(add(&store, &device("c", 1, 7)).is_err(), "a token belongs to one device");
        change(&store, "b", "Old phone", Scope::View).unwrap();
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
        assert_eq!(all(&store), Ok(vec![changed, second.clone()]));
        remove(&store, "b").unwrap();
        assert_eq!(all(&store), Ok(vec![second]));
    }
}
