//! The settings that agents load from the folder they start in, and the folders that trust covers.
//!
//! Agents read settings from the folder that they run in and from its parents: hooks that run automatically, servers
//! that are started, permissions, addresses. A user who trusts a folder sees all of them first, and is asked again when
//! one of them changes. A folder with settings that cannot be shown in full cannot be trusted.
//!
//! Files are read beneath a workspace handle, up to the limits in `limits::trust`. This module never runs a program.

mod catalogue;
mod files;
mod found;
mod git;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod loaded_tests;
mod question;
mod settings;
#[cfg(test)]
mod tests;

use crate::{
    git::repository_root,
    limits::trust as limits,
    trust::{
        catalogue::{ENTRIES, FileFormat},
        files::{Content, Reading},
    },
    workspace::{Workspace, WorkspaceError},
};
pub use catalogue::{CatalogueEntry, Loader, catalogue, covers, needs_own_approval, place, places};
use files::FolderReader;
pub use found::{AgentFile, AgentFiles, Risk};
pub use question::{NOT_NOW, NOT_WHOLE, NOTHING_KNOWN, TRUST, TRUST_TITLE, TrustQuestion};
use std::path::{Path, PathBuf};

/// Reads the agent settings in a folder and in the folders above it, up to the home folder or the root of the disk:
/// agents read settings there too, inside or outside a repository.
pub fn scan_folder(folder: &Path) -> Result<AgentFiles, WorkspaceError> {
    let own = Workspace::open(folder)?;
    let root = own.root().to_owned();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    // In the repository, links may lead from one part to another.
    let repository = repository_root(&root);
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
        read_folder(&mut reader, folder, &"../".repeat(level));
    }
    for (level, folder) in levels.iter().enumerate().take(limits::LEVELS).skip(above) {
        match Workspace::open_any(folder) {
            Ok(top) => {
                reader.go_up(top, below(folder));
                read_folder(&mut reader, &PathBuf::new(), &"../".repeat(level));
            }
            Err(_) => add_unreadable(&mut reader, &"../".repeat(level)),
        }
    }
    if is_cut {
        reader.cut();
    }
    Ok(reader.end())
}

/// Reads the entries in the folder `level`; shown paths start with `prefix`.
fn read_folder(reader: &mut FolderReader, level: &Path, prefix: &str) {
    add_owner(reader, level, prefix);
    for entry in ENTRIES {
        let path = level.join(entry.path);
        if !reader.top.exists(&path) {
            continue;
        }
        let reading = match entry.format {
            FileFormat::Text => read_instructions(reader, &path),
            FileFormat::Tree => match settings::read_tree(reader, level, &path) {
                Some(reading) => reading,
                None => {
                    reader.owners.take();
                    continue;
                }
            },
            format => read_settings_file(reader, level, &path, format),
        };
        reader.add(format!("{prefix}{}", entry.path), entry, reading);
    }
    git::read_repository(reader, level, prefix);
}

/// Names the owner of a folder, if it is another user.
fn add_owner(reader: &mut FolderReader, level: &Path, prefix: &str) {
    let Some(owner) = files::other_user(reader.top.owner(level)) else { return };
    let path = prefix.trim_end_matches('/');
    let path = if path.is_empty() { "." } else { path };
    let line = format!("owned by {owner}, who can add settings for agents at any time");
    reader.add_as(path.to_owned(), "owner", "a folder of another user", Vec::new(), Reading::line(line));
}

/// Names a folder that cannot be listed, although agents may find files in it by name.
fn add_unreadable(reader: &mut FolderReader, prefix: &str) {
    let line = "settings for agents may be in it; it can't be read".to_owned();
    let path = prefix.trim_end_matches('/').to_owned();
    reader.add_as(path, "unreadable", "an unreadable folder", Vec::new(), Reading::line(line));
}

/// Reads text for the model. It is listed, not shown; a link out of the repository is shown.
fn read_instructions(reader: &mut FolderReader, path: &Path) -> Reading {
    reader.owners.note(reader.top.owner(path));
    let link = reader.leads_out(path).map(|link| Reading {
        counts: link.clone().into_bytes(),
        lines: vec![(Risk::Instructions, link)],
        risk: None,
    });
    link.unwrap_or_default()
}

fn read_settings_file(reader: &mut FolderReader, level: &Path, path: &Path, format: FileFormat) -> Reading {
    let bytes = match reader.read_content(path) {
        Content::Bytes { bytes, rest: None } => bytes,
        Content::Bytes { .. } => {
            reader.cut();
            return Reading::line("too large to show: shorten it".to_owned());
        }
        Content::Other(why) => return Reading::line(why),
    };
    match format {
        FileFormat::Variables => return settings::read_variables(reader, level, path, &bytes),
        FileFormat::Claude | FileFormat::ClaudeLocal => {
            if let Ok(value) = serde_json::from_slice(&bytes) {
                return settings::read_claude(reader, level, path, value, format == FileFormat::ClaudeLocal);
            }
        }
        FileFormat::Settings | FileFormat::Tree | FileFormat::Text => {}
    }
    settings::read_settings(reader, level, path, &bytes)
}
