//! The files of the workspace that a command names, and what of it cannot be pinned.

use crate::limits::{DIGESTED_BYTES, NAMED_FILES, NAMED_PATHS};
use openagents_core::{
    approval::{ContentDigest, FrozenCommand},
    shell_line::{LineScene, NamedPaths},
    visible::escaped,
};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Words that are named at most as not pinned.
const UNPINNED: usize = 10;

/// What a command names in the workspace.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Named {
    /// Its files, in their present state.
    pub(super) digests: Vec<ContentDigest>,
    /// Its folders.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Programs that run other files, and words whose value only the shell knows.
    pub(super) unpinned: Vec<String>,
    /// It names a file or folder there, or more than is looked at.
    pub(super) any: bool,
}

impl Named {
    /// Looks for paths in every word of a command and of its variables, so that `sh -c 'cd scripts && ./build.sh'` names
    /// `scripts/build.sh`.
    pub(super) fn in_workspace(root: &Path, command: &FrozenCommand) -> Self {
        let scene =
            LineScene { folders: std::slice::from_ref(&command.cwd), project: root, most: NAMED_PATHS };
        let mut paths = NamedPaths::default();
        let program = command.program.to_string_lossy();
        let words: Vec<&str> =
            std::iter::once(&*program).chain(command.args.iter().map(String::as_str)).collect();
        paths.add_command(&words, scene);
        command.environment.iter().for_each(|(_, value)| paths.add_line(value, scene));
        let mut named = Self { any: paths.is_cut, ..Self::default() };
        named.unpinned = paths
            .tools
            .iter()
            .chain(&paths.unknown)
            .take(UNPINNED)
            .map(|word| escaped(word).into_owned())
            .collect();
        if paths.is_cut {
            named.unpinned.push("more files than are checked".to_owned());
        }
        for path in &paths.paths {
            if !named.take(root, path) {
                named.any = true;
                named.unpinned.push("more files than are checked".to_owned());
                break;
            }
        }
        named
    }

    /// Returns false if there is no room for a file.
    fn take(&mut self, root: &Path, path: &Path) -> bool {
        let Some(path) = std::fs::canonicalize(path).ok().filter(|path| path.starts_with(root)) else {
            return true;
        };
        self.any = true;
        if path.is_dir() {
            self.folders.insert(path);
        } else if self.digests.iter().all(|known| known.path != path)
            && path.is_file()
            // A program can be executable without being readable.
            && let Ok(sha256) = digest(&path)
        {
            if self.digests.len() == NAMED_FILES {
                return false;
            }
            self.digests.push(ContentDigest { path, sha256 });
        }
        true
    }
}

/// Identifies a file and its version.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of mtime and ctime: mtime can be set back.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let known = std::fs::metadata(path)?;
        Ok(Self {
            device: known.dev(),
            inode: known.ino(),
            bytes: known.size(),
            modified: (known.mtime(), known.mtime_nsec()),
            changed: (known.ctime(), known.ctime_nsec()),
        })
    }
}

/// Returns the SHA-256 of a file, in hex. A file that is too long to be read whole is known by its beginning, and by when
/// it was last changed.
fn digest(path: &Path) -> io::Result<String> {
    let (mut bytes, mut file) = (Vec::new(), File::open(path)?);
    (&mut file).take(DIGESTED_BYTES).read_to_end(&mut bytes)?;
    let mut digest = Sha256::new_with_prefix(&bytes);
    if file.metadata()?.len() > DIGESTED_BYTES {
        digest.update(format!("{:?}", Identity::of(path)?));
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
