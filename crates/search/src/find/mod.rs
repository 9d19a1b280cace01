//! Finds the places in a workspace that answer a question, without a model, network access or an index: every question
//! reads the workspace, like ripgrep, and ranks the result. A question about the project as a whole is answered in words
//! as well: see [`crate::orient`].
//!
//! `question → FindQuery → scan (all files) → rank (the best files, in chunks) → select → findings`

mod boosts;
mod chunk;
mod copies;
mod excerpt;
mod matcher;
mod query;
mod reason;
mod role;
mod scan;
mod score;
mod select;

use crate::{
    find::boosts::Boosts,
    orient::{self, Orientation},
    recall::{Recall, is_about_history, recall},
};
use copies::Copies;
use jiff::Zoned;
use matcher::Matcher;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    git::last_commit_or_checkout,
    isolated,
    update::{Finding, Findings},
    workspace::{Workspace, WorkspaceError},
};
use openagents_transcripts::history::History;
use query::FindQuery;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Time limit of a question; the files read by then are ranked.
pub const TIME: Duration = Duration::from_millis(3000);

/// Time limit for past sessions if the code may answer too; the newest are read first.
const HISTORY: Duration = Duration::from_millis(700);

/// Maximum number of questions in one search.
const QUESTIONS: usize = 3;

/// Hint for a question without a searchable word.
const NOTHING_TO_SEARCH: &str = "a word that occurs in the code, or the name of a file";

/// Hint for a question about past sessions if there are none.
const NO_SESSIONS: &str = "a question about the code: no agent has left a session in this folder yet; \
                           `openagents sessions search` looks in the sessions of every folder";

/// Hint for a question about past sessions if none matches.
const NO_SUCH_SESSION: &str = "other words: no past session in this folder matches; `openagents sessions search` \
                               looks in those of every folder";

#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The code.
    pub workspace: &'a Workspace,
    /// Logs of agents on this machine, limited to sessions of this workspace; `None` for code only.
    pub history: Option<&'a History>,
}

/// The error of a failed search.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The folder cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The search itself failed, or was cancelled.
    #[error("{0}")]
    Failed(String),
}

/// Like [`find`], but on a separate thread, so that a hanging file system doesn't block the caller. Returns within 100
/// ms of a cancel.
pub fn find_in(
    root: &Path,
    history: Option<Arc<History>>,
    question: &str,
    cancel: &CancellationToken,
) -> Result<Findings, FindError> {
    let (root, question): (PathBuf, String) = (root.to_owned(), question.to_owned());
    let stop = cancel.child_token();
    let work = move |_: &_| {
        let workspace = Workspace::open(&root)?;
        let sources = Sources { workspace: &workspace, history: history.as_deref() };
        Ok(find(&sources, &question, &Budget::within(TIME, &stop)))
    };
    let found = isolated::run("find", isolated::FILES, cancel, work, |(): ()| ());
    found.unwrap_or_else(|lost| Err(FindError::Failed(lost.to_string())))
}

