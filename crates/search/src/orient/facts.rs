//! Facts that manifests, READMEs and the tree state: purpose, language, size, licence, dependencies, version, layout.

use super::{
    commands::is_command,
    documents::{Documents, Passage},
    evidence::{Answer, Fact, finding},
    files::{THREADS, is_code, language_of, text_and_lines},
    rank::Ranked,
    sources::Source,
    topics::Asked,
};
use crate::repository::{self, Repository};
use openagents_core::{
    budget::Budget,
    parallel,
    text::{cut_at_word, is_listed, one_line},
    update::Finding,
    visible::code_span,
    workspace::Workspace,
};
use regex::Regex;
use std::{collections::BTreeMap, path::Path, sync::LazyLock};

/// Bytes of the README that say enough about a project.
const ENOUGH: usize = 160;
/// Maximum characters of a paragraph.
const PARAGRAPH: usize = 500;

/// The manifest's description and the README's first paragraphs.
pub(super) fn what(workspace: &Workspace, documents: &Documents) -> Answer {
    let repository = Repository::scan(workspace);
    let mut answer = Answer::default();
    let mut said = String::new();
    let path = repository.readme.as_deref().unwrap_or_default();
    for paragraph in &repository.paragraphs {
        if said.len() >= ENOUGH {
            break;
        }
        let prose = cut_at_word(&repository::plain(&paragraph.text), PARAGRAPH);
        said.push_str(&prose);
        answer.facts.push(Fact::new(prose).within(path, paragraph.start, paragraph.end));
        let holds = |passage: &&Passage| {
            passage.path == path && (passage.start..=passage.end).contains(&paragraph.start)
        };
        documents.passages.iter().find(holds).map(finding).into_iter().for_each(|found| {
            let skipped = (paragraph.start - found.start) as usize;
            let excerpt = found.excerpt.lines().skip(skipped).collect::<Vec<_>>().join("\n");
            answer.show(Finding { start: paragraph.start, excerpt, ..found });
        });
    }
    let declared = repository.description.map(|found| (repository::plain(&found.text), found));
    let declared = declared.filter(|(text, _)| !said.contains(text.as_str()));
    answer.facts.splice(0..0, declared.map(|(text, found)| Fact::new(text).at(&found.path, found.line)));
    let described = documents
        .of_root(Source::Manifest)
        .find(|passage| passage.text.to_lowercase().contains("description"));
    described.map(finding).into_iter().for_each(|finding| answer.show(finding));
    answer
}

/// Lines of a manifest that state the language's version.
static DECLARED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)^\s*(?:rust-version|edition|msrv|min_supported_rust_version|python_requires|requires-python|"?node"?\s*:|"php"\s*:|go\s+\d|.*required_ruby_version|.*java\.version|<maven\.compiler\.(?:source|release|target)>|<(?:source|target|release)>|sourceCompatibility|cmake_minimum_required|set\(CMAKE_C(?:XX)?_STANDARD|.*TargetRubyVersion|swift-tools-version|elixir:|Programming Language :: \w+ :: \d|.*AC_PROG_CC)"#,
    )
    .ok()
});

/// Lines of prose and CI that state the language's version.
static VERSIONS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)\b(?:python|rust|node(?:\.?js)?|java|jdk|php|golang|go|ruby|gcc|clang|typescript)(?:-version)?\b[^\n]{0,24}?\d+(?:\.(?:\d+|x))+\+?|\b(?:python|rust|node(?:\.?js)?|java|jdk|php|golang|go|ruby)\s+(?:version\s+)?\d+\b|\bC(?:\+\+|\s?)(?:89|90|99|03|11|14|17|20|23)\b|(?:requires?|needs?|supports?|written in|minimum)[^\n]{0,40}\b(?:python|rust|node|java|php|golang|go|ruby|c\+\+\d*|c99|c11)\b"#,
    )
    .ok()
});

