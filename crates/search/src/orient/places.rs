//! What each file and folder of the code is for, from its own words: the comment at its beginning, its name, the
//! names that it defines. Finds the file or folder for a subject.

use super::{
    documents::Passage,
    evidence::{Answer, Fact, clipped},
    files::{THREADS, is_code, is_prologue, spaced, text},
    how_to::quotes,
    rank::{Ranked, stems},
    sources::Source,
    topics::{Asked, Topic},
};
use crate::repository::{first_sentence, paragraphs, plain};
use openagents_core::{
    budget::Budget,
    parallel,
    terms::synonyms,
    text::{cut_at_word, is_listed, one_line, prefix},
    update::{Finding, FindingKind, Place},
    visible::code_span,
    workspace::Workspace,
};
use regex::Regex;
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::LazyLock,
};

/// Maximum files that are described; those nearest to the root come first.
const FILES: usize = 20_000;
/// Bytes of a file that are searched for its comment and its definitions.
const HEAD: usize = 96 << 10;
/// Lines in which the comment about a file begins: a licence and imports come before it.
const COMMENT_LINES: usize = 120;
/// Maximum indentation of a comment about a file; those further in are about single lines.
const OUTER: usize = 2;
/// Maximum lines of a comment that are shown.
const SHOWN: usize = 24;
/// Maximum characters of a description.
const DESCRIPTION: usize = 200;
/// Maximum names in a folder listed in place of a description.
const ENTRIES: usize = 14;
/// Maximum names of definitions per file.
const DEFINITIONS: usize = 300;

/// Weights of a word by where it is.
const IN_NAME: f32 = 3.0;
const IN_FOLDER: f32 = 1.2;
const IN_DESCRIPTION: f32 = 1.5;
const IN_COMMENT: f32 = 0.3;
const IN_DEFINITION: f32 = 0.3;
/// Factor of a file or folder whose whole name is in the question.
const NAMED: f32 = 1.6;
/// Factor of a place in a folder of tests or documents, if the question is not about these.
const ASIDE: f32 = 0.4;
const ASIDE_FOLDERS: &str = "\
    test|tests|testing|spec|specs|example|examples|doc|docs|fixture|fixtures|testdata|bench|benches|benchmark|benchmarks";
const ASIDE_WORDS: &str = "test|spec|exampl|doc|document|manual|guid|fixtur|bench|benchmark";
/// Weight of a synonym next to the word itself.
const SYNONYM: f32 = 0.4;

/// A file or folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Described {
    /// Relative to the workspace, with `/`; a folder ends with `/`.
    pub(super) path: String,
    /// The first sentence of the comment about it; may be empty.
    pub(super) description: String,
    /// The description is its own, not a list of what is in the folder.
    pub(super) is_documented: bool,
    /// The file and the lines, from 1, of the description, or of the first lines of code.
    pub(super) file: String,
    pub(super) start: u64,
    pub(super) end: u64,
    words: HashMap<String, f32>,
    /// Files in a folder, with those below it.
    pub(super) files: usize,
}

/// Describes the files of the code and their folders.
pub(super) fn describe(workspace: &Workspace, paths: &[String], budget: &Budget) -> Vec<Described> {
    let mut code: Vec<&str> = paths.iter().map(String::as_str).filter(|path| is_code(path)).collect();
    code.sort_by_key(|path| (path.matches('/').count(), *path));
    code.truncate(FILES);
    let read = |(): &mut (), at: usize| {
        let text = text(workspace, Path::new(code[at]))?;
        let mut place = file(code[at], &text);
        place.weigh_file(&text);
        Some(place)
    };
    let described = parallel::map(code.len(), THREADS, || !budget.spent(), || (), read);
    let mut described: Vec<Described> = described.into_iter().flatten().collect();
    let folders = Folders::new(workspace, paths, &described);
    let mut places: Vec<Described> =
        folders.counts().into_iter().map(|(folder, files)| folders.describe(folder, files, budget)).collect();
    places.iter_mut().for_each(Described::weigh_folder);
    described.extend(places);
    described
}

/// Describes a file by the first comment about it.
pub(super) fn file(path: &str, text: &str) -> Described {
    let lines: Vec<&str> = prefix(text, HEAD).lines().collect();
    let (start, end, description) = comment(&lines).unwrap_or_else(|| {
        let from = lines.iter().position(|line| !is_prologue(line)).unwrap_or(0);
        (from, (from + 8).min(lines.len()), String::new())
    });
    let (start, end) = (start as u64 + 1, end.max(start + 1) as u64);
    let path = path.to_owned();
    let is_documented = !description.is_empty();
    Described {
        file: path.clone(),
        path,
        description,
        is_documented,
        start,
        end,
        words: HashMap::new(),
        files: 1,
    }
}

