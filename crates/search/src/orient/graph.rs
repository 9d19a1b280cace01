//! Which file imports which: imports are read as text and resolved by the names of files.

use super::{
    documents::{Documents, Passage},
    files::language_of,
    sources::Source,
};
use regex::Regex;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::LazyLock,
};

/// Maximum names that one import of Python takes from a module.
const MEMBERS: usize = 40;
/// Maximum distinct imports of a file, and files of one name that an import may mean.
const IMPORTS: usize = 1_000;
const NAMESAKES: usize = 200;
/// Maximum packages of the workspace, and files of one that an import may mean.
const PACKAGES: usize = 400;
const PACKAGE: usize = 500;
/// Maximum paths of one import of Rust, and nesting of its braces.
const BRANCHES: usize = 200;
const NESTING: usize = 8;

/// Groups of [`IMPORT`]: the file of an `#include`, and a line of a list of Go.
const INCLUDE: usize = 6;
const GO: usize = 10;

/// One import: its path in the language's own form.
static IMPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)^\s*(?:from\s+([.\w]+)\s+import\s+([\w, ()*]+)|import\s+([\w.]+)(?:\s+as\s+\w+)?\s*;?\s*$|(?:import|export)\b[^'"\n;]*?['"]([^'"\n]+)['"]|(?:const|let|var)\b[^=\n]*=\s*require\(\s*['"]([^'"\n]+)['"]|#\s*include\s+["<]([^">\n]+)[">]|use\s+([\w\\]+)(?:\s+as\s+\w+)?\s*;|require(?:_relative)?\s*\(?\s*['"]([^'"\n]+)['"]|import\s+(?:static\s+)?([\w.]+)\s*;|\s*(?:\w+\s+)?"([\w./-]+)"\s*$)"#,
    )
    .ok()
});

/// One import of Rust, which may name several items in braces.
static USE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]{1,4000});").ok());

/// The files of the code, by the names that imports have for them.
#[derive(Debug)]
pub(super) struct Names<'a> {
    paths: Vec<&'a str>,
    by_name: HashMap<String, Vec<usize>>,
    by_type: HashMap<String, Vec<usize>>,
    /// The folders of the packages that the manifests name.
    packages: HashMap<String, Package>,
    by_path: HashMap<&'a str, usize>,
}

/// A package of the workspace.
#[derive(Debug)]
struct Package {
    folder: String,
    /// Indices of its files, shortest paths first.
    files: Vec<usize>,
}

impl<'a> Names<'a> {
    /// `paths` are the files of the code.
    pub(super) fn new(paths: Vec<&'a str>, documents: &Documents) -> Self {
        let package = |(name, folder): (String, String)| {
            let is_within = |path: &str| {
                path.strip_prefix(folder.as_str())
                    .is_some_and(|rest| folder.is_empty() || rest.starts_with('/'))
            };
            let mut files: Vec<usize> = (0..paths.len()).filter(|at| is_within(paths[*at])).collect();
            files.sort_by_key(|at| paths[*at].len());
            files.truncate(PACKAGE);
            (name, Package { folder, files })
        };
        let declared = documents.of(Source::Manifest).filter_map(declared_package);
        let mut folders = HashSet::new();
        // A manifest declares one package: other names in it are those of people.
        let declared = declared.filter(|(_, folder)| folders.insert(folder.clone())).take(PACKAGES);
        let packages = declared.map(package).collect();
        let by_path = paths.iter().enumerate().map(|(at, path)| (*path, at)).collect();
        Self { by_name: names(&paths), by_type: types(&paths), packages, by_path, paths }
    }

    /// Returns the indices of the files that a file imports; `at` is its own.
    pub(super) fn imports(&self, at: usize, text: &str) -> BTreeSet<usize> {
        let own = self.paths[at];
        let mut found = match language_of(own) {
            Some("Rust") => self.uses(text, own),
            _ => self.imported(text, own),
        };
        if has_implicit_imports(own) {
            found.extend(self.mentions(text, own));
        }
        found.remove(&at);
        found
    }

