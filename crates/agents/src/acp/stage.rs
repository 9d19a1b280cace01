//! State shared by the thread that reads an agent and the thread that waits for the end of its turn.

use super::files::Access;
use crate::{
    asking::{LevelSetting, Watch},
    output::Timeline,
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, OfferedCommand, PromptOutcome},
    update::RunState,
};
use std::{
    collections::HashMap,
    sync::{Arc, mpsc},
    time::Instant,
};

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) timeline: Timeline,
    pub(super) host: Host,
    pub(super) turn: Option<Turn>,
    /// The unanswered prompt. Stays set after a cancel, when the turn is already over.
    pub(super) prompt: Option<u64>,
    pub(super) opening: bool,
    /// The session that is being opened is an earlier one: its messages, calls and plans
    /// are history, which is not shown.
    pub(super) replaying: bool,
    /// Updates before this process's first prompt, shown with the answer to it; `None` from then on.
    pub(super) early: Option<Vec<wire::SessionUpdate>>,
    /// Commands that the agent offers and that the host does not know yet.
    pub(super) commands: Option<Vec<OfferedCommand>>,
    pub(super) level: Option<Watch>,
    /// Since the last prompt, a client has chosen a command or an option after which the agent may ask less.
    pub(super) may_change_approval_mode: bool,
    pub(super) reversions: HashMap<u64, Reversion>,
    pub(super) reverted: usize,
    /// The reason shown when the agent wants a login.
    pub(super) login: String,
    pub(super) opened_by: Option<u64>,
    pub(super) session: Option<String>,
    pub(super) cancel_deadline: Option<Instant>,
    pub(super) idle_since: Instant,
    pub(super) closed: bool,
    /// Sent after all updates before it.
    pub(super) finished: Option<(mpsc::Sender<PromptOutcome>, PromptOutcome)>,
}

#[derive(Debug)]
pub(super) struct Reversion {
    pub(super) setting: &'static LevelSetting,
    pub(super) value: String,
    pub(super) why: String,
}

/// The host of the last turn, also used for late updates.
#[derive(Clone, Default)]
pub(super) struct Host(pub(super) Option<Arc<dyn AgentHost>>);

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Host" } else { "no host" })
    }
}

#[derive(Debug)]
pub(super) struct Turn {
    /// Cancels the open approval requests of this turn.
    pub(super) asks: CancellationToken,
    pub(super) access: Arc<Access>,
    pub(super) done: mpsc::Sender<PromptOutcome>,
    pub(super) refused: bool,
    /// The user's message with the denial. The agent gets it as a prompt once it has ended the current one.
    pub(super) message: String,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            timeline: Timeline::default(),
            host: Host::default(),
            turn: None,
            prompt: None,
            opening: true,
            replaying: false,
            early: Some(Vec::new()),
            commands: None,
            level: None,
            may_change_approval_mode: false,
            reversions: HashMap::new(),
            reverted: 0,
            login: String::new(),
            opened_by: None,
            session: None,
            cancel_deadline: None,
            idle_since: Instant::now(),
            closed: false,
            finished: None,
        }
    }

    /// Ends the turn, if there is one. With an empty `text`, the agent's last message is the outcome.
    pub(super) fn end(&mut self, now: Instant, state: RunState, unfinished: &str, text: &str, cut_off: bool) {
        let Some(turn) = self.turn.take() else { return };
        turn.asks.cancel();
        let reply = if text.is_empty() { self.timeline.last_message() } else { text }.to_owned();
        self.timeline.end_turn(now, state, unfinished, text);
        self.idle_since = now;
        self.finished = Some((turn.done, PromptOutcome { state, text: reply, usage: None, cut_off }));
    }
}