impl Described {
    /// Weighs the words of a file's name, folder, description and definitions.
    fn weigh_file(&mut self, text: &str) {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let (folder, name) = (spaced(folder), spaced(name.split('.').next().unwrap_or(name)));
        self.weigh(&name, IN_NAME / words_in(&name));
        self.weigh(&folder, IN_FOLDER);
        self.weigh(&self.description.clone(), IN_DESCRIPTION);
        if !self.description.is_empty() {
            let (start, length) = (self.start as usize - 1, (self.end + 1 - self.start) as usize);
            let comment: Vec<&str> = text.lines().skip(start).take(length).collect();
            self.weigh(&comment.join(" "), IN_COMMENT);
        }
        for name in definitions(prefix(text, HEAD)) {
            self.weigh(&spaced(name), IN_DEFINITION);
        }
    }

    fn weigh_folder(&mut self) {
        let path = self.path.trim_end_matches('/');
        let name = spaced(path.rsplit('/').next().unwrap_or(path));
        self.weigh(&name, IN_NAME / words_in(&name));
        if self.is_documented {
            self.weigh(&self.description.clone(), IN_DESCRIPTION);
        }
    }

    fn weigh(&mut self, text: &str, weight: f32) {
        for stem in words_of(text) {
            *self.words.entry(stem).or_default() += weight;
        }
    }
}

/// Characters of a stem that are compared: `contributor` and `contribute` share so many.
const COMPARED: usize = 8;

/// Returns the stems of a text as far as they are compared.
fn words_of(text: &str) -> impl Iterator<Item = String> + use<> {
    stems(text).into_iter().map(|stem| compared(&stem))
}

fn compared(stem: &str) -> String {
    stem.chars().take(COMPARED).collect()
}

/// Returns the square root of the number of words: a name with fewer words says more with each.
fn words_in(name: &str) -> f32 {
    (name.split_whitespace().count().max(1) as f32).sqrt()
}

/// Describes the documents of a project by their titles and headings.
pub(super) fn of_documents(passages: &[Passage]) -> Vec<Described> {
    let mut documents: Vec<Described> = Vec::new();
    for passage in passages {
        if !matches!(passage.source, Source::Guide | Source::Readme | Source::Manual | Source::Changes) {
            continue;
        }
        if documents.last().is_none_or(|last| last.path != passage.path) {
            let name = passage.path.rsplit_once('/').map_or(passage.path.as_str(), |(_, name)| name);
            let name = spaced(name.split('.').next().unwrap_or(name));
            let mut words = HashMap::new();
            for stem in words_of(&name) {
                *words.entry(stem).or_default() += IN_NAME / words_in(&name);
            }
            documents.push(Described {
                path: passage.path.clone(),
                file: passage.path.clone(),
                description: cut_at_word(
                    &plain(passage.heading.rsplit(" › ").next().unwrap_or_default()),
                    DESCRIPTION,
                ),
                is_documented: true,
                start: passage.start,
                end: passage.end.min(passage.start + 12),
                words,
                files: 1,
            });
        }
        if let Some(document) = documents.last_mut() {
            let heading = passage.heading.rsplit(" › ").next().unwrap_or_default();
            for stem in words_of(heading) {
                let weight = document.words.entry(stem).or_default();
                *weight = (*weight + IN_DESCRIPTION).min(IN_NAME * 1.5);
            }
            for stem in words_of(&passage.text) {
                *document.words.entry(stem).or_default() += 0.02;
            }
        }
    }
    documents
}

