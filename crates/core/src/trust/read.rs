//! Reads the files of the catalogue in a folder.

use super::{
    catalogue::{ENTRIES, FileFormat},
    claude,
    files::{Content, FolderReader, Said},
    settings, tree,
};
use std::path::Path;

/// Reads a `level` of the repository; paths are shown after `prefix`.
pub(super) fn folder(reader: &mut FolderReader, level: &Path, prefix: &str) {
    for (name, format) in ENTRIES {
        let path = level.join(name);
        if !reader.top.exists(&path) {
            continue;
        }
        let said = match format {
            FileFormat::Text => instructions(reader, &path),
            FileFormat::Tree => tree::read(reader, level, &path),
            format => settings_file(reader, level, &path, *format),
        };
        reader.add(format!("{prefix}{name}"), format.kind(), name, &said);
    }
}

/// Text for the model is listed, not shown. That it comes from somewhere else is.
fn instructions(reader: &FolderReader, path: &Path) -> Said {
    reader.leads_out(path).map(Said::line).unwrap_or_default()
}

fn settings_file(reader: &mut FolderReader, level: &Path, path: &Path, format: FileFormat) -> Said {
    let bytes = match reader.read(path) {
        Content::Bytes { bytes, rest: None } => bytes,
        Content::Bytes { .. } => {
            reader.cut();
            return Said::line("too large to show: shorten it".to_owned());
        }
        Content::Other(why) => return Said::line(why),
    };
    if matches!(format, FileFormat::Claude | FileFormat::ClaudeLocal)
        && let Ok(settings) = serde_json::from_slice(&bytes)
    {
        return claude::said(reader, level, settings, format == FileFormat::ClaudeLocal);
    }
    settings::said(reader, level, path, &bytes)
}
