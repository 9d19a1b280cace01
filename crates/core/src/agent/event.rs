//! Events and the outcome of a turn, and the messages that end it.

use crate::{
    model::{Activity, Usage},
    update::{AgentMessage, RunState, SessionUpdate, ToolCallStatus, ToolCallUpdate, new_id},
};

/// Events of a turn.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "almost all are updates, and none is kept")]
pub enum AgentEvent {
    /// An entry for the log.
    Update(SessionUpdate),
    /// Current activity of the model; replaces the previous one and is never stored. `None` when idle.
    Activity(Option<Activity>),
}

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// The last answer, or the final message of a turn without one.
    pub text: String,
    /// Figures of the last answer.
    pub usage: Option<Usage>,
    /// The answer reached a limit.
    pub cut_off: bool,
}

impl PromptOutcome {
    /// Returns an outcome without figures.
    pub fn new(state: RunState, text: String) -> Self {
        Self { state, text, usage: None, cut_off: false }
    }
}

/// The final message of a turn that the user stopped.
pub const CANCELLED: &str = "Cancelled.";

/// Beginning of the note below a truncated answer.
pub const CUT_OFF: &str = "The answer was cut off";

/// Emits the final message of a turn. It needs its own id, or clients would append it to the previous message.
pub fn say_last(emit: &(dyn Fn(AgentEvent) + Sync), state: RunState, text: &str, usage: Option<Usage>) {
    let message = AgentMessage {
        text: text.to_owned(),
        message_id: Some(new_id()),
        usage,
        ended: true,
        failed: state == RunState::Failed,
        ..AgentMessage::default()
    };
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(message)));
}

/// Ends a turn with our own message, which is also its outcome.
pub fn end_turn(emit: &(dyn Fn(AgentEvent) + Sync), state: RunState, text: String) -> PromptOutcome {
    say_last(emit, state, &text, None);
    PromptOutcome::new(state, text)
}

/// Emits the final status of a call.
pub fn end_call(emit: &(dyn Fn(AgentEvent) + Sync), call_id: &str, status: ToolCallStatus) {
    emit(AgentEvent::Update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id, status))));
}
