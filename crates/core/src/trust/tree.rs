//! Reads a folder of settings as a whole.

use super::{
    catalogue::ENTRIES,
    digests::whole,
    files::{Content, FolderReader, Reading},
    found::Risk,
    settings, variables,
};
use crate::{limits::trust as limits, workspace::Workspace};
use std::{ffi::OsString, path::Path};

/// Folders in folders of settings that are not followed, each with the line that is shown for it; no line if agents
/// load nothing from it.
const SKIPPED: &[(&str, Option<&str>)] = &[
    // Checkouts. An agent that starts in one has its own question.
    (".claude/worktrees", None),
    (".qwen/worktrees", None),
    (".cline/worktrees", None),
    // Notes that agents write there themselves.
    (".claude/agent-memory", Some("notes of Claude Code, not shown")),
    (".claude/agent-memory-local", Some("notes of Claude Code, not shown")),
    // Packages that agents install for plugins. Like the other files that a script uses, they are not followed.
    (".opencode/node_modules", Some("packages of plugins, not shown")),
    (".pi/npm/node_modules", Some("packages of extensions, not shown")),
];

/// Reads every file below `top`, in the order of their names. Settings are listed, other files are only named. Returns
/// `None` if it has only files that other entries show.
pub(super) fn read(reader: &mut FolderReader, level: &Path, top: &Path) -> Option<Reading> {
    let (mut reading, mut open) = (Reading::default(), vec![top.to_owned()]);
    let (mut files, mut is_own) = (0_usize, true);
    let mut risk = None;
    while let Some(path) = open.pop() {
        let depth = path.strip_prefix(level).unwrap_or(&path).components().count();
        let inside = path.strip_prefix(top).unwrap_or(&path);
        let shown = Workspace::shown(if path == top {
            path.file_name().map(Path::new).unwrap_or(top)
        } else {
            inside
        });
        if let Some((_, note)) = SKIPPED.iter().find(|(skipped, _)| path == level.join(skipped)) {
            reading.lines.extend(note.map(|note| (Risk::Instructions, format!("{shown}: {note}"))));
            is_own |= note.is_some();
            continue;
        }
        match names(reader, &path) {
            // Pushed in reverse, so that the first one is next.
            Some(names) if depth <= limits::DEPTH => {
                let has_entry = |path: &Path| ENTRIES.iter().any(|entry| path == level.join(entry.path));
                let paths: Vec<_> = names.into_iter().rev().map(|name| path.join(name)).collect();
                let count = paths.len();
                let paths: Vec<_> = paths.into_iter().filter(|path| !has_entry(path)).collect();
                is_own &= !(path == top && paths.is_empty() && count > 0);
                open.extend(paths);
                continue;
            }
            Some(_) => {
                reader.cut();
                reading.lines.push((Risk::Programs, format!("{shown}: too deep to show")));
                continue;
            }
            None => {}
        }
        let file = match reader.read(&path) {
            Content::Bytes { bytes, rest: None } if variables::are_in(&path) => {
                variables::read(reader, level, &path, &bytes)
            }
            Content::Bytes { bytes, rest: None } if settings::is_listed(&path) => {
                settings::read(reader, level, &path, &bytes)
            }
            Content::Bytes { .. } if settings::is_listed(&path) => {
                reader.cut();
                Reading::line("too large to show: shorten it".to_owned())
            }
            Content::Bytes { bytes, rest } => {
                let risk = settings::is_document(&path).then_some(Risk::Instructions);
                Reading {
                    lines: Vec::new(),
                    counts: whole(&bytes, rest),
                    risk: risk.or(Some(Risk::Programs)),
                }
            }
            Content::Other(why) => Reading::line(why),
        };
        let of_file = file.risk.unwrap_or(Risk::Programs);
        risk = Some(risk.map_or(of_file, |risk: Risk| risk.min(of_file)));
        if file.lines.is_empty() {
            reading.lines.push((of_file, shown.clone()));
        }
        reading.lines.extend(file.lines.into_iter().map(|(risk, line)| (risk, format!("{shown}: {line}"))));
        files += 1;
        reading.counts.extend(whole(inside.as_os_str().as_encoded_bytes(), None));
        reading.counts.extend(whole(&file.counts, None));
    }
    reading.risk = risk;
    if files > 0 {
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let least = reading.lines.iter().map(|(risk, _)| *risk).chain(risk).min();
        reading.lines.insert(0, (least.unwrap_or_default(), files));
    } else if reading.lines.is_empty() {
        if !is_own {
            return None;
        }
        reading.lines.push((Risk::Instructions, "empty".to_owned()));
    }
    Some(reading)
}

/// Returns the sorted names in a directory; `None` if `path` is not a directory or cannot be opened.
fn names(reader: &mut FolderReader, path: &Path) -> Option<Vec<OsString>> {
    let directory = reader.top.open_dir(path).ok()?;
    reader.owners.note(reader.top.owner(path));
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
