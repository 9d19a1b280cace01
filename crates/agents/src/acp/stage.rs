//! State shared by the thread that reads an agent and the one that waits for the end of its turn.

use super::files::Access;
use crate::output::Timeline;
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, PromptOutcome},
    update::RunState,
};
use std::{
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
    /// While a session is opened, updates are not shown: they are its history.
    pub(super) opening: bool,
    /// The request that opens the session.
    pub(super) opened_by: Option<u64>,
    pub(super) session: Option<String>,
    /// When the agent must have reacted to a cancel.
    pub(super) cancel_deadline: Option<Instant>,
    pub(super) idle_since: Instant,
    pub(super) closed: bool,
    /// Sent after all updates before it.
    pub(super) finished: Option<(mpsc::Sender<PromptOutcome>, PromptOutcome)>,
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
    /// A person has rejected something.
    pub(super) refused: bool,
    /// The message of the denial. The agent gets it as a prompt when it has ended the current one.
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
        let said = if text.is_empty() { self.timeline.said() } else { text }.to_owned();
        self.timeline.end_turn(now, state, unfinished, text);
        self.idle_since = now;
        self.finished = Some((turn.done, PromptOutcome { state, text: said, usage: None, cut_off }));
    }
}
