//! What a downloaded file has to be; written beside it once its hash was compared.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Bytes of a manifest at the most.
const MANIFEST_BYTES: u64 = 64 << 10;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `gpt-oss-20b`.
    pub model_id: String,
    /// The commit of the repository that it comes from.
    pub version: String,
    /// The files; one, so far.
    pub files: Vec<FileRecord>,
    /// When it was written, in RFC 3339.
    pub created_at: String,
}

/// What one file has to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its name here.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// In hexadecimal, lower case.
    pub sha256: String,
}

impl Manifest {
    /// Returns where the manifest of a file is.
    pub fn path_of(file: &Path) -> PathBuf {
        beside(file, ".manifest.json")
    }

    /// Returns what a file has to be; `None` for a file without a manifest that can be read.
    pub fn record_of(file: &Path) -> Option<FileRecord> {
        let manifest: Self = read_json(&Self::path_of(file))?;
        let name = file.file_name()?.to_str()?;
        manifest.files.into_iter().find(|record| record.name == name)
    }

    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        write_json(&Self::path_of(file), self)
    }
}

/// `a.gguf` → `a.gguf.manifest.json`.
pub(super) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Reads a small file of ours; `None` when it is not there or not ours.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut text = String::new();
    File::open(path).ok()?.take(MANIFEST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Writes a small file so that it is there whole or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = File::create(&new)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}