/// Finds the places that answer a question, best first, at most ten. Blocks.
///
/// Bounded by `budget`; a partial result is marked by [`Findings::truncated`].
pub fn find(sources: &Sources<'_>, question: &str, budget: &Budget) -> Findings {
    let query = FindQuery::parse(question);
    let matcher = Matcher::new(&query);
    std::thread::scope(|scope| {
        let remembered = sources.history.map(|history| {
            let (root, now) = (sources.workspace.root(), Zoned::now());
            let budget = match is_about_history(question, &now) {
                true => budget.clone(),
                false => budget.sooner(HISTORY),
            };
            scope.spawn(move || recall(question, root, history, &now, &budget))
        });
        let answered = scope.spawn(|| orient::answer(sources.workspace, sources.history, question, budget));
        let scanned = matcher.as_ref().map(|matcher| {
            let since = last_commit_or_checkout(sources.workspace.root());
            scan::scan(sources.workspace, &query, matcher, since, budget)
        });
        let recalled: Recall = remembered.and_then(|thread| thread.join().ok()).unwrap_or_default();
        let (mut code, mut truncated): (Vec<Finding>, bool) = (Vec::new(), recalled.truncated);
        let mut missing = Vec::new();
        if let (Some(matcher), Some(mut scanned)) = (&matcher, scanned) {
            truncated |= scanned.truncated;
            missing = score::missing(&scanned, &query);
            let folded = Copies::fold(&mut scanned.files, sources.workspace);
            let boosts = Boosts::new(&scanned, &recalled);
            let mut files = score::rank(&mut scanned, &query, matcher, sources.workspace, &boosts, budget);
            copies::demote(&mut files, sources.workspace);
            code = select::select(&files, &query);
            for finding in &mut code {
                boosts.explain(finding);
                let note = finding.path().and_then(|path| folded.note(path));
                finding.why.extend(note);
            }
        }
        let has_sessions = recalled.has_sessions;
        let findings = select::merge(code, recalled.findings);
        let is_answered_by_session = findings.first().is_some_and(|first| first.path().is_none());
        let is_about_past = recalled.is_about_history || is_answered_by_session;
        if is_about_past {
            missing.clear();
        }
        let hint = findings.is_empty().then(|| hint(&query, has_sessions));
        let found = Findings { findings, hint, truncated, missing, ..Findings::default() };
        match answered.join().ok().flatten().filter(|_| !is_about_past) {
            Some(orientation) => oriented(orientation, found),
            None => found,
        }
    })
}

/// Puts the answer about the project before what a search found, or among it if both may be meant.
fn oriented(orientation: Orientation, found: Findings) -> Findings {
    let mut findings: Vec<Finding> = Vec::new();
    let (mut first, mut then) = (orientation.findings.into_iter(), found.findings.into_iter());
    while findings.len() < select::FINDINGS {
        if orientation.is_complete && first.len() == 0 {
            break;
        }
        let turn = findings.len() % 2 == 1 && orientation.is_about_code;
        let next =
            if turn { then.next().or_else(|| first.next()) } else { first.next().or_else(|| then.next()) };
        let Some(next) = next else { break };
        if !findings.iter().any(|known| known.is_same_passage(&next)) {
            findings.push(next);
        }
    }
    Findings {
        lead: Some(orientation.lead).filter(|lead| !lead.is_empty()),
        findings,
        truncated: found.truncated || orientation.truncated,
        missing: if orientation.is_about_code { found.missing } else { Vec::new() },
        ..Findings::default()
    }
}

/// Answers several questions; their best findings come first.
pub fn find_all(sources: &Sources<'_>, questions: &[String], budget: &Budget) -> Findings {
    let answers = questions.iter().take(QUESTIONS).map(|question| find(sources, question, budget));
    let answers: Vec<Findings> = answers.collect();
    let most = answers.iter().map(|answer| answer.findings.len()).max().unwrap_or(0);
    let mut all =
        Findings { truncated: answers.iter().any(|answer| answer.truncated), ..Findings::default() };
    for rank in 0..most {
        for finding in answers.iter().filter_map(|answer| answer.findings.get(rank)) {
            let is_new = !all.findings.iter().any(|known| known.is_same_passage(finding));
            if is_new && all.findings.len() < select::FINDINGS {
                all.findings.push(finding.clone());
            }
        }
    }
    all.lead = answers.iter().find_map(|answer| answer.lead.clone());
    if all.findings.is_empty() {
        all.hint = answers.into_iter().find_map(|answer| answer.hint);
    }
    all
}

/// Returns a hint for an empty result; `has_sessions` is [`Recall::has_sessions`].
fn hint(query: &FindQuery, has_sessions: Option<bool>) -> String {
    let words: Vec<_> = query.words().take(4).map(|word| format!("“{word}”")).collect();
    match has_sessions {
        Some(false) => NO_SESSIONS.to_owned(),
        Some(true) => NO_SUCH_SESSION.to_owned(),
        None if words.is_empty() => NOTHING_TO_SEARCH.to_owned(),
        None => format!("other words than {}, or a name from the code", words.join(", ")),
    }
}