    /// Returns the files whose types a text names; of several with one name, the nearest.
    fn mentions(&self, text: &str, own: &str) -> BTreeSet<usize> {
        let is_comment =
            |line: &&str| ["//", "*", "/*", "#"].iter().any(|mark| line.trim_start().starts_with(mark));
        let words: BTreeSet<&str> =
            text.lines().filter(|line| !is_comment(line)).flat_map(types_in).collect();
        let near = |at: &&usize| {
            own.split('/').zip(self.paths[**at].split('/')).take_while(|(one, other)| one == other).count()
        };
        let of_language = |known: &[usize]| {
            let known = known.iter().take(NAMESAKES);
            known.filter(|at| language_of(self.paths[**at]) == language_of(own)).max_by_key(near).copied()
        };
        words.into_iter().filter_map(|word| of_language(self.by_type.get(word)?)).collect()
    }

    /// Returns the files that the `use` declarations of Rust name.
    fn uses(&self, text: &str, own: &str) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut paths = BTreeSet::new();
        for captures in USE.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let mut branched = Vec::new();
            branches(&captures[1], "", NESTING, &mut branched);
            paths.extend(branched);
            if paths.len() > IMPORTS {
                break;
            }
        }
        found.extend(paths.iter().take(IMPORTS).filter_map(|path| self.used(path, own)));
        found
    }

    /// Returns the file of a path of Rust, whose last parts may be items.
    fn used(&self, path: &str, own: &str) -> Option<usize> {
        let parts: Vec<&str> = path.split("::").map(str::trim).filter(|part| !part.is_empty()).collect();
        let (first, rest) = parts.split_first()?;
        let rest: Vec<String> = rest.iter().map(|part| part.to_lowercase()).collect();
        if matches!(*first, "crate" | "super" | "self") {
            let shorter = (rest.len().saturating_sub(2).max(1)..=rest.len()).rev();
            let of_crate = own.split_once("/src/").map_or(String::new(), |(folder, _)| format!("{folder}/"));
            return shorter
                .into_iter()
                .find_map(|end| self.resolve(&rest[..end.min(rest.len())], own, &of_crate, true));
        }
        let package = self.packages.get(&first.replace('_', "-")).or_else(|| self.packages.get(*first))?;
        let folder = &package.folder;
        let source = if folder.is_empty() { "src".to_owned() } else { format!("{folder}/src") };
        let within = (0..=rest.len()).rev().flat_map(|end| {
            let inner = rest[..end].join("/");
            match end {
                0 => [format!("{source}/lib.rs"), format!("{source}/main.rs")],
                _ => [format!("{source}/{inner}.rs"), format!("{source}/{inner}/mod.rs")],
            }
        });
        within.into_iter().find_map(|path| self.by_path.get(path.as_str()).copied())
    }

    /// Returns the files that a text imports.
    fn imported(&self, text: &str, own: &str) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let extension = own.rsplit('.').next().unwrap_or_default();
        let mut seen = HashSet::new();
        for captures in IMPORT.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let Some(first) = captures.iter().skip(1).flatten().next() else { continue };
            let written = first.as_str();
            // A line with a string is an import only in a list of Go.
            if captures.get(GO).is_some() && extension != "go" {
                continue;
            }
            if seen.len() == IMPORTS || !seen.insert(captures.get(0).map_or(written, |whole| whole.as_str()))
            {
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
                    if candidates.len() < MEMBERS && !candidates.contains(&longer) {
                        candidates.push(longer);
                    }
                }
            }
            if let Some(target) = self.relative(written, own) {
                found.insert(target);
                continue;
            }
            let is_quoted = || text[..first.start()].ends_with('"');
            let whole = captures.get(0).map_or(written, |whole| whole.as_str());
            let is_relative = written.starts_with('.')
                || captures.get(INCLUDE).is_some() && is_quoted()
                || whole.contains("require_relative");
            found.extend(candidates.iter().filter_map(|parts| self.resolve(parts, own, "", is_relative)));
            found.extend(self.in_package(written));
        }
        found
    }

    /// Returns the file of an import that begins with the name of a package of the workspace: `@scope/kit/menu`.
    fn in_package(&self, written: &str) -> Option<usize> {
        let ends = written.match_indices('/').map(|(at, _)| at).chain([written.len()]);
        let (name, package) =
            ends.filter_map(|end| self.packages.get_key_value(&written[..end])).next_back()?;
        let inner = written[name.len()..].trim_start_matches('/');
        let parts: Vec<String> =
            inner.split('/').filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
        let fits = |path: &str| {
            let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
            match parts.last() {
                Some(last) => {
                    stem.to_lowercase() == *last
                        || is_index(path) && path.to_lowercase().contains(&format!("/{last}/"))
                }
                None => is_index(path),
            }
        };
        package.files.iter().copied().find(|at| fits(self.paths[*at]))
    }

    /// Returns the file of a path that begins at the folder of the importing file: `./kind`, `../kind`.
    fn relative(&self, written: &str, own: &str) -> Option<usize> {
        const ENDS: [&str; 12] = [
            "",
            ".ts",
            ".tsx",
            ".js",
            ".jsx",
            ".mjs",
            ".vue",
            ".svelte",
            ".rb",
            "/index.ts",
            "/index.tsx",
            "/index.js",
        ];
        if !written.starts_with("./") && !written.starts_with("../") {
            return None;
        }
        let mut parts: Vec<&str> = own.split('/').collect();
        parts.pop();
        for part in written.split('/') {
            match part {
                "." | "" => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        // TypeScript may import `x.ts` as `x.js`.
        let bare = path.strip_suffix(".js").unwrap_or(&path);
        let ends = ENDS.iter().flat_map(|end| [format!("{path}{end}"), format!("{bare}{end}")]);
        ends.into_iter().find_map(|path| self.by_path.get(path.as_str()).copied())
    }

    /// Returns the file below the folder `within` whose path ends with the most parts of an import; a file near the
    /// importing one wins. A path that is not relative may name a package of another project.
    fn resolve(&self, parts: &[String], own: &str, within: &str, is_relative: bool) -> Option<usize> {
        let last = parts.last()?;
        let stem = last.split('.').next().unwrap_or(last);
        let known = self.by_name.get(last).or_else(|| self.by_name.get(stem))?;
        let near = |path: &str| {
            let shared = own.split('/').zip(path.split('/')).take_while(|(one, other)| one == other).count();
            // An index file has the name of its folder.
            let own_parts = if is_index(path) { 2 } else { 1 };
            let folders: Vec<String> =
                path.to_lowercase().rsplit('/').skip(own_parts).map(str::to_owned).collect();
            let matched =
                parts.iter().rev().skip(1).zip(&folders).take_while(|(part, folder)| part == folder).count();
            // All of the import is in the path, and nothing but a source folder comes before it.
            let is_whole =
                matched + 1 == parts.len() && folders[matched..].iter().all(|folder| folder == "src");
            (matched, is_whole, shared)
        };
        let known = known.iter().copied().take(NAMESAKES);
        let candidates =
            known.filter(|at| self.paths[*at].starts_with(within) && family(self.paths[*at]) == family(own));
        let best = candidates.max_by_key(|at| near(self.paths[*at]))?;
        let (matched, _, shared) = near(self.paths[best]);
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let is_beside = || folder(self.paths[best]) == folder(own);
        (matched > 0
            || is_beside()
            || is_relative && (shared > 0 || !within.is_empty() || !own.contains('/')))
        .then_some(best)
    }
}

/// Returns the names in a text that may be types: not those of namespaces, nor those that it defines as such.
fn types_in(text: &str) -> BTreeSet<&str> {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:\b(module|namespace|package)\s+)?\b(\p{Lu}\w*)(::\p{Lu}\w*[a-z]|\\)?").ok()
    });
    let mut names = BTreeSet::new();
    let mut at = 0;
    while let Some(found) = NAME.as_ref().and_then(|name| name.captures_at(text, at)) {
        let Some(name) = found.get(2) else { break };
        at = name.end();
        if found.get(1).is_none() && found.get(3).is_none() {
            names.insert(name.as_str());
        }
    }
    names
}

