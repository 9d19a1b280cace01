//! Opens a database without leaving a trace.
//!
//! Measured: `immutable` reads a database without `-wal` and leaves no trace, but does not see the rows in a `-wal`; a
//! plain read-only connection sees them, but writes to `-shm`, or creates both files. `readonly_shm` writes to neither.
//!
//! One gap remains: if an agent exits and removes its `-wal` between our check of the files and SQLite's own
//! (microseconds), SQLite creates an empty `-wal`, as the agent's next start does. It is left there, because removing
//! it could break an agent that has just started.

use super::{connection, copy, error::DatabaseError, files::Files};
use crate::limits;
use openagents_core::budget::Budget;
use rusqlite::{Connection, ErrorCode};
use std::path::Path;

/// Runs `read` in one transaction, and runs it again if the database changed in the meantime, so `read` must start from
/// scratch each time. Queries are interrupted when the budget is spent.
pub(crate) fn read<T>(
    path: &Path,
    budget: &Budget,
    mut read: impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<T, DatabaseError> {
    // SQLite looks for the log next to the target of a link.
    let path = &path.canonicalize()?;
    for _ in 0..limits::DATABASE_READS {
        let files = Files::of(path)?;
        let found = if files.are_settled() {
            run(connection::open(path, "mode=ro&immutable=1", budget), &mut read)
        } else {
            match run(connection::open(path, "mode=ro&readonly_shm=1", budget), &mut read) {
                Err(error) if is_unopened(&error) && Files::of(path)? == files => {
                    return copy::read(path, &files, budget, &mut read);
                }
                Err(error) if is_unopened(&error) => continue,
                found => return Ok(found?),
            }
        };
        // Without a lock, a log may have appeared, or pages may have changed.
        if Files::of(path)? == files {
            return Ok(found?);
        }
    }
    Err(DatabaseError::Changing)
}

fn run<T>(
    connection: rusqlite::Result<Connection>,
    read: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let connection = connection?;
    let snapshot = connection.unchecked_transaction()?;
    read(&snapshot)
}

/// Returns whether another way of opening may work.
fn is_unopened(error: &rusqlite::Error) -> bool {
    let codes = [
        ErrorCode::CannotOpen,
        ErrorCode::ReadOnly,
        ErrorCode::PermissionDenied,
        ErrorCode::SystemIoFailure,
        ErrorCode::FileLockingProtocolFailed,
    ];
    error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
}
