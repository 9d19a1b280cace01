//! Finds sessions: `tmp/<project>/chats/session-<time>-<start of id>.json` or `.jsonl`, and those of sub-agents in
//! `chats/<id of the parent>/`.

use crate::{
    budget::Budget,
    history::{file, json::Node, log_file::LogFile},
    limits::history as limits,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// File in a project's folder with the path of its workspace.
const WORKSPACE: &str = ".project_root";

pub(crate) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    let Ok(projects) = fs::read_dir(root.join("tmp")) else { return files };
    for project in projects.flatten() {
        chats(&project.path().join("chats"), false, budget, &mut files);
    }
    files
}

fn chats(folder: &Path, subagents: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for (at, entry) in entries.flatten().enumerate() {
        if (at + 1) % limits::ENTRIES_BETWEEN_LOOKS == 0 && budget.spent() {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"));
        match stem {
            Some(stem) if subagents => files.extend(LogFile::stat(entry.path(), stem, true, false)),
            Some(stem) if stem.starts_with("session-") => {
                let id = stem.rsplit('-').next().unwrap_or(stem);
                files.extend(LogFile::stat(entry.path(), id, false, false));
            }
            Some(_) => {}
            None if !subagents => chats(&entry.path(), true, budget, files),
            None => {}
        }
    }
}

/// Returns the workspace of a session: written in its project's folder, or in the table of all projects.
pub(crate) fn workspace(log: &Path) -> Option<PathBuf> {
    let chats = log.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "chats"))?;
    let project = chats.parent()?;
    if let Some(bytes) = file::read(&project.join(WORKSPACE), limits::GIT_FILE) {
        let path = String::from_utf8_lossy(&bytes).trim().to_owned();
        return (!path.is_empty()).then(|| PathBuf::from(path));
    }
    let bytes = file::read(&project.parent()?.parent()?.join("projects.json"), limits::CODEX_NAMES)?;
    let text = String::from_utf8_lossy(&bytes);
    let table = Node::parse_object(&text)?;
    let slug = project.file_name()?.to_str()?;
    let row = table.get("projects")?.fields().iter().find(|(_, name)| name.as_str() == Some(slug))?;
    Some(PathBuf::from(row.0.as_ref()))
}
