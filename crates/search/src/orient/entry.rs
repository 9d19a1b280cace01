//! Where a program starts, and what a library exposes: binaries and their `main`, scripts and exports of packages.

use super::{
    documents::Documents,
    documents::Passage,
    evidence::{Answer, Fact, beginning, clipped, finding},
    files::{is_code, text},
    places,
    sources::Source,
};
use openagents_core::{
    budget::Budget,
    text::clip,
    update::{Finding, FindingKind, Place},
    visible::code_span,
    workspace::Workspace,
};
use regex::Regex;
use std::{path::Path, sync::LazyLock};

/// Maximum files searched for a `main`.
const FILES: usize = 400;
/// Maximum scripts that a manifest declares.
const SCRIPTS: usize = 8;
/// Maximum places in an answer.
const STARTS: usize = 6;
/// Lines shown from a definition on.
const LINES: usize = 24;

/// The definition of a `main` in the languages that have one.
static MAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)^(?:(?:pub )?(?:async )?fn (main)\s*\(|func (main)\s*\(\)|(?:static |extern "C" )?(?:int|void)?\s*(main)\s*\((?:int|void|\))|\s*public static void (main)\s*\(|(?:suspend )?fun (main)\s*\(|if __name__ == ['"](__main__)|@main\b)"#,
    )
    .ok()
});

/// A place where execution starts.
struct Start {
    finding: Finding,
    line: String,
    /// It is a program, not the entry of a library.
    runs: bool,
}

/// Returns the entries of programs and of the library, most likely first.
pub(super) fn entry(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Answer {
    let mut starts = declared(workspace, documents, budget);
    let named = &documents.names;
    starts.extend(mains(workspace, &documents.paths, named, budget));
    let is_program = starts.iter().any(|start| start.runs);
    starts.extend(libraries(workspace, &documents.paths, named, is_program));
    starts.extend(example(documents).filter(|_| !is_program));
    let mut known: Vec<(String, u64)> = Vec::new();
    starts.retain(|start| {
        let place = (start.finding.path().unwrap_or_default().to_owned(), start.finding.start);
        let is_new = !known.contains(&place);
        known.push(place);
        is_new
    });
    let mut answer = Answer::default();
    for Start { line, finding, .. } in starts.into_iter().take(STARTS) {
        let fact = Fact::new(line);
        answer.facts.push(match finding.path() {
            Some(path) => fact.within(path, finding.start, finding.end),
            None => fact,
        });
        answer.show(finding);
    }
    answer
}

/// Console scripts of Python, `bin` and `main` of packages, executables of gems.
fn declared(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Vec<Start> {
    static SCRIPT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?m)^\s*"?([\w.-]+)"?\s*=\s*"?([\w.]+):([\w.]+)"?"#).ok());
    static MEMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#""(bin|main|module|exports|import|require|default)"\s*:\s*"([^"]+)""#).ok()
    });
    let mut starts = Vec::new();
    for passage in &documents.passages {
        let name = passage.path.rsplit('/').next().unwrap_or(&passage.path);
        if passage.path.contains('/') {
            continue;
        }
        if starts.len() >= SCRIPTS || budget.spent() {
            break;
        }
        if matches!(name, "setup.cfg" | "pyproject.toml" | "setup.py")
            && (passage.heading.contains("entry_points")
                || passage.heading.ends_with("scripts")
                || passage.text.contains("console_scripts"))
        {
            for found in SCRIPT.iter().flat_map(|script| script.captures_iter(&passage.text)).take(SCRIPTS) {
                let (command, module, function) = (&found[1], &found[2], &found[3]);
                let target = module_file(&documents.paths, module);
                let place = target.as_deref().and_then(|path| definition(workspace, path, function));
                let line = format!("`{}` calls `{}`", code_span(command), code_span(function));
                starts.extend(place.map(|finding| Start { finding, line, runs: true }));
            }
        }
        if matches!(name, "package.json" | "composer.json") {
            for found in MEMBER.iter().flat_map(|member| member.captures_iter(&passage.text)).take(SCRIPTS) {
                let path = found[2].trim_start_matches("./").to_owned();
                if let Some(finding) = source_of(&documents.paths, &path)
                    .and_then(|path| beginning(workspace, &path, format!("`{}` of `{name}`", &found[1])))
                {
                    let line = format!("`{}` of the package is `{}`", &found[1], code_span(&found[2]));
                    starts.push(Start { finding, line, runs: &found[1] == "bin" });
                }
            }
        }
    }
    let scripts = documents.paths.iter().filter(|path| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        matches!(folder, "bin" | "exe") && !path.ends_with(".md") && !path.ends_with(".bat")
    });
    starts.extend(scripts.take(4).filter_map(|path| {
        let finding = beginning(workspace, path, "a program of the project".to_owned())?;
        Some(Start { line: format!("The program `{}`", code_span(path)), finding, runs: true })
    }));
    starts
}

