//! Finds sessions: `sessions/<folder of a workspace>/<time>_<uuid>.jsonl` of pi, `agents/<agent>/sessions/<uuid>.jsonl` of
//! OpenClaw. A deleted or reset log of OpenClaw has another ending.

use super::super::folder::entries;
use crate::{budget::Budget, history::log_file::LogFile};
use std::path::Path;

pub(super) fn of_pi(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (workspace, _) in entries(&root.join("sessions"), budget) {
        logs(&workspace, budget, &mut files);
    }
    files
}

pub(super) fn of_openclaw(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (agent, _) in entries(&root.join("agents"), budget) {
        logs(&agent.join("sessions"), budget, &mut files);
    }
    files
}

fn logs(folder: &Path, budget: &Budget, files: &mut Vec<LogFile>) {
    for (path, name) in entries(folder, budget) {
        let Some(stem) = name.strip_suffix(".jsonl") else { continue };
        let id = stem.rsplit('_').next().unwrap_or(stem);
        files.extend(LogFile::stat(path, id, false, false));
    }
}
