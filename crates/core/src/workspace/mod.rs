//! A directory, canonicalised once, that contains everything a tool may access.
//!
//! Names are only hints: every file is opened below the directory handle, so replacing a path with a symlink after a
//! check has no effect, and a FIFO or a device cannot block a tool.

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};
use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};
use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write as _},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

/// Maximum bytes at the beginning of a file that are checked for a NUL.
pub const BINARY_PROBE: usize = 8 << 10;

/// A directory that tools may read.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    name: String,
    home: Option<PathBuf>,
    dir: Dir,
}

/// A regular file opened below the workspace.
#[derive(Debug)]
pub struct BeneathFile {
    pub file: File,
    /// Size in bytes at opening.
    pub size: u64,
    /// Modification time, if the file system supports it.
    pub modified: Option<SystemTime>,
}

/// Why a directory cannot be a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The path does not exist or is not a directory. The text is part of the interface.
    #[error("Invalid workspace: Path does not exist or is not a directory")]
    NotADirectory,
    #[error("Permission denied: {0}")]
    Unreadable(String),
    #[error("Invalid workspace: {0} is too wide; choose the folder of one project")]
    TooWide(String),
}

/// Why a path is unusable. The texts are part of the interface: clients show them unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("Path outside workspace: {0}")]
    Outside(String),
    #[error("File not found: {0}")]
    NotFound(String),
    #[error("Permission denied: {0}")]
    Denied(String),
    /// Not of the requested kind: `src is a directory`.
    #[error("Invalid parameters: {0}")]
    WrongKind(String),
    #[error("Execution failed: {0}")]
    Io(String),
}

impl PathError {
    pub fn io(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path.to_owned()),
            io::ErrorKind::PermissionDenied => Self::Denied(path.to_owned()),
            _ => Self::Io(format!("{path}: {error}")),
        }
    }

    /// Converts an I/O error from below the workspace handle, where the path may lead out.
    fn beneath(path: &str, error: &io::Error) -> Self {
        if escapes(error) { Self::Outside(path.to_owned()) } else { Self::io(path, error) }
    }
}

impl Workspace {
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
        Self::open_root(root, home).map_err(denied)
    }

    /// Opens a directory even if it is too wide for a workspace, to find single files in it.
    pub(crate) fn open_any(path: &Path) -> std::io::Result<Self> {
        Self::open_root(std::fs::canonicalize(path)?, None)
    }

    fn open_root(root: PathBuf, home: Option<PathBuf>) -> std::io::Result<Self> {
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

    /// Opens a regular file; `path` comes from [`Workspace::resolve`] or from a walk.
    pub fn open_file(&self, path: &Path) -> Result<BeneathFile, PathError> {
        let shown = Self::shown(path);
        let mut options = OpenOptions::new();
        options.read(true);
        // Non-blocking: opening a FIFO without a writer must not block.
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
    pub(crate) fn owner(&self, path: &Path) -> Option<u32> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.dir.symlink_metadata(path).ok().map(|known| cap_std::fs::MetadataExt::uid(&known))
    }

    /// Returns whether `path` is a regular file; false if it cannot be checked.
    pub fn is_file(&self, path: &Path) -> bool {
        self.dir.metadata(path).is_ok_and(|metadata| metadata.is_file())
    }

    /// Converts a path written by a user or a model to one relative to the workspace; `.` is the workspace itself.
    /// The path need not exist. Fails with [`PathError::Outside`] if it leads out.
    pub fn resolve(&self, input: &str) -> Result<PathBuf, PathError> {
        let outside = || PathError::Outside(input.to_owned());
        let written = relative(input, self).ok_or_else(outside)?;
        let path = collapse(&written).ok_or_else(outside)?;
        match self.dir.canonicalize(&path) {
            Ok(_) => Ok(path),
            Err(error) if escapes(&error) => self.through_absolute_link(&path).ok_or_else(outside),
            // Missing, unreadable, or a loop: opening it returns the actual error.
            Err(_) => Ok(path),
        }
    }

    /// Returns the target's own path for a symlink with an absolute target inside the workspace. A directory handle
    /// rejects such links as leading out.
    fn through_absolute_link(&self, path: &Path) -> Option<PathBuf> {
        let real = std::fs::canonicalize(self.root.join(path)).ok()?;
        collapse(real.strip_prefix(&self.root).ok()?)
    }

    /// Replaces a file atomically, or creates it with missing folders. Keeps permissions. `path` comes from
    /// [`Workspace::resolve`]; only regular files are replaced.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), PathError> {
        let shown = Self::shown(path);
        let refused = |why: &str| PathError::WrongKind(format!("{shown} {why}"));
        let failed = |error: io::Error| PathError::beneath(&shown, &error);
        let path = self.behind_links(path).map_err(failed)?;
        let name = path.file_name().ok_or_else(|| refused("is a directory"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        self.dir.create_dir_all(parent).map_err(failed)?;
        let folder = self.dir.open_dir(parent).map_err(failed)?;
        let old = match folder.symlink_metadata(name) {
            Ok(old) if old.is_dir() => return Err(refused("is a directory")),
            Ok(old) if !old.is_file() => return Err(refused("is not a regular file")),
            Ok(old) => Some(old.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let temporary = format!(".openagents-{}", uuid::Uuid::new_v4());
        let written = replace(&folder, &temporary, name.as_ref(), old, bytes);
        if written.is_err() {
            // The file may not exist; only the first error matters.
            let _ = folder.remove_file(&temporary);
        }
        written.map_err(failed)
    }

    /// Resolves links, so that the target is replaced, not the link.
    fn behind_links(&self, path: &Path) -> io::Result<PathBuf> {
        match self.dir.canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.exists(path) => {
                Ok(path.to_owned())
            }
            other => other,
        }
    }
}

/// cap-std reports a path that leads out as `PermissionDenied` without an operating-system code.
fn escapes(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Strips the aliases of the workspace. The result may contain `..`; `None` for an absolute path elsewhere.
fn relative(input: &str, workspace: &Workspace) -> Option<PathBuf> {
    let text = input.trim();
    if text.contains('\0') {
        return None;
    }
    let expanded = expand(text, workspace);
    let path = Path::new(&expanded);
    // The real path is checked first: a root such as `/workspace/app` or `/path/to/app` is not its own alias.
    if path.is_absolute()
        && let Some(rest) = beneath(path, workspace.root())
    {
        return Some(rest);
    }
    let bare = expanded.trim_matches('/');
    // Existing names win: Bazel has a file named WORKSPACE.
    let means_all = bare.eq_ignore_ascii_case("workspace") && !workspace.is_file(Path::new(bare));
    if bare.is_empty() || bare == "." || means_all {
        return Some(PathBuf::from("."));
    }
    let was_absolute = expanded.starts_with('/');
    let rest =
        strip(bare, "path/to").or_else(|| strip_directory(bare, "workspace", workspace)).unwrap_or(bare);
    let named = strip_directory(rest, workspace.name(), workspace);
    match named {
        Some(inside) => Some(dot_if_empty(inside)),
        // Any other absolute path is outside the workspace.
        None if was_absolute && rest.len() == bare.len() => None,
        None => Some(dot_if_empty(rest)),
    }
}

/// Expands `file://` and `~`.
fn expand(text: &str, workspace: &Workspace) -> String {
    let local = text.strip_prefix("file://").map(|rest| {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
    });
    let text = local.unwrap_or_else(|| text.to_owned());
    let from_home = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (from_home, &workspace.home) {
        (Some(rest), Some(home)) => format!("{}{rest}", home.display()),
        _ => text,
    }
}

/// Returns the part of `path` below `root`, even if `path` goes through a symlink.
fn beneath(path: &Path, root: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix(root) {
        return Some(rest.to_path_buf());
    }
    // `/tmp/x` is `/private/tmp/x` on macOS, so the canonical existing parts are compared.
    let existing = path.ancestors().find(|part| part.exists())?;
    let real = std::fs::canonicalize(existing).ok()?;
    let rest = path.strip_prefix(existing).ok()?;
    real.strip_prefix(root).ok().map(|inside| inside.join(rest))
}

fn strip<'a>(bare: &'a str, leading: &str) -> Option<&'a str> {
    let rest = bare.strip_prefix(leading)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Strips one leading directory `name`, unless it exists in the workspace.
fn strip_directory<'a>(bare: &'a str, name: &str, workspace: &Workspace) -> Option<&'a str> {
    strip(bare, name).filter(|_| !workspace.exists(Path::new(name)))
}

