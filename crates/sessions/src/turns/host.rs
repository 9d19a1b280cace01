//! An agent's host for one turn.

use super::context::{TurnContext, transcript_for};
use crate::{
    live::{Question, Session, close_calls, ends_call, final_message},
    registry::SessionRegistry,
    store::{ApprovalChange, Open, StoreError},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost, CANCELLED, EarlierKind, EarlierSession, PromptOutcome, brief},
    approval::{ApprovalOutcome, ApprovalRequest, Approvals},
    update::{
        AgentPart, AgentState, OptionChoices, RunState, SessionUpdate, ToolCall, ToolCallDetails,
        ToolCallStatus, ToolCallUpdate,
    },
};
use openagents_tools::reading::Reader;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::{collections::HashSet, sync::Arc};

/// Receives an agent's events. Events after the end of the turn are stored too, marked as late.
#[derive(Debug)]
pub(crate) struct Host {
    /// Not the whole context: agents keep their last host, and the context keeps the agents.
    sessions: Arc<SessionRegistry>,
    session: Arc<Session>,
    agent_id: String,
    /// The agent's own id for this session, from an earlier turn.
    pub(super) agent_session: Option<EarlierSession>,
    /// Cancelled when the turn has ended.
    over: CancellationToken,
    turn: Mutex<TurnState>,
}

#[derive(Debug, Default)]
struct TurnState {
    announced: HashSet<String>,
    /// The final message has been shown.
    ended: bool,
    /// Everything has been closed: later events are late.
    over: bool,
}

impl Host {
    pub(crate) fn new(turns: &TurnContext, session: &Arc<Session>, agent_id: &str) -> Arc<Self> {
        let agent_session = turns.store().agent_session(session.id(), agent_id).unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the agent's session id; the agent starts a new session");
            None
        });
        if let Some(EarlierSession { id, kind: EarlierKind::Own }) = &agent_session
            && let Err(error) = turns.store().pass_branches(agent_id, id)
        {
            tracing::warn!(%error, "could not mark the branches of a session");
        }
        Arc::new(Self {
            agent_session,
            sessions: turns.sessions.clone(),
            session: session.clone(),
            agent_id: agent_id.to_owned(),
            over: CancellationToken::new(),
            turn: Mutex::default(),
        })
    }

    pub(super) fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// Runs a turn and closes everything that it leaves open, even if it panics.
    pub(crate) fn run(this: &Arc<Self>, turn: impl FnOnce() -> PromptOutcome) -> PromptOutcome {
        // After a panic the caller adds the final message.
        struct Broken<'a>(Option<&'a Host>);
        impl Drop for Broken<'_> {
            fn drop(&mut self) {
                if let Some(host) = self.0 {
                    host.close(RunState::Failed);
                }
            }
        }
        let mut broken = Broken(Some(this));
        let outcome = turn();
        broken.0 = None;
        this.close(outcome.state);
        let mut turn = this.turn.lock();
        if !turn.ended {
            turn.ended = true;
            this.session.append(vec![final_message(&last_word(&outcome), outcome.state)]);
        }
        turn.over = true;
        drop(turn);
        outcome
    }

    /// Closes open approvals, calls and the plan.
    fn close(&self, state: RunState) {
        // Set first, so that nothing closed below is reopened. The final message may still follow.
        self.turn.lock().over = true;
        self.over.cancel();
        let work = self.session.open_work();
        for approval in work.in_scope(&None).filter_map(Open::approval) {
            let (id, state) = (approval.id.clone(), self.sessions.given_up());
            // The asking thread does the same; either may be first.
            if let Err(error) = self.session.decide(ApprovalChange::End { id, state }) {
                tracing::error!(%error, "could not close an approval");
            }
        }
        let reason = match state {
            RunState::Cancelled => "Cancelled",
            RunState::Running | RunState::Complete | RunState::Failed => {
                "the turn ended before this finished"
            }
        };
        let closing = close_calls(&work, &None, reason, state);
        if !closing.is_empty() {
            self.session.append(closing);
        }
        self.session.set_activity(None);
    }
}

fn last_word(outcome: &PromptOutcome) -> String {
    match outcome.state {
        RunState::Cancelled => CANCELLED.to_owned(),
        RunState::Failed if outcome.text.is_empty() => "❌ The agent ended without a word.".to_owned(),
        RunState::Failed if !outcome.text.starts_with('❌') => format!("❌ {}", outcome.text),
        RunState::Failed => outcome.text.clone(),
        // The answer has already been shown.
        RunState::Complete | RunState::Running => String::new(),
    }
}

impl TurnState {
    fn record(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::ToolCall(call) => drop(self.announced.insert(call.call_id.clone())),
            SessionUpdate::AgentMessage(message) => self.ended |= message.ends_turn(),
            // The call of a sub-agent; its messages end no turn of the session.
            SessionUpdate::Delegated(delegated) => {
                if let SessionUpdate::ToolCall(call) = &*delegated.update {
                    self.announced.insert(call.call_id.clone());
                }
            }
            _ => {}
        }
    }
}

