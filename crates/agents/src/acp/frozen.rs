//! A command as shown in an approval: resolved when it is shown, and checked again before it runs.

use super::{
    files,
    frame::RpcError,
    named::{Identity, Named},
    repeatable::is_repeatable,
};
use crate::{
    limits::{ADDED_VARIABLES, TERMINAL_OUTPUT},
    output::one_line,
    process::is_for_children,
};
use agent_client_protocol_schema::v1::CreateTerminalRequest;
use openagents_core::{
    approval::FrozenCommand,
    visible::{escaped, shell_word},
    workspace::Workspace,
};
use std::{collections::BTreeMap, ffi::OsString, io, path::Path};

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
    /// Requested variables that are not set.
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
    let file = Identity::of(&program).map_err(failed)?;
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
    let (environment, left_out) = added(request);
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
fn added(request: &CreateTerminalRequest) -> (Vec<(String, String)>, Vec<String>) {
    // These change which code a program runs.
    let is_loader = |name: &str| name.starts_with("LD_") || name.starts_with("DYLD_");
    // The user reads them as assignments in front of the command.
    let is_identifier = |name: &str| {
        let mut signs = name.chars();
        signs.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && signs.all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
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
    /// Returns the title of the approval, on one line.
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
            && Identity::of(program).is_ok_and(|now| now == self.file)
            && Named::in_workspace(root, &self.command).digests == *digests
    }

    /// Returns whether writing `file`, a canonical path, may change what the command does.
    pub(super) fn is_touched_by(&self, root: &Path, file: &Path) -> bool {
        let is_below = self.named.folders.iter().any(|folder| file.starts_with(folder));
        is_below || !self.named.unpinned.is_empty() || !self.is_unchanged(root)
    }
}

#[cfg(test)]
#[path = "frozen_tests.rs"]
mod tests;
