//! The workspace files that a command names, and the parts of the command that cannot be pinned.

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

/// Maximum number of words listed as not pinned.
const UNPINNED: usize = 10;

/// The workspace paths that a command names.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Named {
    /// The files, with their current digests.
    pub(super) digests: Vec<ContentDigest>,
    /// The folders.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Programs that run other files, and words whose value only the shell knows.
    pub(super) unpinned: Vec<String>,
    /// The command names a file or folder in the workspace, or has more paths than are checked.
    pub(super) any: bool,
}

impl Named {
    /// Searches every word of a command and of its variables for paths, so that `sh -c 'cd scripts && ./build.sh'`
    /// names `scripts/build.sh`.
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

    /// Records a path. Returns false if there is no room for another file.
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

/// Returns the SHA-256 of a file, in hex. A file too long to be read whole is identified by its beginning and its
/// [`Identity`], which includes the time of its last change.
fn digest(path: &Path) -> io::Result<String> {
    let (mut bytes, mut file) = (Vec::new(), File::open(path)?);
    (&mut file).take(DIGESTED_BYTES).read_to_end(&mut bytes)?;
    let mut digest = Sha256::new_with_prefix(&bytes);
    if file.metadata()?.len() > DIGESTED_BYTES {
        digest.update(format!("{:?}", Identity::of(path)?));
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
