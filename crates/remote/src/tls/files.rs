//! Certificate files: small, readable only by their owner, written atomically.

use crate::token;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// In bytes.
const LIMIT: u64 = 64 << 10;

/// Reads a file, or returns `None` if it does not exist. Bytes that are not a certificate become text that cannot be
/// parsed.
pub(crate) fn read_certificate_file(path: &Path) -> Result<Option<String>, AuthorityError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(LIMIT).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AuthorityError::Read { path: path.to_owned(), reason: error.to_string() }),
    }
}

pub(crate) fn write_certificate_file(path: &Path, text: &str) -> Result<(), AuthorityError> {
    let failed =
        |error: io::Error| AuthorityError::Write { path: path.to_owned(), reason: error.to_string() };
    token::write_private_file(path, text).map_err(failed)
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

/// An error that leaves this computer without a certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("cannot read the certificate file {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("cannot write the certificate file {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
    #[error("the certificate authority has expired by this computer's clock")]
    Expired,
    #[error("cannot make a certificate: {0}")]
    Make(String),
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Make(error.to_string())
    }
}

impl From<time::error::ComponentRange> for AuthorityError {
    fn from(_: time::error::ComponentRange) -> Self {
        Self::Make("this computer's clock is set to an invalid date".to_owned())
    }
}
