//! Running a turn: from its first update to its last.

use super::{
    answering, delegating,
    hub::Hub,
    replying,
    session::Session,
    turn::{TurnEnd, Work},
    unfinished::word,
};
use crate::error::SessionError;
use openagents_core::{
    CancellationToken, agent,
    agent::Agents,
    approval::ApprovalState,
    explore,
    explore::{ExploreOutcome, ExploreRequest, Explorer},
    model::{LanguageModel, LocalModels},
    tool::Toolbox,
    update::{RunState, SessionUpdate},
};
use std::sync::Arc;

/// Said for each prompt that a cancel took out of the queue.
pub(super) const DROPPED: &str = "Cancelled before it began.";

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

/// Everything that turns are run with.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) explorer: Arc<dyn Explore>,
    /// Answers prompts in its own mode, where there is one.
    pub(super) models: Option<Arc<dyn LocalModels>>,
    /// Answer prompts in their modes, and are delegated to.
    pub(super) agents: Option<Arc<dyn Agents>>,
    /// Answers in a moment, where there is one.
    pub(super) foundation: Option<Arc<dyn LanguageModel>>,
    /// What a model may ask for.
    pub(super) tools: Toolbox,
}

impl Runner {
    /// Runs a turn to its end on this thread.
    pub(super) fn run(
        &self,
        hub: &Arc<Hub>,
        work: &Result<Work, SessionError>,
        session: &Arc<Session>,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        let mut cut_off = false;
        let state = match work {
            Ok(Work::Exploration(request)) => self.explore(request, session, cancel),
            Ok(Work::Prompt(prompt)) => {
                let outcome = answering::answer(self, hub, prompt, session, cancel);
                cut_off = outcome.cut_off;
                outcome.state
            }
            // The choice is made before a turn runs.
            Ok(Work::Choose(choice)) => self.explore(&choice.exploration, session, cancel),
            Ok(Work::Inline(reply)) => replying::reply(hub, reply, session, cancel).state,
            Ok(Work::Card(card)) => {
                let outcome = card.put(hub, session, cancel);
                cut_off = outcome.cut_off;
                outcome.state
            }
            Ok(Work::Delegate(delegation)) => delegating::call(hub, delegation, session, cancel),
            Err(fault) => {
                session.append(vec![refusal(fault)]);
                RunState::Failed
            }
        };
        TurnEnd { cut_off, ..ended(session, state) }
    }

    fn explore(
        &self,
        request: &ExploreRequest,
        session: &Arc<Session>,
        cancel: &CancellationToken,
    ) -> RunState {
        // Queued turns follow each other without a prompt between them: their messages must not run together.
        let turn = uuid::Uuid::new_v4().to_string();
        let emit = |mut update| {
            if let SessionUpdate::AgentMessage(message) = &mut update {
                message.message_id.get_or_insert_with(|| turn.clone());
            }
            session.append(vec![update]);
        };
        self.explorer.explore(request, cancel, &emit).state
    }
}

/// What a turn is called when it ends without an end of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) cancelled: &'static str,
    broken: &'static str,
}

impl Words {
    pub(super) fn of(work: &Result<Work, SessionError>) -> Self {
        match work {
            Ok(Work::Prompt(_) | Work::Delegate(_) | Work::Choose(_) | Work::Inline(_) | Work::Card(_)) => {
                Self { cancelled: agent::CANCELLED, broken: "the answer ended unexpectedly" }
            }
            Ok(Work::Exploration(_)) | Err(_) => {
                Self { cancelled: explore::CANCELLED, broken: "the exploration ended unexpectedly" }
            }
        }
    }
}

/// Ends a turn that a cancel reached before it began. Its prompt is in the log already, and so needs an answer; the call
/// of a delegation has an id that a client was told, and so needs a beginning and an end. Blocks.
pub(super) fn never_began(
    hub: &Arc<Hub>,
    work: &Result<Work, SessionError>,
    session: &Arc<Session>,
    last_word: &str,
) -> TurnEnd {
    match work {
        Ok(Work::Delegate(delegation)) => {
            let cancelled = CancellationToken::new();
            cancelled.cancel();
            delegating::call(hub, delegation, session, &cancelled);
        }
        _ => session.append(vec![word(last_word)]),
    }
    ended(session, RunState::Cancelled)
}

/// Closes what a run left open and tells what broke, when the run could not tell itself. Blocks.
pub(super) fn broken(session: &Arc<Session>, words: Words) -> TurnEnd {
    session.show(None);
    session.settle();
    let mut closing = match session.unfinished() {
        Ok(unfinished) => unfinished.closing(words.broken, &ApprovalState::Expired),
        Err(error) => {
            tracing::warn!(%error, "a broken turn was not closed");
            Vec::new()
        }
    };
    closing.push(refusal(&SessionError::internal(words.broken)));
    session.append(closing);
    let end = ended(session, RunState::Failed);
    TurnEnd { failure: end.failure.or_else(|| Some(words.broken.to_owned())), ..end }
}

fn ended(session: &Arc<Session>, state: RunState) -> TurnEnd {
    session.settle();
    let head = session.head();
    let failure = head.failure.map(|failure| failure.message);
    let state = if failure.is_some() { RunState::Failed } else { state };
    TurnEnd { state, cut_off: false, seq: head.seq, failure }
}

pub(super) fn refusal(fault: &SessionError) -> SessionUpdate {
    word(&format!("❌ {fault}"))
}
