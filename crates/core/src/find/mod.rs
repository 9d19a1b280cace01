//! Finding the places in a workspace that answer a question. No model, no network, no index: every question reads the
//! workspace once, as a search with ripgrep would, and ranks what it read.
//!
//! `question → Query → scan (all files) → rank (the best files, in chunks) → select → findings`

mod chunk;
mod definition;
mod matcher;
mod query;
mod role;
mod scan;
mod score;
mod select;
mod weights;
mod why;

use crate::{budget::Budget, history::History, update::Findings, workspace::Workspace};
use matcher::Matcher;
use query::Query;
use std::time::Duration;

/// Time for one question; a workspace that takes longer is answered from what was read by then.
pub const TIME: Duration = Duration::from_millis(3000);

/// Where a question is answered from.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The code.
    pub workspace: &'a Workspace,
    /// The logs of agents on this machine, of which only sessions of this workspace count; `None` for the code alone.
    pub history: Option<&'a History>,
}

/// Finds the places that answer a question, best first, at most ten. Blocks.
///
/// Bounded by `budget`; what was read by then is ranked, and [`Findings::truncated`] says so.
pub fn find(sources: &Sources<'_>, question: &str, budget: &Budget) -> Findings {
    let workspace = sources.workspace;
    let query = Query::read(question);
    let Some(matcher) = Matcher::new(&query) else {
        return Findings { hint: Some(NOTHING_TO_SEARCH.to_owned()), ..Findings::default() };
    };
    let mut scanned = scan::scan(workspace, &query, &matcher, budget);
    let truncated = scanned.truncated;
    let files = score::rank(&mut scanned, &query, &matcher, workspace, &|_| 1.0, budget);
    let findings = select::select(&files, &query);
    let hint = findings.is_empty().then(|| hint(&query));
    Findings { findings, hint, truncated, in_exploration: false }
}

/// Answers several questions at once: the best of each first.
pub fn find_all(sources: &Sources<'_>, questions: &[String], budget: &Budget) -> Findings {
    let answers: Vec<Findings> =
        questions.iter().take(QUESTIONS).map(|question| find(sources, question, budget)).collect();
    let most = answers.iter().map(|answer| answer.findings.len()).max().unwrap_or(0);
    let mut all =
        Findings { truncated: answers.iter().any(|answer| answer.truncated), ..Findings::default() };
    for rank in 0..most {
        for finding in answers.iter().filter_map(|answer| answer.findings.get(rank)) {
            let is_new = all.findings.iter().all(|known| known.citation() != finding.citation());
            if is_new && all.findings.len() < select::FINDINGS {
                all.findings.push(finding.clone());
            }
        }
    }
    if all.findings.is_empty() {
        all.hint = answers.into_iter().find_map(|answer| answer.hint);
    }
    all
}

/// Questions that are answered at once.
const QUESTIONS: usize = 3;

/// What to try where a question has no word that code could hold.
const NOTHING_TO_SEARCH: &str = "a word that stands in the code, or the name of a file";

fn hint(query: &Query) -> String {
    let words: Vec<_> = query.words().take(4).map(|word| format!("“{word}”")).collect();
    format!("other words than {}, or a name out of the code", words.join(", "))
}
