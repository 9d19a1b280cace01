//! Finds rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl` and the flat `archived_sessions/`, each plain or
//! with the suffix `.zst`.

use super::super::super::log_file::{LogFile, is_uuid};
use crate::{budget::Budget, limits::history as limits};
use std::{collections::BTreeSet, fs, path::Path};

/// Year, month, day and the file; the oldest versions use fewer levels.
const DEPTH: usize = 4;

pub(crate) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    walk(&root.join("sessions"), DEPTH, false, budget, &mut files);
    walk(&root.join("archived_sessions"), 1, true, budget, &mut files);
    files
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
    // Names start with the time, folders are days. Newest first, so that a deadline cuts the oldest sessions.
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

/// Returns the UUID at the end of a rollout's name, otherwise the name without extensions.
fn id_of(name: &str) -> &str {
    let stem = name.strip_suffix(".zst").unwrap_or(name);
    let stem = stem.strip_suffix(".jsonl").unwrap_or(stem);
    match stem.len().checked_sub(36).and_then(|at| stem.get(at..)) {
        Some(uuid) if is_uuid(uuid) => uuid,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_names() {
        let uuid = "019a0ce1-d491-76d2-93ba-0d47dde32657";
        assert_eq!(id_of(&format!("rollout-2025-10-22T10-00-00-{uuid}.jsonl")), uuid);
        assert_eq!(id_of(&format!("rollout-2025-10-22T10-00-00-{uuid}.jsonl.zst")), uuid);
        assert_eq!(id_of("rollout-by-hand.jsonl"), "rollout-by-hand");
        assert_eq!(id_of("rollout-ü.jsonl"), "rollout-ü");
    }
}
