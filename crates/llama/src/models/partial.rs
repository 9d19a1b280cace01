//! A download on the disk while it is not finished: `NAME.partial`, and beside it what it is a part of.

use super::{
    manifest::{Manifest, beside, read_json, write_json},
    remote::RemoteFile,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// What a partial file is a part of. A resumed download asks for exactly this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) file: RemoteFile,
    /// What the server called these bytes.
    pub(super) etag: Option<String>,
}

/// The paths of one download.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    /// Where the file will be.
    pub(super) whole: PathBuf,
    data: PathBuf,
    origin: PathBuf,
    lock: PathBuf,
}

impl Partial {
    pub(super) fn of(whole: &Path) -> Self {
        Self {
            whole: whole.to_owned(),
            data: beside(whole, ".partial"),
            origin: beside(whole, ".partial.json"),
            lock: beside(whole, ".lock"),
        }
    }

    /// Keeps other processes away as long as the result lives; `None` when one is at work.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns whether the file is there with the manifest that is written after its hash was compared.
    pub(super) fn is_finished(&self) -> bool {
        let record = Manifest::record_of(&self.whole);
        let bytes = std::fs::metadata(&self.whole).map(|about| about.len());
        record.zip(bytes.ok()).is_some_and(|(record, bytes)| record.size_bytes == bytes)
    }

    /// Returns what is there, and how many bytes of it.
    pub(super) fn found(&self) -> Option<(Origin, u64)> {
        let origin: Origin = read_json(&self.origin)?;
        let done = std::fs::metadata(&self.data).ok()?.len();
        (origin.file.is_sound() && done <= origin.file.size).then_some((origin, done))
    }

    /// Begins anew with another origin.
    pub(super) fn begin(&self, origin: &Origin) -> io::Result<File> {
        // The old bytes go first: they are never seen beside the new origin.
        let data = File::create(&self.data)?;
        write_json(&self.origin, origin)?;
        Ok(data)
    }

    /// Keeps the bytes, which are a part of the same file under another name.
    pub(super) fn rename(&self, origin: &Origin) -> io::Result<()> {
        write_json(&self.origin, origin)
    }

    /// Goes on behind what is there.
    pub(super) fn append(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.data)
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Deletes what is there. Whoever calls this has the lock.
    pub(super) fn discard(&self) -> io::Result<()> {
        for path in [&self.data, &self.origin] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives the file its name, in place of one that has it; its hash was compared.
    pub(super) fn finish(&self, manifest: &Manifest) -> io::Result<()> {
        File::open(&self.data)?.sync_all()?;
        manifest.write(&self.whole)?;
        std::fs::rename(&self.data, &self.whole)?;
        std::fs::remove_file(&self.origin)
    }
}
