//! The definitions of a workspace whose name matches what a user types.

use crate::{definition, files::FileNames};
use nucleo_matcher::{
    Config, Matcher,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};
use openagents_core::{
    budget::Budget,
    parallel, text,
    workspace::{self, Workspace, WorkspaceError},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// Maximum number of code files whose definitions are matched; those near the root come first.
const FILES: usize = 6_000;
/// Maximum bytes of a file; longer ones are generated.
const FILE: u64 = 1 << 20;
/// Maximum definitions of a file.
const DEFINITIONS: usize = 2_000;
/// Age from which files are looked at again.
const FRESH: Duration = Duration::from_secs(10);
/// Bytes of a query that count.
const QUERY: usize = 256;
const THREADS: usize = 4;

/// A definition: a function, a type, a constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// The definitions of the workspace in which they were looked for last.
#[derive(Debug, Default)]
pub struct Symbols(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    root: PathBuf,
    /// When all files were last looked at; `None` if some were not.
    at: Option<Instant>,
    files: HashMap<String, CodeFile>,
}

#[derive(Debug, Clone)]
struct CodeFile {
    modified: Option<SystemTime>,
    size: u64,
    /// Names and lines, from 1.
    definitions: Arc<[(String, u32)]>,
}

impl Symbols {
    /// Returns up to `limit` definitions whose letters contain those of `query` in order, best first. Files that were not
    /// read within the budget are read by the next calls. Blocks.
    pub fn matching(
        &self,
        root: &Path,
        query: &str,
        limit: usize,
        names: &FileNames,
        budget: &Budget,
    ) -> Result<Vec<Symbol>, WorkspaceError> {
        let query = text::prefix(query, QUERY);
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = self.0.lock();
        if known.root != root {
            *known = Known { root: root.to_owned(), ..Known::default() };
        }
        if known.at.is_none_or(|at| at.elapsed() >= FRESH) {
            known.read(names, budget)?;
        }
        let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        for (path, file) in &known.files {
            for (name, line) in &*file.definitions {
                let haystack = nucleo_matcher::Utf32Str::new(name, &mut buffer);
                if let Some(score) = pattern.score(haystack, &mut matcher) {
                    found.push((std::cmp::Reverse(score), name.len(), path, *line, name));
                }
            }
        }
        found.sort_unstable();
        let symbol = |(_, _, path, line, name): (_, _, &String, u32, &String)| Symbol {
            name: name.clone(),
            path: path.clone(),
            line,
        };
        Ok(found.into_iter().take(limit).map(symbol).collect())
    }
}

impl Known {
    /// Reads the files that are new or have changed.
    fn read(&mut self, names: &FileNames, budget: &Budget) -> Result<(), WorkspaceError> {
        let workspace = Workspace::open(&self.root)?;
        let all = names.list(&self.root, budget)?;
        if budget.spent() {
            return Ok(());
        }
        let code: Vec<&String> = all.iter().filter(|path| definition::is_code(path)).take(FILES).collect();
        let before = &self.files;
        let read = |_: &mut (), at: usize| Some(read_file(&workspace, code[at], before.get(code[at])));
        let read = parallel::map(code.len(), THREADS, || !budget.spent(), || (), read);
        self.at = (!budget.spent() && read.iter().all(Option::is_some)).then(Instant::now);
        let files = code.into_iter().zip(read).filter_map(|(path, read)| match read {
            Some(read) => Some((path.clone(), read?)),
            None => Some((path.clone(), before.get(path)?.clone())),
        });
        self.files = files.collect();
        Ok(())
    }
}

/// Returns a file's definitions, or what is known of it if it has not changed; `None` if it has none.
fn read_file(workspace: &Workspace, path: &str, known: Option<&CodeFile>) -> Option<CodeFile> {
    let mut file = workspace.open_file(Path::new(path)).ok()?.file;
    let metadata = file.metadata().ok()?;
    let (modified, size) = (metadata.modified().ok(), metadata.len());
    if let Some(known) = known.filter(|known| known.modified == modified && known.size == size) {
        return Some(known.clone());
    }
    let mut bytes = Vec::new();
    if size <= FILE {
        file.by_ref().take(FILE).read_to_end(&mut bytes).ok()?;
    }
    let definitions = match workspace::is_binary(&bytes) {
        true => Vec::new(),
        false => {
            let extension = definition::extension(path);
            let text = String::from_utf8_lossy(&workspace::decoded(bytes)).into_owned();
            let named = text
                .lines()
                .zip(1..)
                .filter_map(|(line, number)| Some((definition::name(line, extension)?.to_owned(), number)));
            named.take(DEFINITIONS).collect()
        }
    };
    Some(CodeFile { modified, size, definitions: definitions.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::CancellationToken;

    #[test]
    fn definitions_match_by_their_letters_and_follow_changes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/parse.rs", "//! Parses.\n\npub fn parse_line(line: &str) {}\n\nstruct Parser;\n");
        write("web/app.ts", "export function parseUrl() {\n}\n");
        write("lib/größe.py", "class Größe:\n    def messen(self):\n        pass\n");
        write("notes.md", "fn parse_nothing()\n");
        write("data.rs", "\0\0fn parse_binary() {}\n");
        let (names, symbols) = (FileNames::default(), Symbols::default());
        let matching = |query: &str| {
            let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
            let found = symbols.matching(&root, query, 3, &names, &budget).unwrap();
            found.into_iter().map(|it| format!("{} {}:{}", it.name, it.path, it.line)).collect::<Vec<_>>()
        };
        assert_eq!(
            matching("parse"),
            ["Parser src/parse.rs:5", "parseUrl web/app.ts:1", "parse_line src/parse.rs:3"]
        );
        assert_eq!(matching("parli"), ["parse_line src/parse.rs:3"]);
        assert_eq!(matching("grosse"), Vec::<String>::new());
        assert_eq!(matching("größe"), ["Größe lib/größe.py:1"]);
        assert_eq!(matching("mess"), ["messen lib/größe.py:2"]);
        for nothing in ["", "parse_nothing", "binary", "!x", &"x".repeat(10_000)] {
            assert_eq!(matching(nothing), Vec::<String>::new(), "{nothing}");
        }
        write("src/parse.rs", "fn another() {}\n");
        symbols.0.lock().at = None;
        assert_eq!(matching("parli"), Vec::<String>::new());
        assert_eq!(matching("another"), ["another src/parse.rs:1"]);
    }

    #[test]
    fn files_are_read_by_later_calls_if_the_time_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("a.rs"), "fn parse() {}\n").unwrap();
        let (names, symbols) = (FileNames::default(), Symbols::default());
        let all = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        assert_eq!(names.matching(&root, "", 1, &all).unwrap(), ["a.rs"]);
        let find = |time| {
            let budget = Budget::within(time, &CancellationToken::new());
            symbols.matching(&root, "parse", 3, &names, &budget).unwrap().len()
        };
        assert_eq!(find(Duration::ZERO), 0);
        assert_eq!(find(Duration::from_secs(60)), 1);
    }
}
