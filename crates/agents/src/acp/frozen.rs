//! A command as shown in an approval: resolved here and now, and checked again before it runs.

use super::{files, frame::RpcError};
use crate::{
    limits::{ADDED_VARIABLES, COMPARED_PROGRAM, TERMINAL_OUTPUT},
    output::one_line,
    process::is_for_children,
};
use agent_client_protocol_schema::v1::CreateTerminalRequest;
use openagents_core::{approval::FrozenCommand, workspace::Workspace};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

/// A command that can't change between the approval and the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frozen {
    pub(super) command: FrozenCommand,
    pub(super) shown: String,
    /// `argv[0]`: some programs depend on the name they are called by.
    pub(super) called: OsString,
    pub(super) limit: usize,
    /// The program is in the workspace, where the agent may change it at any time.
    pub(super) is_in_workspace: bool,
    /// Requested variables that are not set.
    left_out: Vec<String>,
    file: Identity,
}

/// Identifies a file and its version.
#[derive(Debug, Clone, PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of mtime and ctime: mtime can be set back.
    modified: (i64, i64),
    changed: (i64, i64),
    content: Option<[u8; 32]>,
}

impl Identity {
    fn of(path: &Path, is_in_workspace: bool) -> io::Result<Self> {
        let known = std::fs::metadata(path)?;
        let is_read = is_in_workspace && known.is_file() && known.size() <= COMPARED_PROGRAM;
        let content = is_read.then(|| {
            let mut bytes = Vec::new();
            File::open(path)?.take(COMPARED_PROGRAM + 1).read_to_end(&mut bytes)?;
            io::Result::Ok(Sha256::digest(&bytes).into())
        });
        Ok(Self {
            device: known.dev(),
            inode: known.ino(),
            bytes: known.size(),
            modified: (known.mtime(), known.mtime_nsec()),
            changed: (known.ctime(), known.ctime_nsec()),
            // A program can be executable without being readable.
            content: content.and_then(Result::ok),
        })
    }
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
    // Some agents send a whole line, meant for a shell.
    let is_line = request.args.is_empty() && name.contains(char::is_whitespace) && find(name).is_none();
    let (name, args) = if is_line {
        ("/bin/sh", vec!["-c".to_owned(), request.command.clone()])
    } else {
        (name, request.args.clone())
    };
    let found = find(name).ok_or_else(|| refused(format!("{name} was not found")))?;
    let failed = |error: io::Error| refused(format!("{}: {error}", found.display()));
    let program = std::fs::canonicalize(&found).map_err(failed)?;
    let is_in_workspace = program.starts_with(root);
    let file = Identity::of(&program, is_in_workspace).map_err(failed)?;
    let mut shown = if is_line { String::new() } else { name.to_owned() };
    for argument in args.iter().skip(usize::from(is_line)) {
        let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
        let quoted = if is_line || (!argument.is_empty() && argument.chars().all(plain)) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        };
        shown = if shown.is_empty() { quoted } else { shown + " " + &quoted };
    }
    let (environment, left_out) = added(request);
    if environment.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > ADDED_VARIABLES {
        let most = ADDED_VARIABLES >> 10;
        return Err(refused(format!("{name}: more than {most} KiB of variables are not added")));
    }
    Ok(Frozen {
        command: FrozenCommand { program, args, cwd, environment },
        shown,
        called: found.into_os_string(),
        limit: usize::try_from(request.output_byte_limit.unwrap_or(TERMINAL_OUTPUT).min(TERMINAL_OUTPUT))
            .unwrap_or_default(),
        is_in_workspace,
        left_out,
        file,
    })
}

/// Returns the variables that an agent adds, without duplicates, and the names of the forbidden ones.
fn added(request: &CreateTerminalRequest) -> (Vec<(String, String)>, Vec<String>) {
    // These change which code a program runs.
    let is_loader = |name: &str| name.starts_with("LD_") || name.starts_with("DYLD_");
    let (mut added, mut left_out) = (Vec::<(String, String)>::new(), Vec::new());
    for variable in &request.env {
        let (name, value) = (&variable.name, &variable.value);
        // The last value of a name wins.
        added.retain(|(known, _)| known != name);
        if is_loader(name) || !is_for_children(name, value) {
            left_out.push(name.clone());
        } else {
            added.push((name.clone(), value.clone()));
        }
    }
    (added, left_out)
}

