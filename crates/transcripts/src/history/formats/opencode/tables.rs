//! Reads the tables of a database. No other table is read: some hold credentials, others repeat the same data.

use super::unfold::{About, Revert, Unfolded};
use crate::{
    history::{
        log::{lines::OpenLog, log_file::LogFile},
        sqlite::{self, Columns, Remembered, SessionStamps, number, text},
    },
    limits,
};
use openagents_core::{CancellationToken, budget::Budget};
use rusqlite::{Connection, OptionalExtension, params};
use std::{collections::HashMap, io, path::Path};

static FOUND: Remembered<Vec<(Generation, LogFile)>> = Remembered::new();

pub(super) fn discover(database: &Path, budget: &Budget) -> Vec<(Generation, LogFile)> {
    let found = FOUND.get_or_read(database, budget, |connection| {
        let mut found = Vec::new();
        let tables = [
            (Generation::Tables, "session", &["message", "part"][..]),
            (Generation::Tables2, "session_v2", &["session_message"]),
        ];
        for (generation, sessions, contents) in tables {
            let Some(columns) = Columns::with(connection, sessions, &["id"])? else { continue };
            let mut stamps = SessionStamps::new(connection, contents, "time_updated", "data")?;
            let list = columns.list(&["id", "parent_id", "time_updated", "time_created"]);
            let mut rows = connection.prepare(&format!("SELECT {list} FROM {sessions}"))?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let Some(id) = text(row, 0)? else { continue };
                let stamp = stamps.stamp(&id, number(row, 2)?.max(number(row, 3)?))?;
                let file = LogFile::in_database(database, &id, stamp, text(row, 1)?.is_some());
                found.extend(file.map(|file| (generation, file)));
            }
        }
        Ok(found)
    });
    found.unwrap_or_else(|error| {
        tracing::debug!(%error, path = %database.display(), "a database could not be read");
        vec![]
    })
}

pub(super) fn open(path: &Path) -> io::Result<OpenLog> {
    let (database, id) = LogFile::database_and_id(path)?;
    let budget = Budget::within(limits::DATABASE_SESSION, &CancellationToken::new());
    let unfolded = sqlite::read_database(database, &budget, |connection| {
        Ok(match about(connection, "session_v2", id)? {
            Some(session) => Some(entries(connection, id, session)?),
            None => match about(connection, "session", id)? {
                Some(session) => Some(messages(connection, id, session)?),
                None => None,
            },
        })
    })?;
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, format!("session {id} is no longer in the database"));
    Ok(unfolded.ok_or_else(missing)?.into_log())
}

fn about(connection: &Connection, table: &str, id: &str) -> rusqlite::Result<Option<(About, Revert)>> {
    let Some(columns) = Columns::with(connection, table, &["id"])? else { return Ok(None) };
    let list = columns.list(&[
        "title",
        "directory",
        "parent_id",
        "time_created",
        "model",
        "time_archived",
        "fork_session_id",
        "revert",
        "version",
        "project_id",
    ]);
    let about = |row: &rusqlite::Row<'_>| {
        let about = About {
            title: text(row, 0)?,
            directory: text(row, 1)?,
            parent: text(row, 2)?,
            created: number(row, 3)?,
            model: text(row, 4)?,
            archived: number(row, 5)?.is_some(),
            fork_of: text(row, 6)?,
            updated: None,
            version: text(row, 8)?,
            project: text(row, 9)?,
        };
        Ok((about, Revert::parse(text(row, 7)?.as_deref())))
    };
    connection.query_row(&format!("SELECT {list} FROM {table} WHERE id = ?1"), [id], about).optional()
}

fn messages(
    connection: &Connection,
    id: &str,
    (about, revert): (About, Revert),
) -> rusqlite::Result<Unfolded> {
    let mut unfolded = Unfolded::new(&about, revert);
    let Some(columns) = Columns::with(connection, "message", &["id", "session_id", "data"])? else {
        return Ok(unfolded);
    };
    let mut parts = parts(connection, id)?;
    let created = columns.or_null("time_created");
    let list = format!("SELECT id, {created} FROM message WHERE session_id = ?1 ORDER BY {created}, id");
    for (message, at) in rows(connection, &list, id, |row| Ok((text(row, 0)?, number(row, 1)?)))? {
        let Some(message) = message else { continue };
        unfolded.message(&message, at, data(connection, "message", &message)?.as_deref());
        for (part, at) in parts.remove(&message).unwrap_or_default() {
            unfolded.part(&part, at, data(connection, "part", &part)?.as_deref());
        }
    }
    Ok(unfolded)
}

/// Ids and times of parts, by the ids of their messages.
type PartsByMessage = HashMap<String, Vec<(String, Option<i64>)>>;

fn parts(connection: &Connection, id: &str) -> rusqlite::Result<PartsByMessage> {
    let mut parts = PartsByMessage::new();
    let required = ["id", "message_id", "session_id", "data"];
    let Some(columns) = Columns::with(connection, "part", &required)? else { return Ok(parts) };
    let created = columns.or_null("time_created");
    let list = format!("SELECT message_id, id, {created} FROM part WHERE session_id = ?1 ORDER BY id");
    for row in rows(connection, &list, id, |row| Ok((text(row, 0)?, text(row, 1)?, number(row, 2)?)))? {
        if let (Some(message), Some(part), at) = row {
            parts.entry(message).or_default().push((part, at));
        }
    }
    Ok(parts)
}

fn entries(
    connection: &Connection,
    id: &str,
    (about, revert): (About, Revert),
) -> rusqlite::Result<Unfolded> {
    let mut unfolded = Unfolded::new(&about, revert);
    let required = ["id", "session_id", "type", "seq", "data"];
    let Some(columns) = Columns::with(connection, "session_message", &required)? else { return Ok(unfolded) };
    let created = columns.or_null("time_created");
    let list = format!("SELECT id, type, {created} FROM session_message WHERE session_id = ?1 ORDER BY seq");
    for row in rows(connection, &list, id, |row| Ok((text(row, 0)?, text(row, 1)?, number(row, 2)?)))? {
        if let (Some(entry), Some(kind), at) = row {
            unfolded.entry(&entry, &kind, at, data(connection, "session_message", &entry)?.as_deref());
        }
    }
    Ok(unfolded)
}

fn rows<T>(
    connection: &Connection,
    query: &str,
    id: &str,
    row: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(query)?.query_map([id], row)?.collect()
}

/// Returns the data of one row; `None` if it is too long, so that one session's images are never all in memory.
fn data(connection: &Connection, table: &str, id: &str) -> rusqlite::Result<Option<String>> {
    let query = format!("SELECT data FROM {table} WHERE id = ?1 AND octet_length(data) <= ?2");
    let mut query = connection.prepare_cached(&query)?;
    query
        .query_row(params![id, limits::SUMMARY_LINE as i64], |row| text(row, 0))
        .optional()
        .map(Option::flatten)
}

/// Where a session is stored; if it is in several places, the last one has its newest state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    Tree,
    Tables,
    /// The tables of 2.x.
    Tables2,
}