/// The languages by files of code, and the lines that name a version.
pub(super) fn language(documents: &Documents) -> Answer {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in documents.paths.iter().filter(|path| is_code(path)) {
        *counts.entry(language_of(path).unwrap_or_default()).or_default() += 1;
    }
    let mut languages: Vec<_> = counts.into_iter().collect();
    languages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names: Vec<String> =
        languages.iter().take(3).map(|(name, count)| format!("{name} ({count} files)")).collect();
    let mut answer = Answer::default();
    if !names.is_empty() {
        answer.facts.push(Fact::new(format!("Written in {}.", names.join(", "))));
    }
    let order = |source: Source| match source {
        Source::Manifest => 0,
        Source::Readme => 1,
        Source::Guide => 2,
        Source::Ci => 3,
        _ => 4,
    };
    let mut passages: Vec<&Passage> = documents
        .passages
        .iter()
        .filter(|passage| order(passage.source) < 4 && passage.path.matches('/').count() <= 2)
        .collect();
    passages.sort_by_key(|passage| (order(passage.source), passage.path.matches('/').count()));
    for passage in passages {
        let pattern = if passage.source == Source::Manifest { &DECLARED } else { &VERSIONS };
        for (at, line) in passage.text.lines().enumerate() {
            if answer.facts.len() < 9 && pattern.as_ref().is_some_and(|versions| versions.is_match(line)) {
                answer.facts.push(Fact::quoted(passage, at, line));
                answer.show(finding(passage));
            }
        }
    }
    answer
}

/// Lines and files of code, by language.
pub(super) fn size(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Answer {
    let paths: Vec<&String> = documents.paths.iter().filter(|path| language_of(path).is_some()).collect();
    let count = |(): &mut (), at: usize| -> Option<(usize, bool)> {
        Some((text_and_lines(workspace, Path::new(paths[at]))?.1, is_code(paths[at])))
    };
    let counted = parallel::map(paths.len(), THREADS, || !budget.spent(), || (), count);
    let mut by_language: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut files, mut lines, mut own) = (0, 0, 0);
    for (at, counted) in counted.iter().enumerate() {
        let Some((count, is_own)) = counted else { continue };
        let entry = by_language.entry(language_of(paths[at]).unwrap_or_default()).or_default();
        entry.0 += 1;
        entry.1 += count;
        files += 1;
        lines += count;
        own += if *is_own { *count } else { 0 };
    }
    let mut languages: Vec<_> = by_language.into_iter().collect();
    languages.sort_by_key(|(_, (_, lines))| std::cmp::Reverse(*lines));
    let all = format!(
        "{lines} lines of code in {files} files, of which {own} lines are neither tests nor examples."
    );
    let each = languages.iter().take(5);
    let each =
        each.map(|(name, (files, lines))| Fact::new(format!("{name}: {lines} lines in {files} files")));
    Answer { facts: std::iter::once(Fact::new(all)).chain(each).collect(), findings: Vec::new() }
}

/// The licence file's title, and the manifest's field.
pub(super) fn licence(documents: &Documents) -> Answer {
    let mut answer = Answer::default();
    for passage in documents.of_root(Source::Licence).filter(|passage| passage.start == 1).take(4) {
        let title = passage.text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3);
        let title = cut_at_word(&one_line(&title.collect::<Vec<_>>().join(" ")), 200);
        let name = name_of_licence(&passage.text);
        answer.facts.push(Fact::new(format!("{name}: {title}")).at(&passage.path, passage.start));
        answer.show(finding(passage));
    }
    for passage in documents.of_root(Source::Manifest).chain(documents.of_root(Source::Readme)) {
        let mut lines = passage.text.lines().enumerate();
        let named = lines.find(|(_, line)| line.to_lowercase().contains("licen"));
        if let Some((at, line)) = named.filter(|_| answer.facts.len() < 8) {
            answer.facts.push(Fact::quoted(passage, at, line));
            answer.show(finding(passage));
        }
    }
    answer
}

fn name_of_licence(text: &str) -> &'static str {
    let text = one_line(text).to_lowercase();
    match () {
        () if text.contains("apache license") => "Apache 2.0",
        () if text.contains("gnu affero") => "AGPL",
        () if text.contains("gnu lesser") => "LGPL",
        () if text.contains("gnu general public license") => "GPL",
        () if text.contains("mozilla public license") => "MPL 2.0",
        () if text.contains("permission is hereby granted, free of charge") => "MIT",
        () if text.contains("permission to use, copy, modify, and/or distribute")
            || text.contains("permission to use, copy, modify, and distribute") =>
        {
            "ISC"
        }
        () if text.contains("redistribution and use in source and binary forms") => {
            if text.contains("neither the name") { "BSD 3-Clause" } else { "BSD 2-Clause" }
        }
        () if text.contains("unlicense") => "Unlicense",
        () => "licence",
    }
}

/// Maximum dependencies of a section that are named.
const NAMES: usize = 40;

/// The dependencies in a section of a manifest, or in consecutive sections about one each.
struct Section<'a> {
    what: &'a str,
    names: Vec<String>,
    first: &'a Passage,
    /// The last line.
    end: u64,
}

