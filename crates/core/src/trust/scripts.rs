//! The files of a folder that its settings name: a hook or server that stays the same may run a script that changes.

use super::{
    digests::whole,
    files::{Content, FolderReader},
    lines::SettingLine,
};
use crate::shell_line::{LineScene, NamedPaths};
use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

/// Extensions of files that a command runs.
const SCRIPTS: &[&str] = &[
    "bash", "cjs", "cts", "fish", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "rb", "sh",
    "ts", "tsx", "zsh",
];

/// The scripts that settings name.
pub(super) struct Scripts {
    /// Hashed; empty if there are none.
    pub(super) counts: Vec<u8>,
    /// For each line, the scripts in it that do not exist, and those that only the shell can find.
    pub(super) missing: Vec<Vec<String>>,
}

/// Reads the scripts that the settings in `file` name. They run in `level`, in the agent's folder, or next to `file`.
pub(super) fn read(reader: &mut FolderReader, level: &Path, file: &Path, lines: &[SettingLine]) -> Scripts {
    let top = reader.top.root().to_owned();
    let beside = file.ancestors().skip(1).take(2).take_while(|folder| folder.starts_with(level));
    let folders: BTreeSet<_> = [level, &reader.own].into_iter().chain(beside).collect();
    let folders: Vec<PathBuf> = folders.into_iter().map(|folder| top.join(folder)).collect();
    let (mut paths, mut missing) = (BTreeSet::new(), Vec::new());
    for line in lines {
        let mut named = NamedPaths::default();
        if line.may_run {
            let scene = LineScene { folders: &folders, project: &top, most: reader.paths };
            named.add_line(&line.value, scene);
        }
        reader.paths = reader.paths.saturating_sub(named.paths.len());
        if named.is_cut {
            reader.cut();
        }
        let found: BTreeSet<&PathBuf> = named
            .paths
            .iter()
            .filter(|path| {
                let inside = inside(reader, path).filter(|path| reader.top.is_file(path));
                let is_found = inside.is_some();
                paths.extend(inside);
                is_found
            })
            .collect();
        missing.push(match line.is_command() {
            true => {
                let is_missing = |paths: &BTreeSet<PathBuf>| {
                    !paths.iter().any(|path| found.contains(path) || path.exists())
                };
                let scripts = named.words.iter().filter(|(word, paths)| is_script(word) && is_missing(paths));
                scripts.map(|(word, _)| word).chain(&named.unknown).cloned().collect()
            }
            false => Vec::new(),
        });
    }
    let mut counts = Vec::new();
    for path in paths {
        let counted = match reader.read(&path) {
            Content::Bytes { bytes, rest } => whole(&bytes, rest),
            Content::Other(why) => why.into_bytes(),
        };
        counts.extend(whole(path.as_os_str().as_encoded_bytes(), None));
        counts.extend(whole(&counted, None));
    }
    Scripts { counts, missing }
}

/// Returns a path relative to the top; `None` if it is elsewhere.
fn inside(reader: &FolderReader, path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    if let Ok(inside) = plain.strip_prefix(reader.top.root()) {
        return Some(inside.to_owned());
    }
    // `/tmp` is `/private/tmp` on macOS.
    let real = plain.canonicalize().ok()?;
    real.strip_prefix(reader.top.root()).ok().map(Path::to_owned)
}

/// Returns whether a word of a command can only refer to a script.
fn is_script(word: &str) -> bool {
    let is_path = !word.starts_with(['-', '@', '~']) && !word.contains("://");
    let is_one = !word.contains(|c: char| c.is_whitespace() || "=;|&<>()*?[]{}$`,".contains(c));
    let is_rooted = ["./", "../"].iter().any(|begin| word.starts_with(begin));
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    is_path && is_one && (is_rooted || extension.is_some_and(|extension| SCRIPTS.contains(&extension)))
}
