//! Selects the findings among the ranked files, and the lines to show of each.

use super::{
    query::FindQuery,
    role,
    score::{RankedChunk, RankedFile},
    weights, why,
};
use openagents_core::update::{Finding, FindingKind, Place};

/// Maximum number of findings per question.
pub(super) const FINDINGS: usize = 10;

/// Maximum number of findings per file: one file rarely answers a question alone.
const IN_ONE_FILE: usize = 2;

/// Maximum number of lines in a finding; a short definition is extended by its neighbours.
const LINES: usize = 60;

/// Minimum share of the best file's score.
const NOISE: f32 = 0.05;

struct Candidate<'a> {
    file: &'a RankedFile,
    chunk: &'a RankedChunk,
    score: f32,
}

/// Returns the best places, best first.
pub(super) fn select(files: &[RankedFile], query: &FindQuery) -> Vec<Finding> {
    let best = files.first().map_or(1.0, |file| file.score);
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for file in files.iter().take(FINDINGS).take_while(|file| file.score >= best * NOISE) {
        let first = file.chunks.first().map_or(1.0, |chunk| chunk.score).max(f32::MIN_POSITIVE);
        let chunks = file.chunks.iter().zip(0..);
        candidates.extend(chunks.map(|(chunk, rank)| {
            let score = file.score * chunk.score / first * weights::SAME_FILE.powi(rank);
            Candidate { file, chunk, score }
        }));
    }
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut found: Vec<(&RankedFile, usize, usize)> = Vec::new();
    let mut findings = Vec::new();
    for Candidate { file, chunk, score } in candidates {
        let (start, end) = grown(file, chunk.at);
        let same = found.iter().filter(|(other, ..)| std::ptr::eq(*other, file));
        let overlaps = same.clone().any(|(_, first, last)| start <= *last && end >= *first);
        if overlaps || same.count() >= IN_ONE_FILE || findings.len() == FINDINGS {
            continue;
        }
        found.push((file, start, end));
        findings.push(finding(file, chunk, (start, end), score / best, query));
    }
    findings
}

/// Returns the lines to show, from 0: the chunk and as many neighbours as fit, better ones first.
fn grown(file: &RankedFile, at: usize) -> (usize, usize) {
    let score = |at: usize| file.chunks.iter().find(|chunk| chunk.at == at).map_or(0.0, |chunk| chunk.score);
    let (mut first, mut last) = (at, at);
    loop {
        let start = |first: usize| file.bounds[first].0;
        let end = |last: usize| file.bounds[last].1;
        let up = first.checked_sub(1).filter(|up| end(last) - start(*up) < LINES);
        let down =
            Some(last + 1).filter(|down| *down < file.bounds.len() && end(*down) - start(first) < LINES);
        match (up, down) {
            (Some(up), Some(down)) if score(up) < score(down) => last = down,
            (Some(up), _) => first = up,
            (None, Some(down)) => last = down,
            (None, None) => return (start(first), end(last)),
        }
    }
}

fn finding(
    file: &RankedFile,
    chunk: &RankedChunk,
    (start, end): (usize, usize),
    score: f32,
    query: &FindQuery,
) -> Finding {
    let is_prose = chunk.is_comment || matches!(role::Role::of(&file.path, ""), role::Role::Documentation);
    let kind = match chunk.is_named {
        _ if is_prose => FindingKind::Text,
        true => FindingKind::Definition,
        false => FindingKind::Usage,
    };
    let text = String::from_utf8_lossy(&file.text);
    let (start, end) = trimmed(&text, start, end);
    let mut excerpt = text.lines().skip(start).take(end + 1 - start).collect::<Vec<_>>().join("\n");
    excerpt.truncate(excerpt.floor_char_boundary(Finding::EXCERPT_BYTES));
    Finding {
        kind,
        place: Place::File { path: file.path.clone() },
        start: start as u64 + 1,
        end: end as u64 + 1,
        excerpt,
        symbol: Some(chunk.symbol.clone()).filter(|symbol| !symbol.is_empty()),
        score,
        why: why::why(file, chunk, query),
    }
}

/// Trims blank lines at both ends.
fn trimmed(text: &str, start: usize, end: usize) -> (usize, usize) {
    let lines: Vec<&str> = text.lines().skip(start).take(end + 1 - start).collect();
    let is_text = |line: &&str| !line.trim().is_empty();
    let first = lines.iter().position(is_text).unwrap_or(0);
    let last = lines.iter().rposition(is_text).unwrap_or(lines.len().saturating_sub(1));
    (start + first, start + last)
}
