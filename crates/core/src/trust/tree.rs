//! A folder of settings as a whole.

use super::{
    files::{Content, FolderReader, Said, whole},
    servers,
};
use crate::{limits::trust as limits, workspace::Workspace};
use std::{ffi::OsString, path::Path};

/// Reads every file below `top`, in the order of their names.
pub(super) fn read(reader: &mut FolderReader, folder: &Workspace, top: &Path) -> Said {
    let (mut said, mut open) = (Said::default(), vec![top.to_owned()]);
    let mut files = 0_usize;
    while let Some(path) = open.pop() {
        let depth = path.components().count();
        match names(reader, folder, &path) {
            // Pushed in reverse, so that the first one is next.
            Some(names) if depth <= limits::DEPTH => {
                open.extend(names.into_iter().rev().map(|name| path.join(name)));
                continue;
            }
            Some(_) => {
                reader.cut();
                continue;
            }
            None => {}
        }
        let content = reader.read(folder, &path);
        let inside = path.strip_prefix(top).unwrap_or(&path);
        let shown = Workspace::shown(inside);
        let (line, hashed) = match content {
            Content::Bytes { bytes, rest } => {
                said.says.extend(
                    servers::commands(inside, &bytes).into_iter().map(|line| format!("{shown}: {line}")),
                );
                (None, whole(&bytes, rest))
            }
            Content::Directory => {
                reader.cut();
                (Some("unreadable".to_owned()), Vec::new())
            }
            Content::Other(why) => (Some(why.clone()), why.into_bytes()),
        };
        said.says.extend(line.map(|line| format!("{shown}: {line}")));
        files += 1;
        said.counts.extend(whole(inside.as_os_str().as_encoded_bytes(), None));
        said.counts.extend(whole(&hashed, None));
    }
    if files == 0 && said.says.is_empty() {
        said.says.push("empty".to_owned());
    } else {
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        said.says.insert(0, files);
    }
    said
}

/// Returns the sorted names in a directory; `None` if it is not one, or cannot be read.
fn names(reader: &mut FolderReader, folder: &Workspace, path: &Path) -> Option<Vec<OsString>> {
    let directory = folder.open_dir(path).ok()?;
    let mut names = Vec::new();
    let Ok(entries) = directory.entries() else {
        reader.cut();
        return Some(names);
    };
    for entry in entries {
        let Some(left) = reader.entries.checked_sub(1) else {
            reader.cut();
            break;
        };
        reader.entries = left;
        match entry {
            Ok(entry) => names.push(entry.file_name()),
            Err(_) => reader.cut(),
        }
    }
    names.sort();
    Some(names)
}
