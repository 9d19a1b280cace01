//! Opens files and directories below the workspace handle.

use super::{directory::Workspace, error::PathError};
use cap_std::fs::{Dir, OpenOptions};
use std::{fs::File, io::ErrorKind, path::Path, time::SystemTime};

/// A regular file opened below the workspace.
#[derive(Debug)]
pub struct BeneathFile {
    /// The open file.
    pub file: File,
    /// Size in bytes at opening.
    pub size: u64,
    /// Modification time, if the file system supports it.
    pub modified: Option<SystemTime>,
}

impl Workspace {
    /// Opens a regular file; `path` comes from [`Workspace::resolve`] or from a walk.
    pub fn open_file(&self, path: &Path) -> Result<BeneathFile, PathError> {
        let shown = Self::shown(path);
        let mut options = OpenOptions::new();
        options.read(true);
        // Non-blocking: opening a FIFO without a writer must not block.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
        let opened = self.dir.open_with(path, &options);
        let file = opened.map_err(|error| PathError::beneath(&shown, &error))?.into_std();
        let metadata = file.metadata().map_err(|error| PathError::io(&shown, &error))?;
        if metadata.is_dir() {
            return Err(PathError::WrongKind(format!("{shown} is a directory")));
        }
        if !metadata.is_file() {
            return Err(PathError::WrongKind(format!("{shown} is not a regular file")));
        }
        Ok(BeneathFile { file, size: metadata.len(), modified: metadata.modified().ok() })
    }

    /// Opens a folder of the workspace.
    pub fn open_dir(&self, path: &Path) -> Result<Dir, PathError> {
        let shown = Self::shown(path);
        self.dir.open_dir(path).map_err(|error| PathError::beneath(&shown, &error))
    }

    /// Returns whether something exists at `path`. Also true for a broken link, and if the path cannot be checked, as
    /// behind a link that leads out.
    pub fn exists(&self, path: &Path) -> bool {
        let is_absent = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory);
        !self.dir.symlink_metadata(path).is_err_and(|error| is_absent(error.kind()))
    }

    /// Returns the id of the user who owns the file, folder or link at `path`.
    #[cfg(unix)]
    pub(crate) fn owner(&self, path: &Path) -> Option<u32> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.dir.symlink_metadata(path).ok().map(|known| cap_std::fs::MetadataExt::uid(&known))
    }

    #[cfg(not(unix))]
    pub(crate) fn owner(&self, _path: &Path) -> Option<u32> {
        None
    }

    /// Returns whether `path` is a regular file; false if it cannot be checked.
    pub fn is_file(&self, path: &Path) -> bool {
        self.dir.metadata(path).is_ok_and(|metadata| metadata.is_file())
    }
}
