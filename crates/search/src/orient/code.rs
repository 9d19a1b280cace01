//! Reads each file of the code once: its length, what it is for, and what it imports. Finds the files that most import.

use super::{
    documents::Documents,
    evidence::{Answer, Fact},
    files::{THREADS, is_code, text_and_lines},
    graph::Names,
    places::{self, Described},
};
use openagents_core::{
    budget::Budget, parallel, text::is_listed, update::Finding, visible::code_span, workspace::Workspace,
};
use regex::{Captures, Regex};
use std::{collections::BTreeMap, path::Path, sync::LazyLock};

/// Maximum files in an answer.
const CENTRAL: usize = 7;

/// Maximum number of files that are read; those nearest to the root come first.
const FILES: usize = 6_000;

/// The code of a workspace, without tests and examples.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) files: Vec<CodeFile>,
    /// Some files were not read.
    pub(super) truncated: bool,
}

#[derive(Debug)]
pub(super) struct CodeFile {
    pub(super) place: Described,
    pub(super) lines: usize,
    /// Indices of other files.
    pub(super) imports: Vec<usize>,
    /// The environment variables that it reads, with their lines, from 1.
    pub(super) variables: Vec<(String, u64)>,
    /// The type that its first type extends or implements.
    pub(super) base: Option<String>,
}

/// How the languages with these extensions name the base of a type.
const BASES: &[(&str, &str)] = &[
    ("rb", r"(?m)^\s*class\s+[\w:]+\s*<\s*([\w:]+)"),
    ("py|pyi", r"(?m)^class\s+\w+\s*\(\s*([\w.]+)\s*[,)]"),
    ("rs", r"(?m)^impl(?:<[^>\n]*>)?\s+([\w:]+)(?:<[^>\n]*>)?\s+for\s"),
    (
        "js|mjs|cjs|jsx|ts|tsx|mts|java|php|scala|dart",
        r"(?m)^[\w \t]*\bclass\s+\w+[^{;\n]*?\b(?:extends|implements)\s+([\w.\\]+)",
    ),
    (
        "cc|cpp|cxx|hpp|hh|h|cs|swift",
        r"(?m)^[\w \t]*\b(?:class|struct)\s+\w+[\w \t]*:\s*(?:public\s+|private\s+|protected\s+|virtual\s+)*([\w:]+)",
    ),
    ("kt|kts", r"(?m)^[\w \t]*\bclass\s+\w+(?:\([^)]*\))?\s*:\s*([\w.]+)"),
];
static BASE_PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let compiled =
        |(extensions, pattern): &(&'static str, &str)| Some((*extensions, Regex::new(pattern).ok()?));
    BASES.iter().filter_map(compiled).collect()
});

/// Returns the type that the first type of a file extends or implements, without its module. Those that any type may
/// implement say nothing.
fn base(path: &str, text: &str) -> Option<String> {
    const COMMON: &str = "Debug|Default|Display|Clone|From|Drop|Iterator|Error|PartialEq|Ord|PartialOrd|Hash|FromStr|Deref|AsRef|\
        object|Object|Exception|Enum|ABC|Serialize|Deserialize|Send|Sync|Into|TryFrom|Index|Add|Read|Write|StandardError|Protocol|NamedTuple|\
        String|Int|Codable|Equatable|Hashable|Serializable|Comparable";
    let extension = path.rsplit('.').next()?;
    let (_, pattern) = BASE_PATTERNS.iter().find(|(extensions, _)| is_listed(extension, extensions))?;
    let named = pattern.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str()));
    let mut last = named.filter_map(|name| name.rsplit(['.', ':', '\\']).next());
    last.find(|name| !name.is_empty() && !is_listed(name, COMMON)).map(str::to_owned)
}

