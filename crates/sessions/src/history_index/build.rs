//! Brings the index up to date: new sessions, appended lines, vanished sessions.

use super::index::HistoryIndex;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    history::{EventKind, History, Listing, Part, Provider, Query, Transcript, index_words},
};
use rusqlite::{Connection, Transaction, params};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// Bytes of text of one session that are indexed.
const TEXT: u64 = 256 << 10;
/// Bytes of one passage; longer ones are dumps.
const PASSAGE: usize = 16 << 10;
/// Bytes of a log that are read at once.
const PART: u64 = 1 << 20;
/// Time for the list, and for one session.
const TIME: Duration = Duration::from_secs(60);

/// Progress of the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Sessions that are indexed.
    pub done: usize,
    /// Sessions that were found.
    pub total: usize,
}

/// The state of a session when it was indexed.
struct Indexed {
    key: i64,
    size: u64,
    updated_at: i64,
    upto: u64,
    bytes: u64,
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
                stale.push((row, size, known));
            }
        }
        for (at, (row, size, known)) in stale.iter().enumerate() {
            let goes_on = progress(IndexProgress { done: total - stale.len() + at, total });
            if cancel.is_cancelled() || !goes_on {
                return Ok(());
            }
            self.index(history, row, *size, known.as_ref(), cancel)?;
        }
        progress(IndexProgress { done: total, total });
        Ok(())
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

    fn index(
        &self,
        history: &History,
        row: &Transcript,
        size: u64,
        known: Option<&Indexed>,
        cancel: &CancellationToken,
    ) -> rusqlite::Result<()> {
        // A log that only grows is read on from where it ended.
        let goes_on = known.filter(|known| appends(row.provider) && size >= known.upto && known.upto > 0);
        let (mut upto, mut bytes) = goes_on.map_or((0, 0), |known| (known.upto, known.bytes));
        let mut passages = Vec::new();
        if goes_on.is_none() {
            passages.extend(row.title.as_deref().map(|title| (0, Kind::Title, index_words(title))));
        }
        let budget = Budget::within(TIME, cancel);
        while bytes < TEXT {
            // A log that cannot be read has no passages; it is tried again when it changes.
            let Ok(part) = history.part(row, Part::From(upto), PART, &budget) else { break };
            for event in part.events.iter().filter(|event| !event.copied && !event.sidechain) {
                let Some(kind) = Kind::of(&event.kind) else { continue };
                let text = &event.text[..event.text.floor_char_boundary(PASSAGE)];
                bytes += text.len() as u64;
                passages.push((event.line, kind, index_words(text)));
            }
            let ended = part.to <= upto || part.to >= part.size;
            upto = part.to.max(upto);
            if ended || budget.spent() {
                break;
            }
        }
        if cancel.is_cancelled() {
            return Ok(());
        }
        let mut writer = self.writer.lock();
        let transaction = writer.transaction()?;
        if let Some(known) = known.filter(|_| goes_on.is_none()) {
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
                upto,
                bytes,
                bytes >= TEXT
            ],
        )?;
        add(&transaction, row, &passages)?;
        transaction.commit()
    }
}

/// The kind of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Title = 0,
    Prompt = 1,
    Answer = 2,
    Call = 3,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Title, Self::Prompt, Self::Answer, Self::Call];

    /// Returns the kind with a number of the file.
    pub(super) fn stored(number: u8) -> Self {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number).unwrap_or(Self::Call)
    }

    /// A title says best what a session is about.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Title => 3.0,
            Self::Prompt => 2.0,
            Self::Answer => 1.0,
            Self::Call => 0.7,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Call => "call",
        }
    }

    fn of(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::Prompt => Some(Self::Prompt),
            EventKind::Assistant => Some(Self::Answer),
            EventKind::ToolCall { .. } => Some(Self::Call),
            _ => None,
        }
    }
}

/// Returns whether an agent only ever appends to a log. The others rewrite it, or parts of it.
fn appends(provider: Provider) -> bool {
    matches!(
        provider,
        Provider::Codex
            | Provider::ClaudeCode
            | Provider::Copilot
            | Provider::Pi
            | Provider::OpenClaw
            | Provider::Droid
    )
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
