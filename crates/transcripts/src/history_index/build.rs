//! Brings the index up to date: new sessions, appended lines, vanished sessions.

use super::{
    index::HistoryIndex,
    passages::{self, Indexed, Kind, Passages, Stale, read_passages},
    texts::{self, Terms},
};
use crate::{
    cache_file::CacheFile,
    history::{History, Listing, Query, Transcript, index_words},
};
use openagents_core::{CancellationToken, budget::Budget};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::Duration,
};

/// Threads that read logs, while one writes.
const READERS: usize = 2;
/// Number of sessions after which the index should be rewritten in one piece: in many pieces it is larger and slower.
const MANY: usize = 64;
const TIME: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexProgress {
    pub done: usize,
    /// Sessions that were found.
    pub total: usize,
}

impl HistoryIndex {
    /// Indexes new content, newest sessions first, and drops what is gone, until `cancel` is cancelled or `progress`
    /// returns false. Blocks.
    pub fn update(
        &self,
        history: &History,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> rusqlite::Result<()> {
        let listing =
            history.list(&Query { prompts: true, ..Query::default() }, &Budget::within(TIME, cancel));
        if self.update_from(listing, history, cancel, progress)? || self.is_unscrubbed() {
            self.compact();
        }
        Ok(())
    }

    /// Like [`HistoryIndex::update`], with the sessions that were just listed; returns whether the index is worth
    /// compacting. A damaged index is empty afterwards.
    pub(super) fn update_from(
        &self,
        listing: Listing,
        history: &History,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> rusqlite::Result<bool> {
        let updated = self.update_rows(listing, history, cancel, progress);
        updated.inspect_err(|error| _ = self.renew_if_damaged(error))
    }

    fn update_rows(
        &self,
        listing: Listing,
        history: &History,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(IndexProgress) -> bool,
    ) -> rusqlite::Result<bool> {
        let total = listing.rows.len();
        self.forget_vanished(&listing, cancel)?;
        let mut known = indexed(&self.writer.lock())?;
        let (mut stale, mut renamed) = (Vec::new(), Vec::new());
        for row in listing.rows {
            let known = known.remove(&(row.provider.as_str().to_owned(), row.id.clone()));
            let is_same = |known: &&Indexed| known.size == row.size && known.updated_at == row.updated_at;
            match known.as_ref().filter(is_same) {
                Some(known) if known.title == row.title => {}
                // A name may be stored outside the log.
                Some(known) => renamed.push((known.key, row)),
                None => stale.push(Stale { row, known, key: 0 }),
            }
        }
        self.rename(&renamed)?;
        self.number(&mut stale)?;
        let known = total - stale.len();
        let mut step = |done| progress(IndexProgress { done: known + done, total });
        if !self.store_all(history, &stale, cancel, &mut step)? {
            return Ok(false);
        }
        step(stale.len());
        Ok(stale.len() >= MANY)
    }

    /// Assigns keys to sessions: the newest one gets the largest.
    fn number(&self, stale: &mut [Stale]) -> rusqlite::Result<()> {
        let last: i64 =
            self.writer
                .lock()
                .query_row("SELECT coalesce(max(key), 0) FROM sessions", [], |row| row.get(0))?;
        let mut by_age: Vec<&mut Stale> = stale.iter_mut().collect();
        by_age.sort_by_key(|stale| stale.row.updated_at);
        for (key, stale) in (last + 1..).zip(by_age) {
            stale.key = key;
        }
        Ok(())
    }

    /// Reads sessions on several threads and stores each as soon as it is read. Returns false if it was stopped:
    /// `progress` is called before each session, with the number of sessions before it.
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
        let mut terms = Terms::default();
        let all = thread::scope(|scope| {
            let (sender, receiver) = sync_channel(READERS);
            for _ in 0..READERS {
                let (read, sender) = (&read, sender.clone());
                // Ends when everything is read, or the receiver is gone.
                scope.spawn(move || while read().is_some_and(|read| sender.send(read).is_ok()) {});
            }
            drop(sender);
            for (done, (stale, read)) in receiver.into_iter().enumerate() {
                if !progress(done) || cancel.is_cancelled() {
                    stopped.store(true, Ordering::Relaxed);
                    return Ok(false);
                }
                match read {
                    Ok(read) => self.store(history, stale, &read, &mut terms)?,
                    // Its indexed part stays, and indexing is tried again: a search reads the log in the meantime.
                    Err(error) => {
                        let log = stale.row.file_path.display();
                        tracing::debug!(%error, %log, "a session could not be indexed");
                    }
                }
            }
            Ok(!cancel.is_cancelled())
        });
        terms.store(&mut self.writer.lock())?;
        all
    }

    /// Stores new titles, by key, of sessions whose logs have not changed.
    fn rename(&self, renamed: &[(i64, Transcript)]) -> rusqlite::Result<()> {
        if renamed.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer.lock();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut terms = Terms::default();
        for (key, row) in renamed {
            let json = serde_json::to_string(row).unwrap_or_default();
            // Another process may have indexed it again.
            let changed = transaction.execute(
                "UPDATE sessions SET title = ?3, row_json = ?4
                 WHERE key = ?1 AND id = ?2 AND size = ?5 AND updated_at = ?6",
                params![key, row.id, row.title, json, row.size, row.updated_at],
            )?;
            if changed > 0 {
                let title = (*key, own_title(row));
                store_title(&transaction, title, &mut terms, self.forgotten.load(Ordering::Relaxed))?;
            }
        }
        transaction.commit()?;
        terms.store(&mut writer)
    }

    /// Stores the passages of a session, unless the user has excluded it in the meantime, or another process has
    /// indexed or forgotten it.
    fn store(
        &self,
        history: &History,
        stale: &Stale,
        read: &Passages,
        terms: &mut Terms,
    ) -> rusqlite::Result<()> {
        let Stale { row, known, key } = stale;
        let mut writer = self.writer.lock();
        // Under the lock: a session is excluded before this, or forgotten after it.
        if !history.holds(row) {
            return Ok(());
        }
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if indexed_as(&transaction, &(row.provider.as_str().to_owned(), row.id.clone()))? != *known {
            return Ok(());
        }
        let key = match known {
            Some(known) if read.goes_on => known.key,
            known => {
                if let Some(known) = known {
                    forget(&transaction, known.key)?;
                }
                free_key(&transaction, *key)?
            }
        };
        transaction.execute(
            "INSERT INTO sessions (key, provider, id, row_json, size, updated_at, upto, bytes, cut, cwd, title)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (provider, id) DO UPDATE SET key = ?1, row_json = ?4, size = ?5, updated_at = ?6, upto = ?7,
                 bytes = ?8, cut = ?9, cwd = ?10, title = ?11",
            params![
                key,
                row.provider.as_str(),
                row.id,
                serde_json::to_string(row).unwrap_or_default(),
                row.size,
                row.updated_at,
                read.upto,
                read.bytes,
                read.cut,
                row.cwd.as_deref().map(Path::to_string_lossy),
                row.title
            ],
        )?;
        let forgotten = self.forgotten.load(Ordering::Relaxed);
        store_title(&transaction, (key, own_title(row)), terms, forgotten)?;
        let mut insert = transaction.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        for (line, kind, text) in &read.passages {
            let Some(place) = passages::place_of(key, *line, *kind).filter(|_| !text.is_empty()) else {
                continue;
            };
            insert.execute(params![place, text])?;
        }
        drop(insert);
        texts::store(&transaction, key, read)?;
        let words = read.passages.iter().map(|(.., text)| text.as_str());
        terms.add(&transaction, words, forgotten)?;
        transaction.commit()
    }
}

/// Returns the indexed state of all sessions, by provider and id.
pub(super) fn indexed(connection: &Connection) -> rusqlite::Result<HashMap<(String, String), Indexed>> {
    let mut statement = connection
        .prepare_cached("SELECT key, size, updated_at, upto, bytes, title, provider, id FROM sessions")?;
    let read = |row: &Row<'_>| Ok(((row.get(6)?, row.get(7)?), state(row)?));
    statement.query_map([], read)?.collect()
}

/// Returns the indexed state of a session, by provider and id.
pub(super) fn indexed_as(
    transaction: &Transaction<'_>,
    (provider, id): &(String, String),
) -> rusqlite::Result<Option<Indexed>> {
    let mut statement = transaction.prepare_cached(
        "SELECT key, size, updated_at, upto, bytes, title FROM sessions WHERE provider = ?1 AND id = ?2",
    )?;
    statement.query_row([provider, id], state).optional()
}

fn state(row: &Row<'_>) -> rusqlite::Result<Indexed> {
    Ok(Indexed {
        key: row.get(0)?,
        size: row.get(1)?,
        updated_at: row.get(2)?,
        upto: row.get(3)?,
        bytes: row.get(4)?,
        title: row.get(5)?,
    })
}

/// Returns a session's title, unless it may be a prompt of the session that it was copied from.
fn own_title(row: &Transcript) -> Option<&str> {
    row.title.as_deref().filter(|_| row.named || row.continues.is_none())
}

/// Stores the words of a session's title in place of those of its previous one.
fn store_title(
    transaction: &Transaction<'_>,
    (session, title): (i64, Option<&str>),
    terms: &mut Terms,
    forgotten: u64,
) -> rusqlite::Result<()> {
    let Some(place) = passages::place_of(session, 0, Kind::Title) else { return Ok(()) };
    transaction.execute("DELETE FROM words WHERE rowid = ?1", [place])?;
    let words = title.map(index_words).unwrap_or_default();
    if !words.is_empty() {
        transaction.execute("INSERT INTO words (rowid, text) VALUES (?1, ?2)", params![place, words])?;
        terms.add(transaction, [words.as_str()].into_iter(), forgotten)?;
    }
    Ok(())
}

/// Returns `key`, or the next free one if another process has assigned it already.
fn free_key(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<i64> {
    let mut statement = transaction.prepare_cached(
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE key = ?1)
             THEN (SELECT max(key) + 1 FROM sessions) ELSE ?1 END",
    )?;
    statement.query_row([key], |row| row.get(0))
}

pub(super) fn forget(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    let places = [passages::first(session), passages::first(session + 1)];
    transaction.execute("DELETE FROM words WHERE rowid >= ?1 AND rowid < ?2", places)?;
    transaction.execute("DELETE FROM texts WHERE place >= ?1 AND place < ?2", places)?;
    Ok(())
}

type Session = (String, String);

impl HistoryIndex {
    pub(super) fn forget_vanished(
        &self,
        listing: &Listing,
        cancel: &CancellationToken,
    ) -> rusqlite::Result<()> {
        // A session that was not listed for lack of time is not gone.
        if listing.unread > 0 || listing.timed_out || cancel.is_cancelled() {
            return Ok(());
        }
        let known = indexed(&self.writer.lock())?;
        let here: HashSet<(&str, &str)> =
            listing.rows.iter().map(|row| (row.provider.as_str(), row.id.as_str())).collect();
        self.forget_all(known.into_keys().filter(|(provider, id)| !here.contains(&(provider, id))).collect())
    }