/// Returns the lines, from 0, of the first comment that is about the file, and its first sentence.
fn comment(lines: &[&str]) -> Option<(usize, usize, String)> {
    let mut at = 0;
    while at < lines.len().min(COMMENT_LINES) {
        let indent = lines[at].len() - lines[at].trim_start().len();
        let Some(length) = block(&lines[at..]).filter(|_| indent <= OUTER) else {
            at += 1;
            continue;
        };
        let words = lines[at..at + length].iter().map(|line| bare(line));
        // A heading repeats the name.
        let words: Vec<&str> = words.filter(|line| !line.starts_with('#')).collect();
        let text = one_line(words.join("\n").split("@author").next().unwrap_or_default());
        // A comment in a condition of the preprocessor is about that.
        let is_condition = |line: &str| line.trim().starts_with("#if") && !line.to_uppercase().contains("_H");
        let is_first = lines[..at].iter().all(|line| is_prologue(line) && !is_condition(line));
        let is_code = words.iter().filter(|line| line.ends_with([';', '{', '}'])).count() * 3 > words.len();
        if !is_code && is_prose(&text) && (is_first || documents_definition(&lines[at + length..], indent)) {
            let sentence = text.split_inclusive(". ").next().unwrap_or(&text);
            return Some((at, at + length.min(SHOWN), cut_at_word(plain(sentence).trim(), DESCRIPTION)));
        }
        at += length;
    }
    None
}

/// Returns whether the comment before these lines is about a definition that may be the file's subject.
fn documents_definition(lines: &[&str], indent: usize) -> bool {
    let next = lines.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    let starts = |words: &[&str]| words.iter().any(|word| next.starts_with(word));
    let is_value =
        next.split_whitespace().take(3).any(|word| matches!(word, "const" | "let" | "static" | "var"));
    let is_definition =
        || DEFINITION.as_ref().is_some_and(|definition| definition.is_match(next)) && !is_value;
    match indent {
        0 => {
            starts(&["@", "#[", "export ", "module.exports", "exports.", "impl ", "typedef "])
                || is_definition()
        }
        _ => starts(&["class ", "module ", "public class ", "struct "]),
    }
}

/// Returns the number of lines of the comment or documentation string at the beginning of `lines`.
fn block(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?.trim();
    for (begin, end) in [
        ("/*", "*/"),
        ("\"\"\"", "\"\"\""),
        ("'''", "'''"),
        ("r\"\"\"", "\"\"\""),
        ("=begin", "=end"),
        ("<!--", "-->"),
    ] {
        if let Some(rest) = first.strip_prefix(begin) {
            if rest.contains(end) {
                return Some(1);
            }
            return Some(
                lines.iter().skip(1).position(|line| line.contains(end)).map_or(lines.len(), |at| at + 2),
            );
        }
    }
    let marker = ["//", "#", "--", ";;", "%"].into_iter().find(|marker| first.starts_with(marker))?;
    let is_directive = |line: &str| {
        ["#include", "#define", "#if", "#endif", "#!", "#[", "#pragma", "#import"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let length =
        lines.iter().take_while(|line| line.trim().starts_with(marker) && !is_directive(line.trim())).count();
    (length > 0).then_some(length)
}

/// Returns a line of a comment without its marks.
fn bare(line: &str) -> &str {
    line.trim()
        .trim_start_matches(['/', '*', '#', '!', '"', '\'', ';', '-', '%', '<'])
        .trim_end_matches(['/', '*', '"', '\''])
        .trim()
}

/// Returns whether a comment is about the code: not a licence, a setting of a tool, or a separator.
fn is_prose(text: &str) -> bool {
    const OTHERS: &[&str] = &[
        "copyright",
        "(c) 19",
        "(c) 20",
        "licen",
        "spdx",
        "all rights reserved",
        "warrant",
        "$openbsd",
        "$id",
        "eslint",
        "jshint",
        "prettier",
        "coding:",
        "frozen_string_literal",
        "pylint",
        "mypy:",
        "-*-",
        "@ts-",
        "clang-format",
        "generated by",
        "do not edit",
        "noinspection",
        "phpcs",
        "nolint",
        "go:build",
        "+build",
        "this file is part of",
        "@flow",
        "istanbul",
        "c8 ignore",
    ];
    let lower = text.to_lowercase();
    text.chars().filter(|c| c.is_alphabetic()).count() >= 12
        && text.contains(' ')
        && !["todo", "fixme", "xxx", "elif", "else", "endif", "if defined", "hack"]
            .iter()
            .any(|start| lower.starts_with(start))
        && !OTHERS.iter().any(|other| lower.contains(other))
}

static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^\s*(?:export\s+(?:default\s+)?)?(?:pub(?:\([^)]*\))?\s+)?(?:abstract\s+|static\s+|final\s+|async\s+|public\s+|private\s+|protected\s+|const\s+)*(?:fn|def|class|module|func(?:\s+\([^)]*\))?|struct|enum|trait|interface|type|function|const|union)\s+([A-Za-z_]\w*)|^([a-z_]\w+)\(",
    )
    .ok()
});

