//! The files of a folder that its settings name: a hook or server that stays the same may run a script that does not.

use super::{
    digests::whole,
    files::{Content, FolderReader},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Variables that stand for the folder.
const FOLDER: &[&str] = &["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "workspaceFolder", "PWD"];

/// Returns what counts of the files that the settings in `level` name. They run there or in the agent's folder.
pub(super) fn contents(reader: &mut FolderReader, level: &Path, settings: &[String]) -> Vec<u8> {
    let mut paths = BTreeSet::new();
    for line in settings {
        let line = FOLDER.iter().fold(line.clone(), |line, name| {
            line.replace(&format!("${{{name}}}"), ".").replace(&format!("${name}"), ".")
        });
        for word in line.split(|c: char| c.is_whitespace() || "\"'`;:,&|()<>=${}[]".contains(c)) {
            if !word.is_empty() {
                paths.extend(named(reader, level, word));
            }
        }
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
    counts
}

fn named(reader: &mut FolderReader, level: &Path, word: &str) -> BTreeSet<PathBuf> {
    let Some(left) = reader.words.checked_sub(1) else {
        reader.cut();
        return BTreeSet::new();
    };
    reader.words = left;
    let folders = [level.join(word), reader.own.join(word)];
    let paths = folders.iter().filter_map(|path| reader.top.resolve(path.to_str()?).ok());
    paths.filter(|path| reader.top.is_file(path)).collect()
}
