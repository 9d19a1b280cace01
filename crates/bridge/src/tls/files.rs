//! Certificate files: small, readable only by their owner, written atomically.

use crate::{base::private_file, tls::error::AuthorityError};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Largest certificate or key in bytes.
const LIMIT: u64 = 64 << 10;

/// The content of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Text(String),
    /// Too long, or not UTF-8.
    Garbage,
}

pub(crate) fn read(path: &Path) -> Result<Found, AuthorityError> {
    let unreadable =
        |error: &io::Error| AuthorityError::Read { path: path.to_owned(), reason: error.to_string() };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= LIMIT => Ok(Found::Text(text)),
        _ => Ok(Found::Garbage),
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), AuthorityError> {
    let failed =
        |error: io::Error| AuthorityError::Write { path: path.to_owned(), reason: error.to_string() };
    private_file::write(path, text).map_err(failed)
}

/// Renames files to `NAME.damaged-SECONDS`. Returns the new path of the first file that existed.
pub(crate) fn move_aside(paths: &[&Path], seconds: i64) -> Result<PathBuf, AuthorityError> {
    let mut moved = None;
    for path in paths {
        let aside = with_suffix(path, &format!(".damaged-{seconds}"));
        match std::fs::rename(path, &aside) {
            Ok(()) => drop(moved.get_or_insert(aside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(AuthorityError::Write { path: (*path).to_owned(), reason: error.to_string() });
            }
        }
    }
    Ok(moved.unwrap_or_default())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
