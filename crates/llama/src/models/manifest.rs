//! The expected size and hash of a downloaded file, stored next to it after verification.

use crate::limits::{MANIFEST_BYTES, VERIFY_PIECE};
use openagents_core::CancellationToken;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error("the verification was stopped")]
    Stopped,
    #[error("the file does not exist; download it again")]
    Missing,
    #[error("the file has {have} bytes, expected {expected}; download it again")]
    Size { have: u64, expected: u64 },
    #[error("the file is damaged: its SHA-256 does not match the server's listing; download it again")]
    Hash,
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
}

/// Compares a file with its record; reports progress from 0.0 to 1.0.
pub(crate) fn verify(
    file: &Path,
    record: &FileRecord,
    stop: &CancellationToken,
    on_progress: &mut dyn FnMut(f32),
) -> Result<(), VerifyError> {
    let unreadable = |error: io::Error| VerifyError::Unreadable(error.to_string());
    let mut input = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(VerifyError::Missing),
        opened => opened.map_err(unreadable)?,
    };
    let have = input.metadata().map_err(unreadable)?.len();
    if have != record.size_bytes {
        return Err(VerifyError::Size { have, expected: record.size_bytes });
    }
    let (mut hash, mut piece, mut done) = (Sha256::new(), vec![0; VERIFY_PIECE], 0_u64);
    loop {
        if stop.is_cancelled() {
            return Err(VerifyError::Stopped);
        }
        match input.read(&mut piece).map_err(unreadable)? {
            0 => break,
            read => {
                hash.update(&piece[..read]);
                done += read as u64;
                on_progress((done as f64 / have as f64) as f32);
            }
        }
    }
    if hex(&hash.finalize()) == record.sha256.to_ascii_lowercase() { Ok(()) } else { Err(VerifyError::Hash) }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verify_checks_existence_size_and_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // The first test vector of FIPS 180-2.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        let record = FileRecord { name: "a".to_owned(), size_bytes: 3, sha256 };
        let check = |content: Option<&str>| {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            verify(&path, &record, &CancellationToken::new(), &mut |_| {})
        };
        assert_eq!(check(None), Err(VerifyError::Missing));
        assert_eq!(check(Some("ab")), Err(VerifyError::Size { have: 2, expected: 3 }));
        assert_eq!(check(Some("abd")), Err(VerifyError::Hash));
        assert_eq!(check(Some("abc")), Ok(()));
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(verify(&path, &record, &stop, &mut |_| {}), Err(VerifyError::Stopped));
    }
}
