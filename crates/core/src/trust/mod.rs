//! What a folder brings to the agents that are started in it, and whether the trust in another folder covers it.
//!
//! Agents read settings from the folder that they run in: hooks that run by themselves, servers that are started,
//! permissions. A person who trusts a folder sees them first, and is asked again when one of them changes.
//!
//! Files are read beneath a workspace handle, up to the limits in `limits::trust`. Nothing here runs anything.

mod catalogue;
mod claude;
mod coverage;
mod files;
mod found;
mod question;
mod read;
mod servers;
mod shown;
#[cfg(test)]
mod tests;
mod tree;

pub use coverage::covers;
pub use found::{AgentFile, AgentFileKind, AgentFiles};
pub use question::{NOT_NOW, TRUST, TRUST_TITLE, TrustQuestion};

use crate::{
    history::top_of,
    limits::trust as limits,
    workspace::{Workspace, WorkspaceError},
};
use files::FolderReader;
use std::path::Path;

/// Reads what a folder brings to agents, with the folders above it up to the root of its repository: agents that run in
/// a part of a repository read settings there too.
pub fn look(folder: &Path) -> Result<AgentFiles, WorkspaceError> {
    let own = Workspace::open(folder)?;
    let mut reader = FolderReader::new();
    read::folder(&mut reader, &own, "");
    if let Some(top) = top_of(own.root()) {
        let above = own.root().ancestors().skip(1).take_while(|above| above.starts_with(&top));
        let mut prefix = String::new();
        for (level, above) in above.enumerate() {
            prefix.push_str("../");
            match Workspace::open(above) {
                Ok(_) if level >= limits::LEVELS => reader.cut(),
                Ok(above) => read::folder(&mut reader, &above, &prefix),
                // The home folder: what lies there is the person's own.
                Err(WorkspaceError::TooWide(_)) => break,
                Err(WorkspaceError::NotADirectory | WorkspaceError::Unreadable(_)) => reader.cut(),
            }
        }
    }
    Ok(reader.end())
}