/// The dependencies that the root manifest lists.
pub(super) fn dependencies(documents: &Documents) -> Answer {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"^\s*(?:"([@\w./-]+)"\s*:|([\w.-]+)\s*=|"?'?([A-Za-z][\w.-]+)\s*(?:[><=~!]|\[|"|'|$)|(?:require\s+)?([\w.-]+\.[\w.-]+/[\w./-]+)\s+v|<artifactId>([\w.-]+)<|.*add_(?:runtime_)?dependency\(?\s*['"]([\w-]+)|\s*gem\s+['"]([\w-]+))"#).ok()
    });
    let mut answer = Answer::default();
    let mut sections: Vec<Section<'_>> = Vec::new();
    for passage in documents.of_root(Source::Manifest) {
        let heading = passage.heading.to_lowercase();
        let is_list = heading.contains("depend")
            || heading.starts_with("require")
            || heading == "options"
            || passage.heading.is_empty() && !passage.path.ends_with(".json");
        if !is_list || heading.contains("dev") && sections.len() > 2 {
            continue;
        }
        // A section of Cargo may be about one dependency: `[dependencies.serde]`.
        if let Some(at) = passage.heading.find("dependencies.").filter(|_| passage.path.ends_with(".toml")) {
            let (what, name) = passage.heading.split_at(at + "dependencies".len());
            let name = name.trim_start_matches('.').to_owned();
            match sections.last_mut().filter(|last| last.what == what && last.first.path == passage.path) {
                Some(last) => {
                    last.names.push(name);
                    last.end = passage.end;
                }
                None => sections.push(Section { what, names: vec![name], first: passage, end: passage.end }),
            }
            continue;
        }
        let mut names: Vec<String> = Vec::new();
        let mut in_list = !passage.heading.is_empty() && heading != "options";
        // A long section is cut: only its first part begins with the heading.
        let begins = passage.text.lines().next().is_some_and(|line| line.contains(&passage.heading));
        for line in passage.text.lines().skip(usize::from(begins && !passage.heading.is_empty())) {
            let plain = line.trim().to_lowercase();
            if plain.starts_with("install_requires")
                || plain.starts_with("dependencies")
                || plain.starts_with("require (")
                || plain.contains("<dependencies>")
            {
                in_list = true;
                continue;
            }
            if !in_list
                && !plain.contains("dependency")
                && !plain.starts_with("require ")
                && !plain.starts_with("gem ")
            {
                continue;
            }
            if passage.heading.is_empty() || heading == "options" {
                in_list &= line.starts_with([' ', '\t']) || plain.is_empty();
            }
            let found = NAME.as_ref().and_then(|name| name.captures(line));
            names.extend(found.and_then(|found| {
                found.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned())
            }));
        }
        names.dedup();
        if !names.is_empty() {
            let what = if passage.heading.is_empty() { "dependencies" } else { &passage.heading };
            sections.push(Section { what, names, first: passage, end: passage.end });
        }
    }
    for Section { what, names, first, end } in sections {
        let names: Vec<String> =
            names.iter().take(NAMES).map(|name| format!("`{}`", code_span(name))).collect();
        let fact = Fact::new(format!("{what}: {}", names.join(", ")));
        answer.facts.push(fact.within(&first.path, first.start, end));
        answer.show(finding(first));
    }
    answer
}

