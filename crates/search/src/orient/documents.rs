//! The documents that say how to work on a project, in passages: guides, CI, tasks, manifests.

use super::{
    commands::{self, Found, TARGET},
    sources::{Source, source},
};
use crate::repository::{self, Repository, unversioned};
use openagents_core::{
    budget::Budget,
    text::cut_at_word,
    walk,
    workspace::{Workspace, WorkspaceError},
};
use parking_lot::Mutex;
use std::{path::Path, sync::OnceLock};

/// Maximum number of documents; those nearest to the root come first.
const DOCUMENTS: usize = 400;

/// Maximum bytes of all documents, and passages.
const BYTES: usize = 8 << 20;
const PASSAGES: usize = 20_000;

/// Maximum lines of a passage; longer sections are cut at a blank line.
const LINES: usize = 40;

/// Maximum characters of a heading.
const TITLE: usize = 120;

/// Maximum length of a command in characters; longer code is an example.
const COMMAND: usize = 160;

/// Consecutive lines of a document under one heading.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passage {
    /// Relative to the workspace, with `/`.
    pub(super) path: String,
    /// First and last line, from 1.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The headings above it, joined by ` › `; the section of a manifest, or the target of a task.
    pub(super) heading: String,
    pub(super) text: String,
    pub(super) source: Source,
    pub(super) commands: Vec<Command>,
}

/// A command as a user types it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) line: u64,
    pub(super) text: String,
    /// What a task runs, if that is known.
    pub(super) runs: Option<String>,
}

/// The paths of a workspace, and its documents.
#[derive(Debug, Default)]
pub(super) struct Documents {
    pub(super) passages: Vec<Passage>,
    /// The paths of all files, sorted.
    pub(super) paths: Vec<String>,
    /// The names of the project, in lower case: of its folder, in its README and in its manifest.
    pub(super) names: Vec<String>,
    /// The walk ended early.
    pub(super) truncated: bool,
    /// The stems of each passage, once it is ranked.
    pub(super) stems: OnceLock<Vec<PassageStems>>,
}

/// The stems of a passage.
#[derive(Debug, Default)]
pub(super) struct PassageStems {
    /// Of its headings and its path.
    pub(super) heading: Vec<String>,
    pub(super) text: Vec<String>,
}

impl Documents {
    /// Returns the passages of a kind of document.
    pub(super) fn of(&self, source: Source) -> impl Iterator<Item = &Passage> {
        self.passages.iter().filter(move |passage| passage.source == source)
    }

    /// Returns the passages of a kind of document at the root of the workspace.
    pub(super) fn of_root(&self, source: Source) -> impl Iterator<Item = &Passage> {
        self.of(source).filter(|passage| !passage.path.contains('/'))
    }

