//! Files of code: their text, language and names.

use openagents_core::{
    terms,
    text::is_listed,
    workspace::{self, Workspace},
};
use std::{io::Read, path::Path};

/// Threads that read code files; more do not speed up a disk.
pub(super) const THREADS: usize = 8;

/// Bytes read of a code file.
pub(super) const TEXT: u64 = 256 << 10;
/// Bytes of a code file in which lines are counted.
const COUNTED: u64 = 16 << 20;

/// Returns whether a line belongs to the beginning of a file: a comment, an import, or nothing.
pub(super) fn is_prologue(line: &str) -> bool {
    let line = line.trim();
    let starts = ["//", "/*", "import ", "from ", "use ", "package ", "\"\"\"", "<?php", "require", "#", "*"];
    line.is_empty() || starts.iter().any(|start| line.starts_with(start))
}

/// Separates the words of a name from code.
pub(super) fn spaced(name: &str) -> String {
    terms::subwords(name).join(" ")
}

pub(super) fn text(workspace: &Workspace, path: &Path) -> Option<String> {
    let opened = workspace.open_file(path).ok()?;
    let mut bytes = Vec::new();
    opened.file.take(TEXT).read_to_end(&mut bytes).ok()?;
    (!workspace::is_binary(&bytes)).then(|| String::from_utf8_lossy(&workspace::decoded(bytes)).into_owned())
}

/// Returns the beginning of a file, and the number of its lines in at most [`COUNTED`] bytes.
pub(super) fn text_and_lines(workspace: &Workspace, path: &Path) -> Option<(String, usize)> {
    let mut file = workspace.open_file(path).ok()?.file.take(COUNTED);
    let mut bytes = Vec::new();
    file.by_ref().take(TEXT).read_to_end(&mut bytes).ok()?;
    if workspace::is_binary(&bytes) {
        return None;
    }
    let mut lines = memchr::memchr_iter(b'\n', &bytes).count();
    let mut last = bytes.last().copied();
    if bytes.len() as u64 == TEXT {
        let mut rest = [0; 64 << 10];
        while let Some(read) = file.read(&mut rest).ok().filter(|read| *read > 0) {
            lines += memchr::memchr_iter(b'\n', &rest[..read]).count();
            last = Some(rest[read - 1]);
        }
    }
    lines += usize::from(last.is_some_and(|last| last != b'\n'));
    Some((String::from_utf8_lossy(&workspace::decoded(bytes)).into_owned(), lines))
}

/// Returns the language of a code file by its extension.
pub(super) fn language_of(path: &str) -> Option<&'static str> {
    const LANGUAGES: &[(&str, &str)] = &[
        ("Rust", "rs"),
        ("Python", "py|pyi"),
        ("JavaScript", "js|mjs|cjs|jsx|vue|svelte"),
        ("TypeScript", "ts|tsx|mts|cts"),
        ("Go", "go"),
        ("C", "c|h"),
        ("C++", "cc|cpp|cxx|hpp|hh"),
        ("Java", "java"),
        ("Kotlin", "kt|kts"),
        ("PHP", "php"),
        ("Ruby", "rb"),
        ("C#", "cs"),
        ("Swift", "swift"),
        ("Scala", "scala"),
        ("Elixir", "ex|exs"),
        ("Shell", "sh|bash"),
        ("Lua", "lua"),
        ("Dart", "dart"),
        ("Zig", "zig"),
        ("Haskell", "hs"),
        ("OCaml", "ml|mli"),
        ("Clojure", "clj|cljs"),
        ("Perl", "pl|pm"),
    ];
    let extension = path.rsplit_once('.')?.1.to_lowercase();
    LANGUAGES.iter().find(|(_, extensions)| is_listed(&extension, extensions)).map(|(name, _)| *name)
}

/// Returns whether a path is code of the product: not a test, an example or a copy.
pub(super) fn is_code(path: &str) -> bool {
    const OTHER: &str = "\
        test|tests|testing|spec|specs|__tests__|testdata|fixtures|fixture|e2e|example|examples|sample|samples|demo|demos|\
        bench|benches|benchmark|benchmarks|doc|docs|website|site|www|vendor|vendored|third_party|node_modules|dist|build|scripts|misc|fuzz|regress";
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    language_of(&lower).is_some()
        && !lower.split('/').rev().skip(1).any(|part| is_listed(part, OTHER))
        && !stem.starts_with("test_")
        && !["_test", "_tests", "_spec", "_perftest", "_bench", "_benchmark", "-test", "-bench"]
            .iter()
            .any(|end| stem.ends_with(end))
        && ![".test.", ".spec.", ".d.ts"].iter().any(|part| name.contains(part))
}
