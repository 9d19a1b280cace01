//! Selects the findings among the ranked files, and the lines to show of each.

use super::reason::why;
use super::{
    excerpt::{Excerpt, about},
    matcher::{self},
    query::{FindQuery, Origin},
    role,
    score::{RankedChunk, RankedFile},
};
use openagents_core::update::{Finding, FindingKind, Place};

/// Maximum number of findings per question.
pub(super) const FINDINGS: usize = 10;

/// Maximum number of findings per file: one file rarely answers a question alone.
const IN_ONE_FILE: usize = 2;

/// Maximum number of lines in a finding; a short definition is extended by its neighbours.
const LINES: usize = 80;

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
    let files = files.iter().filter(|file| !is_weak(file, query));
    for file in files.take(FINDINGS).take_while(|file| file.score >= best * NOISE) {
        let first = file.chunks.first().map_or(1.0, |chunk| chunk.score).max(f32::MIN_POSITIVE);
        let chunks = file.chunks.iter().zip(0..);
        candidates.extend(chunks.map(|(chunk, rank)| {
            let score = file.score * (chunk.score / first).min(1.0) * matcher::SAME_FILE.powi(rank);
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

/// Returns whether a file has nothing but a synonym of one of several words: `report` for “overview” says nothing.
fn is_weak(file: &RankedFile, query: &FindQuery) -> bool {
    let matched = || file.matched.iter().map(|at| &query.alternatives[*at as usize]);
    let first = matched().next().map(|alternative| alternative.concept);
    query.concepts.len() > 1
        && matched().all(|way| way.origin == Origin::Synonym && Some(way.concept) == first)
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
    let is_prose =
        chunk.is_comment || matches!(role::Role::detect(&file.path, ""), role::Role::Documentation);
    let kind = match chunk.is_named {
        _ if is_prose => FindingKind::Text,
        true => FindingKind::Definition,
        false => FindingKind::Usage,
    };
    let text = String::from_utf8_lossy(&file.text);
    let lines: Vec<&str> = text.lines().collect();
    let (start, end) = trimmed(&lines, start, end);
    let excerpt = Excerpt::new(&lines, chunk, (start, end));
    Finding {
        kind,
        place: Place::File { path: file.path.clone() },
        start: start as u64 + 1,
        end: end as u64 + 1,
        excerpt: excerpt.text,
        lines: excerpt.numbers,
        about: (!chunk.symbol.is_empty()).then(|| about(&lines, chunk.head)).flatten(),
        symbol: Some(chunk.symbol.clone()).filter(|symbol| !symbol.is_empty()),
        score,
        why: why(file, chunk, query),
    }
}

/// Trims blank lines at both ends.
fn trimmed(lines: &[&str], start: usize, end: usize) -> (usize, usize) {
    let lines = &lines[start.min(lines.len())..(end + 1).min(lines.len())];
    let is_text = |line: &&str| !line.trim().is_empty();
    let first = lines.iter().position(is_text).unwrap_or(0);
    let last = lines.iter().rposition(is_text).unwrap_or(lines.len().saturating_sub(1));
    (start + first, start + last)
}

/// Score above which the question is about a session; below it may be about code.
const ABOUT_HISTORY: f32 = 0.6;

/// Maximum number of sessions next to code, if the question may be about either.
const BESIDE_CODE: usize = 3;

/// Merges code and sessions, best first, with scores relative to the best.
pub(super) fn merge(code: Vec<Finding>, sessions: Vec<Finding>) -> Vec<Finding> {
    let best = sessions.first().map_or(0.0, |finding| finding.score);
    let (first, then) = if best > ABOUT_HISTORY {
        let code = code
            .into_iter()
            .map(|finding| Finding { score: finding.score * ABOUT_HISTORY * best, ..finding });
        (sessions, code.collect::<Vec<_>>())
    } else {
        (code, sessions.into_iter().take(BESIDE_CODE).collect())
    };
    let mut all: Vec<Finding> = first.into_iter().chain(then).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all.truncate(FINDINGS);
    let best = all.first().map_or(1.0, |finding| finding.score).max(f32::MIN_POSITIVE);
    all.iter_mut().for_each(|finding| finding.score /= best);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::update::{FindingKind, Place};

    fn found(name: &str, score: f32) -> Finding {
        Finding {
            kind: FindingKind::Usage,
            place: Place::File { path: name.to_owned() },
            start: 1,
            end: 1,
            excerpt: String::new(),
            lines: Vec::new(),
            about: None,
            symbol: None,
            score,
            why: String::new(),
        }
    }

    #[test]
    fn history_question_ranks_sessions_first() {
        let rows = [
            (vec![("s1", 0.9), ("s2", 0.4)], vec!["s1", "c1", "s2", "c2"]),
            (vec![("s1", 0.5)], vec!["c1", "s1", "c2"]),
            (vec![], vec!["c1", "c2"]),
        ];
        for (sessions, expected) in rows {
            let code = vec![found("c1", 1.0), found("c2", 0.3)];
            let sessions = sessions.into_iter().map(|(name, score)| found(name, score)).collect();
            let merged = merge(code, sessions);
            let order: Vec<_> = merged.iter().filter_map(Finding::path).collect();
            assert_eq!(order, expected);
            assert_eq!(merged[0].score, 1.0);
        }
    }
}