    /// Drops the sessions that `history` does not contain. Blocks.
    pub(super) fn forget_excluded(&self, history: &History) -> rusqlite::Result<()> {
        let all = {
            let writer = self.writer.lock();
            let mut statement = writer.prepare("SELECT provider, id, row_json FROM sessions")?;
            let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
            rows.collect::<rusqlite::Result<Vec<(Session, String)>>>()?
        };
        let mut held: Vec<Transcript> =
            all.iter().filter_map(|(_, json)| serde_json::from_str(json).ok()).collect();
        history.retain_own(&mut held);
        let held: HashSet<(&str, &str)> =
            held.iter().map(|row| (row.provider.as_str(), row.id.as_str())).collect();
        let is_held = |(provider, id): &Session| held.contains(&(provider, id));
        self.forget_all(all.iter().map(|(session, _)| session).filter(|it| !is_held(it)).cloned().collect())
    }

    fn forget_all(&self, sessions: Vec<Session>) -> rusqlite::Result<()> {
        if sessions.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer.lock();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        CacheFile::deletes(&transaction)?;
        for session in &sessions {
            if let Some(known) = indexed_as(&transaction, session)? {
                forget(&transaction, known.key)?;
                transaction.execute("DELETE FROM sessions WHERE key = ?1", [known.key])?;
            }
        }
        texts::forget_unused(&transaction)?;
        transaction.commit()?;
        self.forgotten.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns whether forgotten sessions may still be readable in the file: FTS5 keeps their words until its segments
    /// are merged.
    pub(super) fn is_unscrubbed(&self) -> bool {
        // An unreadable index is replaced on its next use.
        CacheFile::is_unscrubbed(&self.writer.lock()).unwrap_or(false)
            || self.log_is_kept.load(Ordering::Relaxed)
    }

    /// Rewrites the index in one piece, without forgotten sessions. Takes seconds, during which nothing else is
    /// written. Blocks.
    pub(super) fn compact(&self) {
        let writer = self.writer.lock();
        let compacted = CacheFile::scrub(&writer, "INSERT INTO words(words) VALUES ('optimize')");
        let is_done = compacted.unwrap_or_else(|error| {
            tracing::warn!(%error, "the index of other agents' sessions is larger than it needs to be");
            false
        });
        self.log_is_kept.store(!is_done, Ordering::Relaxed);
    }

    /// Moves the write-ahead log into the file. Blocks.
    pub fn checkpoint(&self) {
        let is_done = CacheFile::empty_log(&self.writer.lock());
        if let Err(error) = is_done {
            tracing::warn!(%error, "the index of other agents' sessions is in two files");
        }
    }
}
