//! A command as shown in an approval: resolved when it is shown, and checked again before it runs.

use super::{files, frame::RpcError};
use crate::{
    limits::{ADDED_VARIABLES, DIGESTED_BYTES, NAMED_FILES, NAMED_PATHS, TERMINAL_OUTPUT},
    output::one_line,
    process::is_for_children,
};
use agent_client_protocol_schema::v1::CreateTerminalRequest;
use openagents_core::{
    CancellationToken,
    approval::{ContentDigest, FrozenCommand},
    shell_line::{LineScene, NamedPaths},
    visible::{escaped, shell_word},
    workspace::Workspace,
};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A command that can't change between the approval and the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frozen {
    pub(super) command: FrozenCommand,
    /// One line for titles and errors.
    pub(super) shown: String,
    /// `argv[0]`: some programs depend on the name they are invoked by.
    pub(super) called: OsString,
    pub(super) limit: usize,
    /// The workspace files that it names, which the agent may change at any time.
    named: Named,
    left_out: Vec<String>,
    file: Identity,
}

pub(super) fn freeze(
    request: &CreateTerminalRequest,
    workspace: &Workspace,
    environment: &BTreeMap<String, String>,
) -> Result<Frozen, RpcError> {
    let refused = |why: String| RpcError::refused(why);
    let root = workspace.root();
    let cwd = match &request.cwd {
        Some(cwd) => files::beneath(workspace, cwd)?,
        None => ".".into(),
    };
    let canonical = std::fs::canonicalize(root.join(&cwd)).ok().filter(|cwd| cwd.is_dir());
    let shown_cwd = Workspace::shown(&cwd);
    let cwd = canonical.ok_or_else(|| refused(format!("{shown_cwd} is not a folder")))?;
    if !cwd.starts_with(root) {
        return Err(refused(format!("{shown_cwd} is outside the workspace")));
    }
    let find = |name: &str| which::which_in(name, environment.get("PATH"), &cwd).ok();
    let name = request.command.trim();
    // Some agents send a whole shell command line.
    let is_line = request.args.is_empty() && name.contains(char::is_whitespace) && find(name).is_none();
    let (name, args) = if is_line {
        ("/bin/sh", vec!["-c".to_owned(), request.command.clone()])
    } else {
        (name, request.args.clone())
    };
    let found = find(name).ok_or_else(|| refused(format!("{name} was not found")))?;
    let failed = |error: io::Error| refused(format!("{}: {error}", found.display()));
    let program = std::fs::canonicalize(&found).map_err(failed)?;
    let file = Identity::of_file(&program).map_err(failed)?;
    if args.iter().any(|argument| argument.contains('\0')) {
        return Err(refused(format!("{name}: an argument contains a zero byte")));
    }
    let shown = match is_line && !request.command.contains('\n') {
        true => escaped(&request.command).into_owned(),
        false => {
            let words = std::iter::once(name).chain(args.iter().map(String::as_str));
            words.map(shell_word).collect::<Vec<_>>().join(" ")
        }
    };
    let (environment, left_out) = split_variables(request);
    if environment.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > ADDED_VARIABLES {
        let most = ADDED_VARIABLES >> 10;
        return Err(refused(format!("{name}: more than {most} KiB of variables are not added")));
    }
    let called = found.to_str().filter(|called| Path::new(called) != program).map(str::to_owned);
    let (digests, unpinned) = (Vec::new(), Vec::new());
    let mut command = FrozenCommand { program, called, args, cwd, environment, digests, unpinned };
    let named = Named::in_workspace(root, &command);
    (command.digests, command.unpinned) = (named.digests.clone(), named.unpinned.clone());
    Ok(Frozen {
        command,
        shown,
        called: found.into_os_string(),
        limit: usize::try_from(request.output_byte_limit.unwrap_or(TERMINAL_OUTPUT).min(TERMINAL_OUTPUT))
            .unwrap_or_default(),
        named,
        left_out,
        file,
    })
}

/// Returns the variables that an agent adds, without duplicates, and the names of the forbidden ones.
fn split_variables(request: &CreateTerminalRequest) -> (Vec<(String, String)>, Vec<String>) {
    // These change which code a program runs.
    let is_loader = |name: &str| name.starts_with("LD_") || name.starts_with("DYLD_");
    // The user reads them as assignments in front of the command.
    let is_identifier = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    let (mut added, mut left_out) = (Vec::<(String, String)>::new(), Vec::new());
    for variable in &request.env {
        let (name, value) = (&variable.name, &variable.value);
        // The last value of a name wins.
        added.retain(|(known, _)| known != name);
        if is_loader(name) || !is_identifier(name) || !is_for_children(name, value) {
            left_out.push(name.clone());
        } else {
            added.push((name.clone(), value.clone()));
        }
    }
    (added, left_out)
}

impl Frozen {
    pub(super) fn title(&self) -> String {
        let title = one_line(&self.shown).unwrap_or_default();
        if self.left_out.is_empty() {
            return title;
        }
        let names = one_line(&self.left_out.join(", ")).unwrap_or_default();
        format!("{title} (without {names}, which may not be set)")
    }

