//! The users who own settings. Another user can change their own files at any time.

use std::collections::BTreeSet;

/// The owners of the files and folders that are read.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Ids of users who are not named: the current user, the superuser, and the owner of the folder that agents start
    /// in.
    usual: BTreeSet<u32>,
    others: BTreeSet<u32>,
}

impl Owners {
    pub(super) fn of(folder: Option<u32>) -> Self {
        Self { usual: folder.into_iter().chain([0, own()]).collect(), others: BTreeSet::new() }
    }

    pub(super) fn note(&mut self, owner: Option<u32>) {
        self.others.extend(owner.filter(|owner| !self.usual.contains(owner)));
    }

    /// Returns the names of the other users recorded since the last call.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.others).into_iter().map(name).collect()
    }
}

/// Returns the name of the user who owns a folder, unless it is the current user or the superuser.
pub(super) fn other(owner: Option<u32>) -> Option<String> {
    owner.filter(|owner| *owner != 0 && *owner != own()).map(name)
}

#[cfg(unix)]
fn own() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[cfg(not(unix))]
fn own() -> u32 {
    0
}

#[cfg(unix)]
fn name(id: u32) -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(id));
    user.ok().flatten().map_or_else(|| format!("user {id}"), |user| user.name)
}

#[cfg(not(unix))]
fn name(id: u32) -> String {
    format!("user {id}")
}
