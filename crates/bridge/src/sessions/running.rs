//! Running a turn: from its first update to its last.

use super::{session::Session, turn::TurnEnd, unfinished::word};
use crate::error::Fault;
use openagents_core::{
    CancellationToken,
    explore::{CANCELLED, ExploreOutcome, ExploreRequest, Explorer},
    update::{RunState, SessionUpdate},
};
use std::sync::Arc;

/// Said for each prompt that a cancel took out of the queue.
const DROPPED: &str = "Cancelled before it began.";

/// Said when a run ends without an end of its own.
const BROKEN: &str = "the exploration ended unexpectedly";

/// Runs explorations. [`Explorer`] does; tests put something slower or faster in its place.
pub trait Explore: Send + Sync + std::fmt::Debug {
    /// See [`Explorer::explore`].
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome;
}

impl Explore for Explorer {
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome {
        Explorer::explore(self, request, cancel, emit)
    }
}

/// Runs a turn to its end on this thread.
pub(super) fn run(
    work: &Result<ExploreRequest, Fault>,
    session: &Arc<Session>,
    cancel: &CancellationToken,
    explorer: &dyn Explore,
) -> TurnEnd {
    let state = match work {
        Ok(request) => {
            // Queued turns follow each other without a prompt between them: their messages must not run together.
            let turn = uuid::Uuid::new_v4().to_string();
            let emit = |mut update| {
                if let SessionUpdate::AgentMessage(message) = &mut update {
                    message.message_id.get_or_insert_with(|| turn.clone());
                }
                session.append(vec![update]);
            };
            explorer.explore(request, cancel, &emit).state
        }
        Err(fault) => {
            session.append(vec![refusal(fault)]);
            RunState::Failed
        }
    };
    ended(session, state)
}

/// Ends a turn that was cancelled while it waited for its start: it has no plan, but its final message. Blocks.
pub(super) fn never_started(session: &Arc<Session>) -> TurnEnd {
    session.append(vec![word(CANCELLED)]);
    ended(session, RunState::Cancelled)
}

/// Ends a turn that a cancel took out of the queue. Its prompt is in the log already, and so needs an answer. Blocks.
pub(super) fn dropped(session: &Arc<Session>) -> TurnEnd {
    session.append(vec![word(DROPPED)]);
    ended(session, RunState::Cancelled)
}

/// Closes what a run left open and tells what broke, when the run could not tell itself. Blocks.
pub(super) fn broken(session: &Arc<Session>) -> TurnEnd {
    session.settle();
    let mut closing = match session.unfinished() {
        Ok(unfinished) => unfinished.closing(BROKEN),
        Err(error) => {
            tracing::warn!(%error, "a broken turn was not closed");
            Vec::new()
        }
    };
    closing.push(refusal(&Fault::internal(BROKEN)));
    session.append(closing);
    let end = ended(session, RunState::Failed);
    TurnEnd { failure: end.failure.or_else(|| Some(BROKEN.to_owned())), ..end }
}

fn ended(session: &Arc<Session>, state: RunState) -> TurnEnd {
    session.settle();
    let head = session.head();
    let failure = head.failure.map(|failure| failure.message);
    let state = if failure.is_some() { RunState::Failed } else { state };
    TurnEnd { state, seq: head.seq, failure }
}

fn refusal(fault: &Fault) -> SessionUpdate {
    word(&format!("❌ {fault}"))
}
