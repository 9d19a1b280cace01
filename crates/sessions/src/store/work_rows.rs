//! The table of open work: the numbers of the updates that opened it.

use super::{
    open_work::{Change, Open, OpenWork, Part},
    reader::read_update,
};
use rusqlite::{Connection, Transaction, params};
use std::collections::HashSet;

/// Reads the open work of a session.
pub(super) fn read(connection: &Connection, session_id: &str) -> rusqlite::Result<OpenWork> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, ts, update_json, part FROM open_work JOIN events USING (session_id, seq)
         WHERE session_id = ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map([session_id], |row| {
        let part = Part::named(row.get_ref(3)?.as_str()?);
        Ok(part.zip(Some(read_update(row)?)))
    })?;
    let open = rows.filter_map(Result::transpose).map(|row| row.map(|(part, by)| Open::new(part, by)));
    Ok(OpenWork(open.collect::<Result<_, _>>()?))
}

/// Returns the sessions that have open work, or whose open work is not known yet.
pub(super) fn left_open(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection
        .prepare("SELECT session_id FROM open_work UNION SELECT id FROM sessions WHERE NOT tracks_work")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Stores changes to the open work of a session.
pub(super) fn store(
    transaction: &Transaction<'_>,
    session_id: &str,
    changes: &[Change],
) -> rusqlite::Result<()> {
    for change in changes {
        let (sql, part, seq) = match change {
            Change::Opened(part, seq) => {
                ("INSERT INTO open_work (session_id, seq, part) VALUES (?1, ?2, ?3)", part, seq)
            }
            Change::Closed(part, seq) => {
                ("DELETE FROM open_work WHERE session_id = ?1 AND seq = ?2 AND part = ?3", part, seq)
            }
        };
        transaction.prepare_cached(sql)?.execute(params![session_id, seq, part.name()])?;
    }
    Ok(())
}

/// Finds the open work of a session written by a version without this table. Reads the whole log, once.
pub(super) fn fill(transaction: &Transaction<'_>, session_id: &str) -> rusqlite::Result<OpenWork> {
    let mut work = OpenWork::default();
    {
        let mut log = transaction
            .prepare("SELECT seq, ts, update_json FROM events WHERE session_id = ?1 ORDER BY seq")?;
        for stored in log.query_map([session_id], read_update)? {
            work.take(&stored?);
        }
    }
    let opened: Vec<Change> = work.0.iter().map(|open| Change::Opened(open.part, open.by.seq)).collect();
    store(transaction, session_id, &opened)?;
    transaction.execute("UPDATE sessions SET tracks_work = 1 WHERE id = ?1", [session_id])?;
    Ok(work)
}
