//! Finds sessions: `tasks/<id>/api_conversation_history.json` of the editor, `sessions/<id>/<id>.messages.json` of the
//! CLI, and those of sub-agents in the same folder. The root may be the folder of sessions itself.

use super::super::folder::entries;
use crate::history::log_file::LogFile;
use openagents_core::budget::Budget;
use std::path::{Path, PathBuf};

const TASK: &str = "api_conversation_history.json";
const MESSAGES: &str = ".messages.json";

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (task, id) in entries(&root.join("tasks"), budget) {
        files.extend(LogFile::stat(task.join(TASK), &id, false, false));
    }
    for sessions in [root.join("sessions"), root.to_owned()] {
        for (session, _) in entries(&sessions, budget) {
            for (path, name) in entries(&session, budget) {
                let Some(stem) = name.strip_suffix(MESSAGES) else { continue };
                let is_of_subagent = is_of_subagent(&path);
                files.extend(LogFile::stat(path, stem, is_of_subagent, false));
            }
        }
    }
    files
}

/// Returns whether a log is from the CLI, which marks results and prompts differently from the editor.
pub(super) fn is_of_command(log: &Path) -> bool {
    log.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(MESSAGES))
}

/// Returns whether a CLI log has a different name from its session.
pub(super) fn is_of_subagent(log: &Path) -> bool {
    manifest(log).is_some_and(|manifest| manifest.with_extension("messages.json") != log)
}

/// Returns the file about the session that a CLI log belongs to.
pub(super) fn manifest(log: &Path) -> Option<PathBuf> {
    let folder = log.parent().filter(|_| is_of_command(log))?;
    Some(folder.join(format!("{}.json", folder.file_name()?.to_str()?)))
}
