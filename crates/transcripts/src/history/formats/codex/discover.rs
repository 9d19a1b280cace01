//! Finds rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` and the flat `archived_sessions/`, each plain or
//! with the suffix `.zst`. Since 0.146 a reverted thread continues in `rollout-<time>-<thread>_<segment>.jsonl`.

use super::super::super::log_file::{LogFile, is_uuid};
use crate::limits;
use openagents_core::budget::Budget;
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
};

/// Year, month, day and the file; the oldest versions use fewer levels.
const DEPTH: usize = 4;

pub(crate) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    walk(&root.join("sessions"), DEPTH, false, budget, &mut files);
    walk(&root.join("archived_sessions"), 1, true, budget, &mut files);
    threads(files)
}

/// Joins the segments of each thread. If a segment is in two places, the newer file counts.
fn threads(files: Vec<LogFile>) -> Vec<LogFile> {
    let (mut found, mut places) = (Vec::<Vec<LogFile>>::new(), HashMap::<String, usize>::new());
    for file in files {
        let place = *places.entry(file.id.clone()).or_insert(found.len());
        match found.get_mut(place) {
            Some(segments) => segments.push(file),
            None => found.push(vec![file]),
        }
    }
    let join = |mut segments: Vec<LogFile>| {
        if segments.len() > 1 {
            let order = |file: &LogFile| {
                let segment = segment_of(&file.path).map(str::to_owned);
                (segment, file.stamp.mtime_ns, file.path.clone())
            };
            segments.sort_by_cached_key(order);
            segments.reverse();
            segments.dedup_by_key(|file| segment_of(&file.path).map(str::to_owned));
            segments.reverse();
        }
        LogFile::joined(segments)
    };
    found.into_iter().filter_map(join).collect()
}

fn walk(folder: &Path, depth: usize, archived: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let (mut folders, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (at, entry) in entries.flatten().enumerate() {
        if (at + 1) % limits::ENTRIES_BETWEEN_LOOKS == 0 && budget.spent() {
            break;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with("rollout-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")) {
            names.insert(name);
        } else if depth > 1 && !name.starts_with('.') && !name.contains(".jsonl") {
            folders.insert(name);
        }
    }
    // Names start with the time, and folders are days. Newest first, so that a deadline cuts off the oldest sessions.
    for (at, name) in names.iter().rev().enumerate() {
        if (at + 1) % limits::ENTRIES_BETWEEN_LOOKS == 0 && budget.spent() {
            return;
        }
        // Both files exist while a log is being compressed or decompressed; the plain one is authoritative.
        if name.strip_suffix(".zst").is_some_and(|plain| names.contains(plain)) {
            continue;
        }
        files.extend(LogFile::stat(folder.join(name), id_of(name), false, archived));
    }
    for name in folders.iter().rev() {
        if budget.spent() {
            return;
        }
        let path = folder.join(name);
        if path.is_dir() {
            walk(&path, depth - 1, archived, budget, files);
        }
    }
}

/// Returns the thread in a rollout's name; otherwise the name without extensions.
fn id_of(name: &str) -> &str {
    ids_of(name).map_or_else(|| stem_of(name), |(thread, _)| thread)
}

/// Returns the segment in a rollout's name; `None` for the first file of a thread. Segments are UUIDs of version 7, so
/// they sort by time.
pub(super) fn segment_of(path: &Path) -> Option<&str> {
    ids_of(path.file_name()?.to_str()?)?.1
}

/// Returns the id by which `history_base` names a file: its segment, or its thread.
pub(super) fn base_id_of(path: &Path) -> Option<&str> {
    let (thread, segment) = ids_of(path.file_name()?.to_str()?)?;
    Some(segment.unwrap_or(thread))
}

/// Returns the thread and the segment at the end of a rollout's name.
fn ids_of(name: &str) -> Option<(&str, Option<&str>)> {
    let stem = stem_of(name);
    let last = |text: &str| text.len().checked_sub(uuid::fmt::Hyphenated::LENGTH);
    let (rest, id) = stem.split_at_checked(last(stem)?).filter(|(_, id)| is_uuid(id))?;
    let thread = rest.strip_suffix('_').and_then(|rest| rest.get(last(rest)?..)).filter(|id| is_uuid(id));
    // Both borrow from the name.
    Some(thread.map_or((id, None), |thread| (thread, Some(id))))
}

fn stem_of(name: &str) -> &str {
    let stem = name.strip_suffix(".zst").unwrap_or(name);
    stem.strip_suffix(".jsonl").unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_names() {
        let uuid = "019a0ce1-d491-76d2-93ba-0d47dde32657";
        assert_eq!(id_of(&format!("rollout-2025-10-22T10-00-00-{uuid}.jsonl")), uuid);
        assert_eq!(id_of(&format!("rollout-2025-10-22T10-00-00-{uuid}.jsonl.zst")), uuid);
        let segment = "019ab101-0000-7000-8000-0000000000b1";
        let name = format!("rollout-2026-11-20T09-30-00-{uuid}_{segment}.jsonl.zst");
        assert_eq!((id_of(&name), segment_of(Path::new(&name))), (uuid, Some(segment)));
        assert_eq!(base_id_of(Path::new(&name)), Some(segment));
        assert_eq!(id_of("rollout-by-hand.jsonl"), "rollout-by-hand");
        assert_eq!(id_of("rollout-ü.jsonl"), "rollout-ü");
    }
}
