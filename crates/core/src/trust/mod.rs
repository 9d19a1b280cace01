//! The settings that agents load from the folder they start in, and the folders that trust covers.
//!
//! Agents read settings from the folder that they run in and from its parents: hooks that run automatically, servers
//! that are started, permissions, addresses. A user who trusts a folder sees all of them first, and is asked again when
//! one of them changes. A folder with settings that cannot be shown in full cannot be trusted.
//!
//! Files are read beneath a workspace handle, up to the limits in `limits::trust`. This module never runs a program.

mod catalogue;
mod claude;
mod coverage;
mod digests;
mod files;
mod found;
mod git;
mod git_config;
#[cfg(test)]
mod hostile_tests;
mod lines;
#[cfg(test)]
mod loaded_tests;
mod owners;
mod question;
mod read;
mod scripts;
mod settings;
#[cfg(test)]
mod tests;
mod tree;
mod variables;

pub use catalogue::{CatalogueEntry, Loader, catalogue};
pub use coverage::{covers, place, places};
pub use found::{AgentFile, AgentFiles, Risk};
pub use question::{NOT_NOW, NOT_WHOLE, NOTHING_KNOWN, TRUST, TRUST_TITLE, TrustQuestion};

use crate::{
    git::top_of,
    limits::trust as limits,
    workspace::{Workspace, WorkspaceError},
};
use files::FolderReader;
use std::path::{Path, PathBuf};

/// Reads the agent settings in a folder and in the folders above it, up to the home folder or the root of the disk:
/// agents read settings there too, inside or outside a repository.
pub fn look(folder: &Path) -> Result<AgentFiles, WorkspaceError> {
    let own = Workspace::open(folder)?;
    let root = own.root().to_owned();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    // In the repository, links may lead from one part to another.
    let repository = top_of(&root);
    let is_inside = |level: &&Path| repository.as_deref().is_some_and(|top| level.starts_with(top));
    // The home folder belongs to the user, and so do the settings in it.
    let is_own = |level: &&Path| Some(*level) == home.as_deref();
    let levels: Vec<&Path> = root.ancestors().take_while(|level| !is_own(level)).collect();
    let top = levels.iter().copied().take_while(is_inside).last().unwrap_or(&root);
    let (top, is_cut) = match Workspace::open_any(top) {
        Ok(top) => (top, levels.len() > limits::LEVELS),
        Err(_) => (own, true),
    };
    let below = |top: &Path| root.strip_prefix(top).map(Path::to_owned).unwrap_or_default();
    let inside = below(top.root());
    let above = inside.components().count() + 1;
    let mut reader = FolderReader::new(top, inside.clone());
    for (level, folder) in inside.ancestors().enumerate() {
        read::folder(&mut reader, folder, &"../".repeat(level));
    }
    for (level, folder) in levels.iter().enumerate().take(limits::LEVELS).skip(above) {
        match Workspace::open_any(folder) {
            Ok(top) => {
                reader.go_up(top, below(folder));
                read::folder(&mut reader, &PathBuf::new(), &"../".repeat(level));
            }
            Err(_) => read::unreadable(&mut reader, &"../".repeat(level)),
        }
    }
    if is_cut {
        reader.cut();
    }
    Ok(reader.end())
}
