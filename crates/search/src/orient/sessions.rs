//! The past sessions of agents in a workspace.

use super::evidence::Fact;
use crate::repository::plain;
use jiff::Timestamp;
use openagents_core::{budget::Budget, text::cut_at_word, workspace::Workspace};
use openagents_transcripts::history::{History, Query, Transcript};
use std::time::Duration;

/// Maximum sessions that are listed.
const SESSIONS: usize = 5;
/// Maximum characters of a title.
const TITLE: usize = 120;
/// Time limit: an exploration lists the sessions as well, so they are usually cached.
const TIME: Duration = Duration::from_millis(300);

/// The last sessions, newest first.
pub(super) fn recent(workspace: &Workspace, history: &History, budget: &Budget) -> Vec<Fact> {
    let query =
        Query { workspace: Some(workspace.root().to_path_buf()), limit: SESSIONS, ..Query::default() };
    let listing = history.list(&query, &budget.sooner(TIME));
    listing.rows.iter().filter_map(fact).collect()
}

fn fact(session: &Transcript) -> Option<Fact> {
    let title = cut_at_word(&plain(session.title.as_ref()?), TITLE);
    let date = Timestamp::from_millisecond(session.updated_at).ok()?.strftime("%Y-%m-%d");
    let text = format!("{title} ({}, {date})", session.provider.display_name());
    Some(Fact::new(text).in_session(session.provider.as_str(), &session.id))
}
