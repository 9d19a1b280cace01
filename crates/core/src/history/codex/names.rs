//! Thread names given by people: `session_index.jsonl`, an append-only file.

use super::super::{file, json::Node, lines::Lines, title};
use crate::{CancellationToken, budget::Budget};
use std::{collections::HashMap, path::Path, time::Duration};

/// Room for 25,000 rows of about 150 bytes.
const MAX_BYTES: u64 = 4 << 20;
const MAX_LINE: usize = 64 << 10;
/// Time limit, far more than reading [`MAX_BYTES`] takes; names are not worth waiting for.
const MAX_TIME: Duration = Duration::from_millis(250);

/// Returns names by thread id. The last row of an id wins; empty names are ignored.
pub(crate) fn names(root: &Path) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let Ok(file) = file::open(&root.join("session_index.jsonl")) else { return names };
    let budget = Budget::within(MAX_TIME, &CancellationToken::new());
    let mut lines = Lines::new(file, MAX_LINE, MAX_BYTES);
    while let Ok(Some(line)) = lines.next(&budget) {
        let text = line.text();
        let Some(row) = Node::parse_object(&text) else { continue };
        if let (Some(id), Some(name)) = (row.text("id"), title::given(row.text("thread_name"))) {
            names.insert(id.to_owned(), name);
        }
    }
    names
}
