//! Reads the JSON files below `storage/`: `session/<project>/<session>.json`, `message/<session>/<message>.json` and
//! `part/<message>/<part>.json`. Ids are the file names; those of messages and parts sort in order.

use super::{
    super::folder::entries,
    unfold::{About, Revert, Unfolded},
};
use crate::{
    history::log::{
        json::Node,
        lines::OpenLog,
        log_file::{LogFile, changed_at, millis},
    },
    limits,
};
use openagents_core::{CancellationToken, budget::Budget, file};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Returns whether a path is that of a session's file, not of a session in a database.
pub(crate) fn is_session(path: &Path) -> bool {
    storage_and_id(path).is_some_and(|(storage, _)| storage.ends_with("storage"))
}

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let folder = root.join("storage/session");
    entries(&folder, budget).flat_map(|(project, _)| sessions(&project, budget)).collect()
}

fn sessions(project: &Path, budget: &Budget) -> Vec<LogFile> {
    let session = |(path, name): (PathBuf, String)| {
        let id = name.strip_suffix(".json").filter(|id| id.starts_with("ses_"))?;
        let mut file = LogFile::stat(path.clone(), id, false, false)?;
        // A new message changes only its folder.
        let (storage, id) = storage_and_id(&path)?;
        let messages = fs::metadata(storage.join("message").join(id)).ok().as_ref().and_then(changed_at);
        file.stamp.mtime_ns = file.stamp.mtime_ns.max(messages.unwrap_or(i64::MIN));
        Some(file)
    };
    entries(project, budget).filter_map(session).collect()
}

pub(super) fn open(path: &Path) -> io::Result<OpenLog> {
    let (storage, id) =
        storage_and_id(path).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not a session"))?;
    let bytes = file::read_document(path, limits::SUMMARY_LINE as u64)?;
    let text = file::text(&bytes);
    let session = Node::parse_object(&text);
    let mut unfolded = match &session {
        Some(session) => Unfolded::new(&about(session), revert(session)),
        None => Unfolded::bad(&text),
    };
    let mut updated = session.as_ref().and_then(latest);
    for (message, path) in sorted(&storage.join("message").join(id)) {
        let data = read_file(&path, &mut updated);
        unfolded.message(&message, None, data.as_deref());
        for (part, path) in sorted(&storage.join("part").join(message)) {
            unfolded.part(&part, None, read_file(&path, &mut updated).as_deref());
        }
    }
    unfolded.updated(updated);
    Ok(unfolded.into_log())
}

/// Returns the files of the messages and parts of a session.
pub(super) fn contents(session: &Path) -> Vec<PathBuf> {
    let Some((storage, id)) = storage_and_id(session) else { return vec![] };
    let of_message = |(message, path): (String, PathBuf)| {
        let parts = sorted(&storage.join("part").join(message)).into_iter().map(|(_, path)| path);
        std::iter::once(path).chain(parts.collect::<Vec<_>>())
    };
    sorted(&storage.join("message").join(id)).into_iter().flat_map(of_message).collect()
}

fn about(session: &Node<'_>) -> About {
    let text = |key| session.text(key).map(str::to_owned);
    About {
        title: text("title"),
        version: text("version"),
        project: text("projectID"),
        directory: text("directory"),
        parent: text("parentID"),
        created: session.get("time").and_then(|time| millis(time.get("created"))),
        archived: session.get("time").is_some_and(|time| millis(time.get("archived")).is_some()),
        ..About::default()
    }
}

fn revert(session: &Node<'_>) -> Revert {
    let json = session.get("revert").map(|revert| revert.to_value().to_string());
    Revert::parse(json.as_deref())
}

/// Reads a file, and advances `updated` to the last time in it.
fn read_file(path: &Path, updated: &mut Option<i64>) -> Option<String> {
    let bytes = file::read_bounded(path, limits::SUMMARY_LINE as u64)?;
    let text = file::text(&bytes).into_owned();
    *updated = Node::parse_object(&text).as_ref().and_then(latest).max(*updated);
    Some(text)
}

/// Returns the last time of a session, a message or a part.
fn latest(node: &Node<'_>) -> Option<i64> {
    let times = [node.get("time"), node.get("state").and_then(|state| state.get("time"))];
    times.into_iter().flatten().flat_map(Node::fields).filter_map(|(_, time)| millis(Some(time))).max()
}

/// Returns the JSON files of a folder by their names without the suffix.
fn sorted(folder: &Path) -> Vec<(String, PathBuf)> {
    let budget = Budget::within(limits::DATABASE_SESSION, &CancellationToken::new());
    let named = |(path, name): (PathBuf, String)| Some((name.strip_suffix(".json")?.to_owned(), path));
    let mut files: Vec<_> = entries(folder, &budget).filter_map(named).collect();
    files.sort();
    files
}

/// Splits `<storage>/session/<project>/<id>.json`.
pub(crate) fn storage_and_id(path: &Path) -> Option<(&Path, &str)> {
    let id = path.file_name()?.to_str()?.strip_suffix(".json")?;
    Some((path.parent()?.parent()?.parent()?, id))
}
