//! What is shared between the thread that reads an agent and the one that waits for its turn to end.

use super::{files::Access, options::SessionOptions, timeline::Timeline};
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
    /// The prompt that the agent has not answered. After a cancel the turn is over, and this is still open.
    pub(super) prompt: Option<u64>,
    /// While a session is opened nothing of it is shown: it is what was shown before.
    pub(super) opening: bool,
    /// The request that opens it.
    pub(super) opened_by: Option<u64>,
    pub(super) session: Option<String>,
    /// When an agent must have heeded a cancel.
    pub(super) heed_by: Option<Instant>,
    pub(super) idle_since: Instant,
    pub(super) options: SessionOptions,
    /// The agent is gone, and everything of it is closed.
    pub(super) buried: bool,
    /// Told once everything before it was told.
    pub(super) finished: Option<(mpsc::Sender<PromptOutcome>, PromptOutcome)>,
}

/// The session that a turn belongs to, for what comes late too.
#[derive(Clone, Default)]
pub(super) struct Host(pub(super) Option<Arc<dyn AgentHost>>);

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Host" } else { "no host" })
    }
}

#[derive(Debug)]
pub(super) struct Turn {
    /// Withdraws the questions of this turn.
    pub(super) asks: CancellationToken,
    pub(super) access: Arc<Access>,
    pub(super) done: mpsc::Sender<PromptOutcome>,
    /// A person has said no to something.
    pub(super) refused: bool,
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
            heed_by: None,
            idle_since: Instant::now(),
            options: SessionOptions::default(),
            buried: false,
            finished: None,
        }
    }

    /// Ends the turn, if there is one. `text` is empty where the agent's last message is the last word.
    pub(super) fn end(&mut self, now: Instant, state: RunState, unfinished: &str, text: &str, cut_off: bool) {
        let Some(turn) = self.turn.take() else { return };
        turn.asks.cancel();
        let said = if text.is_empty() { self.timeline.said() } else { text }.to_owned();
        self.timeline.end_turn(now, state, unfinished, text);
        self.idle_since = now;
        self.finished = Some((turn.done, PromptOutcome { state, text: said, usage: None, cut_off }));
    }
}
