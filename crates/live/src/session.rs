//! One session of an agent: the evidence about it, and the state that follows.

use crate::{
    processes::{Processes, Terminal},
    state::{Certainty, Doubt, EvidenceKind, Failure, LiveState, Millis, Need, Reading, Stop},
    status::{Hook, HookState, Record, Status, ThreadStatus},
    tail::{Tail, Turn, is_action, is_question, need_of},
};
use openagents_transcripts::history::Provider;
use serde_json::Value;

/// A dialog of Claude Code that is open for longer than this waits for the user: each start opens one for 1 or 2 s.
const DIALOG: Millis = 3_000;
/// An agent without a session after this time shows its start screen.
const START: Millis = 3_000;
/// A call of the agent's own tools without a process after this time waits for an approval.
const NO_CHILD: Millis = 1_500;
/// The same, of a call whose record says that it needs an approval.
const ASKS_NO_CHILD: Millis = 700;
/// Claude Code's status may come before the last record of its log by this time.
const IDLE: Millis = 500;
/// Records of a log that are newer than a hook event by at most this time do not contradict it: Claude Code's comes 0.1 s
/// before its line, Qwen Code writes up to 2 s late.
const LOG_LATE: Millis = 2_500;
/// Without a sign for this time, a turn that only its log shows is in doubt.
const SILENCE: Millis = 60_000;

/// A session of an agent.
#[derive(Debug, Clone)]
pub struct LiveSession {
    agent: Provider,
    log: Tail,
    processes: Processes,
    /// Claude Code's own status.
    record: Option<Record>,
    /// The status in Codex's service.
    thread: Option<(ThreadStatus, Millis)>,
    /// The agent has a session: it is past its start screen.
    has_session: bool,
    hook: Option<Hook>,
    /// The last title of its terminal.
    title: String,
    title_at: Millis,
}

impl LiveSession {
    pub fn new(agent: Provider) -> Self {
        Self {
            agent,
            log: Tail::new(agent),
            processes: Processes::default(),
            record: None,
            thread: None,
            has_session: false,
            hook: None,
            title: String::new(),
            title_at: 0,
        }
    }

    pub fn agent(&self) -> Provider {
        self.agent
    }

    /// A line was added to the log of the session; those of sub-agents are not needed.
    pub fn line(&mut self, line: &Value, at: Millis) {
        self.log.line(line, at);
    }

    /// A row of the agent's database is new or changed.
    pub fn row(&mut self, table: &str, row: &Value, at: Millis) {
        self.log.row(table, row, at);
    }

    /// The log became shorter, or another file: it is read again.
    pub fn log_replaced(&mut self) {
        self.log = Tail::new(self.agent);
    }

    pub fn set_processes(&mut self, processes: Processes) {
        self.processes = processes;
    }

    /// The session is open in more processes.
    pub fn add_processes(&mut self, more: Processes) {
        self.processes.owners.extend(more.owners);
        self.processes.children.extend(more.children);
    }

    /// Claude Code has written its record; `None` for a record without a status.
    pub fn set_record(&mut self, record: Option<Record>) {
        self.record = record;
    }

    pub fn set_thread(&mut self, status: ThreadStatus, at: Millis) {
        self.thread = Some((status, at));
    }

    /// The agent has a session.
    pub fn set_session(&mut self) {
        self.has_session = true;
    }

    pub fn hook(&mut self, event: &str, payload: &Value, at: Millis) {
        self.hook = Hook::next(self.hook, self.agent, (event, payload), at);
    }

    /// The title of the terminal has changed. A terminal that is gone has none: its last one counts.
    pub fn set_title(&mut self, title: &str, at: Millis) {
        if !title.is_empty() {
            (self.title, self.title_at) = (title.to_owned(), at);
        }
    }

    /// The tool that runs or waits.
    pub fn tool(&self) -> Option<&str> {
        self.log.last_tool()
    }

