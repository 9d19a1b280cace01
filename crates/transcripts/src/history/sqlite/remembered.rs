//! Caches the results of reading a database until its files change: listing a large one is slow.

use super::{error::DatabaseError, files::Files, read::read};
use crate::limits;
use openagents_core::budget::Budget;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// The results from the last few databases.
pub(crate) struct Remembered<T>(Mutex<Vec<(PathBuf, Files, T)>>);

impl<T: Clone> Remembered<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs `found` like [`read`] if the database has changed since the last time.
    pub(crate) fn read(
        &self,
        path: &Path,
        budget: &Budget,
        found: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let path = path.canonicalize()?;
        let files = Files::of(&path)?;
        let known = |kept: &&(PathBuf, Files, T)| kept.0 == path && kept.1 == files;
        if let Some((_, _, found)) = self.0.lock().iter().find(known) {
            return Ok(found.clone());
        }
        let found = match read(&path, budget, found) {
            Ok(found) => found,
            // Its agent is writing right now, and has not lost its sessions.
            Err(error) => {
                let kept = self.0.lock();
                return kept.iter().find(|kept| kept.0 == path).map(|kept| kept.2.clone()).ok_or(error);
            }
        };
        let mut kept = self.0.lock();
        kept.retain(|(known, ..)| *known != path);
        if kept.len() == limits::DATABASES {
            kept.remove(0);
        }
        kept.push((path, files, found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::CancellationToken;
    use std::time::Duration;

    #[test]
    fn a_database_is_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let agent = Connection::open(&path).unwrap();
        agent.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x);").unwrap();
        let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        let (remembered, reads) = (Remembered::new(), std::cell::Cell::new(0));
        let count = || {
            let found = remembered.read(&path, &budget, |connection| {
                reads.set(reads.get() + 1);
                connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
            });
            (found.unwrap(), reads.get())
        };
        assert_eq!((count(), count()), ((0, 1), (0, 1)));
        agent.execute("INSERT INTO t VALUES(1)", []).unwrap();
        assert_eq!((count(), count()), ((1, 2), (1, 2)));
        drop(agent);
        assert_eq!(count(), (1, 3));
        let agent = Connection::open(&path).unwrap();
        agent.execute("INSERT INTO t VALUES(2)", []).unwrap();
        let failing = remembered.read(&path, &budget, |_| Err(rusqlite::Error::InvalidQuery));
        assert_eq!(failing.unwrap(), 1, "what was known before");
        assert_eq!(count(), (2, 4));
        drop(agent);
        std::fs::remove_file(&path).unwrap();
        assert!(remembered.read(&path, &budget, |_| Ok(0)).is_err());
    }
}
