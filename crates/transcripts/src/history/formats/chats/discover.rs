//! Finds sessions: `tmp/<project>/chats/session-<time>-<start of id>.json` or `.jsonl`, and those of sub-agents in
//! `chats/<id of the parent>/`. A resumed session has several files with the same start of its id.

use crate::{
    history::{json::Node, log_file::LogFile},
    limits,
};
use openagents_core::{budget::Budget, file};
use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// File in a project's folder with the path of its workspace.
const WORKSPACE: &str = ".project_root";

pub(crate) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    let Ok(projects) = fs::read_dir(root.join("tmp")) else { return files };
    for project in projects.flatten() {
        let mut found = Vec::new();
        chats(&project.path().join("chats"), false, budget, &mut found);
        files.extend(sessions(found));
    }
    files
}

/// Joins the files of each session of a project, oldest first: their names begin with the time.
fn sessions(files: Vec<LogFile>) -> Vec<LogFile> {
    let mut sessions: Vec<Vec<LogFile>> = Vec::new();
    let mut places: HashMap<(String, bool), Vec<usize>> = HashMap::new();
    let mut files = files;
    files.sort_by_cached_key(|file| file.path.file_name().map(ToOwned::to_owned));
    for file in files {
        let known = places.entry((file.id.clone(), file.subagent)).or_default();
        // Eight characters are not the whole id.
        let same = known.iter().copied().find(|place| is_same_session(&sessions[*place][0], &file));
        match same {
            Some(place) => sessions[place].push(file),
            None => {
                known.push(sessions.len());
                sessions.push(vec![file]);
            }
        }
    }
    sessions.into_iter().filter_map(LogFile::joined).collect()
}

fn is_same_session(file: &LogFile, other: &LogFile) -> bool {
    match (session_id(&file.path), session_id(&other.path)) {
        (Some(id), Some(other)) => id == other,
        _ => file.path.with_extension("") == other.path.with_extension(""),
    }
}

/// Returns the id in the head of a file.
fn session_id(log: &Path) -> Option<String> {
    let mut head = Vec::new();
    file::open(log).ok()?.take(limits::CHAT_HEAD).read_to_end(&mut head).ok()?;
    let text = file::text(&head);
    let (_, rest) = text.split_once("\"sessionId\"")?;
    let id = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    Some(id.split_once('"')?.0.to_owned())
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

/// Returns the workspace of a session, from its project's folder or from the table of all projects.
pub(crate) fn workspace(log: &Path) -> Option<PathBuf> {
    let chats = log.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "chats"))?;
    let project = chats.parent()?;
    if let Some(bytes) = file::read_bounded(&project.join(WORKSPACE), limits::GIT_FILE) {
        let path = file::text(&bytes).trim().to_owned();
        return (!path.is_empty()).then(|| PathBuf::from(path));
    }
    let bytes = file::read_bounded(&project.parent()?.parent()?.join("projects.json"), limits::CODEX_NAMES)?;
    let text = file::text(&bytes);
    let table = Node::parse_object(&text)?;
    let slug = project.file_name()?.to_str()?;
    let row = table.get("projects")?.fields().iter().find(|(_, name)| name.as_str() == Some(slug))?;
    Some(PathBuf::from(row.0.as_ref()))
}
