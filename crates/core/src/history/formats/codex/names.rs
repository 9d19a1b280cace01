//! Thread names given by people: `session_index.jsonl`, an append-only file.

use super::super::super::{file, json::Node, lines::Lines, title};
use crate::{CancellationToken, budget::Budget, limits::history as limits};
use std::{collections::HashMap, path::Path};

/// Returns names by thread id. The last row of an id wins; empty names are ignored.
pub(crate) fn names(root: &Path) -> HashMap<String, String> {
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
