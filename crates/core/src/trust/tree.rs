//! A folder of settings as a whole.

use super::{
    digests::whole,
    files::{Content, FolderReader, Said},
    settings,
};
use crate::{limits::trust as limits, workspace::Workspace};
use std::{ffi::OsString, path::Path};

/// Packages that opencode installs for plugins. Like the other files that a script uses, they are not followed.
const PACKAGES: &str = ".opencode/node_modules";

/// Reads every file below `top`, in the order of their names. Settings are listed, other files are only named.
pub(super) fn read(reader: &mut FolderReader, level: &Path, top: &Path) -> Said {
    let (mut said, mut open) = (Said::default(), vec![top.to_owned()]);
    let mut files = 0_usize;
    while let Some(path) = open.pop() {
        let depth = path.strip_prefix(level).unwrap_or(&path).components().count();
        match names(reader, &path) {
            // Pushed in reverse, so that the first one is next.
            Some(names) if depth <= limits::DEPTH => {
                let paths = names.into_iter().rev().map(|name| path.join(name));
                open.extend(paths.filter(|path| *path != level.join(PACKAGES)));
                continue;
            }
            Some(_) => {
                reader.cut();
                let inside = Workspace::shown(path.strip_prefix(top).unwrap_or(&path));
                said.says.push(format!("{inside}: too deep to show"));
                continue;
            }
            None => {}
        }
        let inside = path.strip_prefix(top).unwrap_or(&path);
        let shown = Workspace::shown(inside);
        let file = match reader.read(&path) {
            Content::Bytes { bytes, rest: None } if settings::is_told(&path) => {
                settings::said(reader, level, &path, &bytes)
            }
            Content::Bytes { .. } if settings::is_told(&path) => {
                reader.cut();
                Said::line("too large to show: shorten it".to_owned())
            }
            Content::Bytes { bytes, rest } => {
                said.says.push(shown.clone());
                Said { says: Vec::new(), counts: whole(&bytes, rest) }
            }
            Content::Other(why) => Said::line(why),
        };
        said.says.extend(file.says.into_iter().map(|line| format!("{shown}: {line}")));
        files += 1;
        said.counts.extend(whole(inside.as_os_str().as_encoded_bytes(), None));
        said.counts.extend(whole(&file.counts, None));
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
fn names(reader: &mut FolderReader, path: &Path) -> Option<Vec<OsString>> {
    let directory = reader.top.open_dir(path).ok()?;
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
