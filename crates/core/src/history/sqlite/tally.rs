//! The size and the last change of each session in a database.

use super::columns::{Columns, number, text};
use crate::history::index::FileStamp;
use rusqlite::Connection;
use std::collections::HashMap;

/// Sessions by id: how many bytes and rows they have, and when they last changed.
#[derive(Debug, Default)]
pub(crate) struct Tally(HashMap<String, FileStamp>);

impl Tally {
    /// Adds the rows of a table to their sessions: the bytes in the column `data` and the last time in the column `time`.
    /// A table that this version does not have has no rows.
    pub(crate) fn table(
        &mut self,
        connection: &Connection,
        table: &str,
        time: &str,
        data: &str,
    ) -> rusqlite::Result<()> {
        let Some(columns) = Columns::with(connection, table, &["session_id"])? else { return Ok(()) };
        let (time, data) = (columns.or_null(time), columns.or_null(data));
        // `octet_length` does not read the data, which is most of the file.
        let mut rows = connection.prepare(&format!(
            "SELECT session_id, max({time}), sum(octet_length({data})), count(*) FROM {table} GROUP BY session_id"
        ))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let Some(id) = text(row, 0)? else { continue };
            let size = number(row, 2)?.unwrap_or(0).saturating_add(number(row, 3)?.unwrap_or(0));
            self.add(&id, number(row, 1)?, size.try_into().unwrap_or(0));
        }
        Ok(())
    }

    /// Adds a change at a time in seconds or milliseconds since the epoch.
    pub(crate) fn add(&mut self, id: &str, changed: Option<i64>, size: u64) {
        let stamp = self.0.entry(id.to_owned()).or_insert(FileStamp { size: 0, mtime_ns: 0 });
        stamp.size = stamp.size.saturating_add(size);
        let nanoseconds = changed.map_or(0, |changed| millis(changed).saturating_mul(1_000_000));
        stamp.mtime_ns = stamp.mtime_ns.max(nanoseconds);
    }

    /// Returns what changes when the session does.
    pub(crate) fn stamp(&self, id: &str) -> FileStamp {
        self.0.get(id).copied().unwrap_or(FileStamp { size: 0, mtime_ns: 0 })
    }
}

/// Returns milliseconds since the epoch; a number with ten digits or less is seconds.
fn millis(time: i64) -> i64 {
    if time < 10_000_000_000 { time.saturating_mul(1000) } else { time }
}