    /// Returns the state at a moment. The first rule that applies wins.
    pub fn reading(&self, now: Millis) -> Reading {
        self.by_processes(now)
            .or_else(|| self.by_thread(now))
            .or_else(|| self.by_record(now))
            .or_else(|| self.by_question(now))
            .or_else(|| self.by_end_of_log(now))
            .or_else(|| self.by_hook(now))
            .or_else(|| self.by_title(now))
            .unwrap_or_else(|| self.by_log(now))
    }

    /// Nothing else is believed about a process that is gone, suspended or without its terminal.
    fn by_processes(&self, now: Millis) -> Option<Reading> {
        if self.thread.is_some() || self.processes.owners.is_empty() {
            return None;
        }
        let seen = |stop, text: &str| {
            Some(Reading::new(LiveState::Stopped(stop), Certainty::Seen, (EvidenceKind::Process, now), text))
        };
        let mut alive = self.processes.alive().peekable();
        if alive.peek().is_none() {
            return match self.is_unfinished() {
                true => seen(Stop::Exited, "Its process ended during a turn"),
                false => Some(self.finished(now)),
            };
        }
        if self.processes.alive().all(|owner| owner.is_suspended) {
            return seen(Stop::Suspended, "Its process is suspended");
        }
        if self.processes.alive().all(|owner| owner.terminal == Terminal::Closed) && self.is_unfinished() {
            return seen(Stop::WindowClosed, "Its terminal is closed, and its process still runs");
        }
        None
    }

    fn by_thread(&self, now: Millis) -> Option<Reading> {
        let (status, at) = self.thread?;
        let reported = |state, text: &str| {
            Some(Reading::new(state, Certainty::Reported, (EvidenceKind::Status, at), text))
        };
        match status {
            ThreadStatus::Needs(need) => {
                reported(LiveState::Needs(need), "Codex's service says that it waits")
            }
            ThreadStatus::Working => reported(LiveState::Working, "Codex's service says that it works"),
            ThreadStatus::Failed => {
                reported(LiveState::Failed(None), "Codex's service says that the turn failed")
            }
            ThreadStatus::Idle => Some(self.finished(now)),
        }
    }

    fn by_record(&self, now: Millis) -> Option<Reading> {
        let Record { status, at } = self.record.as_ref()?;
        let reported = |state, text: &str| {
            let text = format!("Claude Code's own status: {text}");
            Some(Reading::new(state, Certainty::Reported, (EvidenceKind::Status, *at), text))
        };
        match status {
            Status::Removed if self.is_unfinished() => reported(LiveState::Stopped(Stop::Exited), "it exits"),
            Status::Removed => Some(self.finished(now)),
            Status::Waiting(why) if why == "dialog open" => match now - at > DIALOG {
                true => reported(LiveState::Needs(Need::Dialog), why),
                false => Some(self.finished(now)),
            },
            Status::Waiting(why) if why == "input needed" => reported(LiveState::Needs(Need::Question), why),
            Status::Waiting(why) => reported(LiveState::Needs(need_of(self.log.last_tool())), why),
            Status::Busy => reported(LiveState::Working, "busy"),
            Status::Idle if self.log.turn != Turn::Open => Some(self.finished(now)),
            // Esc before the first answer leaves no line.
            Status::Idle if now - *at.max(&self.log.at) <= IDLE => {
                reported(LiveState::Working, "idle for a moment")
            }
            Status::Idle if self.log.is_prompt_last => {
                reported(LiveState::Stopped(Stop::ByUser), "idle, and the prompt has no answer")
            }
            // Such as an answer that was cut at its greatest length.
            Status::Idle => reported(LiveState::Done, "idle"),
            Status::Other(_) => None,
        }
    }