fn dot_if_empty(rest: &str) -> PathBuf {
    PathBuf::from(if rest.is_empty() { "." } else { rest })
}

/// Removes `.` and `..` lexically; `None` if the path leads out or is absolute.
fn collapse(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => clean.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    if clean.as_os_str().is_empty() {
        clean.push(".");
    }
    Some(clean)
}

fn replace(
    folder: &Dir,
    temporary: &str,
    name: &Path,
    permissions: Option<cap_std::fs::Permissions>,
    bytes: &[u8],
) -> io::Result<()> {
    let mut file = folder.open_with(temporary, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()?;
    folder.rename(temporary, folder, name)
}

/// The encoding that a byte order mark names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl MarkedEncoding {
    /// Returns the encoding of a file by its first bytes; `None` without a mark.
    pub fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Some(Self::Utf8),
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }

    /// Returns its IANA name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }
}

/// Returns whether a file is binary: it has a NUL near its beginning, and is not marked as UTF-16.
pub fn is_binary(head: &[u8]) -> bool {
    let is_utf16 =
        matches!(MarkedEncoding::detect(head), Some(MarkedEncoding::Utf16Le | MarkedEncoding::Utf16Be));
    !is_utf16 && memchr::memchr(0, &head[..head.len().min(BINARY_PROBE)]).is_some()
}

/// Returns a reader of a text file that decodes it and skips the mark. Without a mark, bytes that are not UTF-8 stay as
/// they are: Latin-1 keeps its ASCII words.
pub fn decoding<R: Read>(file: R) -> DecodeReaderBytes<R, Vec<u8>> {
    DecodeReaderBytesBuilder::new().bom_override(true).strip_bom(true).utf8_passthru(true).build(file)
}

/// Decodes the beginning of a text file that is in memory.
pub fn decoded(bytes: Vec<u8>) -> Vec<u8> {
    if MarkedEncoding::detect(&bytes).is_none() {
        return bytes;
    }
    let mut text = Vec::with_capacity(bytes.len());
    // Reading from memory cannot fail.
    let _ = decoding(bytes.as_slice()).read_to_end(&mut text);
    text
}

#[cfg(test)]
mod tests;
