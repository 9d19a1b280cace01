//! Combines past sessions with code.

use super::select::FINDINGS;
use openagents_core::update::Finding;

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
            symbol: None,
            score,
            why: String::new(),
        }
    }

    #[test]
    fn a_question_about_history_has_its_sessions_first() {
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