impl Frozen {
    /// One line for the approval.
    pub(super) fn title(&self) -> String {
        let title = one_line(&self.shown).unwrap_or_default();
        if self.left_out.is_empty() {
            return title;
        }
        let names = one_line(&self.left_out.join(", ")).unwrap_or_default();
        format!("{title} (without {names}, which may not be set)")
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.command == other.command && self.called == other.called && self.file == other.file
    }

    pub(super) fn is_unchanged(&self) -> bool {
        let is_there = |path: &Path| std::fs::canonicalize(path).is_ok_and(|now| now == *path);
        let FrozenCommand { program, cwd, .. } = &self.command;
        let file = || Identity::of(program, self.is_in_workspace);
        is_there(program) && is_there(cwd) && file().is_ok_and(|now| now == self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn request(value: Value) -> CreateTerminalRequest {
        let mut whole = json!({"sessionId": "s"});
        whole.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn a_command_is_frozen_to_what_it_means_now() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(root.join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", root.join("bin/tool")).unwrap();
        std::os::unix::fs::symlink("/", root.join("out")).unwrap();
        let workspace = Workspace::open_for(&root, None).unwrap();
        let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
        let environment = BTreeMap::from([("PATH".to_owned(), path)]);
        let freeze = |value| freeze(&request(value), &workspace, &environment);
        let shell = std::fs::canonicalize("/bin/sh").unwrap();

        let plain = freeze(json!({"command": "tool", "args": ["-c", "a b", "it's"], "cwd": root})).unwrap();
        assert_eq!(plain.command.program, shell);
        assert_eq!(plain.command.cwd, root);
        assert_eq!(plain.shown, r"tool -c 'a b' 'it'\''s'");
        let line = freeze(json!({"command": "echo a && echo b"})).unwrap();
        assert_eq!(
            (line.command.program, line.command.args),
            (shell, vec!["-c".to_owned(), "echo a && echo b".to_owned()])
        );
        assert_eq!(line.shown, "echo a && echo b");
        let env = json!([
            {"name": "LD_PRELOAD", "value": "x"},
            {"name": "A", "value": "a"},
            {"name": "NODE_OPTIONS", "value": "--require x"},
            {"name": "A", "value": "b"},
            {"name": "OPENAGENTS_TOKEN", "value": "x"},
        ]);
        let added = freeze(json!({"command": "tool", "env": env})).unwrap();
        let expected = [("NODE_OPTIONS", "--require x"), ("A", "b")];
        assert_eq!(
            added.command.environment,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(added.title(), "tool (without LD_PRELOAD, OPENAGENTS_TOKEN, which may not be set)");

        let rows = [
            (json!({"command": "tool", "cwd": "/etc"}), "outside"),
            (json!({"command": "tool", "cwd": root.join("out")}), "outside"),
            (json!({"command": "tool", "cwd": root.join("none")}), "none is not a folder"),
            (json!({"command": "no-such-program"}), "no-such-program was not found"),
            (json!({"command": ""}), " was not found"),
        ];
        for (value, part) in rows {
            let error = freeze(value.clone()).unwrap_err().message;
            assert!(error.to_lowercase().contains(part), "{value}: {error}");
        }
    }

    #[test]
    fn a_program_that_was_written_anew_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (script, away) = (root.join("build.sh"), root.join("away"));
        fs::write(&script, "#!/bin/sh\necho good\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let workspace = Workspace::open_for(&root, None).unwrap();
        let freeze =
            || freeze(&request(json!({"command": "./build.sh"})), &workspace, &BTreeMap::new()).unwrap();
        let frozen = freeze();
        assert!(frozen.is_in_workspace && frozen.is_unchanged() && frozen.is_same(&freeze()));
        let modified = fs::metadata(&script).unwrap().modified().unwrap();
        fs::write(&script, "#!/bin/sh\necho evil\n").unwrap();
        // Same size and same mtime.
        fs::File::options().write(true).open(&script).unwrap().set_modified(modified).unwrap();
        assert!(!frozen.is_unchanged() && !frozen.is_same(&freeze()));
        let frozen = freeze();
        fs::rename(&script, &away).unwrap();
        fs::copy(&away, &script).unwrap();
        assert!(!frozen.is_unchanged());
    }
}
