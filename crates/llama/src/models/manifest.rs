//! The expected size and hash of a downloaded file, stored next to it after verification.

use crate::limits::MANIFEST_BYTES;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) model_id: String,
    pub(crate) version: String,
    pub(crate) files: Vec<FileRecord>,
    /// When it was written, in RFC 3339.
    pub(crate) created_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) name: String,
    pub(crate) size_bytes: u64,
    /// Lower-case hexadecimal.
    pub(crate) sha256: String,
}

impl Manifest {
    pub(crate) fn path_of(file: &Path) -> PathBuf {
        sibling(file, ".manifest.json")
    }

    /// Returns the expected properties of a file; `None` without a valid manifest.
    pub(crate) fn record_of(file: &Path) -> Option<FileRecord> {
        let manifest: Self = read_json(&Self::path_of(file))?;
        let name = file.file_name()?.to_str()?;
        manifest.files.into_iter().find(|record| record.name == name)
    }

    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        write_json(&Self::path_of(file), self)
    }
}

/// `a.gguf` → `a.gguf.manifest.json`.
pub(super) fn sibling(file: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Reads one of our small files; `None` if it is missing or invalid.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut text = String::new();
    File::open(path).ok()?.take(MANIFEST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let new = sibling(path, ".new");
    let mut file = File::create(&new)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

/// Deletes a file, unless it is already gone.
pub(crate) fn delete(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