    /// Lists the files of a workspace and reads its documents. Unreadable ones count as absent.
    pub(super) fn read(workspace: &Workspace, budget: &Budget) -> Self {
        let listed = Mutex::new(Vec::new());
        let walked = walk::files(workspace, Path::new("."), budget, || {
            |path: &Path| -> Result<(), WorkspaceError> {
                listed.lock().push(Workspace::shown(path));
                Ok(())
            }
        });
        let mut paths = listed.into_inner();
        // A walk of code skips hidden files, and so CI, the settings of linters, and guides for contributors.
        for folder in [".github/workflows", ".github", ".circleci", "."] {
            let entries = workspace.open_dir(Path::new(folder)).ok().and_then(|dir| dir.entries().ok());
            for entry in entries.into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if folder == "." { name } else { format!("{folder}/{name}") };
                if entry.file_type().is_ok_and(|kind| kind.is_file())
                    && match source(&path) {
                        Some(Source::Ci | Source::Lint) => true,
                        // Others are listed unless git ignores them.
                        Some(Source::Guide) => folder == ".github",
                        _ => false,
                    }
                {
                    paths.push(path);
                }
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let mut documents: Vec<(usize, Source, &String)> =
            paths.iter().filter_map(|path| Some((path.matches('/').count(), source(path)?, path))).collect();
        documents.sort_unstable();
        let mut passages = Vec::new();
        let mut bytes = 0;
        for (_, source, path) in documents.into_iter().take(DOCUMENTS) {
            if budget.spent() || bytes > BYTES || passages.len() > PASSAGES {
                break;
            }
            let text = repository::text_of(workspace, path);
            bytes += text.len();
            passages.extend(split(&text, path, source));
        }
        passages.truncate(PASSAGES);
        Self {
            passages,
            truncated: walked.unfinished,
            names: names(workspace),
            paths,
            stems: OnceLock::new(),
        }
    }
}

fn names(workspace: &Workspace) -> Vec<String> {
    let declared = Repository::scan(workspace).name;
    let names = declared.into_iter().chain([unversioned(workspace.name()).to_owned()]);
    let parts = names.flat_map(|name| {
        let name = name.to_lowercase();
        let last = name.rsplit(['/', ':', '@']).next().unwrap_or(&name).trim().to_owned();
        // "App: a tool" is called App, "Python client" is not called Python.
        let first = match name.split_once(' ') {
            Some((first, rest))
                if first.ends_with([':', ',']) || !rest.starts_with(char::is_alphanumeric) =>
            {
                first
            }
            Some(_) => "",
            None => &name,
        };
        [first.trim_end_matches([':', ',']).to_owned(), last]
    });
    parts.filter(|name| name.len() > 1).collect()
}

/// Splits a document into passages.
pub(super) fn split(text: &str, path: &str, source: Source) -> Vec<Passage> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let lines: Vec<&str> = text.lines().collect();
    let starts = match source {
        Source::Guide | Source::Readme | Source::Manual | Source::Changes => headings(&lines),
        Source::Ci => yaml_parts(&lines),
        Source::Tasks | Source::Manifest | Source::Lint
            if name.ends_with(".json") || name.ends_with(".prettierrc") =>
        {
            json_parts(&lines)
        }
        Source::Tasks if name.contains("makefile") || name.ends_with(".mk") || name == "justfile" => {
            targets(&lines)
        }
        Source::Tasks | Source::Manifest | Source::Lint => ini_parts(&lines),
        Source::Licence | Source::Version => vec![(0, String::new())],
    };
    let mut passages = Vec::new();
    for (at, (first, heading)) in starts.iter().enumerate() {
        let last = starts.get(at + 1).map_or(lines.len(), |(next, _)| *next);
        let mut from = *first;
        while from < last {
            let to = cut(&lines, from, last);
            passages.push(passage(&lines, from, to, heading, path, source, &name));
            from = to;
        }
    }
    passages.retain(|passage| passage.text.chars().any(char::is_alphanumeric));
    passages
}

/// Returns the end of a passage that begins at `from`: at a blank line if the section is long.
fn cut(lines: &[&str], from: usize, last: usize) -> usize {
    if last - from <= LINES {
        return last;
    }
    let blank = (from + LINES / 2..from + LINES).rev().find(|at| lines[*at].trim().is_empty());
    blank.map_or(from + LINES, |at| at + 1)
}

fn passage(
    lines: &[&str],
    from: usize,
    to: usize,
    heading: &str,
    path: &str,
    source: Source,
    name: &str,
) -> Passage {
    let mut end = to;
    while end > from + 1 && lines[end - 1].trim().is_empty() {
        end -= 1;
    }
    let own = &lines[from..end];
    let found = commands::of_part(own, source, name, heading);
    let commands = found.into_iter().filter(|found| found.text.chars().count() <= COMMAND);
    let command =
        |found: Found| Command { line: (from + found.at) as u64 + 1, text: found.text, runs: found.runs };
    let commands = commands.map(command).collect();
    Passage {
        path: path.to_owned(),
        start: from as u64 + 1,
        end: end as u64,
        heading: heading.to_owned(),
        text: own.join("\n"),
        source,
        commands,
    }
}

type Parts = Vec<(usize, String)>;

