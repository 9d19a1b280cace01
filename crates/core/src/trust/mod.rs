//! The settings that agents load from the folder they start in, and the folders that a trust covers.
//!
//! Agents read settings from the folder that they run in: hooks that run by themselves, servers that are started,
//! permissions. A person who trusts a folder sees all of them first, and is asked again when one of them changes. A
//! folder with settings that cannot be shown in full cannot be trusted.
//!
//! Files are read beneath a workspace handle, up to the limits in `limits::trust`. Nothing here runs anything.

mod catalogue;
mod claude;
mod coverage;
mod digests;
mod files;
mod found;
#[cfg(test)]
mod hostile_tests;
mod question;
mod read;
mod scripts;
mod settings;
mod shown;
#[cfg(test)]
mod tests;
mod tree;

pub use coverage::{covers, place};
pub use found::{AgentFile, AgentFileKind, AgentFiles};
pub use question::{NOT_NOW, NOT_WHOLE, TRUST, TRUST_TITLE, TrustQuestion};

use crate::{
    history::top_of,
    limits::trust as limits,
    workspace::{Workspace, WorkspaceError},
};
use files::FolderReader;
use std::path::Path;

/// Reads the agent settings in a folder and in those above it, up to the root of its repository: agents that run in
/// a part of a repository read settings there too, and links may lead from one part to another.
pub fn look(folder: &Path) -> Result<AgentFiles, WorkspaceError> {
    let own = Workspace::open(folder)?;
    let root = own.root().to_owned();
    let (mut top, mut levels, mut is_cut) = (own, 0, false);
    if let Some(repository) = top_of(&root) {
        for above in root.ancestors().skip(1).take_while(|above| above.starts_with(&repository)) {
            match Workspace::open(above) {
                Ok(above) if levels < limits::LEVELS => (top, levels) = (above, levels + 1),
                // The home folder: what lies there is the person's own.
                Err(WorkspaceError::TooWide(_)) => break,
                Ok(_) | Err(WorkspaceError::NotADirectory | WorkspaceError::Unreadable(_)) => {
                    is_cut = true;
                    break;
                }
            }
        }
    }
    let inside = root.strip_prefix(top.root()).unwrap_or(Path::new("")).to_owned();
    let mut reader = FolderReader::new(top, &inside);
    if is_cut {
        reader.cut();
    }
    for (level, folder) in inside.ancestors().enumerate() {
        read::folder(&mut reader, folder, &"../".repeat(level));
    }
    Ok(reader.end())
}
