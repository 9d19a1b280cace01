//! What was done from afar, and what was decided about it: the newest of it.

use super::{Store, StoreError};
use rusqlite::params;

/// Rows that are kept.
const KEPT: i64 = 10_000;

/// Something that was done, and by whom. Never holds a token, a code, or the text of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Deed {
    /// `None` when no paired device did it.
    pub(crate) device: Option<String>,
    /// The name of whoever did it, as it was then.
    pub(crate) name: String,
    pub(crate) address: String,
    /// A method, or a word such as `pair.allowed`.
    pub(crate) action: String,
    /// A session, a title, a scope.
    pub(crate) detail: String,
}

/// A deed with its number and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditRow {
    pub(crate) id: i64,
    /// Milliseconds since the epoch.
    pub(crate) ts: i64,
    pub(crate) deed: Deed,
}

impl Store {
    /// Keeps a deed. Blocks.
    pub(crate) fn record_deed(&self, deed: Deed) -> Result<(), StoreError> {
        self.write(move |transaction, now| {
            transaction
                .prepare_cached(
                    "INSERT INTO audit (ts, device_id, name, address, action, detail)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![now, deed.device, deed.name, deed.address, deed.action, deed.detail])?;
            transaction
                .prepare_cached("DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?1")?
                .execute([KEPT])?;
            Ok(())
        })
    }

    /// Returns at most `limit` deeds that came before number `before`, newest first. Blocks.
    pub(crate) fn deeds(&self, limit: usize, before: Option<i64>) -> Result<Vec<AuditRow>, StoreError> {
        self.readers.with(|reader| {
            let mut statement = reader.0.prepare_cached(
                "SELECT id, ts, device_id, name, address, action, detail FROM audit WHERE id < ?1
                 ORDER BY id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![before.unwrap_or(i64::MAX), limit], |row| {
                let (device, name, address) = (row.get(2)?, row.get(3)?, row.get(4)?);
                let deed = Deed { device, name, address, action: row.get(5)?, detail: row.get(6)? };
                Ok(AuditRow { id: row.get(0)?, ts: row.get(1)?, deed })
            })?;
            rows.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_deeds_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        let deed = |n: i64| Deed { action: format!("deed {n}"), ..Deed::default() };
        for n in 1..=3 {
            store.record_deed(deed(n)).unwrap();
        }
        store
            .write(|transaction, _| transaction.execute("UPDATE audit SET id = id + 9998", []).map(drop))
            .unwrap();
        store.record_deed(deed(4)).unwrap();
        let ids = |rows: Vec<AuditRow>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
        let kept = store.deeds(10, None).unwrap();
        assert_eq!((kept[0].deed.action.as_str(), kept[0].ts > 0), ("deed 4", true));
        assert_eq!(ids(kept), [10_002, 10_001, 10_000, 9_999]);
        store
            .write(|transaction, _| {
                transaction.execute("UPDATE audit SET id = 2 WHERE id = 9999", []).map(drop)
            })
            .unwrap();
        store.record_deed(deed(5)).unwrap();
        assert_eq!(ids(store.deeds(2, Some(10_003)).unwrap()), [10_002, 10_001]);
        assert_eq!(ids(store.deeds(10, Some(10_001)).unwrap()), [10_000]);
    }
}