fn definitions(text: &str) -> impl Iterator<Item = &str> {
    let found = DEFINITION.iter().flat_map(|pattern| pattern.captures_iter(text));
    found
        .filter_map(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str()))
        .take(DEFINITIONS)
}

/// The folders of a workspace.
pub(super) struct Folders<'a> {
    workspace: &'a Workspace,
    /// Of all files, sorted.
    paths: &'a [String],
    files: HashMap<&'a str, &'a Described>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        paths: &'a [String],
        files: impl IntoIterator<Item = &'a Described>,
    ) -> Self {
        let files = files.into_iter().map(|file| (file.path.as_str(), file)).collect();
        Self { workspace, paths, files }
    }

    /// Returns each folder with the number of files in it and below.
    fn counts(&self) -> BTreeMap<&'a str, usize> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for path in self.paths {
            let ends = path.match_indices('/').map(|(at, _)| at);
            ends.for_each(|end| *counts.entry(&path[..end]).or_default() += 1);
        }
        counts
    }

    /// Describes a folder, without a `/` at its end: by its README, by the file for the module's documentation, or by
    /// what is in it.
    pub(super) fn describe(&self, folder: &str, files: usize, budget: &Budget) -> Described {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let heads = [
            "mod.rs",
            "lib.rs",
            "src/lib.rs",
            "src/main.rs",
            "__init__.py",
            "doc.go",
            "package-info.java",
            "index.ts",
            "index.js",
        ];
        let own = [
            format!("{folder}/{name}.go"),
            format!("{folder}.rs"),
            format!("{folder}.rb"),
            format!("{folder}/{name}.py"),
        ];
        let heads = heads.iter().map(|head| format!("{folder}/{head}")).chain(own);
        let by_doc = heads
            .into_iter()
            .find_map(|head| self.files.get(head.as_str()).filter(|file| !file.description.is_empty()));
        let by_readme = (!budget.spent()).then(|| self.readme(folder)).flatten();
        let is_documented = by_readme.is_some() || by_doc.is_some();
        let (file, start, end, description) = match (by_readme, by_doc) {
            (Some((path, line, description)), _) => (path, line, line, description),
            (None, Some(file)) => (file.path.clone(), file.start, file.end, file.description.clone()),
            (None, None) => {
                let first = self.paths.partition_point(|path| path.as_str() < folder);
                let within = self.paths[first..]
                    .iter()
                    .find(|path| path.starts_with(folder) && path[folder.len()..].starts_with('/'));
                (within.cloned().unwrap_or_default(), 1, 1, entries(self.paths, folder))
            }
        };
        let path = format!("{folder}/");
        Described { path, description, is_documented, file, start, end, words: HashMap::new(), files }
    }

    /// Returns the README of a folder with its first line of prose.
    fn readme(&self, folder: &str) -> Option<(String, u64, String)> {
        let names = ["README.md", "README", "README.rst", "readme.md"];
        let mut paths = names.iter().map(|name| format!("{folder}/{name}"));
        let path = paths.find(|path| self.paths.binary_search(path).is_ok())?;
        let first = paragraphs(self.workspace, &path).into_iter().next()?;
        let sentence = plain(&first_sentence(&first.text));
        Some((path, first.start, cut_at_word(&sentence, DESCRIPTION)))
    }
}

/// Returns the names in a folder, in place of words about it.
fn entries(paths: &[String], folder: &str) -> String {
    let first = paths.partition_point(|path| path.as_str() < folder);
    let names = paths[first..]
        .iter()
        .take_while(|path| path.starts_with(folder))
        .filter_map(|path| path[folder.len()..].strip_prefix('/')?.split('/').next());
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    let more = if names.len() > ENTRIES { ", …" } else { "" };
    plain(&format!("{}{more}", names[..names.len().min(ENTRIES)].join(", ")))
}

