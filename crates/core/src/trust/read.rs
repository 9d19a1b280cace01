//! Reads the files of the catalogue in a folder.

use super::{
    catalogue::{ENTRIES, Format},
    claude,
    files::{Content, FolderReader, Said, whole},
    servers, tree,
};
use crate::workspace::Workspace;
use std::path::Path;

/// Reads a folder; paths are shown after `prefix`.
pub(super) fn folder(reader: &mut FolderReader, folder: &Workspace, prefix: &str) {
    for (name, format) in ENTRIES {
        if !folder.exists(Path::new(name)) {
            continue;
        }
        let said = match format {
            Format::Text => Said::default(),
            Format::Tree => tree::read(reader, folder, Path::new(name)),
            format => settings(reader, folder, name, *format),
        };
        reader.add(format!("{prefix}{name}"), format.kind(), name, &said);
    }
}

fn settings(reader: &mut FolderReader, folder: &Workspace, name: &str, format: Format) -> Said {
    let (bytes, rest) = match reader.read(folder, Path::new(name)) {
        Content::Bytes { bytes, rest } => (bytes, rest),
        Content::Directory => return other("it is a directory"),
        Content::Other(why) => return other(&why),
    };
    if rest.is_some() {
        return Said { says: vec!["too large to show".to_owned()], counts: whole(&bytes, rest) };
    }
    match (serde_json::from_slice(&bytes), format) {
        (Ok(settings), Format::Claude | Format::ClaudeLocal) => {
            claude::said(reader, folder, settings, format == Format::ClaudeLocal)
        }
        (Ok(settings), _) => Said { says: servers::says(&settings), counts: whole(&bytes, None) },
        // Agents accept comments and more; what they make of it is not known here.
        (Err(_), _) => Said { says: vec!["not plain JSON".to_owned()], counts: whole(&bytes, None) },
    }
}

fn other(why: &str) -> Said {
    Said { says: vec![why.to_owned()], counts: why.as_bytes().to_vec() }
}