/// The version, from its file, the manifest or the newest entry of the change log; then how a release is made.
pub(super) fn version(documents: &Documents, ranked: &[Ranked<'_>], asked: &Asked) -> Answer {
    static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?i)^(?:\s*"?version"?\s*[:=]|\s*<version>|\s*AC_INIT|\s*project\(.*version|.*[^\w-]VERSION\s*=).*\d"#)
            .ok()
    });
    let mut answer = Answer::default();
    for passage in documents.of_root(Source::Version) {
        answer.facts.push(Fact::quoted(passage, 0, &passage.text));
        answer.show(finding(passage));
    }
    const OTHERS: [&str; 6] =
        ["parent", "dependencies", "dependencyManagement", "build", "profiles", "reporting"];
    // Other sections have the versions of dependencies and tools.
    let is_own = |passage: &&Passage| {
        let heading = passage.heading.as_str();
        heading == "tool.poetry" || !heading.contains("depend") && !heading.starts_with("tool.")
    };
    let mut in_others: Option<&str> = None;
    for passage in documents.of_root(Source::Manifest).filter(is_own) {
        let mut lines = passage.text.lines().enumerate().filter(|(_, line)| {
            let line = line.trim();
            // Of Maven, whose elements are not sections.
            match in_others {
                Some(element) if line.contains(&format!("</{element}>")) => in_others = None,
                Some(_) => {}
                None => {
                    in_others = OTHERS.into_iter().find(|element| line.starts_with(&format!("<{element}>")))
                }
            }
            in_others.is_none() && !line.starts_with("<?") && !line.starts_with("</")
        });
        let named = lines.find(|(_, line)| VERSION.as_ref().is_some_and(|version| version.is_match(line)));
        if let Some((at, line)) = named.filter(|_| answer.facts.len() < 3) {
            answer.facts.push(Fact::quoted(passage, at, line));
            answer.show(finding(passage));
        }
    }
    let newest = documents.of_root(Source::Changes).filter(|passage| !passage.heading.is_empty());
    for passage in newest.take(2) {
        let heading = one_line(&passage.heading);
        answer.facts.push(Fact::new(format!("newest changes: {heading}")).at(&passage.path, passage.start));
        answer.show(finding(passage));
    }
    let asks_how = asked.words.iter().any(|word| is_listed(word, "releas|publish|ship|tag|deploy"));
    let most = if asks_how || answer.facts.is_empty() { 3 } else { 0 };
    for ranked in ranked.iter().take(most) {
        answer.facts.push(ranked.fact(asked));
        answer.show(finding(ranked.passage));
    }
    answer
}

/// Maximum lines with versions, and commands, in an answer about CI.
const VERSION_LINES: usize = 4;
const CI_COMMANDS: usize = 12;

/// A line of CI with the versions that are tested.
static MATRIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*-?\s*[\w-]*(?:java|python|node|go|ruby|php|rust|jdk|toolchain|version|versions|compiler)[\w-]*\s*:\s*\[?[^${}]*\d")
        .ok()
});

/// Answers with the systems on which CI runs, and the commands that it runs.
pub(super) fn ci(documents: &Documents) -> Answer {
    const SYSTEMS: &[(&str, &str)] = &[
        ("ubuntu", "Ubuntu"),
        ("debian", "Debian"),
        ("windows", "Windows"),
        ("macos", "macOS"),
        ("freebsd", "FreeBSD"),
    ];
    let parts: Vec<&Passage> = documents.of(Source::Ci).collect();
    let runs_on = |word: &str| parts.iter().any(|passage| passage.text.to_lowercase().contains(word));
    let systems: Vec<&str> =
        SYSTEMS.iter().filter(|(word, _)| runs_on(word)).map(|(_, system)| *system).collect();
    let mut answer = Answer::default();
    if !systems.is_empty() {
        answer.facts.push(Fact::new(format!("CI runs on {}.", systems.join(", "))));
    }
    let mut known: Vec<String> = Vec::new();
    for passage in &parts {
        for (at, line) in passage.text.lines().enumerate() {
            let plain = one_line(line);
            let is_matrix = MATRIX.as_ref().is_some_and(|matrix| matrix.is_match(line));
            if is_matrix && known.len() < VERSION_LINES && !known.contains(&plain) {
                answer.facts.push(Fact::quoted(passage, at, line));
                known.push(plain);
            }
        }
    }
    let mut known: Vec<&str> = Vec::new();
    for passage in &parts {
        for command in passage.commands.iter().filter(|command| is_command(&command.text)) {
            if known.len() < CI_COMMANDS && !known.contains(&command.text.as_str()) {
                answer.facts.push(Fact::command(passage, command));
                known.push(&command.text);
            }
        }
    }
    let mut best: Vec<&&Passage> = parts.iter().filter(|passage| !passage.commands.is_empty()).collect();
    best.sort_by_key(|passage| std::cmp::Reverse(passage.commands.len()));
    best.into_iter().for_each(|passage| answer.show(finding(passage)));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orient::documents::split;

    #[test]
    fn dependencies_with_a_section_each_are_one_list() {
        let text = "[package]\nname = \"x\"\n[dependencies.bytes]\nversion = \"1\"\n\n[dependencies.http]\n\
                    version = \"1\"\nfeatures = []\n[dev-dependencies]\ntempfile = \"3\"\n";
        let passages = split(text, "Cargo.toml", Source::Manifest);
        let answer = dependencies(&Documents { passages, ..Documents::default() });
        let stated: Vec<&str> = answer.facts.iter().map(Fact::statement).collect();
        assert_eq!(stated, ["dependencies: `bytes`, `http`", "dev-dependencies: `tempfile`"]);
    }
}
