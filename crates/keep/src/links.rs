//! Hard links to files that may be deleted before they are captured: a link costs nothing, and the program that writes
//! the file continues to write the same one.

use crate::{
    pack::remove_if_there,
    store::{CopyStore, KeepError},
};
use rusqlite::{OptionalExtension as _, params};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A file that may be deleted soon.
#[derive(Debug, Clone, Copy)]
pub struct Endangered<'a> {
    /// The name of its collection, which is added if it is new, and what is stored about it.
    pub collection: &'a str,
    pub about: &'a str,
    /// Relative path in the collection.
    pub name: &'a str,
    pub path: &'a Path,
}

impl CopyStore {
    /// Links files in one transaction. Returns how many now have a link; files on another volume cannot have one.
    /// Blocks.
    pub fn link(&self, files: &[Endangered<'_>]) -> Result<usize, KeepError> {
        let connection = self.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        let mut linked = 0;
        for Endangered { collection, about, name, path } in files {
            transaction.prepare_cached(
                "INSERT INTO collections (name, state, about) VALUES (?1, '', ?2) ON CONFLICT (name) DO NOTHING",
            )?
            .execute([collection, about])?;
            let id: i64 = transaction
                .prepare_cached(
                    "INSERT INTO files (collection, name) SELECT id, ?2 FROM collections WHERE name = ?1
                     ON CONFLICT (collection, name) DO UPDATE SET name = excluded.name RETURNING id",
                )?
                .query_row([collection, name], |row| row.get(0))?;
            match replace_link(path, &self.links().join(id.to_string())) {
                Ok(()) => linked += 1,
                Err(error) => tracing::debug!(%error, path = %path.display(), "no link to this file"),
            }
        }
        transaction.commit()?;
        Ok(linked)
    }

    /// Returns the link to a file, if there is one. Blocks.
    pub fn linked(&self, collection: i64, name: &str) -> Result<Option<PathBuf>, KeepError> {
        let connection = self.connection.lock();
        let sql = "SELECT id FROM files WHERE collection = ?1 AND name = ?2";
        let id: Option<i64> = connection
            .prepare_cached(sql)?
            .query_row(params![collection, name], |row| row.get(0))
            .optional()?;
        Ok(id.map(|id| self.links().join(id.to_string())).filter(|link| link.exists()))
    }

    /// Returns the names of the files of a collection that have a link. Blocks.
    pub fn links_of(&self, collection: i64) -> Result<Vec<String>, KeepError> {
        let connection = self.connection.lock();
        let mut files = connection.prepare_cached("SELECT id, name FROM files WHERE collection = ?1")?;
        let files = files.query_map([collection], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
        let files: Vec<(i64, String)> = files.collect::<Result<_, _>>()?;
        let linked = files.into_iter().filter(|(id, _)| self.links().join(id.to_string()).exists());
        Ok(linked.map(|(_, name)| name).collect())
    }

    /// Removes the links to the files of a collection, which are captured. Blocks.
    pub fn unlink(&self, collection: i64) -> Result<(), KeepError> {
        let connection = self.connection.lock();
        let mut files = connection.prepare_cached("SELECT id FROM files WHERE collection = ?1")?;
        for id in files.query_map([collection], |row| row.get::<_, i64>(0))? {
            remove_if_there(&self.links().join(id?.to_string()))?;
        }
        Ok(())
    }
}

/// Links a file under a name that may be that of a link to an older one, which stays if the file no longer exists.
fn replace_link(path: &Path, link: &Path) -> io::Result<()> {
    let new = link.with_extension("new");
    remove_if_there(&new)?;
    fs::hard_link(path, &new)?;
    fs::rename(&new, link)?;
    // Two links to the same file are left as they are.
    remove_if_there(&new)
}