    /// Returns whether "always" may be offered: nothing that the agent can change affects what the command does.
    pub(super) fn may_stand(&self) -> bool {
        let FrozenCommand { program, environment, .. } = &self.command;
        !self.named.any && environment.is_empty() && is_repeatable(program, Path::new(&self.called))
    }

    /// Returns whether the program and all files that the command names are unchanged since it was shown.
    pub(super) fn is_unchanged(&self, root: &Path) -> bool {
        let is_there = |path: &Path| std::fs::canonicalize(path).is_ok_and(|now| now == *path);
        let FrozenCommand { program, cwd, digests, .. } = &self.command;
        is_there(program)
            && is_there(cwd)
            && Identity::of_file(program).is_ok_and(|now| now == self.file)
            && Named::in_workspace(root, &self.command).digests == *digests
    }

    /// Returns whether the command names `file`, a canonical path, or may run files that cannot be listed.
    pub(super) fn names(&self, root: &Path, file: &Path) -> bool {
        let Named { digests, folders, unpinned, .. } = &self.named;
        let is_file = digests.iter().any(|digest| root.join(&digest.path) == file);
        is_file || !unpinned.is_empty() || folders.iter().any(|folder| file.starts_with(folder))
    }

    /// Returns whether writing `file`, a canonical path, may change what the command does.
    pub(super) fn is_touched_by(&self, root: &Path, file: &Path) -> bool {
        let is_below = self.named.folders.iter().any(|folder| file.starts_with(folder));
        is_below || !self.named.unpinned.is_empty() || !self.is_unchanged(root)
    }
}

const UNPINNED: usize = 10;

/// The workspace files and folders that a command names, and the parts of it that cannot be pinned.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) digests: Vec<ContentDigest>,
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
            if !named.add_path(root, path) {
                named.any = true;
                named.unpinned.push("more files than are checked".to_owned());
                break;
            }
        }
        named
    }

    fn add_path(&mut self, root: &Path, path: &Path) -> bool {
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
    pub(super) fn of_file(path: &Path) -> io::Result<Self> {
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
        digest.update(format!("{:?}", Identity::of_file(path)?));
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// File names of programs for which "always" may be offered. They only print or count, so files that an agent writes
/// cannot change what they do.
const PRINT_ONLY: &str = "\
    b2sum|base32|base64|basename|cat|cksum|cmp|comm|cut|date|df|diff|dirname|du|echo|expand|expr|false|fold|free|groups|\
    head|hexdump|hostname|id|join|locale|ls|lsblk|lscpu|lsof|md5sum|nl|nproc|od|paste|pgrep|printf|ps|pwd|readlink|\
    realpath|rev|seq|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|shasum|sleep|stat|strings|sum|sw_vers|tac|tail|\
    test|tr|true|tty|uname|uniq|uptime|vm_stat|wc|who|whoami|xxd";

/// Returns whether a program does the same each time for the same arguments: both its file name and the name it is
/// invoked by are in [`PRINT_ONLY`].
pub(super) fn is_repeatable(program: &Path, called: &Path) -> bool {
    let is_listed = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        PRINT_ONLY.split('|').any(|listed| listed == name)
    };
    is_listed(program) && is_listed(called)
}

/// One agent's commands that wait for an answer, by terminal. If the agent writes a file that may change what such a
/// command does, the approval is void, because the user has read something else.
#[derive(Debug, Default)]
pub(super) struct PendingCommands(Mutex<HashMap<String, (Arc<Frozen>, Void)>>);

/// Cancels an approval that has become void.
#[derive(Debug, Clone)]
pub(super) struct Void {
    /// Cancelled when the approval becomes void or the request itself is withdrawn.
    pub(super) until: CancellationToken,
    written: Arc<Mutex<Option<String>>>,
}

impl Void {
    pub(super) fn written_file(&self) -> Option<String> {
        self.written.lock().clone()
    }
}

impl PendingCommands {
    pub(super) fn add(&self, terminal: &str, frozen: Arc<Frozen>, until: &CancellationToken) -> Void {
        let void = Void { until: until.child_token(), written: Arc::default() };
        self.0.lock().insert(terminal.to_owned(), (frozen, void.clone()));
        void
    }

    pub(super) fn remove(&self, terminal: &str) {
        self.0.lock().remove(terminal);
    }

    /// Returns whether writing `file`, a canonical path, may change what a command does.
    pub(super) fn names(&self, root: &Path, file: &Path) -> bool {
        self.0.lock().values().any(|(frozen, _)| frozen.names(root, file))
    }

    /// Voids the approvals of all commands that writing `file`, a canonical path, may change.
    /// Reads the files that they name.
    pub(super) fn void(&self, root: &Path, file: &Path) {
        let pending: Vec<_> = self.0.lock().values().cloned().collect();
        for (frozen, void) in pending {
            if frozen.is_touched_by(root, file) {
                let shown = Workspace::shown(file.strip_prefix(root).unwrap_or(file));
                void.written.lock().get_or_insert(escaped(&shown).replace('\n', "\\n"));
                void.until.cancel();
            }
        }
    }
}

#[cfg(test)]
#[path = "frozen_tests.rs"]
mod tests;
