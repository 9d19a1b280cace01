//! Running a turn: from its first update to its last.

use super::{
    session::Session,
    turn::{Turn, TurnEnd},
};
use crate::error::Fault;
use openagents_core::{
    CancellationToken,
    explore::{ExploreOutcome, ExploreRequest, Explorer},
    update::{AgentMessage, RunState, SessionUpdate},
};
use std::sync::Arc;

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

impl Turn {
    /// Runs to the end on this thread. The caller tells the end once the session is ready for more.
    pub(super) fn run(mut self, session: &Arc<Session>, explorer: &dyn Explore) -> Ended {
        let cancel = session.turn_token();
        let opening = std::mem::take(&mut self.opening);
        if !opening.is_empty() {
            session.append(opening);
        }
        let state = match &self.work {
            Ok(request) => {
                let emit = |update| session.append(vec![update]);
                explorer.explore(request, &cancel, &emit).state
            }
            Err(fault) => {
                session.append(vec![refusal(fault)]);
                RunState::Failed
            }
        };
        self.finish(session, state)
    }

    /// Tells what broke, when the run could not tell itself.
    pub(super) fn broken(session: &Arc<Session>) {
        session.append(vec![refusal(&Fault::internal("the exploration ended unexpectedly"))]);
        session.settle();
    }

    fn finish(self, session: &Arc<Session>, state: RunState) -> Ended {
        session.settle();
        let head = session.head();
        let failure = head.failure.map(|failure| failure.message);
        let state = if failure.is_some() { RunState::Failed } else { state };
        let end = TurnEnd { state, seq: head.seq, failure };
        Ended { turn: self, end }
    }
}

/// A turn that is over, but nobody knows yet.
pub(super) struct Ended {
    turn: Turn,
    end: TurnEnd,
}

impl Ended {
    pub(super) fn tell(self) {
        self.turn.end(self.end);
    }
}

fn refusal(fault: &Fault) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage { text: format!("❌ {fault}"), ..AgentMessage::default() })
}