/// Returns the sections of prose: Markdown, reStructuredText, AsciiDoc.
fn headings(lines: &[&str]) -> Parts {
    let mut parts: Parts = vec![(0, String::new())];
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut underlines: Vec<char> = Vec::new();
    let mut in_code = false;
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // `.Sh NAME` in a page of `man`.
        let roff = [".Sh ", ".SH "]
            .iter()
            .find(|start| line.starts_with(**start))
            .map_or(0, |start| start.len() - 1);
        let marks = line.chars().take_while(|c| *c == '#' || *c == '=').count().max(roff);
        let marked = (1..=6).contains(&marks) && line[marks..].starts_with(' ');
        let next = lines.get(at + 1).map_or("", |next| next.trim_end());
        let mark = next.chars().next().unwrap_or(' ');
        let underlined = !trimmed.is_empty()
            && trimmed.len() == line.len()
            && next.len() >= 3
            && "=-~^\"*+#'`".contains(mark)
            && next.chars().all(|c| c == mark)
            && next.len() + 2 >= line.trim_end().chars().count()
            && !trimmed.starts_with(['-', '*', '|', '+', '=']);
        let (level, title) = if marked {
            (marks, line[marks..].trim().trim_end_matches('#').trim())
        } else if underlined {
            let known = underlines.iter().position(|known| *known == mark);
            let level = known.unwrap_or_else(|| {
                underlines.push(mark);
                underlines.len() - 1
            });
            (level + 1, line.trim())
        } else {
            continue;
        };
        above.retain(|(other, _)| *other < level);
        above.push((level, cut_at_word(title, TITLE)));
        let heading = above.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" › ");
        parts.push((at, heading));
    }
    parts
}

/// Returns the jobs of a workflow: the keys at the second level below `jobs`, else one part.
fn yaml_parts(lines: &[&str]) -> Parts {
    let mut parts: Parts = vec![(0, String::new())];
    let mut in_jobs = false;
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let key = line.trim().strip_suffix(':');
        match (indent, key) {
            (0, Some(key)) => in_jobs = key == "jobs",
            (0, None) if !line.trim().is_empty() && !line.starts_with('#') => in_jobs = false,
            (2, Some(key)) if in_jobs => parts.push((at, key.to_owned())),
            _ => {}
        }
    }
    parts
}

/// Returns the members of a JSON object.
fn json_parts(lines: &[&str]) -> Parts {
    let indent = lines
        .iter()
        .find(|line| line.trim_start().starts_with('"'))
        .map_or(2, |line| line.len() - line.trim_start().len());
    let mut parts: Parts = vec![(0, String::new())];
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let is_block = trimmed.ends_with(['{', '[']);
        if line.len() - trimmed.len() == indent
            && trimmed.starts_with('"')
            && (is_block || parts.last().is_some_and(|(_, name)| !name.is_empty()))
        {
            let name = if is_block { trimmed.split('"').nth(1).unwrap_or_default() } else { "" };
            parts.push((at, name.to_owned()));
        }
    }
    parts
}

/// Returns the sections of TOML and INI files; other formats are one part.
fn ini_parts(lines: &[&str]) -> Parts {
    let mut parts: Parts = vec![(0, String::new())];
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with('[') && line.trim_end().ends_with(']') {
            parts.push((at, line.trim().trim_matches(['[', ']']).to_owned()));
        }
    }
    parts
}

