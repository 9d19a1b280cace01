//! The files that most others import: imports are read as text and resolved by the names of files.

use super::{
    documents::Documents,
    evidence::{Answer, Fact},
    files::{THREADS, is_code, language_of, text},
    places,
};
use openagents_core::{budget::Budget, parallel, update::Finding, visible::code_span, workspace::Workspace};
use regex::Regex;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::Path,
    sync::LazyLock,
};

/// Maximum number of files read for their imports; those nearest to the root come first.
const FILES: usize = 6_000;

/// Maximum distinct imports of a file, and files of one name that an import may mean.
const IMPORTS: usize = 1_000;
const NAMESAKES: usize = 200;
/// Maximum files in an answer.
const CENTRAL: usize = 7;

/// A file with the number of files that import it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Imported {
    path: String,
    by: usize,
}

/// One import: its path in the language's own form.
static IMPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)^\s*(?:from\s+([.\w]+)\s+import\s+([\w, ()*]+)|import\s+([\w.]+)(?:\s+as\s+\w+)?\s*;?\s*$|(?:import|export)\b[^'"\n;]*?['"]([^'"\n]+)['"]|(?:const|let|var)\b[^=\n]*=\s*require\(\s*['"]([^'"\n]+)['"]|#\s*include\s+["<]([^">\n]+)[">]|(?:pub(?:\([^)]*\))?\s+)?use\s+(?:crate|super|self)::([\w:]+)|use\s+([\w\\]+)(?:\s+as\s+\w+)?\s*;|require(?:_relative)?\s*\(?\s*['"]([^'"\n]+)['"]|import\s+(?:static\s+)?([\w.]+)\s*;|\s*(?:\w+\s+)?"([\w./-]+)"\s*$)"#,
    )
    .ok()
});

/// Returns the files by how many others import them, most first. `paths` are the code files of the workspace, without
/// tests.
fn most_imported(workspace: &Workspace, paths: &[&str], budget: &Budget) -> Vec<Imported> {
    let mut paths: Vec<&str> = paths.to_vec();
    paths.sort_by_key(|path| (path.matches('/').count(), *path));
    paths.truncate(FILES);
    let by_name = names(&paths);
    let by_type = types(&paths);
    let read = |(): &mut (), at: usize| -> Option<BTreeSet<usize>> {
        let text = text(workspace, Path::new(paths[at]))?;
        let mut targets = imports(&text, paths[at], &paths, &by_name);
        if has_implicit_imports(paths[at]) {
            targets.extend(mentions(&text, paths[at], &paths, &by_type));
        }
        Some(targets)
    };
    let edges = parallel::map(paths.len(), THREADS, || !budget.spent(), || (), read);
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, targets) in edges.iter().enumerate() {
        for target in targets.iter().flatten().filter(|target| **target != at) {
            *counts.entry(*target).or_default() += 1;
        }
    }
    let mut most: Vec<Imported> =
        counts.into_iter().map(|(at, by)| Imported { path: paths[at].to_owned(), by }).collect();
    most.sort_by(|one, other| other.by.cmp(&one.by).then_with(|| one.path.cmp(&other.path)));
    most
}

/// Returns the language of a file, one for those that import each other.
fn family(path: &str) -> Option<&'static str> {
    match language_of(path) {
        Some("C++") => Some("C"),
        Some("TypeScript") => Some("JavaScript"),
        language => language,
    }
}

/// Returns whether a file uses types of its package, or that are loaded on demand, without an import.
fn has_implicit_imports(path: &str) -> bool {
    matches!(language_of(path), Some("Java" | "Kotlin" | "Scala" | "C#" | "Ruby" | "Swift" | "PHP"))
}