    /// A question in the log without an answer, and calls that should have a process and have none.
    fn by_question(&self, now: Millis) -> Option<Reading> {
        let hook = self.hook;
        if let Some(ask) = self.log.asks.last() {
            let waits = ask.need == Need::Question
                || now - ask.at > ASKS_NO_CHILD && !self.processes.child_since(ask.at);
            let is_answered =
                hook.is_some_and(|hook| hook.state == HookState::Open && hook.at > ask.at + 500);
            if waits && !is_answered {
                let text = "Its log has a question without an answer";
                return Some(Reading::new(
                    LiveState::Needs(ask.need),
                    Certainty::Seen,
                    (EvidenceKind::Log, ask.at),
                    text,
                ));
            }
        }
        // Claude Code before 2.1.139 publishes no status.
        if !matches!(self.agent, Provider::Codex | Provider::Qwen | Provider::ClaudeCode) {
            return None;
        }
        let call = self.log.calls.last()?;
        let at = (EvidenceKind::Log, call.at);
        if is_question(&call.tool) {
            let text = "Its log has a question without an answer";
            return Some(Reading::new(
                LiveState::Needs(need_of(Some(&call.tool))),
                Certainty::Seen,
                at,
                text,
            ));
        }
        let waits = is_action(&call.tool) && now - call.at > NO_CHILD && !self.processes.child_since(call.at);
        waits.then(|| {
            let text = format!("Its log has a call of {} that started no process", call.tool);
            Reading::new(LiveState::Needs(Need::Approval), Certainty::Inferred, at, text)
        })
    }

    /// A turn that was interrupted or failed, unless the next one has begun.
    fn by_end_of_log(&self, now: Millis) -> Option<Reading> {
        let ended = matches!(self.log.turn, Turn::Interrupted | Turn::Failed(_));
        let begins = |hook: Hook| hook.state == HookState::Open && hook.at > self.log.at + 300;
        (ended && !self.hook.is_some_and(begins)).then(|| self.finished(now))
    }

    fn by_hook(&self, now: Millis) -> Option<Reading> {
        let Hook { state, at } = self.hook.filter(|hook| hook.at >= self.log.at - LOG_LATE)?;
        let reported = |state, text: &str| {
            Some(Reading::new(state, Certainty::Reported, (EvidenceKind::Hook, at), text))
        };
        match state {
            // A running child or a title contradicts it.
            HookState::Needs(_) if self.processes.child_since(at) || shows_work(&self.title) => {
                reported(LiveState::Working, "Its hook reported a question, and it works since")
            }
            HookState::Needs(need) => reported(LiveState::Needs(need), "Its hook reported that it waits"),
            // Esc while thinking leaves no other trace.
            HookState::Open
                if self.agent == Provider::Qwen && shows_rest(&self.title) && now - at > 1_000 =>
            {
                let at = (EvidenceKind::Title, self.title_at);
                let text = "The title of its terminal shows no work";
                Some(Reading::new(LiveState::Stopped(Stop::ByUser), Certainty::Seen, at, text))
            }
            HookState::Open => reported(LiveState::Working, "Its hook reported a turn"),
            HookState::Failed => reported(LiveState::Failed(None), "Its hook reported an error"),
            HookState::Interrupted => {
                reported(LiveState::Stopped(Stop::ByUser), "Its hook reported an interruption")
            }
            HookState::Ended if !matches!(self.log.turn, Turn::Interrupted | Turn::Failed(_)) => {
                Some(self.ended(now, true))
            }
            HookState::Ended => None,
        }
    }

    /// Titles of Gemini CLI and Qwen Code. They prove a state and never disprove one.
    fn by_title(&self, _now: Millis) -> Option<Reading> {
        let seen = |state| {
            let text = format!("The title of its terminal: {}", self.title);
            Some(Reading::new(state, Certainty::Seen, (EvidenceKind::Title, self.title_at), text))
        };
        let begins = |mark: char| self.title.starts_with(mark);
        match self.agent {
            _ if self.title.contains("Action Required") => {
                seen(LiveState::Needs(need_of(self.log.last_tool())))
            }
            Provider::Qwen if begins('✳') => seen(LiveState::Needs(need_of(self.log.last_tool()))),
            Provider::Qwen if begins('◐') => seen(LiveState::Working),
            Provider::Gemini if begins('✦') => seen(LiveState::Working),
            Provider::Gemini if begins('◇') && self.log.turn == Turn::MaybeEnded => seen(LiveState::Done),
            _ => None,
        }
    }

