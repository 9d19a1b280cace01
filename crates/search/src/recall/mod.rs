//! Answers questions about past sessions from the facts in their transcripts: changes, commands, failures, unfinished
//! work and reasons. Uses neither a model nor the network; every line cites its session and the line in its transcript.

mod cues;
mod describe;
mod gather;
mod hits;
mod limits;
mod question;
mod rank;
mod scope;
mod time_names;
mod when;
mod words;

use gather::Kind;
use jiff::Zoned;
use openagents_core::{budget::Budget, update::Finding};
use openagents_transcripts::history::History;
use std::path::Path;

/// Result of a question about the history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recall {
    /// Sessions, best first, at most ten. Their scores are absolute: 1 is a session that matches everything, and a
    /// question that may be about code scores at most 0.6.
    pub findings: Vec<Finding>,
    /// Files of those sessions, best first.
    pub files: Vec<SessionFile>,
    /// A bound ended the search early.
    pub truncated: bool,
    /// Whether any sessions exist. Set only if nothing but the history can answer the question and all sessions were
    /// examined; otherwise `None`.
    pub has_sessions: Option<bool>,
    /// Only the history can answer the question, so its words need not be in a file.
    pub is_about_history: bool,
}

/// A file that a session of [`Recall::findings`] touched.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFile {
    /// Relative to the workspace, with `/`; also for other worktrees.
    pub path: String,
    /// Changed, not only read.
    pub edited: bool,
    pub session: Option<String>,
    pub score: f32,
}

/// Finds the past sessions of `workspace` that answer `question`. Excludes hidden ones and those of sub-agents.
///
/// `now` supplies the time zone and the meaning of `yesterday`. Returns nothing if no session matches.
pub fn recall(question: &str, workspace: &Path, history: &History, now: &Zoned, budget: &Budget) -> Recall {
    let question = question::Question::new(question, now);
    if question.certainty == cues::OPEN && question.is_general() {
        return Recall::default();
    }
    let is_about_history = question.certainty == cues::CERTAIN;
    let gathered = gather::gather(&question, workspace, history, budget);
    let looks_at_all = question.window.is_none() && question.agent.is_none() && !gathered.truncated;
    let mut ranked = rank::rank(&question, &gathered.sessions);
    ranked.truncate(limits::FINDINGS);
    Recall {
        findings: ranked.iter().filter_map(|session| describe::finding(&question, session, now)).collect(),
        files: files(&ranked),
        truncated: gathered.truncated,
        has_sessions: (is_about_history && looks_at_all).then_some(!gathered.sessions.is_empty()),
        is_about_history,
    }
}

/// Returns whether only past sessions can answer a question, not the code.
pub fn is_about_history(question: &str, now: &Zoned) -> bool {
    question::Question::new(question, now).certainty == cues::CERTAIN
}

fn files(ranked: &[rank::Ranked<'_>]) -> Vec<SessionFile> {
    let mut files: Vec<SessionFile> = Vec::new();
    for found in ranked {
        for fact in &found.session.facts {
            let edited = match fact.kind {
                Kind::Edited => true,
                Kind::Read => false,
                _ => continue,
            };
            if let Some(known) = files.iter_mut().find(|file| file.path == fact.text) {
                known.edited |= edited;
            } else if files.len() < limits::FILES {
                let session = found.session.row.title.clone();
                files.push(SessionFile { path: fact.text.clone(), edited, session, score: found.score });
            }
        }
    }
    files
}