/// Returns the folders at which a tree branches, at most `most`: those at the top, then those in the largest one.
pub(super) fn top_folders(described: &[Described], most: usize) -> Vec<&Described> {
    let folders: Vec<&Described> = described.iter().filter(|place| place.path.ends_with('/')).collect();
    let within = |parent: &str| -> Vec<&Described> {
        let is_child = |place: &&&Described| {
            place.path.strip_prefix(parent).is_some_and(|rest| rest.matches('/').count() == 1)
        };
        folders.iter().filter(is_child).copied().collect()
    };
    let mut shown: Vec<&Described> = within("");
    shown.sort_by_key(|place| std::cmp::Reverse(place.files));
    shown.truncate(most);
    // The largest folder of code is shown with what is in it; a chain of folders with one each is skipped.
    let is_code_folder = |place: &&&Described| {
        described.iter().any(|file| !file.path.ends_with('/') && file.path.starts_with(&place.path))
    };
    let mut parent = shown.iter().find(is_code_folder).map(|place| place.path.clone());
    while let Some(path) = parent.take() {
        let mut inner = within(&path);
        inner.retain(|place| is_code(&format!("{}code.c", place.path)));
        inner.sort_by_key(|place| std::cmp::Reverse(place.files));
        match inner.as_slice() {
            [only] => parent = Some(only.path.clone()),
            [largest, rest @ ..]
                if rest.iter().map(|place| place.files).sum::<usize>() * 8 < largest.files =>
            {
                parent = Some(largest.path.clone());
            }
            _ => shown.extend(inner.into_iter().take(most.saturating_sub(shown.len()).max(most / 2))),
        }
    }
    shown
}

/// Returns the files and folders about the words of a question, which are stems, best first, with their scores.
pub(super) fn about<'a>(described: &'a [Described], words: &[String]) -> Vec<(f32, &'a Described)> {
    let forms = |word: &String| {
        let own = std::iter::once((compared(word), 1.0));
        let others = synonyms(word).iter().flat_map(|synonym| words_of(synonym)).map(|stem| (stem, SYNONYM));
        own.chain(others).collect::<Vec<_>>()
    };
    let concepts: Vec<Vec<(String, f32)>> = words.iter().map(forms).collect();
    let found = |place: &Described, concept: &[(String, f32)]| {
        let weights =
            concept.iter().map(|(stem, weight)| place.words.get(stem).map_or(0.0, |found| found * weight));
        weights.fold(0.0, f32::max)
    };
    let all = described.len() as f32;
    let rarity: Vec<f32> = concepts
        .iter()
        .map(|concept| {
            let with = described.iter().filter(|place| found(place, &concept[..1]) > 0.0).count() as f32;
            ((all - with + 0.5) / (with + 0.5) + 1.0).ln()
        })
        .collect();
    let mut ranked: Vec<(f32, &Described)> = described
        .iter()
        .filter_map(|place| {
            let parts = concepts.iter().zip(&rarity).map(|(concept, rare)| {
                let found = found(place, concept);
                (rare * found * 2.2 / (found + 1.2), found > 0.0)
            });
            let (mut score, mut matched) = (0.0, 0.0);
            for (part, is_found) in parts {
                score += part;
                matched += f32::from(u8::from(is_found));
            }
            score *= 0.5 + 0.5 * matched / concepts.len().max(1) as f32;
            (score > 0.0).then_some((score, place))
        })
        .collect();
    for (score, place) in &mut ranked {
        let path = place.path.trim_end_matches('/');
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut own = words_of(&spaced(name.split('.').next().unwrap_or(name))).peekable();
        if own.peek().is_some() && own.all(|word| words.iter().any(|asked| compared(asked) == word)) {
            *score *= NAMED;
        }
        let folders = place.path.rsplit_once('/').map_or("", |(folders, _)| folders);
        let is_aside = || folders.split('/').any(|folder| is_listed(folder, ASIDE_FOLDERS));
        let is_asked = || words.iter().any(|word| is_listed(word, ASIDE_WORDS));
        // Documents are searched on their own.
        if (place.path.ends_with('/') || is_code(&place.path)) && is_aside() && !is_asked() {
            *score *= ASIDE;
        }
    }
    ranked.sort_by(|(one, first), (other, second)| {
        other.total_cmp(one).then_with(|| first.path.len().cmp(&second.path.len()))
    });
    ranked
}

/// Maximum quotations of guides in an answer.
const GUIDES: usize = 2;
/// Maximum files and folders in an answer.
const PLACES: usize = 5;

/// Share of the best score that the others need.
const NEAR: f32 = 0.5;
/// Maximum folders in a list of all.
const FOLDERS: usize = 14;