/// Adds the paths of an import of Rust: `a::{b, c::d}` has two.
fn branches(tree: &str, before: &str, nesting: usize, found: &mut Vec<String>) {
    let Some((start, rest)) = tree.split_once('{').filter(|_| nesting > 0) else {
        let path = tree
            .split(" as ")
            .next()
            .unwrap_or(tree)
            .trim_matches([' ', '\n', '\t', '\r', '*', '}', ',', ':']);
        if found.len() < BRANCHES {
            found.push(format!("{before}{path}"));
        }
        return;
    };
    let before = format!("{before}{}", start.trim());
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut from) = (0_usize, 0);
    for (at, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                branches(&inner[from..at], &before, nesting - 1, found);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !inner[from..].trim().is_empty() {
        branches(&inner[from..], &before, nesting - 1, found);
    }
}

/// Returns the name and the folder of the package that a part of a manifest declares.
fn declared_package(passage: &Passage) -> Option<(String, String)> {
    static NAME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?m)^\s*(?:name\s*=\s*"([\w.-]+)"|"name"\s*:\s*"([@\w./-]+)")"#).ok());
    let (folder, name) = passage.path.rsplit_once('/').unwrap_or(("", &passage.path));
    let declares = match name {
        "Cargo.toml" => passage.heading == "package",
        "package.json" => true,
        _ => false,
    };
    let found = NAME.as_ref().filter(|_| declares)?.captures(&passage.text)?;
    let name = found.get(1).or_else(|| found.get(2))?.as_str().to_owned();
    Some((name, folder.to_owned()))
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

