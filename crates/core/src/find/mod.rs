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

use crate::{budget::Budget, update::Findings, workspace::Workspace};
use matcher::Matcher;
use query::Query;
use std::time::Duration;

/// Time for one question; a workspace that takes longer is answered from what was read by then.
pub const TIME: Duration = Duration::from_millis(3000);

/// Finds the places in the code of a workspace that answer a question, best first, at most ten.
///
/// Bounded by `budget`; what was read by then is ranked, and [`Findings::truncated`] says so.
pub fn find(workspace: &Workspace, question: &str, budget: &Budget) -> Findings {
    let query = Query::read(question);
    let Some(matcher) = Matcher::new(&query) else {
        return Findings { hint: Some(NOTHING_TO_SEARCH.to_owned()), ..Findings::default() };
    };
    let mut scanned = scan::scan(workspace, &query, &matcher, budget);
    let truncated = scanned.truncated;
    let files = score::rank(&mut scanned, &query, &matcher, workspace, &|_| 1.0, budget);
    let findings = select::select(&files, &query);
    let hint = findings.is_empty().then(|| hint(&query));
    Findings { findings, hint, truncated }
}

/// What to try where a question has no word that code could hold.
const NOTHING_TO_SEARCH: &str = "a word that stands in the code, or the name of a file";

fn hint(query: &Query) -> String {
    let words: Vec<_> = query.words().take(4).map(|word| format!("“{word}”")).collect();
    format!("other words than {}, or a name out of the code", words.join(", "))
}