    fn by_log(&self, now: Millis) -> Reading {
        let at = (EvidenceKind::Log, self.log.at);
        match self.log.turn {
            Turn::Open => {
                let is_silent = now - self.log.at > SILENCE && !self.processes.child_since(self.log.at);
                match is_silent && self.log.at > 0 {
                    true => Reading::new(
                        LiveState::Unclear(Doubt::WorkingOrWaiting),
                        Certainty::Inferred,
                        at,
                        "Its log has an open turn, and nothing was added for a minute",
                    ),
                    false => {
                        Reading::new(LiveState::Working, Certainty::Seen, at, "Its log has an open turn")
                    }
                }
            }
            // Gemini CLI writes a call after the answer to its question.
            Turn::MaybeEnded if self.hook.is_none() => Reading::new(
                LiveState::Unclear(Doubt::FinishedOrWaiting),
                Certainty::Inferred,
                at,
                "Its log has an answer, and is written only after questions were answered",
            ),
            _ => self.finished(now),
        }
    }

    /// Whether a turn was open when the last evidence came.
    fn is_unfinished(&self) -> bool {
        if let Some(hook) = self.hook.filter(|hook| hook.at >= self.log.at - LOG_LATE) {
            return matches!(hook.state, HookState::Open | HookState::Needs(_));
        }
        let waited = self.log.turn == Turn::MaybeEnded && self.title.contains("Action");
        self.log.turn == Turn::Open || !self.log.asks.is_empty() || waited
    }

    fn finished(&self, now: Millis) -> Reading {
        self.ended(now, false)
    }

    /// The state after the last turn. `ended`: a hook has reported its end.
    fn ended(&self, now: Millis, ended: bool) -> Reading {
        let log =
            |state, text: &str| Reading::new(state, Certainty::Seen, (EvidenceKind::Log, self.log.at), text);
        match self.log.turn {
            Turn::Ended if self.agent == Provider::Codex && self.log.has_plan => {
                log(LiveState::Needs(Need::Plan), "Its log has a plan, and the turn ended")
            }
            Turn::Failed(why) => log(LiveState::Failed(why), failed(why)),
            Turn::Interrupted => {
                log(LiveState::Stopped(Stop::ByUser), "Its log says that the user stopped it")
            }
            Turn::Ended | Turn::MaybeEnded | Turn::Open => {
                log(LiveState::Done, "Its log has the end of the turn")
            }
            Turn::None if ended => {
                let at = self.hook.map_or(now, |hook| hook.at);
                let text = "Its hook reported the end of the turn";
                Reading::new(LiveState::Done, Certainty::Reported, (EvidenceKind::Hook, at), text)
            }
            Turn::None => self.before_first_turn(now),
        }
    }

    fn before_first_turn(&self, now: Millis) -> Reading {
        let in_terminal = self.processes.alive().filter(|owner| owner.terminal == Terminal::Open);
        let began = in_terminal.map(|owner| owner.started).min();
        let registers = matches!(self.agent, Provider::ClaudeCode | Provider::Codex);
        let is_registered = self.has_session || self.record.is_some();
        if let Some(began) = began.filter(|began| registers && !is_registered && now - began > START) {
            let text = "It runs and has begun no session";
            let at = (EvidenceKind::Process, began);
            return Reading::new(LiveState::Needs(Need::StartScreen), Certainty::Inferred, at, text);
        }
        let text = "It has had no prompt";
        Reading::new(LiveState::Idle, Certainty::Seen, (EvidenceKind::Process, now), text)
    }
}

fn failed(why: Option<Failure>) -> &'static str {
    match why {
        Some(Failure::RateLimit) => "Its log says that a rate limit was reached",
        Some(Failure::Login) => "Its log says that the login failed",
        Some(Failure::Other) | None => "Its log has an error at the end of the turn",
    }
}

/// Whether a title shows a spinner.
fn shows_work(title: &str) -> bool {
    title.starts_with(|first: char| matches!(first, '◐' | '◑' | '✦' | '⠀'..='⣿'))
}

/// Whether a title of Qwen Code shows neither work nor a question.
fn shows_rest(title: &str) -> bool {
    !title.is_empty() && !title.starts_with(|first: char| matches!(first, '◐' | '◑' | '✳' | '⠀'..='⣿'))
}