/// Returns the targets of a makefile.
fn targets(lines: &[&str]) -> Parts {
    let mut parts: Parts = vec![(0, String::new())];
    for (at, line) in lines.iter().enumerate() {
        let target = TARGET.as_ref().and_then(|target| target.captures(line));
        if let Some(name) = target.and_then(|found| Some(found.get(1)?.as_str().to_owned())) {
            // A comment above the target describes it.
            let mut first = at;
            while first > 0
                && lines[first - 1].starts_with('#')
                && parts.last().is_some_and(|(before, _)| *before < first - 1)
            {
                first -= 1;
            }
            parts.push((first, name));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str, path: &str) -> Vec<(u64, String)> {
        let source = source(path).unwrap();
        split(text, path, source)
            .into_iter()
            .flat_map(|passage| passage.commands)
            .map(|command| (command.line, command.text))
            .collect()
    }

    #[test]
    fn documents_have_a_source() {
        for (path, expected) in [
            ("README.md", Some(Source::Readme)),
            ("CONTRIBUTING.rst", Some(Source::Guide)),
            ("docs/how-to-build.md", Some(Source::Guide)),
            ("docs/usage.md", Some(Source::Manual)),
            (".github/workflows/ci.yml", Some(Source::Ci)),
            ("Cargo.toml", Some(Source::Manifest)),
            ("Makefile", Some(Source::Tasks)),
            ("tox.ini", Some(Source::Tasks)),
            (".rubocop.yml", Some(Source::Lint)),
            ("LICENSE", Some(Source::Licence)),
            ("CHANGELOG.md", Some(Source::Changes)),
            ("VERSION", Some(Source::Version)),
            ("docs/modules/ROOT/pages/development.adoc", Some(Source::Guide)),
            (".github/CONTRIBUTING.md", Some(Source::Guide)),
            ("tmux.1", Some(Source::Manual)),
            ("notes-2.1", None),
            ("src/main.rs", None),
            ("a/b/c/d/package.json", None),
        ] {
            assert_eq!(source(path), expected, "{path}");
        }
    }

    #[test]
    fn commands_are_found_in_each_kind() {
        let readme = "# App\n\n## Development\n\nRun:\n\n```bash\n# all\ncargo build --bins\n$ cargo test\n```\n\nOr `cargo fmt --all`.\n";
        assert_eq!(
            commands(readme, "README.md"),
            [
                (9, "cargo build --bins".to_owned()),
                (10, "cargo test".to_owned()),
                (13, "cargo fmt --all".to_owned())
            ]
        );
        let ci = "jobs:\n  test:\n    steps:\n      - run: cargo test\n      - name: x\n        run: |\n          cargo fmt\n          cargo clippy\n";
        assert_eq!(
            commands(ci, ".github/workflows/ci.yml"),
            [(4, "cargo test".to_owned()), (7, "cargo fmt".to_owned()), (8, "cargo clippy".to_owned())]
        );
        let package = "{\n  \"name\": \"x\",\n  \"scripts\": {\n    \"test\": \"vitest\",\n    \"lint\": \"eslint .\",\n    \"test:unit\": \"vitest -k \\\"fast\\\"\"\n  }\n}\n";
        assert_eq!(
            commands(package, "package.json"),
            [(4, "npm test".to_owned()), (5, "npm run lint".to_owned()), (6, "npm run test:unit".to_owned())]
        );
        assert_eq!(
            commands("all: a\n\n# Runs tests.\ntest:\n\t@go test ./...\n", "Makefile"),
            [(1, "make all".to_owned()), (4, "make test".to_owned())]
        );
        let steps = "steps:\n  - run: |\n      cargo test \\\n        --all ${{ matrix.flags }}\n      ${{ matrix.run }}\n      --flag\n  - with:\n      command: install\n";
        assert_eq!(commands(steps, ".circleci/config.yml"), [(3, "cargo test --all …".to_owned())]);
        let scripts = "[tool.hatch.envs.style.scripts]\nlint = [\n  \"isort .\",\n]\n[tool.poe.tasks]\ntest = \"pytest\"\n";
        assert_eq!(
            commands(scripts, "pyproject.toml"),
            [(2, "hatch run style:lint".to_owned()), (6, "poe test".to_owned())]
        );
    }

    #[test]
    fn passages_carry_their_headings() {
        let text = "Title\n=====\n\nIntro here.\n\nBuild\n-----\n\nRun make.\n\nTest\n----\n\nRun tox.\n";
        let headings: Vec<String> =
            split(text, "README.rst", Source::Readme).into_iter().map(|passage| passage.heading).collect();
        assert_eq!(headings, ["Title", "Title › Build", "Title › Test"]);
        let page = split(".Sh NAME\n.Nm tmux\n.Sh COMMANDS\nAll of them.\n", "tmux.1", Source::Manual);
        assert_eq!(page.iter().map(|part| part.heading.as_str()).collect::<Vec<_>>(), ["NAME", "COMMANDS"]);
    }

    proptest::proptest! {
        #[test]
        fn any_document_is_split(text in "(?s)([#=\\-`~\\[\\]{}: \t\n$]|run|jobs|test|é){0,80}", which in 0usize..6) {
            let path = ["README.md", "ci/a.yml", "package.json", "Makefile", "tox.ini", "Cargo.toml"][which];
            for passage in split(&text, path, source(path).unwrap()) {
                proptest::prop_assert!(passage.start <= passage.end);
            }
        }
    }
}
