//! Certificate files: small, readable only by their owner, written atomically.

use crate::{base::private_file, tls::error::AuthorityError};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Largest certificate or key in bytes.
const LIMIT: u64 = 64 << 10;

/// Reads a file, or returns `None` if it does not exist. Bytes that are not a certificate become text that cannot be
/// parsed.
pub(crate) fn read(path: &Path) -> Result<Option<String>, AuthorityError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(LIMIT).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AuthorityError::Read { path: path.to_owned(), reason: error.to_string() }),
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
        let aside = path.with_added_extension(format!("damaged-{seconds}"));
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
