//! Compares a file with its record: existence, size, SHA-256.

use super::manifest::FileRecord;
use crate::limits::VERIFY_PIECE;
use openagents_core::CancellationToken;
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

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
    fn a_file_is_there_then_its_size_then_its_hash() {
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
