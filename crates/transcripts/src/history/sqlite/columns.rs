//! The columns of a table, which differ between versions, and values of any type.

use openagents_core::file;
use rusqlite::{Connection, Row, types::ValueRef};

/// The columns of a table that exists.
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
