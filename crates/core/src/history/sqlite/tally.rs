//! What tells whether a session in a database has changed.

use super::columns::{Columns, number, text};
use crate::history::index::FileStamp;
use rusqlite::{Connection, params};
use std::collections::HashMap;

/// Rows before the last one that are looked at too: calls that run at the same time end in any order.
const NEWEST: u32 = 15;

/// Sessions by id: a size that changes with them, and when they last changed.
#[derive(Debug, Default)]
pub(crate) struct Tally(HashMap<String, FileStamp>);

impl Tally {
    /// Adds the rows of a table to their sessions: their number, and of the newest ones the bytes in the column `data` and the
    /// last time in the column `time`. A table that this version does not have has no rows.
    ///
    /// All rows together are most of the file: to look at each took 1.7 s at 1.2 GB, and the number is in an index. Agents
    /// append, and change what they have just appended.
    pub(crate) fn table(
        &mut self,
        connection: &Connection,
        table: &str,
        time: &str,
        data: &str,
    ) -> rusqlite::Result<()> {
        let Some(columns) = Columns::with(connection, table, &["session_id"])? else { return Ok(()) };
        let (time, data) = (columns.or_null(time), columns.or_null(data));
        // `octet_length` does not read the data.
        let mut newest = connection.prepare(&format!(
            "SELECT max({time}), sum(octet_length({data})) FROM {table}
             WHERE rowid BETWEEN ?2 - {NEWEST} AND ?2 AND session_id = ?1"
        ))?;
        let mut rows = connection
            .prepare(&format!("SELECT session_id, count(*), max(rowid) FROM {table} GROUP BY session_id"))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let Some(id) = text(row, 0)? else { continue };
            let (count, last): (u64, i64) = (row.get(1)?, row.get(2)?);
            let (changed, size) =
                newest.query_row(params![id, last], |row| Ok((number(row, 0)?, number(row, 1)?)))?;
            let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
            self.add(&id, changed, size.saturating_add(count));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the stamps of the sessions `a` and `b`.
    fn stamps(database: &Connection) -> [(u64, i64); 2] {
        let mut tally = Tally::default();
        tally.table(database, "part", "time_updated", "data").unwrap();
        ["a", "b"].map(|id| tally.stamp(id)).map(|stamp| (stamp.size, stamp.mtime_ns / 1_000_000_000))
    }

    #[test]
    fn rows_that_come_go_or_change_at_the_end_change_the_stamp_of_their_session() {
        let database = Connection::open_in_memory().unwrap();
        database
            .execute_batch(
                "CREATE TABLE part(id TEXT PRIMARY KEY, session_id, time_updated, data);
                 CREATE INDEX part_session_idx ON part(session_id);
                 WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100)
                 INSERT INTO part SELECT n, iif(n % 2, 'a', 'b'), 1770000000 + n, 'xx' FROM n;",
            )
            .unwrap();
        let mut last = stamps(&database);
        assert_eq!(last, [(50 + 8 * 2, 1_770_000_099), (50 + 8 * 2, 1_770_000_100)]);
        for change in [
            "INSERT INTO part VALUES('new', 'a', 1770000200, 'x')",
            "UPDATE part SET data = 'longer' WHERE id = 'new'",
            "UPDATE part SET data = 'xxx' WHERE id = '97'",
            "UPDATE part SET time_updated = 1770000300 WHERE id = '95'",
            "DELETE FROM part WHERE id = '1'",
        ] {
            database.execute_batch(change).unwrap();
            let now = stamps(&database);
            assert_ne!(now[0], last[0], "{change}");
            assert_eq!(now[1], last[1], "{change}");
            last = now;
        }
        database.execute_batch("DROP INDEX part_session_idx").unwrap();
        assert_eq!(stamps(&database), last, "an older version without the index");
    }

    #[test]
    fn a_table_that_is_not_there_or_has_other_columns_has_no_rows_or_no_times() {
        let database = Connection::open_in_memory().unwrap();
        assert_eq!(stamps(&database), [(0, 0); 2]);
        database
            .execute_batch("CREATE TABLE part(session_id); INSERT INTO part VALUES('a'), (NULL), (7)")
            .unwrap();
        assert_eq!(stamps(&database), [(1, 0), (0, 0)]);
    }
}
