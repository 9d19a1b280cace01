//! Which session each agent's process has open: by the files that agents keep for their processes, by open files, or by
//! the folder.

use crate::{
    state::Millis,
    system::{ProcessFact, ProcessId},
};
use openagents_core::file;
use openagents_transcripts::history::Provider;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// Maximum bytes of a file for a process; real ones have less than 1 KiB.
pub(super) const RECORD: u64 = 64 << 10;
/// Maximum bytes of the first record of a log; real ones have up to 50 KiB.
const HEAD: u64 = 1 << 20;
/// Length of the id of a session of Codex, a UUID.
const SESSION_ID: usize = 36;
/// A log that changed this long before its process started is of an earlier one.
const EARLIER: Millis = 2_000;

/// The session that a process has open.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Found {
    /// `None` before the first prompt, at a start screen, or if nothing names it.
    pub(super) id: Option<String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) log: Option<PathBuf>,
    /// Claude Code's file for the process.
    pub(super) record: Option<PathBuf>,
}

/// Finds the sessions of a process of an agent whose logs are below `root`; only a service has several. Blocks.
pub(super) fn find(root: &Path, process: &ProcessFact) -> Vec<Found> {
    let mut found = match process.agent {
        Some(Provider::Codex) => codex(root, process),
        Some(Provider::ClaudeCode) => claude_code(root, process).into_iter().collect(),
        Some(Provider::Copilot) => copilot(root, process).into_iter().collect(),
        Some(Provider::Qwen) => qwen_code(root, process).into_iter().collect(),
        Some(Provider::Gemini) => gemini_cli(root, process).into_iter().collect(),
        _ => Vec::new(),
    };
    // The folder of a service is not that of its sessions.
    if !process.is_service() {
        for found in &mut found {
            found.folder = found.folder.take().or_else(|| process.folder.clone());
        }
    }
    found
}

/// Reads a record for a process; `None` while it is being written, or if it is of an earlier process.
fn record(path: &Path, id: ProcessId) -> Option<Value> {
    let record: Value = serde_json::from_slice(&file::read_bounded(path, RECORD)?).ok()?;
    let start = match &record["procStart"] {
        Value::String(start) => start.rsplit(':').next().map(str::to_owned),
        Value::Number(start) => Some(start.to_string()),
        _ => None,
    };
    let is_same = !cfg!(target_os = "linux") || start.is_none_or(|start| start == id.start.to_string());
    is_same.then_some(record)
}

fn claude_code(root: &Path, process: &ProcessFact) -> Option<Found> {
    let path = root.join(format!("sessions/{}.json", process.id.pid));
    let record = record(&path, process.id)?;
    let id = record["sessionId"].as_str().filter(|id| is_name(id))?.to_owned();
    let folder = record["cwd"].as_str().map(PathBuf::from);
    let slug = folder.as_ref().map(|folder| slug(folder));
    let log = slug.map(|slug| root.join(format!("projects/{slug}/{id}.jsonl"))).filter(|log| log.exists());
    let log = log.or_else(|| in_each(&root.join("projects"), &format!("{id}.jsonl")));
    Some(Found { id: Some(id), folder, log, record: Some(path) })
}

/// Claude Code and Qwen Code name the folder of a project by its path, with `-` for all but letters and digits.
fn slug(folder: &Path) -> String {
    let path = folder.to_string_lossy();
    path.chars().map(|each| if each.is_ascii_alphanumeric() { each } else { '-' }).collect()
}

/// Codex has its logs and locks open, which both name their sessions.
fn codex(root: &Path, process: &ProcessFact) -> Vec<Found> {
    let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let is_below = |path: &Path, folder: &str| {
        path.starts_with(root.join(folder)) || path.starts_with(real.join(folder))
    };
    let mut found: BTreeMap<String, Option<PathBuf>> = BTreeMap::new();
    for path in &process.open_files {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        // Both names end with the id.
        let Some(id) = name.len().checked_sub(SESSION_ID).and_then(|start| name.get(start..)) else {
            continue;
        };
        if is_below(path, "sessions") {
            found.insert(id.to_owned(), Some(path.clone()));
        } else if is_below(path, "thread-writer-locks") && name.len() == SESSION_ID {
            found.entry(id.to_owned()).or_default();
        }
    }
    let session = |(id, log): (String, Option<PathBuf>)| {
        let head = log.as_deref().map(first_record).unwrap_or_default();
        let folder = head["payload"]["cwd"].as_str().map(PathBuf::from);
        Found { id: Some(id), folder, log, record: None }
    };
    found.into_iter().map(session).collect()
}

/// Returns the first record of a log.
fn first_record(log: &Path) -> Value {
    let mut line = Vec::new();
    let read =
        fs::File::open(log).and_then(|log| BufReader::new(log).take(HEAD).read_until(b'\n', &mut line));
    read.ok().and_then(|_| serde_json::from_slice(&line).ok()).unwrap_or_default()
}

fn copilot(root: &Path, process: &ProcessFact) -> Option<Found> {
    let lock = format!("inuse.{}.lock", process.id.pid);
    let lock = in_each(&root.join("session-state"), &lock)?;
    let session = lock.parent()?;
    let id = session.file_name()?.to_str()?.to_owned();
    let log = Some(session.join("events.jsonl")).filter(|log| log.exists());
    Some(Found { id: Some(id), log, ..Found::default() })
}

fn qwen_code(root: &Path, process: &ProcessFact) -> Option<Found> {
    let record = record(&root.join(format!("sessions/{}.json", process.id.pid)), process.id)?;
    let id = record["sessionId"].as_str().filter(|id| is_name(id))?.to_owned();
    let folder = record["cwd"].as_str().map(PathBuf::from);
    let log = folder.as_ref().map(|folder| root.join(format!("projects/{}/chats/{id}.jsonl", slug(folder))));
    Some(Found { id: Some(id), folder, log: log.filter(|log| log.exists()), record: None })
}