/// Returns the file of a Python module.
fn module_file(paths: &[String], module: &str) -> Option<String> {
    let path = module.replace('.', "/");
    let ends = [format!("{path}.py"), format!("{path}/__init__.py")];
    let known = paths
        .iter()
        .filter(|known| ends.iter().any(|end| *known == end || known.ends_with(&format!("/{end}"))));
    known.min_by_key(|known| known.len()).cloned()
}

/// Returns the source of a built file: `dist/index.js` may be made from `src/index.ts`.
fn source_of(paths: &[String], built: &str) -> Option<String> {
    if paths.iter().any(|path| path == built) {
        return Some(built.to_owned());
    }
    let stem = built.rsplit('/').next()?.split('.').next()?;
    let wanted = if matches!(stem, "index" | "main") { stem } else { "index" };
    let sources = paths.iter().filter(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.split('.').next() == Some(wanted) && path.matches('/').count() <= 1 && is_code(path)
    });
    sources.min_by_key(|path| (!path.starts_with("src/"), path.len())).cloned()
}

fn definition(workspace: &Workspace, path: &str, function: &str) -> Option<Finding> {
    let function = function.rsplit('.').next().unwrap_or(function);
    let text = text(workspace, Path::new(path))?;
    let defines = |line: &str| {
        let named =
            ["def ", "class ", "async def "].iter().find_map(|start| line.trim_start().strip_prefix(start));
        let rest = named.and_then(|named| named.strip_prefix(function));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let at = text.lines().position(defines)?;
    Some(span(path, &text, at, Some(function.to_owned()), format!("defines `{function}`")))
}

fn span(path: &str, text: &str, at: usize, symbol: Option<String>, why: String) -> Finding {
    let lines: Vec<&str> = text.lines().skip(at).take(LINES).collect();
    Finding {
        kind: FindingKind::Definition,
        place: Place::File { path: path.to_owned() },
        start: at as u64 + 1,
        end: (at + lines.len().max(1)) as u64,
        excerpt: clipped(&lines.join("\n")),
        lines: Vec::new(),
        about: None,
        symbol,
        score: 1.0,
        why,
    }
}

/// Returns the `main` functions of the product, those nearest to the root and named like programs first.
fn mains(workspace: &Workspace, paths: &[String], named: &[String], budget: &Budget) -> Vec<Start> {
    let rank = |path: &str| {
        let lower = path.to_lowercase();
        let stem =
            lower.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default().to_owned();
        let is_named = matches!(
            stem.as_str(),
            "main" | "__main__" | "cli" | "app" | "server" | "index" | "manage" | "program"
        );
        let is_of_project = named.contains(&stem);
        let in_programs = lower.contains("/bin/") || lower.starts_with("cmd/") || lower.contains("/cmd/");
        (!is_of_project && !is_named && !in_programs, lower.matches('/').count(), lower)
    };
    // A build script is not the program, nor is an example in a library's documentation.
    let may_start =
        |path: &&String| is_code(path) && !matches!(path.rsplit('/').next(), Some("build.rs" | "lib.rs"));
    let mut files: Vec<&String> = paths.iter().filter(may_start).collect();
    files.sort_by_cached_key(|path| rank(path));
    let mut starts = Vec::new();
    for path in files.into_iter().take(FILES) {
        if budget.spent() {
            break;
        }
        let Some(text) = text(workspace, Path::new(path)) else { continue };
        let Some(found) = MAIN.as_ref().and_then(|main| main.find(&text)) else { continue };
        // Many modules of Python can be run on their own.
        let is_module = found.as_str().starts_with("if ") && rank(path).0;
        if is_module && !starts.is_empty() {
            continue;
        }
        let offset = found.start() + found.as_str().len() - found.as_str().trim_start().len();
        let at = text[..offset].matches('\n').count();
        let finding = span(path, &text, at, Some("main".to_owned()), "execution starts here".to_owned());
        starts.push(Start { line: "Execution starts in `main`".to_owned(), finding, runs: !is_module });
        if starts.len() == 4 {
            break;
        }
    }
    starts
}

/// Returns the README's first example of code, which shows how a library is used.
fn example(documents: &Documents) -> Option<Start> {
    const OTHERS: &[&str] =
        &["toml", "sh", "bash", "shell", "console", "json", "yaml", "yml", "text", "txt", "xml", "ini"];
    let is_example = |passage: &&Passage| {
        passage.source == Source::Readme
            && !passage.path.contains('/')
            && passage.commands.is_empty()
            && passage.text.contains("```")
    };
    let is_statement =
        |line: &&str| line.contains(['(', '.']) && !line.starts_with(['[', '*', '#', '/', '<']);
    let passage = documents.passages.iter().find(is_example)?;
    let finding = finding(passage);
    let is_code = |block: &&str| !OTHERS.contains(&block.lines().next().unwrap_or_default().trim());
    let block = passage.text.split("```").skip(1).step_by(2).find(is_code)?;
    let code = block.lines().skip(1).map(str::trim).find(is_statement)?;
    let line = format!("An example: `{}`", code_span(&clip(code, 100)));
    Some(Start { finding, line, runs: false })
}

/// The names that the entry of a library exposes.
static EXPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:pub use ([^;]+);|export (?:default )?(?:\{([^}]+)\}|(?:class|function|const|type|interface) (\w+))|from \.?[\w.]+ import \(?([\w, ]+))").ok()
});