/// Answers with the files and folders for the subject, or with all top folders if the question names no subject.
pub(super) fn answer(
    workspace: &Workspace,
    described: &[Described],
    ranked: &[Ranked<'_>],
    asked: &Asked,
) -> Answer {
    let ranked_places = about(described, &asked.words);
    let best = ranked_places.first().map_or(0.0, |(score, _)| *score);
    let near = ranked_places.iter().take_while(|(score, _)| *score >= best * NEAR).take(PLACES);
    let mut found: Vec<&Described> = near.map(|(_, place)| *place).collect();
    if found.is_empty() {
        found = top_folders(described, FOLDERS);
    }
    let mut answer = Answer { facts: found.iter().map(|place| place.fact()).collect(), ..Answer::default() };
    if asked.topic == Topic::Extend {
        // Guides say how.
        let mut guides = quotes(ranked, asked);
        guides.facts.truncate(GUIDES);
        found.iter().take(1).for_each(|place| answer.show(finding(workspace, place)));
        answer.facts.extend(guides.facts);
        guides.findings.into_iter().for_each(|finding| answer.show(finding));
    }
    // What a place says about itself shows more than a list of names.
    let (documented, others): (Vec<&Described>, Vec<&Described>) =
        found.iter().partition(|place| place.is_documented || !place.path.ends_with('/'));
    documented.into_iter().chain(others).for_each(|place| answer.show(finding(workspace, place)));
    answer
}

impl Described {
    /// The path, with what the place is for.
    pub(super) fn fact(&self) -> Fact {
        let files = if self.path.ends_with('/') { format!(" ({} files)", self.files) } else { String::new() };
        let what =
            if self.description.is_empty() { String::new() } else { format!(": {}", self.description) };
        Fact::new(format!("`{}`{files}{what}", code_span(&self.path)))
            .within(&self.file, self.start, self.end)
    }
}

/// Returns a finding with the lines of a file or folder that say what it is for.
pub(super) fn finding(workspace: &Workspace, place: &Described) -> Finding {
    let text = text(workspace, Path::new(&place.file)).unwrap_or_default();
    let length = (place.end + 1).saturating_sub(place.start) as usize;
    let lines: Vec<&str> = text.lines().skip(place.start.saturating_sub(1) as usize).take(length).collect();
    Finding {
        kind: FindingKind::Text,
        place: Place::File { path: place.file.clone() },
        start: place.start,
        end: place.end,
        excerpt: clipped(&lines.join("\n")),
        lines: Vec::new(),
        about: None,
        symbol: None,
        score: 1.0,
        why: format!("about `{}`", code_span(&place.path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_about_a_file_is_found_behind_licence_and_imports() {
        for (text, expected) in [
            (
                "// Copyright 2020 Me\n// Licensed\n\n#include <a.h>\n\n/*\n * Grid data. This is the basic structure.\n */\n",
                "Grid data.",
            ),
            ("//! Reads the log. Every line is one record.\n\nuse std::io;\n", "Reads the log."),
            (
                "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\"\"\"Support for skipping tests.\"\"\"\nimport os\n",
                "Support for skipping tests.",
            ),
            ("/**\n * Parses HTML into a tree.\n */\npackage org.x;\n", "Parses HTML into a tree."),
            (
                "# frozen_string_literal: true\n\nmodule A\n  # The CLI is a class that runs commands.\n  class CLI\n",
                "The CLI is a class that runs commands.",
            ),
            ("//! # reqwest\n//!\n//! A client for HTTP.\n", "A client for HTTP."),
            ("// FIXME: tests\n/*\nuse std::cmp;\nuse std::io;\n\npub struct Duplex {\n*/\n", ""),
            ("int x;\n", ""),
        ] {
            assert_eq!(file("a.c", text).description, expected, "{text}");
        }
    }

    #[test]
    fn subject_finds_its_file() {
        let weighed = |path: &str, text: &str| {
            let mut place = file(path, text);
            place.weigh_file(text);
            place
        };
        let files = [
            weighed("grid.c", "/* Grid data: the contents of each cell of a screen. */\n"),
            weighed("screen-write.c", "void\nscreen_write_cell(int x)\n{}\n"),
            weighed(
                "options-table.c",
                "/* This file has a table with all options and their default values. */\n",
            ),
        ];
        let words = |text: &str| stems(text);
        assert_eq!(about(&files, &words("contents screen cell"))[0].1.path, "grid.c");
        assert_eq!(about(&files, &words("options defaults list"))[0].1.path, "options-table.c");
        assert!(about(&files, &words("kubernetes")).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_file_is_described(text in "(?s)([/*#\"'=\\-\n {}()]|fn |def |licence|é|文){0,80}") {
            let place = file("a/b.rs", &text);
            proptest::prop_assert!(place.start <= place.end);
        }
    }
}
