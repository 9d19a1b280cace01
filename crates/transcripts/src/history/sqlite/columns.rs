//! The columns of a table, which differ between versions, and values of any type.

use crate::history::index::FileStamp;
use openagents_core::file;
use rusqlite::{CachedStatement, Connection, Row, types::ValueRef};

#[derive(Debug, Clone)]
pub(crate) struct Columns(Vec<String>);

impl Columns {
    /// Returns the columns of a table; `None` if this version has no such table.
    fn of(connection: &Connection, table: &str) -> rusqlite::Result<Option<Self>> {
        let mut names = connection.prepare_cached(
            "SELECT c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
             WHERE t.type = 'table' AND t.name = ?1",
        )?;
        let names = names.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        Ok((!names.is_empty()).then_some(Self(names)))
    }

    /// Returns the columns of a table, if it has the `required` ones.
    pub(crate) fn with(
        connection: &Connection,
        table: &str,
        required: &[&str],
    ) -> rusqlite::Result<Option<Self>> {
        let columns = Self::of(connection, table)?;
        Ok(columns.filter(|columns| required.iter().all(|name| columns.has(name))))
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column == name)
    }

    /// Returns the columns as a list for a query, `NULL` for those that this version does not have.
    pub(crate) fn list(&self, names: &[&str]) -> String {
        let columns: Vec<&str> = names.iter().map(|name| self.or_null(name)).collect();
        columns.join(", ")
    }

    pub(crate) fn or_null<'a>(&self, name: &'a str) -> &'a str {
        if self.has(name) { name } else { "NULL" }
    }
}

/// Returns a text; `None` for any other type. Invalid UTF-8 is replaced.
pub(crate) fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(bytes) => Some(file::text(bytes).into_owned()),
        _ => None,
    })
}

/// Returns a number, without its fraction; `None` for any other type.
pub(crate) fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        _ => None,
    })
}

/// Number of rows of a session that are checked: calls that run at the same time end in any order.
const NEWEST: u32 = 4;

/// Checks the newest rows of sessions. All rows together are most of the file, and counting them visits each one: 80 ms
/// for 670,000. Agents append, and change what they have just appended.
pub(crate) struct SessionStamps<'a>(Vec<CachedStatement<'a>>);

impl<'a> SessionStamps<'a> {
    /// Prepares queries for the rows in `tables`, with their times in the column `time` and their contents in `data`. A
    /// table that this version does not have counts as empty.
    pub(crate) fn new(
        connection: &'a Connection,
        tables: &[&str],
        time: &str,
        data: &str,
    ) -> rusqlite::Result<Self> {
        let mut found = Vec::new();
        for table in tables {
            let Some(columns) = Columns::with(connection, table, &["session_id"])? else { continue };
            let (time, data) = (columns.or_null(time), columns.or_null(data));
            // `octet_length` does not read the data.
            found.push(connection.prepare_cached(&format!(
                "SELECT max(rowid), max({time}), sum(octet_length({data})) FROM {table} WHERE rowid IN
                 (SELECT rowid FROM {table} WHERE session_id = ?1 ORDER BY rowid DESC LIMIT {NEWEST})"
            ))?);
        }
        Ok(Self(found))
    }

    /// Returns a stamp that changes when a session does. `changed` is the time of the last change in the session's own
    /// row, in seconds or milliseconds since the epoch.
    pub(crate) fn stamp(&mut self, id: &str, changed: Option<i64>) -> rusqlite::Result<FileStamp> {
        let mut stamp = FileStamp { size: 0, mtime_ns: nanoseconds(changed) };
        for newest in &mut self.0 {
            let (last, changed, size) =
                newest.query_row([id], |row| Ok((number(row, 0)?, number(row, 1)?, number(row, 2)?)))?;
            let sizes = [last, size].into_iter().flatten().map(|size| u64::try_from(size).unwrap_or(0));
            stamp.size = sizes.fold(stamp.size, u64::saturating_add);
            stamp.mtime_ns = stamp.mtime_ns.max(nanoseconds(changed));
        }
        Ok(stamp)
    }
}

/// A number with at most ten digits is in seconds.
fn nanoseconds(time: Option<i64>) -> i64 {
    let time = time.unwrap_or(0);
    let millis = if time < 10_000_000_000 { time.saturating_mul(1000) } else { time };
    millis.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the stamps of the sessions `a` and `b`.
    fn stamps(database: &Connection) -> [(u64, i64); 2] {
        let mut stamps = SessionStamps::new(database, &["part"], "time_updated", "data").unwrap();
        let stamp = |id| stamps.stamp(id, None).unwrap();
        ["a", "b"].map(stamp).map(|stamp| (stamp.size, stamp.mtime_ns / 1_000_000_000))
    }

    #[test]
    fn rows_that_come_or_change_at_the_end_change_the_stamp_of_their_session() {
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
        assert_eq!(last, [(99 + 4 * 2, 1_770_000_099), (100 + 4 * 2, 1_770_000_100)]);
        for change in [
            "INSERT INTO part VALUES('new', 'a', 1770000200, 'x')",
            "UPDATE part SET data = 'longer' WHERE id = 'new'",
            "UPDATE part SET data = 'xxx' WHERE id = '97'",
            "UPDATE part SET time_updated = 1770000300 WHERE id = '95'",
            "DELETE FROM part WHERE id = '97'",
            "DELETE FROM part WHERE id = 'new'",
        ] {
            database.execute_batch(change).unwrap();
            let now = stamps(&database);
            assert_ne!(now[0], last[0], "{change}");
            assert_eq!(now[1], last[1], "{change}");
            last = now;
        }
        database.execute_batch("DROP INDEX part_session_idx").unwrap();
        assert_eq!(stamps(&database), last, "a version without the index");
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

    #[test]
    fn a_time_is_in_seconds_or_milliseconds() {
        let database = Connection::open_in_memory().unwrap();
        let mut stamps = SessionStamps::new(&database, &["part"], "time_updated", "data").unwrap();
        for (time, expected) in [
            (None, 0),
            (Some(1_770_000_000), 1_770_000_000_000_000_000),
            (Some(1_770_000_000_001), 1_770_000_000_001_000_000),
            (Some(i64::MAX), i64::MAX),
        ] {
            assert_eq!(stamps.stamp("a", time).unwrap().mtime_ns, expected, "{time:?}");
        }
    }
}