/// The files by the name of the type that each is named after: `range_help.rb` has `RangeHelp`.
fn types(paths: &[&str]) -> HashMap<String, Vec<usize>> {
    let mut by_type: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, path) in paths.iter().enumerate().filter(|(_, path)| has_implicit_imports(path)) {
        let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
        let capital = |part: &str| {
            let mut letters = part.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
        };
        let name: String = stem.split('_').map(capital).collect();
        if name.len() > 2 {
            by_type.entry(name).or_default().push(at);
        }
    }
    by_type
}

/// Returns the files whose types a text names; of several with one name, the nearest.
fn mentions(text: &str, own: &str, paths: &[&str], by_type: &HashMap<String, Vec<usize>>) -> BTreeSet<usize> {
    let words = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(char::is_uppercase));
    let near = |at: &&usize| {
        own.split('/').zip(paths[**at].split('/')).take_while(|(one, other)| one == other).count()
    };
    let of_language = |known: &[usize]| {
        let known = known.iter().take(NAMESAKES);
        known.filter(|at| language_of(paths[**at]) == language_of(own)).max_by_key(near).copied()
    };
    let words: BTreeSet<&str> = words.collect();
    words.into_iter().filter_map(|word| of_language(by_type.get(word)?)).collect()
}

/// The files by the last part of the names that an import may use for them: the stem, or the folder of an index file.
fn names(paths: &[&str]) -> HashMap<String, Vec<usize>> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        let is_index = is_index(path);
        let known = if is_index { folder.rsplit('/').next().unwrap_or(folder) } else { stem };
        by_name.entry(known.to_lowercase()).or_default().push(at);
        if name.contains('.') && !is_index {
            by_name.entry(name.to_lowercase()).or_default().push(at);
        }
    }
    by_name
}

/// Returns whether a file stands for its folder.
fn is_index(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name.split('.').next(), Some("mod" | "__init__" | "index" | "lib" | "main"))
}

/// Returns the files that a text imports.
fn imports(text: &str, own: &str, paths: &[&str], by_name: &HashMap<String, Vec<usize>>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let Some(pattern) = IMPORT.as_ref() else { return found };
    let extension = own.rsplit('.').next().unwrap_or_default();
    let mut seen = HashSet::new();
    for captures in pattern.captures_iter(text) {
        let Some(first) = captures.iter().skip(1).flatten().next() else { continue };
        let written = first.as_str();
        if seen.len() == IMPORTS || !seen.insert(captures.get(0).map_or(written, |whole| whole.as_str())) {
            continue;
        }
        let mut candidates = vec![parts(written, extension)];
        // `from . import nodes`, `from pkg import nodes`: the names may be modules.
        if let (Some(module), Some(members)) = (captures.get(1), captures.get(2)) {
            for member in members
                .as_str()
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|member| !member.is_empty())
            {
                let mut longer = parts(module.as_str(), extension);
                longer.push(member.to_lowercase());
                candidates.push(longer);
            }
        }
        // `use crate::a::B`: the last parts may be items.
        if captures.get(7).is_some() {
            let whole = parts(written, extension);
            candidates = (1..=whole.len()).map(|end| whole[..end].to_vec()).rev().take(3).collect();
        }
        for parts in candidates {
            if let Some(target) = resolve(&parts, own, paths, by_name) {
                found.insert(target);
                if captures.get(7).is_some() {
                    break;
                }
            }
        }
    }
    found
}

/// Splits the path of an import into its parts, in lower case.
fn parts(written: &str, extension: &str) -> Vec<String> {
    let separators: &[char] = match extension {
        "py" | "java" | "kt" | "scala" => &['.'],
        "rs" => &[':'],
        "php" => &['\\'],
        _ => &['/'],
    };
    let parts = written.split(separators).filter(|part| !part.is_empty() && *part != "." && *part != "..");
    parts.map(str::to_lowercase).collect()
}

