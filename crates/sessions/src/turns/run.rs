//! Running one turn.

use super::{
    answer, card,
    context::{TurnContext, refusal},
    delegate, reply,
};
use crate::{
    error::SessionError,
    live::{Session, TurnEnd, Work, close, word},
};
use openagents_core::{
    CancellationToken,
    agent::{CANCELLED, PromptOutcome},
    approval::ApprovalState,
    update::{RunState, SessionUpdate},
};
use openagents_orchestration::explore::{CANCELLED as CANCELLED_EXPLORATION, ExploreRequest};
use std::sync::Arc;

/// The final message of each prompt that was cancelled while queued.
pub(crate) const DROPPED: &str = "Cancelled before it began.";

/// Runs a turn to its end on this thread.
pub(crate) fn run(
    turns: &TurnContext,
    work: &Result<Work, SessionError>,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> TurnEnd {
    let answered = |outcome: PromptOutcome| (outcome.state, outcome.cut_off);
    let (state, cut_off) = match work {
        Ok(Work::Exploration(request)) => (explore(turns, request, session, cancel), false),
        Ok(Work::Prompt(prompt)) => answered(answer::answer(turns, prompt, session, cancel)),
        // Routing happens before the turn runs.
        Ok(Work::Choose(choice)) => (explore(turns, &choice.exploration, session, cancel), false),
        Ok(Work::Inline(reply)) => answered(reply::reply(turns, reply, session, cancel)),
        Ok(Work::Card(card)) => answered(card::put(turns, card, session, cancel)),
        Ok(Work::Delegate(delegation)) => (delegate::call(turns, delegation, session, cancel), false),
        Err(fault) => {
            session.append(vec![refusal(fault)]);
            (RunState::Failed, false)
        }
    };
    TurnEnd { cut_off, ..ended(session, state) }
}

fn explore(
    turns: &TurnContext,
    request: &ExploreRequest,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> RunState {
    // Queued turns have no prompt between them: separate ids keep their messages apart.
    let turn = uuid::Uuid::new_v4().to_string();
    let emit = |mut update| {
        if let SessionUpdate::AgentMessage(message) = &mut update {
            message.message_id.get_or_insert_with(|| turn.clone());
        }
        session.append(vec![update]);
    };
    turns.runner.explorer.explore(request, cancel, &emit).state
}

/// The final messages for a turn that was cancelled or panicked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) cancelled: &'static str,
    broken: &'static str,
}

impl Words {
    pub(crate) fn of(work: &Result<Work, SessionError>) -> Self {
        match work {
            Ok(Work::Prompt(_) | Work::Delegate(_) | Work::Choose(_) | Work::Inline(_) | Work::Card(_)) => {
                Self { cancelled: CANCELLED, broken: "the answer ended unexpectedly" }
            }
            Ok(Work::Exploration(_)) | Err(_) => {
                Self { cancelled: CANCELLED_EXPLORATION, broken: "the exploration ended unexpectedly" }
            }
        }
    }
}

/// Ends a turn that was cancelled before it started. Its prompt is in the log and needs an answer; a delegation's call
/// id was sent to a client, so the call needs a start and an end. Blocks.
pub(crate) fn never_began(
    turns: &TurnContext,
    work: &Result<Work, SessionError>,
    session: &Arc<Session>,
    last_word: &str,
) -> TurnEnd {
    match work {
        Ok(Work::Delegate(delegation)) => {
            let cancelled = CancellationToken::new();
            cancelled.cancel();
            delegate::call(turns, delegation, session, &cancelled);
        }
        _ => session.append(vec![word(last_word, RunState::Cancelled)]),
    }
    ended(session, RunState::Cancelled)
}

/// Closes the unfinished work of a turn that panicked, and reports the failure. Blocks.
pub(crate) fn broken(session: &Arc<Session>, words: Words) -> TurnEnd {
    session.show(None);
    let mut closing = close(&session.open_work(), words.broken, &ApprovalState::Expired);
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