fn exports(text: &str) -> Vec<String> {
    let found = EXPORT.iter().flat_map(|export| export.captures_iter(text));
    let groups = found.filter_map(|found| found.iter().skip(1).flatten().next().map(|names| names.as_str()));
    let names = groups.flat_map(|group| group.split([',', '{', '}', ' ', ':', '\n']));
    let mut exports: Vec<String> = Vec::new();
    for name in names.filter(|name| name.starts_with(char::is_uppercase) || name.len() > 6) {
        if !exports.iter().any(|known| known == name) && exports.len() < 10 {
            exports.push(name.to_owned());
        }
    }
    exports
}

/// Returns the public entry of a library.
fn libraries(workspace: &Workspace, paths: &[String], named: &[String], is_program: bool) -> Vec<Start> {
    let is_entry = |path: &str| {
        let depth = path.matches('/').count();
        matches!(
            path,
            "src/lib.rs"
                | "lib.rs"
                | "src/index.ts"
                | "src/index.js"
                | "index.js"
                | "index.ts"
                | "lib/index.js"
        ) || depth <= 2 && path.ends_with("/__init__.py") && is_code(path)
            || depth == 1 && path.starts_with("lib/") && path.ends_with(".rb")
            || !is_program && is_code(path) && {
                let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
                named.contains(&stem.to_lowercase())
            }
    };
    let mut found: Vec<&String> = paths.iter().filter(|path| is_entry(path)).collect();
    let is_named = |path: &str| {
        path.split('/').rev().nth(1).is_some_and(|folder| named.iter().any(|name| name == folder))
    };
    found.sort_by_key(|path| (path.matches('/').count(), !is_named(path), path.len()));
    let depth = found.first().map_or(0, |path| path.matches('/').count());
    found
        .into_iter()
        .take_while(|path| path.matches('/').count() == depth)
        .take(2)
        .filter_map(|path| {
            let text = text(workspace, Path::new(path))?;
            let finding = places::finding(workspace, &places::file(path, &text));
            let exports = exports(&text);
            let exports: Vec<String> = exports.iter().map(|name| format!("`{}`", code_span(name))).collect();
            let exposes = if exports.is_empty() {
                String::new()
            } else {
                format!(", which exposes {}", exports.join(", "))
            };
            Some(Start {
                line: format!("The library's public entry is `{}`{exposes}", code_span(path)),
                finding,
                runs: false,
            })
        })
        .collect()
}