/// Returns the file whose path ends with the most parts of an import; a file near the importing one wins.
fn resolve(
    parts: &[String],
    own: &str,
    paths: &[&str],
    by_name: &HashMap<String, Vec<usize>>,
) -> Option<usize> {
    let last = parts.last()?;
    let stem = last.split('.').next().unwrap_or(last);
    let known = by_name.get(last).or_else(|| by_name.get(stem))?;
    let near = |path: &str| {
        let shared = own.split('/').zip(path.split('/')).take_while(|(one, other)| one == other).count();
        // An index file has the name of its folder.
        let own_parts = if is_index(path) { 2 } else { 1 };
        let folders: Vec<String> =
            path.to_lowercase().rsplit('/').skip(own_parts).map(str::to_owned).collect();
        let matched =
            parts.iter().rev().skip(1).zip(&folders).take_while(|(part, folder)| part == folder).count();
        // All of the import is in the path, and nothing but a source folder comes before it.
        let is_whole = matched + 1 == parts.len() && folders[matched..].iter().all(|folder| folder == "src");
        (matched, is_whole, shared)
    };
    let known = known.iter().copied().take(NAMESAKES);
    let candidates = known.filter(|at| family(paths[*at]) == family(own));
    let best = candidates.max_by_key(|at| near(paths[*at]))?;
    // A package of another project often has the name of a file here: one part alone has to be near.
    let (matched, _, shared) = near(paths[best]);
    (parts.len() == 1 || matched > 0 || shared > 0).then_some(best)
}

/// Answers with the files that most others import.
pub(super) fn central(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Answer {
    let code: Vec<&str> = documents.paths.iter().map(String::as_str).filter(|path| is_code(path)).collect();
    let mut answer = Answer::default();
    for file in most_imported(workspace, &code, budget).iter().take(CENTRAL) {
        let by = format!("imported by {} of {} files", file.by, code.len());
        answer.facts.push(Fact::new(format!("`{}`: {by}", code_span(&file.path))));
        if let Some(text) = text(workspace, Path::new(&file.path)) {
            let finding = places::finding(workspace, &places::file(&file.path, &text));
            answer.show(Finding { why: by, ..finding });
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_each_language_are_resolved() {
        for (own, text, paths, expected) in [
            (
                "src/a.rs",
                "use crate::net::error::Fault;\n",
                vec!["src/a.rs", "src/net/error.rs"],
                "src/net/error.rs",
            ),
            (
                "src/runtime/metrics/a.rs",
                "use crate::runtime::Handle;\n",
                vec!["src/runtime/mod.rs", "src/runtime/metrics/runtime.rs"],
                "src/runtime/mod.rs",
            ),
            ("pkg/a.py", "from pkg.nodes import Node\n", vec!["pkg/a.py", "pkg/nodes.py"], "pkg/nodes.py"),
            ("pkg/a.py", "from . import compat\n", vec!["pkg/a.py", "pkg/compat.py"], "pkg/compat.py"),
            (
                "lib/a.js",
                "const { x } = require('./symbols')\n",
                vec!["lib/a.js", "lib/symbols.js"],
                "lib/symbols.js",
            ),
            (
                "src/a.ts",
                "import { x } from './utils/kind'\n",
                vec!["src/a.ts", "src/utils/kind.ts"],
                "src/utils/kind.ts",
            ),
            ("a.c", "#include \"tmux.h\"\n", vec!["a.c", "tmux.h"], "tmux.h"),
            (
                "a/A.java",
                "import org.x.nodes.Element;\n",
                vec!["a/A.java", "org/x/nodes/Element.java"],
                "org/x/nodes/Element.java",
            ),
            (
                "src/A.php",
                "use Composer\\Util\\Filesystem;\n",
                vec!["src/A.php", "src/Composer/Util/Filesystem.php"],
                "src/Composer/Util/Filesystem.php",
            ),
        ] {
            let by_name = names(&paths);
            let found: Vec<&str> =
                imports(text, own, &paths, &by_name).into_iter().map(|at| paths[at]).collect();
            assert_eq!(found, [expected], "{text}");
        }
    }
}
