//! State shared by the thread that reads an agent and the thread that waits for the end of its turn.

use super::{files::Access, frame::RpcError, options::SessionOptions, watch::Watch};
use crate::{
    asking::AskingLevel,
    limits::{FIRST_STATE_INTERVAL, STATE_INTERVAL},
    output::{Newest, Subagents, Timeline},
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, PromptOutcome},
    model::Activity,
    update::{AgentPart, OptionValue, RunState, SessionOption},
};
use std::{
    collections::HashMap,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) timeline: Timeline,
    pub(super) subagents: Subagents,
    /// Cancels the open requests of a sub-agent.
    pub(super) subagent_asks: HashMap<String, CancellationToken>,
    /// The agent reported during this turn that it is not logged in.
    pub(super) logged_out: bool,
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
    /// What the agent reported and the host does not know yet.
    pub(super) news: Newest<&'static str, AgentPart>,
    pub(super) silence: Silence,
    pub(super) options: SessionOptions,
    pub(super) level: Option<Watch>,
    /// Since the last prompt, a client has chosen a command or an option after which the agent may ask less.
    pub(super) may_change_approval_mode: bool,
    /// Requests that set an option and are not answered yet.
    pub(super) sets: HashMap<u64, PendingSet>,
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

/// Returns the interval after the first report of a part; the context in use comes with each step.
fn first_interval(part: &AgentPart) -> Duration {
    if matches!(part, AgentPart::Usage(_)) { STATE_INTERVAL } else { FIRST_STATE_INTERVAL }
}

/// How long an agent at work has sent nothing.
#[derive(Debug)]
pub(super) struct Silence {
    heard: Instant,
    /// What the user sees, as a number of intervals.
    shown: Option<u32>,
    /// The change that the host does not know yet.
    news: Option<Option<Activity>>,
}

impl Silence {
    /// Records a sign of the agent.
    pub(super) fn end(&mut self, now: Instant) {
        self.heard = now;
        if self.shown.take().is_some() {
            self.news = Some(None);
        }
    }

    /// Counts the intervals without a sign.
    pub(super) fn tick(&mut self, now: Instant, interval: Duration) {
        let silent = now.saturating_duration_since(self.heard);
        let count = u32::try_from(silent.as_nanos() / interval.as_nanos().max(1)).unwrap_or(u32::MAX);
        if count > 0 && self.shown != Some(count) {
            self.shown = Some(count);
            let seconds = u32::try_from(interval.saturating_mul(count).as_secs()).unwrap_or(u32::MAX);
            self.news = Some(Some(Activity::Silent { seconds }));
        }
    }

    pub(super) fn take(&mut self) -> Option<Option<Activity>> {
        self.news.take()
    }
}

/// A request that sets an option.
#[derive(Debug)]
pub(super) struct PendingSet {
    /// Id of the option.
    pub(super) option: String,
    pub(super) value: OptionValue,
    pub(super) by: SetBy,
}

#[derive(Debug)]
pub(super) enum SetBy {
    /// Us, to set a change of the agent back. The agent is stopped with this reason if it refuses.
    Reversion(String),
    /// A client, or us at the start. Receives the agent's answer.
    Request { answered: mpsc::Sender<SetAnswer>, chosen_before: Option<String> },
}

/// All options, once one is set.
pub(super) type SetAnswer = Result<Vec<SessionOption>, RpcError>;

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
    /// The user allowed edits in the workspace until the turn ends.
    pub(super) edits_allowed: bool,
    /// The user's message with the denial. The agent gets it as a prompt once it has ended the current one.
    pub(super) message: String,
}

impl Stage {
    pub(super) fn new(asks: AskingLevel) -> Self {
        Self {
            timeline: Timeline::default(),
            subagents: Subagents::default(),
            subagent_asks: HashMap::new(),
            logged_out: false,
            host: Host::default(),
            turn: None,
            prompt: None,
            opening: true,
            replaying: false,
            early: Some(Vec::new()),
            news: Newest::default(),
            silence: Silence { heard: Instant::now(), shown: None, news: None },
            options: SessionOptions::new(asks),
            level: None,
            may_change_approval_mode: false,
            sets: HashMap::new(),
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

    /// Changes the output of the session, or of the sub-agent with this id.
    pub(super) fn output<T>(
        &mut self,
        now: Instant,
        session: Option<&str>,
        change: impl FnOnce(&mut Timeline) -> T,
    ) -> Option<T> {
        match session.filter(|id| self.subagents.knows(id)) {
            Some(id) => self.subagents.change(now, id, &mut self.timeline, change),
            None => Some(change(&mut self.timeline)),
        }
    }

    /// Returns the token of a new request of the session, or of the sub-agent with this id; `None` without a turn.
    pub(super) fn asks_of(&mut self, session: Option<&str>) -> Option<CancellationToken> {
        let turn = &self.turn.as_ref()?.asks;
        Some(match session.filter(|id| self.subagents.knows(id)) {
            Some(id) => {
                self.subagent_asks.entry(id.to_owned()).or_insert_with(|| turn.child_token()).child_token()
            }
            None => turn.child_token(),
        })
    }

    /// Cancels the open requests of a sub-agent.
    pub(super) fn cancel_asks_of(&mut self, id: &str) {
        if let Some(asks) = self.subagent_asks.remove(id) {
            asks.cancel();
        }
    }

    pub(super) fn report_login(&mut self, logged_out: bool) {
        self.logged_out = logged_out;
        self.record(AgentPart::LoggedOut(logged_out));
    }

    /// Returns when there is something to report.
    pub(super) fn due(&self) -> Option<Instant> {
        [self.timeline.due(), self.subagents.due(), self.news.due()].into_iter().flatten().min()
    }

    /// Records a part of the agent's state, to be reported.
    pub(super) fn record(&mut self, part: AgentPart) {
        self.news.record(part.name(), part);
    }

    /// Takes what is due of the agent's state.
    pub(super) fn take_news(&mut self, now: Instant) -> Vec<AgentPart> {
        self.news.take(now, first_interval)
    }

    /// Ends the turn, if there is one. With an empty `text`, the agent's last message is the outcome.
    pub(super) fn end(&mut self, now: Instant, state: RunState, unfinished: &str, text: &str, cut_off: bool) {
        let Some(turn) = self.turn.take() else { return };
        turn.asks.cancel();
        if turn.edits_allowed {
            self.record(AgentPart::EditsAllowed(false));
        }
        self.subagents.end_turn(now, state, unfinished, &mut self.timeline);
        let reply = if text.is_empty() { self.timeline.last_message() } else { text }.to_owned();
        self.timeline.end_turn(now, state, unfinished, text);
        self.news.flush();
        self.idle_since = now;
        self.finished = Some((turn.done, PromptOutcome { state, text: reply, usage: None, cut_off }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_shown_per_interval_and_ends() {
        let (begin, interval) = (Instant::now(), Duration::from_secs(20));
        let mut silence = Silence { heard: begin, shown: None, news: None };
        let mut seen = Vec::new();
        for second in 0..=65 {
            let now = begin + Duration::from_secs(second);
            if second == 50 {
                silence.end(now);
            }
            silence.tick(now, interval);
            seen.extend(silence.take().map(|news| (second, news)));
        }
        let silent = |seconds| Some(Activity::Silent { seconds });
        assert_eq!(seen, [(20, silent(20)), (40, silent(40)), (50, None)]);
    }
}
