//! The logs of OpenAI Codex ("rollouts"), all versions.
//!
//! Formats: `codex-rs/rollout` and `codex-rs/protocol` of openai/codex, up to 0.169. The SQLite files next to the logs
//! are derived from them; only the names of threads are read there. `shell_snapshots/` contains whole environments and
//! is never opened.
//!
//! A rollout is `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, or lies in the flat `archived_sessions/`; each is
//! plain or has the suffix `.zst`. Since 0.146 a reverted thread continues in
//! `rollout-<time>-<thread>_<segment>.jsonl`.

pub(super) mod decoder;
mod record;
pub(super) mod summary;
pub(super) mod undone;

use super::folder::entries;
use crate::{
    history::{
        format::OutsideName,
        log::{
            json::Node,
            lines::Lines,
            log_file::{LogFile, is_uuid},
            title,
        },
        sqlite::{Columns, Remembered, text},
    },
    limits,
};
use openagents_core::{CancellationToken, budget::Budget, file};
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

/// Year, month, day and the file; the oldest versions use fewer levels.
const DEPTH: usize = 4;

pub(crate) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    threads(files(root, budget))
}

/// Finds all files, copies of the same thread too.
pub(crate) fn files(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    walk(&root.join("sessions"), DEPTH, false, budget, &mut files);
    walk(&root.join("archived_sessions"), 1, true, budget, &mut files);
    files
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
    let (mut folders, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (_, name) in entries(folder, budget) {
        if name.starts_with("rollout-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")) {
            names.insert(name);
        } else if depth > 1 && !name.starts_with('.') && !name.contains(".jsonl") {
            folders.insert(name);
        }
    }
    // Names start with the time, and folders are days. Newest first, so that a deadline cuts off the oldest sessions.
    for (at, name) in names.iter().rev().enumerate() {
        if (at + 1) % limits::ENTRIES_BETWEEN_CHECKS == 0 && budget.spent() {
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

static THREADS: Remembered<HashMap<String, OutsideName>> = Remembered::new();

/// Returns names by thread id. A name in the table is newer than one in the file; a title in the table may only be the
/// first prompt.
/// Names are in `session_index.jsonl`, an append-only file, and in the table `threads` of `state_<version>.sqlite`.
pub(crate) fn names(root: &Path) -> HashMap<String, OutsideName> {
    let mut names = database(root).map(|path| stored(&path)).unwrap_or_default();
    for (id, name) in indexed(root) {
        if names.get(&id).is_none_or(|stored| !stored.is_given) {
            names.insert(id, OutsideName { text: name, is_given: true });
        }
    }
    names
}

/// Returns the database of the newest version.
fn database(root: &Path) -> Option<PathBuf> {
    let version = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("state_")?.strip_suffix(".sqlite")?.parse::<u32>().ok()
    };
    let paths = fs::read_dir(root).ok()?.flatten().map(|entry| entry.path());
    paths.filter_map(|path| Some((version(&path)?, path))).max().map(|(_, path)| path)
}

/// Returns the names in the database. For a thread without a name, uses the title unless it is the first prompt.
fn stored(database: &Path) -> HashMap<String, OutsideName> {
    let budget = Budget::within(limits::CODEX_NAMES_TIME, &CancellationToken::new());
    let read = THREADS.get_or_read(database, &budget, |connection| {
        let mut names = HashMap::new();
        let Some(columns) = Columns::with(connection, "threads", &["id"])? else { return Ok(names) };
        let list = columns.list(&["id", "name", "title", "first_user_message", "preview"]);
        let mut rows = connection.prepare(&format!("SELECT {list} FROM threads"))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let Some(id) = text(row, 0)? else { continue };
            let (name, title) = (text(row, 1)?, text(row, 2)?);
            let prompts = [text(row, 3)?, text(row, 4)?];
            let is_prompt = |title: &String| {
                let is_start =
                    |prompt: &String| !prompt.is_empty() && prompt.trim().starts_with(title.trim());
                prompts.iter().flatten().any(is_start)
            };
            let name = title::given(name.as_deref());
            let is_given = name.is_some();
            let text = name.or_else(|| title::given(title.filter(|title| !is_prompt(title)).as_deref()));
            names.extend(text.map(|text| (id, OutsideName { text, is_given })));
        }
        Ok(names)
    });
    read.unwrap_or_else(|error| {
        tracing::debug!(%error, path = %database.display(), "names of threads could not be read");
        HashMap::new()
    })
}

/// Returns the names in the file. The last row of an id wins; empty names are ignored.
fn indexed(root: &Path) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let Ok(file) = file::open(&root.join("session_index.jsonl")) else { return names };
    let budget = Budget::within(limits::CODEX_NAMES_TIME, &CancellationToken::new());
    let mut lines = Lines::new(file, limits::CODEX_NAME_LINE, limits::CODEX_NAMES);
    while let Ok(Some(line)) = lines.next(&budget) {
        let text = line.text();
        let Some(row) = Node::parse_object(&text) else { continue };
        if let (Some(id), Some(name)) = (row.text("id"), title::given(row.text("thread_name"))) {
            names.insert(id.to_owned(), name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_file_names() {
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