/// A read of an environment variable.
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?:\benv::var(?:_os)?\(|\boption_env!\(|\bgetenv\(|\bGetenv\(|\bLookupEnv\(|\benviron(?:\.get)?[\[(]|\bENV(?:\.fetch)?[\[(])\s*["']([A-Z][A-Z0-9_]{2,60})["']|\b(?:process|import\.meta)\.env\.([A-Z][A-Z0-9_]{2,60})"#,
    )
    .ok()
});
/// How lines begin whose code is only an example.
const COMMENTS: [&str; 6] = ["//", "/*", "* ", "# ", "--", ">>>"];
/// Maximum variables of a file.
const VARIABLES: usize = 20;

fn variables(text: &str) -> Vec<(String, u64)> {
    // Tests at the end of a file set their own.
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    let is_code = |found: &Captures<'_>| {
        let before = found.get(0).map_or(text, |whole| &text[..whole.start()]);
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        !COMMENTS.iter().any(|comment| line.starts_with(comment))
    };
    let found =
        VARIABLE.iter().flat_map(|pattern| pattern.captures_iter(text)).filter(is_code).take(VARIABLES);
    let variable = |found: Captures<'_>| {
        let name = found.get(1).or_else(|| found.get(2))?;
        let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..name.start()]).count() as u64 + 1;
        Some((name.as_str().to_owned(), line))
    };
    found.filter_map(variable).collect()
}

impl Code {
    pub(super) fn read(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Self {
        let mut paths: Vec<&str> =
            documents.paths.iter().map(String::as_str).filter(|path| is_code(path)).collect();
        paths.sort_by_key(|path| (path.matches('/').count(), *path));
        let all = paths.len();
        paths.truncate(FILES);
        let names = Names::new(paths.clone(), documents);
        let read = |(): &mut (), at: usize| {
            let (text, lines) = text_and_lines(workspace, Path::new(paths[at]))?;
            let imports = names.imports(at, &text).into_iter().collect();
            Some(CodeFile {
                place: places::file(paths[at], &text),
                lines,
                imports,
                variables: variables(&text),
                base: base(paths[at], &text),
            })
        };
        let read = parallel::map(paths.len(), THREADS, || !budget.spent(), || (), read);
        // Unreadable files keep their index, which imports refer to.
        let files = read.into_iter().enumerate().map(|(at, file)| {
            file.unwrap_or_else(|| CodeFile {
                place: places::file(paths[at], ""),
                lines: 0,
                imports: Vec::new(),
                variables: Vec::new(),
                base: None,
            })
        });
        Self { files: files.collect(), truncated: all > FILES || budget.spent() }
    }
}

/// Returns the files by how many others import them, most first.
pub(super) fn most_imported(code: &Code) -> Vec<(usize, usize)> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for target in code.files.iter().flat_map(|file| &file.imports) {
        *counts.entry(*target).or_default() += 1;
    }
    let mut most: Vec<(usize, usize)> = counts.into_iter().collect();
    let path = |at: usize| code.files[at].place.path.as_str();
    most.sort_by(|(one, by), (other, others)| others.cmp(by).then_with(|| path(*one).cmp(path(*other))));
    most
}

/// Returns what an import names: of Go a folder.
pub(super) fn imported_name(path: &str) -> &str {
    if path.ends_with(".go") {
        path.rsplit_once('/').map_or(path, |(folder, _)| &path[..=folder.len()])
    } else {
        path
    }
}

/// Answers with the files that most others import.
pub(super) fn central(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Answer {
    let code = Code::read(workspace, documents, budget);
    let all = documents.paths.iter().filter(|path| is_code(path)).count();
    let mut answer = Answer::default();
    for (at, by) in most_imported(&code).into_iter().take(CENTRAL) {
        let by = format!("imported by {by} of {all} files");
        let place = &code.files[at].place;
        let fact = Fact::new(format!("`{}`: {by}", code_span(imported_name(&place.path))));
        answer.facts.push(fact.within(&place.file, place.start, place.end));
        answer.show(Finding { why: by, ..places::finding(workspace, place) });
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_variables_are_found_in_each_language() {
        for (text, expected) in [
            ("let home = std::env::var(\"APP_HOME\");", "APP_HOME"),
            ("os.environ.get('APP_HOME', '')", "APP_HOME"),
            ("x = os.environ[\"APP_HOME\"]", "APP_HOME"),
            ("const home = process.env.APP_HOME ?? '';", "APP_HOME"),
            ("home := os.Getenv(\"APP_HOME\")", "APP_HOME"),
            ("ENV.fetch('APP_HOME')", "APP_HOME"),
            ("char *home = getenv(\"APP_HOME\");", "APP_HOME"),
        ] {
            assert_eq!(variables(&format!("\n{text}\n")), [(expected.to_owned(), 2)], "{text}");
        }
    }

    #[test]
    fn environment_variables_in_comments_are_left_out() {
        for text in [
            "/// let wait = std::env::var(\"SET_TIMEOUT\");",
            "    //! os.Getenv(\"APP_HOME\")",
            " * process.env.APP_HOME",
            "# os.environ['APP_HOME']",
        ] {
            assert_eq!(variables(text), [], "{text}");
        }
        assert_eq!(variables("#define HOME getenv(\"APP_HOME\")").len(), 1);
    }

    #[test]
    fn base_of_the_first_type_is_found() {
        for (path, text, expected) in [
            ("a.rb", "class Foo < Base\n", Some("Base")),
            ("a.rb", "  class Foo < ::RuboCop::Cop::Base\n", Some("Base")),
            ("a.py", "class A(models.Model):\n", Some("Model")),
            ("a.py", "class A(metaclass=Meta):\n", None),
            ("a.ts", "export class A<T> extends B {\n", Some("B")),
            ("A.java", "public final class A implements B<C> {\n", Some("B")),
            ("a.cpp", "class A : public B {\n", Some("B")),
            ("A.kt", "class A(private val r: R) : B() {\n", Some("B")),
            ("a.rs", "impl Debug for A {}\nimpl<'a> tool::Tool for A<'a> {\n", Some("Tool")),
            ("a.py", "class A:\n", None),
        ] {
            assert_eq!(base(path, text).as_deref(), expected, "{text}");
        }
    }
}
