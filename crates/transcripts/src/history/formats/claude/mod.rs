//! The logs of Anthropic's Claude Code ("projects"), all versions.
//!
//! Formats: the session functions of claude-agent-sdk-python, and logs of 1.0 to 2.1.330. A folder name is a lossy form
//! of the project's path, so the path is read from the lines. Titles are lines of the log itself.

mod decoder;
mod summary;

pub(super) use self::{
    decoder::{ClaudeDecoder, TREE},
    summary::summarise,
};

use super::folder::{self, entries, paths};
use crate::{
    history::log::log_file::{LogFile, is_uuid},
    limits,
};
use openagents_core::{CancellationToken, budget::Budget};
use std::path::{Path, PathBuf};

/// The deepest known path is `subagents/workflows/<runId>/agent-….jsonl`.
const SUBAGENT_DEPTH: usize = 4;

/// Finds `projects/<slug>/<uuid>.jsonl`, and sub-agents: `agent-<id>.jsonl` in the same folder (2.0) or below
/// `<uuid>/subagents/` (2.1). No other file is a session.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    find(root, budget, &|stem| is_uuid(stem) || is_subagent(stem))
}

/// Finds all logs, copies made for a compaction too: the request of the compaction is only there.
pub(super) fn every_log(root: &Path, budget: &Budget) -> Vec<LogFile> {
    find(root, budget, &|_| true)
}

fn find(root: &Path, budget: &Budget, is_log: &dyn Fn(&str) -> bool) -> Vec<LogFile> {
    let mut files = Vec::new();
    for project in paths(&root.join("projects"), budget).take_while(|_| !budget.spent()) {
        for (path, name) in entries(&project, budget) {
            if let Some(stem) = name.strip_suffix(".jsonl") {
                if is_log(stem) {
                    files.extend(LogFile::stat(path, stem, is_subagent(stem), false));
                }
            } else if is_log(&name) {
                subagents(&path.join("subagents"), SUBAGENT_DEPTH, budget, is_log, &mut files);
            }
        }
    }
    files
}

fn subagents(
    folder: &Path,
    depth: usize,
    budget: &Budget,
    is_log: &dyn Fn(&str) -> bool,
    files: &mut Vec<LogFile>,
) {
    for (path, name) in entries(folder, budget).take_while(|_| !budget.spent()) {
        match name.strip_suffix(".jsonl") {
            // A UUID names a session, not a sub-agent.
            Some(stem) if is_log(stem) && !is_uuid(stem) => {
                files.extend(LogFile::stat(path, stem, true, false));
            }
            Some(_) => {}
            None if depth > 1 && path.is_dir() && !path.is_symlink() => {
                subagents(&path, depth - 1, budget, is_log, files);
            }
            None => {}
        }
    }
}

/// Returns what belongs to a log: the description of a sub-agent, and the outputs that are too long for the log.
pub(super) fn beside(log: &Path) -> Vec<PathBuf> {
    let budget = Budget::within(limits::DATABASE_SESSION, &CancellationToken::new());
    let folder = log.with_extension("").join("tool-results");
    let outputs = paths(&folder, &budget);
    std::iter::once(log.with_extension("meta.json")).chain(outputs).collect()
}

/// Returns whether the name of a session's project may stand for a folder or one below it.
pub(super) fn may_have_run_below(log: &Path, folder: &Path) -> bool {
    let is_project = |path: &&Path| path.parent().is_some_and(|parent| parent.ends_with("projects"));
    let project = log.ancestors().find(is_project).and_then(Path::file_name);
    project.is_none_or(|project| folder::may_be_below(project, folder))
}

/// Returns whether a name belongs to a sub-agent; `agent-acompact-…` is a full copy made for a compaction.
fn is_subagent(stem: &str) -> bool {
    stem.starts_with("agent-") && !stem.starts_with("agent-acompact-")
}
