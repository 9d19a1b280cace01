//! Writes files below the workspace handle.

use super::{directory::Workspace, error::PathError};
use cap_std::fs::{Dir, OpenOptions};
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

impl Workspace {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn write(workspace: &Workspace, path: &str, text: &str) -> Result<(), PathError> {
        workspace.write_file(&workspace.resolve(path)?, text.as_bytes())
    }

    #[test]
    fn files_are_replaced_whole_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let outside = folder.path().join("outside.txt");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(&outside, "outside").unwrap();
        fs::write(root.join("run.sh"), "old").unwrap();
        fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("run.sh", root.join("link")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("escape")).unwrap();
        std::os::unix::fs::symlink("../nowhere.txt", root.join("dangling")).unwrap();
        let status = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
        assert!(status.success());
        let workspace = Workspace::open_for(&root, None).unwrap();

        write(&workspace, "link", "new").unwrap();
        assert_eq!(fs::read_to_string(root.join("run.sh")).unwrap(), "new");
        assert!(root.join("link").is_symlink());
        let mode = fs::metadata(root.join("run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        write(&workspace, "made/for/it.txt", "it").unwrap();
        assert_eq!(fs::read_to_string(root.join("made/for/it.txt")).unwrap(), "it");

        for path in ["src", ".", "pipe", "escape", "dangling", "../outside.txt", "run.sh/below"] {
            assert!(write(&workspace, path, "no").is_err(), "{path} was written");
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), "outside");
        assert!(!folder.path().join("nowhere.txt").exists());
        let left = fs::read_dir(&root).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert!(!left.iter().any(|name| name.starts_with(".openagents-")), "{left:?}");
    }
}