/// The files by the last part of the names that an import may use for them: the stem, or the folder of an index file.
fn names(paths: &[&str]) -> HashMap<String, Vec<usize>> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    let mut packages = HashSet::new();
    for (at, path) in paths.iter().enumerate() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // An import of Go names a folder, represented by its first file.
        if name.ends_with(".go") && !packages.insert(folder) {
            continue;
        }
        let stem = name.split('.').next().unwrap_or(name);
        let is_index = is_index(path);
        let known = if is_index { folder.rsplit('/').next().unwrap_or(folder) } else { stem };
        by_name.entry(known.to_lowercase()).or_default().push(at);
        if name.contains('.') && !is_index {
            by_name.entry(name.to_lowercase()).or_default().push(at);
            // `./user.controller` is `user.controller.ts`.
            let without_extension = name.rsplit_once('.').map_or(name, |(before, _)| before);
            if without_extension != stem {
                by_name.entry(without_extension.to_lowercase()).or_default().push(at);
            }
        }
    }
    by_name
}

/// Returns whether a file represents its folder.
fn is_index(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".go")
        || matches!(name.split('.').next(), Some("mod" | "__init__" | "index" | "lib" | "main"))
}

/// Splits the path of an import into its parts, in lower case.
fn parts(written: &str, extension: &str) -> Vec<String> {
    let separators: &[char] = match extension {
        "py" | "java" | "kt" | "scala" => &['.'],
        "php" => &['\\'],
        _ => &['/'],
    };
    let parts = written.split(separators).filter(|part| !part.is_empty() && *part != "." && *part != "..");
    parts.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::documents, *};

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
            let paths: Vec<&str> =
                std::iter::once(own).chain(paths.into_iter().filter(|path| *path != own)).collect();
            let names = Names::new(paths.clone(), &Documents::default());
            let found: Vec<&str> = names.imports(0, text).into_iter().map(|at| paths[at]).collect();
            assert_eq!(found, [expected], "{text}");
        }
    }

    #[test]
    fn packages_of_the_workspace_are_resolved() {
        let manifest = |path: &str, text: &str| documents::split(text, path, Source::Manifest);
        let documents = Documents {
            passages: [
                manifest("crates/core/Cargo.toml", "[package]\nname = \"app-core\"\n"),
                manifest("packages/kit/package.json", "{\n  \"name\": \"@app/kit\"\n}\n"),
            ]
            .concat(),
            ..Documents::default()
        };
        let paths = vec![
            "crates/cli/src/main.rs",
            "crates/core/src/lib.rs",
            "crates/core/src/net/mod.rs",
            "packages/app/main.ts",
            "packages/kit/src/index.ts",
            "packages/kit/src/menu.ts",
        ];
        let names = Names::new(paths.clone(), &documents);
        for (own, text, expected) in [
            (0, "use app_core::{\n    net::{Fault, port::Port as P},\n    *,\n};\n", vec![1, 2]),
            (0, "use app_core::Thing;\n", vec![1]),
            (0, "use serde::Serialize;\n", vec![]),
            (3, "import { kit } from '@app/kit';\n", vec![4]),
            (3, "import { menu } from '@app/kit/menu';\n", vec![5]),
        ] {
            assert_eq!(names.imports(own, text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn go_import_names_a_folder() {
        let paths = vec!["main.go", "internal/net/dial.go", "internal/net/listen.go"];
        let names = Names::new(paths, &Documents::default());
        let text = "package main\n\nimport (\n\t\"example.org/app/internal/net\"\n)\n";
        assert_eq!(names.imports(0, text).into_iter().collect::<Vec<_>>(), [1]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_imports(text in "(?s)(use |crate::|\\{|\\}|,|;|a|::|import |from |'|\"|é|文|\n| ){0,60}") {
            let names = Names::new(vec!["a.rs", "b.py", "c.ts", "d.go"], &Documents::default());
            for own in 0..4 {
                names.imports(own, &text);
            }
        }
    }
}
