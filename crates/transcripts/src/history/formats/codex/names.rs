//! Names of threads: `session_index.jsonl`, an append-only file, and the table `threads` of `state_<version>.sqlite`.

use crate::{
    history::{
        format::OutsideName,
        json::Node,
        lines::Lines,
        sqlite::{Columns, Remembered, text},
        title,
    },
    limits,
};
use openagents_core::{CancellationToken, budget::Budget, file};
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

static THREADS: Remembered<HashMap<String, OutsideName>> = Remembered::new();

/// Returns names by thread id. A name in the table is newer than one in the file; a title in the table may only be the
/// first prompt.
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
    let read = THREADS.read(database, &budget, |connection| {
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
