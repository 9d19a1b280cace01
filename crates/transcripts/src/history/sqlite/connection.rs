//! A read-only connection.

use crate::limits;
use openagents_core::budget::Budget;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use std::path::Path;

/// Opens a database by its URI.
pub(super) fn open(path: &Path, parameters: &str, budget: &Budget) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(format!("{}?{parameters}", uri(path)), flags)?;
    guard(&mut connection, budget)?;
    Ok(connection)
}

/// Bounds what a foreign schema and a long query can do.
pub(super) fn guard(connection: &mut Connection, budget: &Budget) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.busy_timeout(limits::DATABASE_BUSY)?;
    let budget = budget.clone();
    connection.progress_handler(limits::DATABASE_STEPS, Some(move || budget.spent()))
}

/// Returns the URI of an absolute path, in which `?` and `#` would end the path.
fn uri(path: &Path) -> String {
    const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}
