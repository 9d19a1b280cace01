//! Walks an agent's folder.

use crate::limits;
use openagents_core::budget::Budget;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the entries of a folder, until the budget is spent; none if it is missing. Skips names that are not UTF-8,
/// which no agent uses.
pub(super) fn entries(folder: &Path, budget: &Budget) -> impl Iterator<Item = (PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().enumerate();
    let in_time = |(at, _): &(usize, _)| (at + 1) % limits::ENTRIES_BETWEEN_LOOKS != 0 || !budget.spent();
    entries
        .take_while(in_time)
        .filter_map(|(_, entry)| Some((entry.path(), entry.file_name().into_string().ok()?)))
}
