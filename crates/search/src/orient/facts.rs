//! Facts that manifests, READMEs and the tree state: purpose, language, size, licence, dependencies, version, layout.

use super::{
    commands::is_command,
    documents::{Documents, Passage},
    evidence::{FINDINGS, finding},
    files::{THREADS, is_code, language_of, text},
    rank::Ranked,
    sources::Source,
    topics::{Asked, Topic},
};
use crate::repository::{self, Repository};
use openagents_core::{
    budget::Budget,
    parallel,
    text::{cut_at_word, one_line},
    update::Finding,
    workspace::Workspace,
};
use regex::Regex;
use std::{collections::BTreeMap, path::Path, sync::LazyLock};

type Answer = (String, Vec<Finding>);

/// Bytes of the README that say enough about a project.
const ENOUGH: usize = 120;

/// The manifest's description and the README's first paragraphs.
pub(super) fn what(workspace: &Workspace, documents: &Documents) -> Answer {
    let repository = Repository::scan(workspace);
    let declared = repository.description.as_ref().map(|description| repository::plain(&description.text));
    let mut lines: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    if let Some(path) = &repository.readme {
        let first = repository::introduction(workspace, path);
        let passages =
            documents.passages.iter().filter(|passage| passage.path == *path && passage.end >= first);
        for passage in passages.take(2) {
            let start = passage.start.max(first);
            let text = repository::section(workspace, path, start, 12);
            let prose = cut_at_word(&one_line(&repository::plain(&text)), 500);
            if !prose.is_empty() && lines.iter().map(String::len).sum::<usize>() < ENOUGH {
                lines.push(format!("{prose} (`{path}:{start}-{}`)", passage.end));
                findings.push(Finding {
                    start,
                    excerpt: text,
                    ..finding(passage, &Asked::about(Topic::What))
                });
            }
        }
    }
    lines
        .splice(0..0, declared.filter(|declared| lines.iter().all(|line| !line.contains(declared.as_str()))));
    let described = documents.passages.iter().find(|passage| {
        passage.source == Source::Manifest
            && !passage.path.contains('/')
            && passage.text.to_lowercase().contains("description")
    });
    if findings.len() < FINDINGS {
        findings.extend(described.map(|passage| finding(passage, &Asked::about(Topic::What))));
    }
    (lines.join("\n\n"), findings)
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

/// The languages by lines, and the lines that name a version.
pub(super) fn language(documents: &Documents) -> Answer {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in documents.paths.iter().filter(|path| is_code(path)) {
        *counts.entry(language_of(path).unwrap_or_default()).or_default() += 1;
    }
    let mut languages: Vec<_> = counts.into_iter().collect();
    languages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names: Vec<String> =
        languages.iter().take(3).map(|(name, count)| format!("{name} ({count} files)")).collect();
    let mut lines = vec![format!("Written in {}.", names.join(", "))];
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
    let mut findings: Vec<Finding> = Vec::new();
    for passage in passages {
        for (at, line) in passage.text.lines().enumerate() {
            let pattern = if passage.source == Source::Manifest { &DECLARED } else { &VERSIONS };
            if lines.len() < 9 && pattern.as_ref().is_some_and(|versions| versions.is_match(line)) {
                lines.push(format!(
                    "- {} (`{}:{}`)",
                    cut_at_word(&one_line(line), 160),
                    passage.path,
                    passage.start + at as u64
                ));
                if findings.len() < FINDINGS
                    && !findings
                        .iter()
                        .any(|known| known.path() == Some(&passage.path) && known.start == passage.start)
                {
                    findings.push(finding(passage, &Asked::about(Topic::Language)));
                }
            }
        }
    }
    (lines.join("\n"), findings)
}

/// Lines and files of code, by language.
pub(super) fn size(workspace: &Workspace, documents: &Documents, budget: &Budget) -> Answer {
    let paths: Vec<&String> = documents.paths.iter().filter(|path| language_of(path).is_some()).collect();
    let count = |(): &mut (), at: usize| -> Option<(usize, bool)> {
        let text = text(workspace, Path::new(paths[at]))?;
        Some((text.lines().count(), is_code(paths[at])))
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
    let each: Vec<String> = languages
        .iter()
        .take(5)
        .map(|(name, (files, lines))| format!("- {name}: {lines} lines in {files} files"))
        .collect();
    let lead = format!(
        "{lines} lines of code in {files} files, of which {own} lines are neither tests nor examples.\n{}",
        each.join("\n")
    );
    (lead, Vec::new())
}

/// The licence file's title, and the manifest's field.
pub(super) fn licence(documents: &Documents) -> Answer {
    let mut lines = Vec::new();
    let mut findings = Vec::new();
    for passage in &documents.passages {
        let is_root = !passage.path.contains('/');
        if passage.source == Source::Licence && is_root && passage.start == 1 {
            let title: Vec<&str> =
                passage.text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
            lines.push(format!(
                "- {} (`{}`): {}",
                name_of_licence(&passage.text),
                passage.path,
                one_line(&title.join(" "))
            ));
            findings.insert(0, finding(passage, &Asked::about(Topic::Licence)));
        } else if is_root && matches!(passage.source, Source::Manifest | Source::Readme) {
            for (at, line) in passage.text.lines().enumerate() {
                if line.to_lowercase().contains("licen") && lines.len() < 8 {
                    lines.push(format!(
                        "- {} (`{}:{}`)",
                        cut_at_word(&one_line(line), 140),
                        passage.path,
                        passage.start + at as u64
                    ));
                    if findings.len() < FINDINGS {
                        findings.push(finding(passage, &Asked::about(Topic::Licence)));
                    }
                    break;
                }
            }
        }
    }
    (lines.join("\n"), findings)
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

/// The dependencies that the root manifest lists.
pub(super) fn dependencies(documents: &Documents) -> Answer {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"^\s*(?:"([@\w./-]+)"\s*:|([\w.-]+)\s*=|"?'?([A-Za-z][\w.-]+)\s*(?:[><=~!]|\[|"|'|$)|(?:require\s+)?([\w.-]+\.[\w.-]+/[\w./-]+)\s+v|<artifactId>([\w.-]+)<|.*add_(?:runtime_)?dependency\(?\s*['"]([\w-]+)|\s*gem\s+['"]([\w-]+))"#).ok()
    });
    let mut lines = Vec::new();
    let mut findings = Vec::new();
    for passage in documents
        .passages
        .iter()
        .filter(|passage| passage.source == Source::Manifest && !passage.path.contains('/'))
    {
        let heading = passage.heading.to_lowercase();
        let is_list = heading.contains("depend")
            || heading.starts_with("require")
            || heading == "options"
            || passage.heading.is_empty() && !passage.path.ends_with(".json");
        if !is_list || heading.contains("dev") && lines.len() > 2 {
            continue;
        }
        let mut names: Vec<String> = Vec::new();
        let mut in_list = !passage.heading.is_empty() && heading != "options";
        for line in passage.text.lines().skip(usize::from(!passage.heading.is_empty())) {
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
            let what =
                if passage.heading.is_empty() { "dependencies".to_owned() } else { passage.heading.clone() };
            lines.push(format!(
                "- {what}: {} (`{}:{}-{}`)",
                names.iter().take(40).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
                passage.path,
                passage.start,
                passage.end
            ));
            if findings.len() < FINDINGS {
                findings.push(finding(passage, &Asked::about(Topic::Dependencies)));
            }
        }
    }
    (lines.join("\n"), findings)
}

/// The version, from its file, the manifest or the newest entry of the change log; then how a release is made.
pub(super) fn version(documents: &Documents, ranked: &[Ranked<'_>], asked: &Asked) -> Answer {
    static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?i)^\s*(?:"?version"?\s*[:=]|<version>|AC_INIT|project\(.*version|.*VERSION\s*=).*\d"#)
            .ok()
    });
    let mut lines = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for passage in documents.passages.iter().filter(|passage| !passage.path.contains('/')) {
        match passage.source {
            Source::Version => {
                lines.push(format!("- version {} (`{}`)", one_line(&passage.text), passage.path));
                findings.insert(0, finding(passage, asked));
            }
            Source::Manifest => {
                let line = passage
                    .text
                    .lines()
                    .enumerate()
                    .find(|(_, line)| VERSION.as_ref().is_some_and(|version| version.is_match(line)));
                if let Some((at, line)) = line.filter(|_| lines.len() < 3) {
                    lines.push(format!(
                        "- {} (`{}:{}`)",
                        cut_at_word(&one_line(line), 120),
                        passage.path,
                        passage.start + at as u64
                    ));
                    findings.push(finding(passage, asked));
                }
            }
            Source::Changes if !passage.heading.is_empty() && lines.len() < 4 && passage.start < 60 => {
                lines.push(format!(
                    "- newest changes: {} (`{}:{}`)",
                    passage.heading, passage.path, passage.start
                ));
                findings.push(finding(passage, asked));
            }
            _ => {}
        }
    }
    for ranked in ranked.iter().take(3) {
        let Ranked { passage, quote, .. } = ranked;
        lines.push(format!("- {quote} (`{}:{}-{}`)", passage.path, passage.start, passage.end));
        findings.push(finding(passage, asked));
    }
    findings.truncate(FINDINGS);
    (lines.join("\n"), findings)
}

/// A line of CI with the versions that are tested.
static MATRIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*-?\s*[\w-]*(?:java|python|node|go|ruby|php|rust|jdk|toolchain|version|versions|compiler)[\w-]*\s*:\s*\[?[^${}]*\d")
        .ok()
});

