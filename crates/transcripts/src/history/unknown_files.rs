//! The files in agents' session folders that no reader recognises, as a session or as a known file next to one.

use super::{known, logs::History, source::Source, transcript::Provider};
use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;
use openagents_core::budget::Budget;
use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
};

/// Maximum number of files that are checked below one folder.
const LOOKED_AT: usize = 200_000;

impl History {
    /// Returns the number of unknown files of each kind among an agent's sessions. A kind is an extension, such as
    /// `*.bin`, or a file name; folders are not named, because they may be private. Reads no file. Blocks.
    pub fn unknown_files(&self, provider: Provider, budget: &Budget) -> BTreeMap<String, u64> {
        let beside = globs(known::files_beside(provider));
        let mut found = BTreeMap::new();
        for Source { format, root, .. } in self.sources(Some(provider)) {
            let logs: HashSet<PathBuf> = format
                .discover(&root, budget)
                .into_iter()
                .flat_map(|file| file.earlier.into_iter().chain([file.path]))
                .collect();
            for folder in format.watched().iter().filter(|folder| !folder.is_empty()) {
                let walk = WalkBuilder::new(root.join(folder)).standard_filters(false).build();
                let files = walk.filter_map(Result::ok).take_while(|_| !budget.spent()).take(LOOKED_AT);
                for file in files.filter(|file| file.file_type().is_some_and(|kind| kind.is_file())) {
                    let path = file.path();
                    let is_known = logs.contains(path)
                        || path.strip_prefix(&root).is_ok_and(|inside| beside.is_match(inside));
                    if !is_known {
                        *found.entry(kind(path)).or_default() += 1;
                    }
                }
            }
        }
        found
    }
}

fn globs(patterns: &[String]) -> GlobSet {
    let mut globs = GlobSetBuilder::new();
    for glob in patterns.iter().filter_map(|pattern| Glob::new(pattern).ok()) {
        globs.add(glob);
    }
    globs.build().unwrap_or_default()
}

fn kind(path: &Path) -> String {
    match path.extension() {
        Some(extension) => format!("*.{}", extension.to_string_lossy()),
        None => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}
