//! The first pass: reads every file of the workspace once, on all cores, and counts the query words.

use super::{
    matcher::{self, Hit, Matcher, Stems},
    query::{FindQuery, Origin},
    role::{self, Role},
};
use openagents_core::{
    budget::Budget,
    terms::{self, Language},
    walk,
    workspace::{self, Workspace, WorkspaceError},
};
use parking_lot::Mutex;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
    path::Path,
    time::SystemTime,
};

/// Maximum number of bytes read per file.
pub(super) const FILE_BYTES: u64 = 16 << 20;

/// Result of one pass over a workspace.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Files with a query word in their text or path.
    pub(super) files: Vec<ScannedFile>,
    /// Number of text files.
    pub(super) total: usize,
    /// Total size of the text files in bytes.
    pub(super) bytes: u64,
    /// Number of text files written after the given time.
    pub(super) written_since: usize,
    /// The pass ended early, or files were not read completely.
    pub(super) truncated: bool,
}

/// A file with a query word.
#[derive(Debug)]
pub(super) struct ScannedFile {
    /// Relative to the workspace, with `/`.
    pub(super) path: String,
    pub(super) role: Role,
    pub(super) bytes: usize,
    pub(super) is_written_since: bool,
    /// Weighted occurrences by alternative; only those with some.
    pub(super) counts: Vec<(u16, f32)>,
    /// Weight of the best fit by alternative.
    pub(super) fits: Vec<(u16, f32)>,
    pub(super) in_path: InPath,
    pub(super) text_hash: u64,
}

impl ScannedFile {
    /// Returns the alternatives in its text or path, sorted.
    pub(super) fn matched(&self) -> Vec<u16> {
        let in_text = self.counts.iter().map(|(at, _)| *at);
        let mut matched: Vec<u16> = in_text
            .chain(self.in_path.name.iter().copied())
            .chain(self.in_path.folder.iter().copied())
            .collect();
        matched.sort_unstable();
        matched.dedup();
        matched
    }
}

/// Alternatives that occur in a path.
#[derive(Debug, Clone, Default)]
pub(super) struct InPath {
    pub(super) name: Vec<u16>,
    pub(super) folder: Vec<u16>,
}

pub(super) fn scan(
    workspace: &Workspace,
    query: &FindQuery,
    matcher: &Matcher,
    since: Option<SystemTime>,
    budget: &Budget,
) -> Scan {
    let scanned = Mutex::new(Scan::default());
    let walked = walk::files(workspace, Path::new("."), budget, || {
        let (mut stems, scanned) = (Stems::new(), &scanned);
        move |path: &Path| -> Result<(), WorkspaceError> {
            let Some(FileText { text, modified, is_whole }) = read_text(workspace, path) else {
                return Ok(());
            };
            let is_written_since = since.zip(modified).is_some_and(|(since, modified)| modified > since);
            let file = scan_file(Workspace::shown(path), &text, query, matcher, &mut stems);
            let mut scanned = scanned.lock();
            scanned.total += 1;
            scanned.bytes += text.len() as u64;
            scanned.truncated |= !is_whole;
            scanned.written_since += usize::from(is_written_since);
            scanned.files.extend(file.map(|file| ScannedFile { is_written_since, ..file }));
            Ok(())
        }
    });
    let mut scanned = scanned.into_inner();
    scanned.truncated |= walked.unfinished;
    scanned
}

pub(super) struct FileText {
    pub(super) text: Vec<u8>,
    modified: Option<SystemTime>,
    is_whole: bool,
}

/// Reads the beginning of a file; `None` if it is unreadable or binary.
pub(super) fn read_text(workspace: &Workspace, path: &Path) -> Option<FileText> {
    let opened = workspace.open_file(path).ok()?;
    let mut text = Vec::with_capacity(opened.size.min(FILE_BYTES) as usize + 1);
    opened.file.take(FILE_BYTES).read_to_end(&mut text).ok()?;
    let is_whole = (text.len() as u64) < FILE_BYTES;
    (!workspace::is_binary(&text)).then(|| FileText {
        text: workspace::decoded(text),
        modified: opened.modified,
        is_whole,
    })
}

fn scan_file(
    path: String,
    text: &[u8],
    query: &FindQuery,
    matcher: &Matcher,
    stems: &mut Stems,
) -> Option<ScannedFile> {
    let in_path = InPath::new(&path, query);
    let hits = matcher.hits(text, stems);
    if hits.is_empty() && in_path.name.is_empty() && in_path.folder.is_empty() {
        return None;
    }
    let head = String::from_utf8_lossy(&text[..text.len().min(role::HEAD)]);
    let (counts, fits) = tally(&hits, query.alternatives.len());
    Some(ScannedFile {
        role: Role::detect(&path, &head),
        bytes: text.len(),
        is_written_since: false,
        counts,
        fits,
        in_path,
        text_hash: hash(text),
        path,
    })
}

/// Returns a hash that is stable within this process.
pub(super) fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

type Tally = Vec<(u16, f32)>;

/// Returns the weighted occurrences and the best fit of each alternative.
fn tally(hits: &[Hit], alternatives: usize) -> (Tally, Tally) {
    let (mut counts, mut fits) = (vec![0.0; alternatives], vec![0.0_f32; alternatives]);
    for hit in hits {
        let (at, weight) = (hit.alternative as usize, matcher::fit(hit.fit));
        counts[at] += weight;
        fits[at] = fits[at].max(weight);
    }
    let sparse = |dense: Vec<f32>| (0..).zip(dense).filter(|(_, value)| *value > 0.0).collect();
    (sparse(counts), sparse(fits))
}

impl InPath {
    fn new(path: &str, query: &FindQuery) -> Self {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        Self { name: named(stem, query), folder: named(folder, query) }
    }
}

/// Returns the alternatives that a name contains as a word or as the prefix of one.
pub(super) fn named(name: &str, query: &FindQuery) -> Vec<u16> {
    let words = terms::subwords(name);
    if words.is_empty() {
        return Vec::new();
    }
    let stems: Vec<String> = words.iter().map(|word| Language::English.stem(word)).collect();
    let flat = words.concat();
    let holds = |alternative: &super::query::Alternative| {
        if alternative.origin == Origin::Phrase {
            return flat.contains(&alternative.stem);
        }
        let begins =
            |pattern: &String| pattern.len() >= 4 && words.iter().any(|word| word.starts_with(pattern));
        stems.contains(&alternative.stem) || alternative.patterns.iter().any(begins)
    };
    let held = (0..).zip(&query.alternatives).filter(|(_, alternative)| holds(alternative));
    held.map(|(at, _)| at).collect()
}
