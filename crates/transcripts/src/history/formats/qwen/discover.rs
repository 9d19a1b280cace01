//! Finds sessions: `projects/<slug>/chats/<id>.jsonl`, archived ones in `chats/archive/`, and those of sub-agents:
//! `projects/<slug>/subagents/<id of the parent>/agent-<id>.jsonl`.

use crate::{history::log_file::LogFile, limits};
use openagents_core::budget::Budget;
use std::{fs, path::Path};

const SUBAGENTS: &str = "subagents";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Main,
    Archived,
    Subagent,
}

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    let Ok(projects) = fs::read_dir(root.join("projects")) else { return files };
    for project in projects.flatten() {
        let chats = project.path().join("chats");
        logs(&chats, Kind::Main, budget, &mut files);
        logs(&chats.join("archive"), Kind::Archived, budget, &mut files);
        let Ok(parents) = fs::read_dir(project.path().join(SUBAGENTS)) else { continue };
        for parent in parents.flatten() {
            logs(&parent.path(), Kind::Subagent, budget, &mut files);
        }
    }
    files
}

fn logs(folder: &Path, kind: Kind, budget: &Budget, files: &mut Vec<LogFile>) {
    if budget.spent() {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    for (at, entry) in entries.flatten().enumerate() {
        if (at + 1) % limits::ENTRIES_BETWEEN_LOOKS == 0 && budget.spent() {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(stem) = name.strip_suffix(".jsonl") else { continue };
        let subagent = kind == Kind::Subagent;
        if if subagent { stem.starts_with("agent-") } else { is_id(stem) } {
            files.extend(LogFile::stat(entry.path(), stem, subagent, kind == Kind::Archived));
        }
    }
}

/// Returns whether a name is that of a session, as in Qwen Code's own list; `<id>.ledger.jsonl` and others are next to
/// it.
fn is_id(stem: &str) -> bool {
    (32..=36).contains(&stem.len())
        && stem.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns whether a session is a JSON file in the form of Gemini CLI.
pub(super) fn is_of_2025(log: &Path) -> bool {
    log.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("session-"))
}

pub(super) fn is_of_subagent(log: &Path) -> bool {
    log.parent().and_then(Path::parent).and_then(Path::file_name).is_some_and(|name| name == SUBAGENTS)
}
