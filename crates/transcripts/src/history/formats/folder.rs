//! Walks an agent's folder.

use crate::limits;
use openagents_core::budget::Budget;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Returns the paths in a folder, until the budget is spent; none if it is missing.
pub(super) fn paths(folder: &Path, budget: &Budget) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().enumerate();
    let in_time = |(at, _): &(usize, _)| (at + 1) % limits::ENTRIES_BETWEEN_CHECKS != 0 || !budget.spent();
    entries.take_while(in_time).map(|(_, entry)| entry.path())
}

/// Returns the paths in a folder like [`paths`], with their names. Skips names that are not UTF-8, which no agent uses.
pub(super) fn entries(folder: &Path, budget: &Budget) -> impl Iterator<Item = (PathBuf, String)> {
    paths(folder, budget).filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((path, name))
    })
}

/// Length of a name in bytes above which Claude Code truncates it and appends a hyphen and a hash.
const WHOLE: usize = 200;

/// Returns the name that agents derive from the path of a workspace: its letters and digits, joined by hyphens.
pub(super) fn joined_name(path: &str) -> String {
    let words = path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Returns whether a name may stand for `folder` or a folder below it. Other folders may have the same name.
pub(super) fn may_be_below(made: &OsStr, folder: &Path) -> bool {
    let name = |path: &str| joined_name(path).to_lowercase();
    let (made, folder) = (made.to_string_lossy(), name(&folder.to_string_lossy()));
    let cut = made.rsplit_once('-').filter(|_| made.len() > WHOLE).map(|(cut, _)| name(cut));
    if cut.is_some_and(|cut| folder.starts_with(&cut)) {
        return true;
    }
    let made = name(&made);
    made.strip_prefix(&folder)
        .is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn may_be_below_compares_names() {
        let long = format!("/home/{}", "a".repeat(250));
        let cut = format!("-home-{}-1x2y3z", "a".repeat(194));
        let rows = [
            ("-home-a-my-proj", "/home/a/my-proj", true),
            ("-home-a-my-proj", "/home/a/my.proj/", true),
            ("-home-a-my-proj", "/home/a", true),
            ("-home-a-my-proj-sub", "/home/a/my-proj", true),
            ("-Home-A-My-Proj", "/home/a/my-proj", true),
            ("home-a-größe", "/home/a/Größe", true),
            ("-home-a-my-project", "/home/a/my-proj", false),
            ("-home-a", "/home/a/my-proj", false),
            ("-home-b", "/home/a", false),
            ("-home-a", "/", true),
            (&cut, &long, true),
            (&cut, "/home", true),
            (&cut, "/home/b", false),
        ];
        for (made, folder, expected) in rows {
            assert_eq!(may_be_below(OsStr::new(made), Path::new(folder)), expected, "{made} {folder}");
        }
    }
}
