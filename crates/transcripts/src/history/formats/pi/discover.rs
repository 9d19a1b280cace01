//! Finds sessions: `sessions/<folder of a workspace>/<time>_<uuid>.jsonl` of pi, `agents/<agent>/sessions/<uuid>.jsonl`
//! of OpenClaw. A log of OpenClaw that was reset or deleted is archived under another suffix:
//! `<uuid>.jsonl.reset.<time>`.

use super::super::folder::entries;
use crate::history::log_file::LogFile;
use openagents_core::budget::Budget;
use std::path::Path;

pub(super) fn of_pi(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (workspace, _) in entries(&root.join("sessions"), budget) {
        logs(&workspace, false, budget, &mut files);
    }
    files
}

pub(super) fn of_openclaw(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (agent, _) in entries(&root.join("agents"), budget) {
        logs(&agent.join("sessions"), true, budget, &mut files);
    }
    files
}

/// Finds the logs of a folder. Backup copies (`.checkpoint.`, `.bak`) are not sessions, and an archived log is one only
/// if no other file has its session.
fn logs(folder: &Path, with_put_away: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    let (mut found, mut put_away) = (Vec::new(), Vec::new());
    for (path, name) in entries(folder, budget) {
        let Some((stem, ending)) = name.split_once(".jsonl") else { continue };
        let id = id_of(stem);
        if id.contains('.') {
            continue;
        }
        match ending {
            "" => found.extend(LogFile::stat(path, id, false, false)),
            _ if with_put_away && (ending.starts_with(".reset.") || ending.starts_with(".deleted.")) => {
                put_away.extend(LogFile::stat(path, id, false, true));
            }
            _ => {}
        }
    }
    // If a session was archived several times, the last reset counts.
    put_away.sort_by(|a: &LogFile, b: &LogFile| (&a.id, &b.path).cmp(&(&b.id, &a.path)));
    put_away.dedup_by(|a, b| a.id == b.id);
    put_away.retain(|file| found.iter().all(|other: &LogFile| other.id != file.id));
    files.append(&mut found);
    files.append(&mut put_away);
}

/// Returns the session's id in the name of a log without its ending.
pub(super) fn id_of(stem: &str) -> &str {
    stem.rsplit('_').next().unwrap_or(stem)
}
