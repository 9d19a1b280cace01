//! Reads the entries of the catalogue in a folder.

use super::{
    catalogue::{ENTRIES, FileFormat},
    claude,
    files::{Content, FolderReader, Reading},
    found::Risk,
    git, owners, settings, tree, variables,
};
use std::path::Path;

/// Reads the entries in the folder `level`; shown paths start with `prefix`.
pub(super) fn folder(reader: &mut FolderReader, level: &Path, prefix: &str) {
    owner(reader, level, prefix);
    for entry in ENTRIES {
        let path = level.join(entry.path);
        if !reader.top.exists(&path) {
            continue;
        }
        let reading = match entry.format {
            FileFormat::Text => instructions(reader, &path),
            FileFormat::Tree => match tree::read(reader, level, &path) {
                Some(reading) => reading,
                None => {
                    reader.owners.take();
                    continue;
                }
            },
            format => settings_file(reader, level, &path, format),
        };
        reader.add(format!("{prefix}{}", entry.path), entry, reading);
    }
    git::read(reader, level, prefix);
}

/// Names the owner of a folder, if it is another user.
fn owner(reader: &mut FolderReader, level: &Path, prefix: &str) {
    let Some(owner) = owners::other(reader.top.owner(level)) else { return };
    let path = prefix.trim_end_matches('/');
    let path = if path.is_empty() { "." } else { path };
    let line = format!("owned by {owner}, who can add settings for agents at any time");
    reader.add_as(path.to_owned(), "owner", "a folder of another user", Vec::new(), Reading::line(line));
}

/// Names a folder that cannot be listed, although agents may find files in it by name.
pub(super) fn unreadable(reader: &mut FolderReader, prefix: &str) {
    let line = "settings for agents may be in it; it can't be read".to_owned();
    let path = prefix.trim_end_matches('/').to_owned();
    reader.add_as(path, "unreadable", "an unreadable folder", Vec::new(), Reading::line(line));
}

/// Reads text for the model. It is listed, not shown; a link out of the repository is shown.
fn instructions(reader: &mut FolderReader, path: &Path) -> Reading {
    reader.owners.note(reader.top.owner(path));
    let link = reader.leads_out(path).map(|link| Reading {
        counts: link.clone().into_bytes(),
        lines: vec![(Risk::Instructions, link)],
        risk: None,
    });
    link.unwrap_or_default()
}

fn settings_file(reader: &mut FolderReader, level: &Path, path: &Path, format: FileFormat) -> Reading {
    let bytes = match reader.read(path) {
        Content::Bytes { bytes, rest: None } => bytes,
        Content::Bytes { .. } => {
            reader.cut();
            return Reading::line("too large to show: shorten it".to_owned());
        }
        Content::Other(why) => return Reading::line(why),
    };
    match format {
        FileFormat::Variables => return variables::read(reader, level, path, &bytes),
        FileFormat::Claude | FileFormat::ClaudeLocal => {
            if let Ok(value) = serde_json::from_slice(&bytes) {
                return claude::read(reader, level, path, value, format == FileFormat::ClaudeLocal);
            }
        }
        FileFormat::Settings | FileFormat::Tree | FileFormat::Text => {}
    }
    settings::read(reader, level, path, &bytes)
}