/// Marks an update as late, so that it reopens nothing; `None` if it has no meaning after the end of the turn.
fn mark_late(update: SessionUpdate) -> Option<SessionUpdate> {
    Some(match update {
        SessionUpdate::AgentMessage(mut message) => {
            (message.late, message.ended, message.usage) = (true, false, None);
            SessionUpdate::AgentMessage(message)
        }
        SessionUpdate::AgentThought(mut thought) => {
            thought.late = true;
            SessionUpdate::AgentThought(thought)
        }
        // Not sent as a new call, which would stay open.
        SessionUpdate::ToolCall(call) => {
            let mut details = call.details;
            details.title.get_or_insert(call.name);
            details.raw_input.get_or_insert(Value::Object(call.arguments));
            SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                call_id: call.call_id,
                status: ToolCallStatus::Unchanged,
                late: true,
                details,
            })
        }
        SessionUpdate::ToolCallUpdate(mut update) => {
            update.late = true;
            if !ends_call(&update.status) {
                update.status = ToolCallStatus::Unchanged;
            }
            SessionUpdate::ToolCallUpdate(update)
        }
        SessionUpdate::Title(_) | SessionUpdate::AgentState(_) | SessionUpdate::AgentNote(_) => update,
        // A sub-agent ends its own turn.
        SessionUpdate::Delegated(_) => update,
        SessionUpdate::UserMessage(_)
        | SessionUpdate::Plan(_)
        | SessionUpdate::Mode(_)
        | SessionUpdate::Routed(_)
        | SessionUpdate::Approval(_) => return None,
    })
}

impl AgentHost for Host {
    fn emit(&self, event: AgentEvent) {
        // Held until the update is queued, so that the log has the order of the events.
        let mut turn = self.turn.lock();
        match event {
            AgentEvent::Update(update) if turn.over => {
                if let Some(update) = mark_late(update) {
                    self.session.append(vec![update]);
                }
            }
            AgentEvent::Update(update) => {
                turn.record(&update);
                self.session.append(vec![update]);
            }
            AgentEvent::Activity(_) if turn.over => {}
            AgentEvent::Activity(activity) => self.session.set_activity(activity),
        }
    }

    fn remember(&self, agent_session_id: &str) {
        // Stored first: a session that the agent already has keeps what was chosen for it, also if this start fails.
        self.choices();
        let id = self.session.id();
        if let Err(error) = self.sessions.store().remember_agent_session(id, &self.agent_id, agent_session_id)
        {
            tracing::warn!(%error, "could not store an agent's session id");
        }
    }

    fn report(&self, part: AgentPart) {
        if let AgentPart::Title(title) = part {
            return self.session.suggest_title(title);
        }
        if let AgentPart::Options(options) = &part
            && let Err(error) = self.sessions.store().keep_agent_options(&self.agent_id, options)
        {
            tracing::warn!(%error, "could not store an agent's options");
        }
        self.session.report(AgentState { agent: self.agent_id.clone(), part });
    }

    /// The choices of a new session are from then on its own.
    fn choices(&self) -> OptionChoices {
        let (store, session, agent) = (self.sessions.store(), &self.session, &self.agent_id);
        let read = || match store.session_choices(session.id(), agent)? {
            Some(choices) => Ok(choices),
            None if self.agent_session.is_some() => Ok(OptionChoices::new()),
            None => {
                let mut choices = store.agent_choices(agent, session.cwd())?;
                if session.parent().is_some() {
                    // The user did not choose this for a delegate, which a model may have started.
                    let options = store.agent_options(agent)?;
                    choices.retain(|id, value| options.iter().any(|it| it.id == *id && !it.may_lower(value)));
                }
                store.set_session_choices(session.id(), agent, &choices)?;
                Ok::<_, StoreError>(choices)
            }
        };
        read().unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read what was chosen for an agent; it starts without that");
            OptionChoices::new()
        })
    }

    fn brief(&self) -> Option<String> {
        let session =
            transcript_for(Reader::Hosted, &self.agent_id, &self.session, &CancellationToken::new());
        brief(&session)
    }
}

impl Approvals for Host {
    fn ask(&self, request: ApprovalRequest, cancel: &CancellationToken) -> ApprovalOutcome {
        let question = Question::new(request, &self.agent_id);
        let asked = {
            // Held until the question is stored, so that a turn that ends meanwhile closes it.
            let mut turn = self.turn.lock();
            if turn.over {
                return ApprovalOutcome::Cancelled;
            }
            if !turn.announced.contains(question.call_id()) {
                let call = SessionUpdate::ToolCall(unannounced_call(&question));
                turn.record(&call);
                self.session.append(vec![call]);
            }
            question.ask(&self.session)
        };
        asked.wait(&[cancel, &self.over], || self.sessions.given_up())
    }
}

fn unannounced_call(question: &Question) -> ToolCall {
    let raw_input = question.raw_input().cloned();
    let (arguments, raw_input) = match raw_input {
        Some(Value::Object(arguments)) => (arguments, None),
        other => (Map::new(), other),
    };
    ToolCall {
        call_id: question.call_id().to_owned(),
        name: question.title().to_owned(),
        arguments,
        details: ToolCallDetails { raw_input, ..ToolCallDetails::default() },
        ..ToolCall::default()
    }
}
