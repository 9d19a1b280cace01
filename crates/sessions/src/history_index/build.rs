//! Brings the index up to date: new sessions, appended lines, vanished sessions.

use super::{
    index::HistoryIndex,
    kind::Kind,
    passages::{Indexed, Passages, Stale, TEXT, read_passages},
};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    history::{History, Listing, Query, Transcript},
};
use rusqlite::{Connection, Transaction, params};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::Duration,
};

/// Threads that read logs, while one writes.
const READERS: usize = 2;
/// Sessions after which the index is written anew in one piece: in many pieces it is larger and slower.
const MANY: usize = 64;
/// Time for the list.
const TIME: Duration = Duration::from_secs(60);

/// Progress of the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Sessions that are indexed.
    pub done: usize,
    /// Sessions that were found.
    pub total: usize,
}

impl HistoryIndex {
    /// Indexes what is new, newest sessions first, and drops what is gone, until `cancel` is cancelled or `progress`
    /// returns false. Blocks.
    pub fn update(
        &self,
        history: &History,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> rusqlite::Result<()> {
        let listing = history.list(&Query::default(), &Budget::within(TIME, cancel));
        self.update_from(listing, history, cancel, progress)
    }

    /// The same, with the sessions that were just listed.
    pub(super) fn update_from(
        &self,
        listing: Listing,
        history: &History,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> rusqlite::Result<()> {
        let total = listing.rows.len();
        // What was not listed for lack of time is not gone.
        if listing.unread == 0 && !listing.timed_out && !cancel.is_cancelled() {
            self.drop_vanished(&listing.rows)?;
        }
        let mut known = indexed(&self.writer.lock())?;
        let mut stale = Vec::new();
        for row in listing.rows {
            let size = std::fs::metadata(&row.file_path).map_or(0, |file| file.len());
            let known = known.remove(&(row.provider.as_str().to_owned(), row.id.clone()));
            if known.as_ref().is_none_or(|known| known.size != size || known.updated_at != row.updated_at) {
                stale.push(Stale { row, size, known });
            }
        }
        let known = total - stale.len();
        let mut step = |done| progress(IndexProgress { done: known + done, total });
        if !self.store_all(history, &stale, cancel, &mut step)? {
            return Ok(());
        }
        if stale.len() >= MANY {
            let writer = self.writer.lock();
            writer.execute_batch("INSERT INTO words(words) VALUES ('optimize')")?;
            // Otherwise the log of the file stays as large as it was.
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        step(stale.len());
        Ok(())
    }

    /// Reads sessions on some threads and stores each as soon as it is read. Returns false if it was stopped: `progress`
    /// is called before each, with the number of those before.
    fn store_all(
        &self,
        history: &History,
        stale: &[Stale],
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> rusqlite::Result<bool> {
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let read = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let stale =
                stale.get(at).filter(|_| !stopped.load(Ordering::Relaxed) && !cancel.is_cancelled())?;
            Some((stale, read_passages(history, stale, cancel)))
        };
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(READERS);
            for _ in 0..READERS {
                let (read, sender) = (&read, sender.clone());
                // It ends when everything is read, or the receiver is gone.
                scope.spawn(move || while read().is_some_and(|read| sender.send(read).is_ok()) {});
            }
            drop(sender);
            for (done, (stale, read)) in receiver.into_iter().enumerate() {
                if !progress(done) || cancel.is_cancelled() {
                    stopped.store(true, Ordering::Relaxed);
                    return Ok(false);
                }
                self.store(stale, &read)?;
            }
            Ok(!cancel.is_cancelled())
        })
    }

    fn drop_vanished(&self, rows: &[Transcript]) -> rusqlite::Result<()> {
        let here: HashSet<(&str, &str)> =
            rows.iter().map(|row| (row.provider.as_str(), row.id.as_str())).collect();
        let mut writer = self.writer.lock();
        let known: Vec<(i64, String, String)> = writer
            .prepare("SELECT key, provider, id FROM sessions")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let gone = known.into_iter().filter(|(_, provider, id)| !here.contains(&(provider, id)));
        let transaction = writer.transaction()?;
        for (key, ..) in gone {
            forget(&transaction, key)?;
            transaction.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
        }
        transaction.commit()
    }

    /// Stores what was read of a session.
    fn store(&self, Stale { row, size, known }: &Stale, read: &Passages) -> rusqlite::Result<()> {
        let mut writer = self.writer.lock();
        let transaction = writer.transaction()?;
        if let Some(known) = known.as_ref().filter(|_| !read.goes_on) {
            forget(&transaction, known.key)?;
        }
        transaction.execute(
            "INSERT INTO sessions (provider, id, row_json, size, updated_at, upto, bytes, cut)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (provider, id) DO UPDATE SET
                 row_json = ?3, size = ?4, updated_at = ?5, upto = ?6, bytes = ?7, cut = ?8",
            params![
                row.provider.as_str(),
                row.id,
                serde_json::to_string(row).unwrap_or_default(),
                size,
                row.updated_at,
                read.upto,
                read.bytes,
                read.bytes >= TEXT
            ],
        )?;
        add(&transaction, row, &read.passages)?;
        transaction.commit()
    }
}

/// Returns what is indexed, by provider and id.
fn indexed(connection: &Connection) -> rusqlite::Result<HashMap<(String, String), Indexed>> {
    let mut statement =
        connection.prepare_cached("SELECT provider, id, key, size, updated_at, upto, bytes FROM sessions")?;
    let read = |row: &rusqlite::Row<'_>| {
        let known = Indexed {
            key: row.get(2)?,
            size: row.get(3)?,
            updated_at: row.get(4)?,
            upto: row.get(5)?,
            bytes: row.get(6)?,
        };
        Ok(((row.get(0)?, row.get(1)?), known))
    };
    statement.query_map([], read)?.collect()
}

fn forget(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM words WHERE rowid IN (SELECT key FROM passages WHERE session = ?1)",
        [session],
    )?;
    transaction.execute("DELETE FROM passages WHERE session = ?1", [session])?;
    Ok(())
}

fn add(
    transaction: &Transaction<'_>,
    row: &Transcript,
    passages: &[(u64, Kind, String)],
) -> rusqlite::Result<()> {
    let session: i64 = transaction.query_row(
        "SELECT key FROM sessions WHERE provider = ?1 AND id = ?2",
        [row.provider.as_str(), &row.id],
        |row| row.get(0),
    )?;
    // 2^24 passages of one second are more than any disk holds.
    let from = (row.updated_at.max(0) / 1000) << 24;
    let last: Option<i64> = transaction.query_row(
        "SELECT max(key) FROM passages WHERE key >= ?1 AND key < ?2",
        [from, from + (1 << 24)],
        |row| row.get(0),
    )?;
    let keys = last.map_or(from, |last| last + 1)..;
    let mut passage = transaction
        .prepare_cached("INSERT INTO passages (key, session, line, kind) VALUES (?1, ?2, ?3, ?4)")?;
    let mut words = transaction.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
    let with_words = passages.iter().filter(|(.., text)| !text.is_empty());
    for (key, (line, kind, text)) in keys.zip(with_words) {
        passage.execute(params![key, session, line, *kind as u8])?;
        words.execute(params![key, text])?;
    }
    Ok(())
}