/// Answers with the systems on which CI runs, and the commands that it runs.
pub(super) fn ci(documents: &Documents) -> (String, Vec<Finding>) {
    let parts: Vec<&Passage> =
        documents.passages.iter().filter(|passage| passage.source == Source::Ci).collect();
    let all: String = parts.iter().map(|passage| passage.text.to_lowercase()).collect::<Vec<_>>().join("\n");
    let systems: Vec<&str> = [
        ("ubuntu", "Ubuntu"),
        ("debian", "Debian"),
        ("windows", "Windows"),
        ("macos", "macOS"),
        ("freebsd", "FreeBSD"),
    ]
    .into_iter()
    .filter(|(word, _)| all.contains(word))
    .map(|(_, name)| name)
    .collect();
    let mut lines = Vec::new();
    if !systems.is_empty() {
        lines.push(format!("CI runs on {}.", systems.join(", ")));
    }
    let versions = parts.iter().flat_map(|passage| {
        let lines = passage.text.lines().enumerate();
        let versions = lines.filter(|(_, line)| MATRIX.as_ref().is_some_and(|matrix| matrix.is_match(line)));
        versions.map(|(at, line)| (one_line(line), format!("{}:{}", passage.path, passage.start + at as u64)))
    });
    let mut known = Vec::new();
    for (line, place) in versions {
        if known.len() < 4 && !known.contains(&line) {
            lines.push(format!("- {} (`{place}`)", cut_at_word(&line, 120)));
            known.push(line);
        }
    }
    let mut known = Vec::new();
    for passage in &parts {
        for command in &passage.commands {
            let text = cut_at_word(&one_line(&command.text), 100);
            if known.len() < 12 && is_command(&text) && !known.contains(&text) {
                lines.push(format!(
                    "- `{}` (`{}:{}`, {})",
                    text.replace('`', "'"),
                    passage.path,
                    command.line,
                    passage.heading
                ));
                known.push(text);
            }
        }
    }
    let asked = Asked::about(Topic::Ci);
    let mut best: Vec<&&Passage> = parts.iter().filter(|passage| !passage.commands.is_empty()).collect();
    best.sort_by_key(|passage| std::cmp::Reverse(passage.commands.len()));
    (lines.join("\n"), best.into_iter().take(FINDINGS).map(|passage| finding(passage, &asked)).collect())
}
