//! An unfinished download on disk: `NAME.partial`, and a file with its origin.

use super::{
    manifest::{Manifest, delete, read_json, sibling, write_json},
    remote::RemoteFile,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The origin of a partial file. A resumed download requests exactly this file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) file: RemoteFile,
    /// The server's ETag of these bytes.
    pub(super) etag: Option<String>,
}

/// The paths of one download.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) whole: PathBuf,
    data: PathBuf,
    origin: PathBuf,
    lock: PathBuf,
}

impl Partial {
    pub(super) fn of(whole: &Path) -> Self {
        Self {
            whole: whole.to_owned(),
            data: sibling(whole, ".partial"),
            origin: sibling(whole, ".partial.json"),
            lock: sibling(whole, ".lock"),
        }
    }

    /// Locks the download against other processes until the result is dropped; `None` if it is locked.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns whether the file exists along with its manifest, which is written after verification.
    pub(super) fn is_finished(&self) -> bool {
        let record = Manifest::record_of(&self.whole);
        let bytes = std::fs::metadata(&self.whole).map(|about| about.len());
        record.zip(bytes.ok()).is_some_and(|(record, bytes)| record.size_bytes == bytes)
    }

    pub(super) fn found(&self) -> Option<(Origin, u64)> {
        let origin: Origin = read_json(&self.origin)?;
        let done = std::fs::metadata(&self.data).ok()?.len();
        (origin.file.is_sound() && done <= origin.file.size).then_some((origin, done))
    }

    pub(super) fn begin(&self, origin: &Origin) -> io::Result<File> {
        // Deletes the old bytes first, so that they never belong to the new origin.
        let data = File::create(&self.data)?;
        write_json(&self.origin, origin)?;
        Ok(data)
    }

    /// Keeps the bytes, which belong to the same file with another URL or ETag.
    pub(super) fn rename(&self, origin: &Origin) -> io::Result<()> {
        write_json(&self.origin, origin)
    }

    pub(super) fn append(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.data)
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Deletes the partial data. The caller must hold the lock.
    pub(super) fn discard(&self) -> io::Result<()> {
        delete(&self.data)?;
        delete(&self.origin)
    }

    /// Renames the verified file, replacing an existing one.
    pub(super) fn finish(&self, manifest: &Manifest) -> io::Result<()> {
        File::open(&self.data)?.sync_all()?;
        manifest.write(&self.whole)?;
        std::fs::rename(&self.data, &self.whole)?;
        std::fs::remove_file(&self.origin)
    }
}