/// The newest chat of the folder that changed since the process started.
fn gemini_cli(root: &Path, process: &ProcessFact) -> Option<Found> {
    let folder = process.folder.as_ref()?;
    let projects = fs::read_dir(root.join("tmp")).ok()?.flatten().map(|entry| entry.path());
    let is_of = |project: &PathBuf| {
        let root = fs::read_to_string(project.join(".project_root")).unwrap_or_default();
        Path::new(root.trim()) == folder
    };
    let project = projects.into_iter().find(is_of)?;
    let chats = fs::read_dir(project.join("chats")).ok()?.flatten().map(|entry| entry.path());
    let chats = chats.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let (_, log) = chats
        .filter_map(|path| Some((changed(&path)?, path)))
        .filter(|(changed, _)| changed + EARLIER >= process.started)
        .max_by_key(|(changed, _)| *changed)?;
    let id = first_record(&log)["sessionId"].as_str().map(str::to_owned);
    Some(Found { id, log: Some(log), ..Found::default() })
}

/// When a file was changed.
fn changed(path: &Path) -> Option<Millis> {
    let changed = fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Millis::try_from(changed.as_millis()).ok()
}

/// Returns a file with a name in one of the folders of a folder.
fn in_each(folder: &Path, name: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(folder).ok()?.flatten();
    folders.map(|entry| entry.path().join(name)).find(|path| path.exists())
}

/// Whether an id can be a part of a path.
fn is_name(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 100
        && id.chars().all(|each| each.is_ascii_alphanumeric() || each == '-' || each == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::Terminal;

    fn process(agent: Provider, open_files: Vec<PathBuf>) -> ProcessFact {
        ProcessFact {
            id: ProcessId { pid: 7, start: 99 },
            parent: 1,
            started: 1_000,
            name: String::new(),
            command: Vec::new(),
            agent: Some(agent),
            folder: Some("/w/tide.x".into()),
            terminal: Terminal::Open,
            is_suspended: false,
            open_files,
            pane: None,
            config: None,
        }
    }

    /// Writes files below a root and finds the session of process 7. Returns its id and the name of its log.
    fn found(agent: Provider, files: &[(&str, &str)]) -> Option<(String, Option<String>)> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let open = files.iter().map(|(path, _)| root.path().join(path)).collect();
        let Found { id, log, .. } = find(root.path(), &process(agent, open)).into_iter().next()?;
        let log = log.map(|log| log.strip_prefix(root.path()).unwrap().to_string_lossy().into_owned());
        Some((id?, log))
    }

    #[test]
    fn sessions_are_found_by_what_their_agents_keep() {
        let id = "01a214e9-811b-71e2-82ae-74e4d5488c34";
        let claude = r#"{"pid":7,"procStart":"99","sessionId":"s-1","cwd":"/w/tide.x"}"#;
        let log = "projects/-w-tide-x/s-1.jsonl";
        let with = |log: &str| Some(("s-1".to_owned(), Some(log.to_owned())));
        let at = |log: &str| Some((id.to_owned(), Some(log.to_owned())));
        assert_eq!(found(Provider::ClaudeCode, &[("sessions/7.json", claude), (log, "")]), with(log));
        // A session may have been moved to another project.
        let moved = "projects/other/s-1.jsonl";
        assert_eq!(found(Provider::ClaudeCode, &[("sessions/7.json", claude), (moved, "")]), with(moved));
        let earlier = claude.replace("99", "98");
        assert_eq!(found(Provider::ClaudeCode, &[("sessions/7.json", &earlier), (log, "")]), None);
        let hostile = claude.replace("s-1", "../../s-1");
        assert_eq!(found(Provider::ClaudeCode, &[("sessions/7.json", &hostile)]), None);
        assert_eq!(found(Provider::ClaudeCode, &[("sessions/7.json", "{\"pid\":")]), None);

        let lock = format!("thread-writer-locks/{id}.lock");
        assert_eq!(found(Provider::Codex, &[(&lock, "")]), Some((id.to_owned(), None)));
        let rollout = format!("sessions/2026/11/25/rollout-2026-11-25T22-52-57-{id}.jsonl");
        assert_eq!(found(Provider::Codex, &[(&rollout, ""), (&lock, "")]), at(&rollout));
        assert_eq!(found(Provider::Codex, &[("thread-writer-locks/.coordination.lock", "")]), None);

        let lock = format!("session-state/{id}/inuse.7.lock");
        let events = format!("session-state/{id}/events.jsonl");
        assert_eq!(found(Provider::Copilot, &[(&lock, "7"), (&events, "")]), at(&events));

        let qwen = claude.replace("\"99\"", "\"0b2c:99\"");
        let chat = "projects/-w-tide-x/chats/s-1.jsonl";
        assert_eq!(found(Provider::Qwen, &[("sessions/7.json", &qwen), (chat, "")]), with(chat));

        let chat = "tmp/tide/chats/session-2026-11-25T22-58-c1a2cfd2.jsonl";
        let head = r#"{"kind":"main","sessionId":"s-1"}"#;
        let root = ("tmp/tide/.project_root", "/w/tide.x\n");
        assert_eq!(found(Provider::Gemini, &[root, (chat, head)]), with(chat));
        let other = ("tmp/tide/.project_root", "/w/other");
        assert_eq!(found(Provider::Gemini, &[other, (chat, head)]), None);
    }
}
