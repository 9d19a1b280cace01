//! Forgets sessions that are gone or excluded, so that no trace of them can be read from the file.

use super::{
    build::{forget, indexed, indexed_as},
    index::HistoryIndex,
    terms,
};
use crate::{
    cache_file::CacheFile,
    history::{History, Listing, Transcript},
};
use openagents_core::CancellationToken;
use rusqlite::TransactionBehavior;
use std::{collections::HashSet, sync::atomic::Ordering};

/// Provider and id of a session, as stored in the tables.
type Session = (String, String);

impl HistoryIndex {
    /// Drops the sessions that are missing from a complete list.
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
        terms::forget_unused(&transaction)?;
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
