//! The rows of a session in an agent's database, as a JSON document, and a database made from it.

use crate::{
    history::{LogFile, read_agent_database},
    limits,
};
use openagents_core::{CancellationToken, budget::Budget};
use rusqlite::{Connection, params_from_iter, types::ValueRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The tables of a session, with all columns.
#[derive(Debug, Serialize, Deserialize)]
struct Rows {
    /// The path of the database below the agent's folder.
    database: PathBuf,
    tables: Vec<Table>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// Returns the name of the document of a session among its kept files.
pub(super) fn name(id: &str) -> String {
    format!("{id}.rows.json")
}

/// Returns whether the log of a session is rows of a database.
pub(super) fn is_in_database(file: &LogFile) -> bool {
    file.path.parent().is_some_and(Path::is_file)
}

/// Returns the rows of a session, in the order of their insertion. Blocks.
pub(super) fn read(log: &LogFile, root: &Path, tables: &[(&str, &str)]) -> io::Result<Vec<u8>> {
    let (database, id) = LogFile::database_and_id(&log.path)?;
    let budget = Budget::within(limits::DATABASE_SESSION, &CancellationToken::new());
    let tables = read_agent_database(database, &budget, |connection| {
        let mut found = Vec::new();
        for (table, column) in tables {
            found.extend(read_table(connection, table, column, id)?);
        }
        Ok(found)
    })?;
    let database = database.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
    Ok(serde_json::to_vec(&Rows { database, tables })?)
}

fn read_table(
    connection: &Connection,
    table: &str,
    column: &str,
    id: &str,
) -> rusqlite::Result<Option<Table>> {
    let exists = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    if !connection.prepare(exists)?.exists([table])? {
        return Ok(None);
    }
    let mut query = connection.prepare(&format!("SELECT * FROM {table} WHERE {column} = ?1 ORDER BY 1"))?;
    let columns: Vec<String> = query.column_names().map(str::to_owned).collect();
    let width = columns.len();
    let rows = query.query_map([id], |row| (0..width).map(|at| Ok(value(row.get_ref(at)?))).collect())?;
    let rows = rows.collect::<rusqlite::Result<_>>()?;
    Ok(Some(Table { name: table.to_owned(), columns, rows }))
}

/// A blob is a list of its bytes; a text that is not UTF-8 is one too.
fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if matches!(value, ValueRef::Text(_)) => text.into(),
            _ => bytes.into(),
        },
    }
}

/// Creates the database of a session below `root` from its document. Blocks.
pub(super) fn unpack(document: &[u8], root: &Path) -> io::Result<()> {
    let Rows { database, tables } = serde_json::from_slice(document)?;
    let path = if database.as_os_str().is_empty() { root.to_owned() } else { root.join(database) };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let write = || -> rusqlite::Result<()> {
        let mut connection = Connection::open(path)?;
        let transaction = connection.transaction()?;
        for Table { name, columns, rows } in &tables {
            let list = columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
            transaction.execute(&format!("CREATE TABLE\n{} ({list})", quoted(name)), [])?;
            let places = vec!["?"; columns.len()].join(", ");
            let mut insert =
                transaction.prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(name)))?;
            for row in rows {
                insert.execute(params_from_iter(row.iter().map(stored)))?;
            }
        }
        transaction.commit()
    };
    write().map_err(io::Error::other)
}

fn stored(value: &Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Stored;
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(number) => Stored::Integer(number),
            None => Stored::Real(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Stored::Text(text.clone()),
        Value::Array(bytes) => {
            Stored::Blob(bytes.iter().filter_map(|byte| byte.as_u64()?.try_into().ok()).collect())
        }
        _ => Stored::Null,
    }
}

/// Returns an identifier of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
