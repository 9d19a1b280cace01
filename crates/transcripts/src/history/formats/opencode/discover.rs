//! Finds sessions in the databases `opencode.db` and `opencode-<channel>.db` and in `storage/`, which remains when its
//! sessions move into a database.

use super::{super::folder::entries, generation::Generation, tables, tree};
use crate::history::log_file::LogFile;
use openagents_core::budget::Budget;
use std::{collections::HashMap, path::Path};

/// Finds the sessions in a data folder, or in one database.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    if root.is_file() {
        return newest(tables::discover(root, budget));
    }
    let mut found = Vec::new();
    for (path, name) in entries(root, budget) {
        if name.starts_with("opencode") && name.ends_with(".db") {
            found.append(&mut tables::discover(&path, budget));
        }
    }
    found.extend(tree::discover(root, budget).into_iter().map(|file| (Generation::Tree, file)));
    newest(found)
}

/// Keeps the newest copy of each session.
fn newest(found: Vec<(Generation, LogFile)>) -> Vec<LogFile> {
    let mut newest: HashMap<String, (Generation, LogFile)> = HashMap::new();
    for (generation, file) in found {
        let is_older = |known: &(Generation, LogFile)| {
            (known.0, known.1.stamp.mtime_ns) < (generation, file.stamp.mtime_ns)
        };
        if newest.get(&file.id).is_none_or(is_older) {
            newest.insert(file.id.clone(), (generation, file));
        }
    }
    newest.into_values().map(|(_, file)| file).collect()
}
