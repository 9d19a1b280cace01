//! The directory and its handle.

use cap_std::{ambient_authority, fs::Dir};
use std::path::{Path, PathBuf};

/// A directory that tools may read.
#[derive(Debug)]
pub struct Workspace {
    pub(super) root: PathBuf,
    name: String,
    pub(super) home: Option<PathBuf>,
    pub(super) dir: Dir,
}

/// Why a directory cannot be a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The path does not exist or is not a directory. The text is part of the interface.
    #[error("Invalid workspace: Path does not exist or is not a directory")]
    NotADirectory,
    /// The operating system denies listing it.
    #[error("Permission denied: {0}")]
    Unreadable(String),
    /// A whole disk or home folder cannot be a workspace.
    #[error("Invalid workspace: {0} is too wide; choose the folder of one project")]
    TooWide(String),
}

impl Workspace {
    /// Opens a directory.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        Self::open_for(path, std::env::home_dir())
    }

    /// Opens a directory for a user whose home folder is `home`.
    pub fn open_for(path: &Path, home: Option<PathBuf>) -> Result<Self, WorkspaceError> {
        let denied = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => WorkspaceError::Unreadable(path.display().to_string()),
            _ => WorkspaceError::NotADirectory,
        };
        let root = std::fs::canonicalize(path).map_err(denied)?;
        if !root.is_dir() {
            return Err(WorkspaceError::NotADirectory);
        }
        let home = home.and_then(|home| std::fs::canonicalize(home).ok());
        // Excludes `/`, the home folder and its parents: `/home`, `/Users`.
        if root.parent().is_none() || home.as_deref().is_some_and(|home| home.starts_with(&root)) {
            return Err(WorkspaceError::TooWide(root.display().to_string()));
        }
        std::fs::read_dir(&root).map_err(denied)?;
        Self::at(root, home).map_err(denied)
    }

    /// Opens a directory even if it is too wide for a workspace, to find single files in it.
    pub(crate) fn open_any(path: &Path) -> std::io::Result<Self> {
        Self::at(std::fs::canonicalize(path)?, None)
    }

    fn at(root: PathBuf, home: Option<PathBuf>) -> std::io::Result<Self> {
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { root, name, home, dir })
    }

    /// Returns the canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the last component of the path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a path for display and for the wire; `/` between components, `.` for the workspace itself.
    pub fn shown(path: &Path) -> String {
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
    }
}
