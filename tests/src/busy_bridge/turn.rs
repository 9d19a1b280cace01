//! One turn: the prompt determines the updates, their order and their rate.

use crate::agent::Busy;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost, AgentRequest},
    approval::{ApprovalOption, ApprovalOutcome, ApprovalRequest, ApprovalSubject, OptionKind},
    update::{
        AgentMessage, AgentThought, Cut, EntryStatus, PlanEntry, PlanSnapshot, RunState, SessionUpdate,
        ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolContent,
    },
};
use openagents_e2e::chaos::numbers::{Kind, call_id, fingerprint, sentence, text};
use serde_json::{Map, json};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time that a question waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Interval of checks for a cancel.
const LOOK: Duration = Duration::from_millis(20);
/// A bench prompt that requests a steady stream: the number of updates, and the number per second.
const STREAM: &str = "stream ";
/// A bench prompt that requests at least this many updates of all kinds, as fast as possible.
const FLOOD: &str = "flood ";

pub(crate) struct Turn<'a> {
    busy: &'a Busy,
    session: &'a str,
    prompt: &'a str,
    host: &'a dyn AgentHost,
    cancel: &'a CancellationToken,
    random: fastrand::Rng,
    /// Calls that have not ended.
    open: Vec<u64>,
    /// The number of the plan, and how many of its entries are done.
    plan: Option<(u64, usize)>,
    asked: bool,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(
        busy: &'a Busy,
        request: &'a AgentRequest,
        host: &'a dyn AgentHost,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            busy,
            session: &request.session_id,
            prompt: &request.text,
            host,
            cancel,
            random: fastrand::Rng::with_seed(fingerprint(&request.text)),
            open: Vec::new(),
            plan: None,
            asked: false,
        }
    }

    pub(crate) fn run(mut self) {
        let wanted = |after: &str| -> Option<Vec<u64>> {
            let numbers = self.prompt.strip_prefix(after)?.split_whitespace();
            Some(numbers.filter_map(|number| number.parse().ok()).collect())
        };
        match (wanted(STREAM).as_deref(), wanted(FLOOD).as_deref()) {
            (Some([updates, per_second]), _) => self.stream(*updates, *per_second),
            (_, Some([updates])) => self.flood(*updates),
            _ => self.chatter(),
        }
    }

    fn chatter(&mut self) {
        for _ in 0..self.random.usize(20..120) {
            if self.cancel.is_cancelled() {
                return;
            }
            match self.random.u8(0..100) {
                0..3 => self.settle(),
                3 => self.ask(),
                _ => self.step(),
            }
            self.pause();
        }
        // Now and then a call stays open, which the bridge then closes.
        while self.random.u8(0..10) > 0 && !self.open.is_empty() {
            self.end();
        }
        self.say(Kind::Text, |number| {
            let message_id = Some(format!("message-{number}"));
            let text = text(number);
            SessionUpdate::AgentMessage(AgentMessage { text, message_id, ended: true, ..Default::default() })
        });
        self.settle();
    }

    fn flood(&mut self, updates: u64) {
        // Some numbers are used for message ids.
        let last = self.busy.number() + updates * 2;
        while self.busy.number() < last && !self.cancel.is_cancelled() {
            self.step();
        }
    }

    /// Sends updates at a steady rate, each with the time at which it was sent.
    fn stream(&mut self, updates: u64, per_second: u64) {
        let call = self.busy.number();
        let tool = ToolCall {
            call_id: call_id(call),
            name: "stream".to_owned(),
            arguments: Map::new(),
            op_hash: None,
            stage: None,
            details: ToolCallDetails::default(),
        };
        self.host.emit(AgentEvent::Update(SessionUpdate::ToolCall(tool)));
        let began = Instant::now();
        let each = Duration::from_secs(1).checked_div(u32::try_from(per_second).unwrap_or(u32::MAX));
        for index in 0..u32::try_from(updates).unwrap_or(u32::MAX) {
            if self.cancel.is_cancelled() {
                return;
            }
            let due = each.unwrap_or_default() * index;
            if let Some(early) = due.checked_sub(began.elapsed()) {
                std::thread::sleep(early);
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let note = Some(format!("⟪{now}⟫ {:0>100}", index));
            let status = ToolCallStatus::Started { progress: 0.5, note };
            self.host.emit(AgentEvent::Update(news(call, status, ToolCallDetails::default())));
        }
        let status = ToolCallStatus::Completed { output: json!({"number": call}), cut: Cut::default() };
        self.host.emit(AgentEvent::Update(news(call, status, ToolCallDetails::default())));
    }

    fn step(&mut self) {
        match self.random.u8(0..96) {
            0..40 => self.answer(),
            40..50 => self.think(),
            50..65 => drop(self.call()),
            65..80 => self.news(),
            80..90 => self.end(),
            _ => self.plan(),
        }
    }

    /// Records an update in the ledger, then sends it.
    fn say(&self, kind: Kind, update: impl FnOnce(u64) -> SessionUpdate) -> u64 {
        let number = self.busy.number();
        self.busy.ledger.says(self.session, number, kind);
        self.host.emit(AgentEvent::Update(update(number)));
        number
    }

    /// Sends pieces of one message, as a model does.
    fn answer(&mut self) {
        let message_id = Some(format!("message-{}", self.busy.number()));
        for _ in 0..self.random.usize(1..8) {
            self.say(Kind::Text, |number| {
                let (text, message_id) = (text(number), message_id.clone());
                SessionUpdate::AgentMessage(AgentMessage { text, message_id, ..Default::default() })
            });
        }
    }

    fn think(&mut self) {
        let message_id = Some(format!("thought-{}", self.busy.number()));
        for _ in 0..self.random.usize(1..4) {
            self.say(Kind::Thought, |number| {
                let (text, message_id) = (text(number), message_id.clone());
                SessionUpdate::AgentThought(AgentThought { text, message_id, late: false })
            });
        }
    }

    fn call(&mut self) -> u64 {
        let arguments = Map::from_iter([("path".to_owned(), "src/main.rs".into())]);
        let details = ToolCallDetails { title: Some("Read src/main.rs".to_owned()), ..Default::default() };
        let call = self.say(Kind::Call, |number| {
            let (call_id, name) = (call_id(number), "fs.read".to_owned());
            SessionUpdate::ToolCall(ToolCall {
                call_id,
                name,
                arguments,
                op_hash: None,
                stage: None,
                details,
            })
        });
        self.open.push(call);
        call
    }

    fn news(&mut self) {
        let Some(call) = self.random.choice(&self.open).copied() else { return };
        let shows = self.random.bool();
        self.say(Kind::News, |number| {
            if shows {
                let content = vec![ToolContent::Text { text: sentence(number) }];
                let details = ToolCallDetails { content, ..ToolCallDetails::default() };
                return news(call, ToolCallStatus::Unchanged, details);
            }
            let status = ToolCallStatus::Started { progress: 0.5, note: Some(sentence(number)) };
            news(call, status, ToolCallDetails::default())
        });
    }

    fn end(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let call = self.open.swap_remove(self.random.usize(0..self.open.len()));
        let (fails, lines) = (self.random.u8(0..6) == 0, self.random.usize(0..400));
        self.say(Kind::End, |number| {
            let status = match fails {
                true => ToolCallStatus::Error { message: sentence(number) },
                false => ToolCallStatus::Completed {
                    output: json!({"number": number, "text": "one line of the file\n".repeat(lines)}),
                    cut: Cut::default(),
                },
            };
            news(call, status, ToolCallDetails::default())
        });
    }

    fn plan(&mut self) {
        const STEPS: usize = 4;
        let (plan, done) = self.plan.unwrap_or_else(|| (self.busy.number(), 0));
        self.say(Kind::Plan, |number| {
            let entry = |index: usize| PlanEntry {
                content: format!("Step {index}"),
                status: match index.cmp(&done) {
                    std::cmp::Ordering::Less => EntryStatus::Completed,
                    std::cmp::Ordering::Equal => EntryStatus::InProgress,
                    std::cmp::Ordering::Greater => EntryStatus::Pending,
                },
                op_id: format!("step-{plan}-{index}"),
                op_hash: 0,
                tool: "fs.read".to_owned(),
                error: None,
            };
            SessionUpdate::Plan(PlanSnapshot {
                plan_id: format!("plan-{plan}"),
                goals: vec![sentence(number)],
                state: RunState::Running,
                entries: (0..STEPS).map(entry).collect(),
            })
        });
        self.plan = Some((plan, (done + 1).min(STEPS)));
    }

    /// Records that everything so far is on disk: the store writes in order, so once it has this
    /// entry, it has all earlier ones.
    fn settle(&self) {
        self.host.remember(&self.busy.number().to_string());
        self.busy.ledger.stored(self.session);
    }

    /// Asks at most one question per turn.
    fn ask(&mut self) {
        if std::mem::replace(&mut self.asked, true) {
            return;
        }
        let call = self.call();
        let number = self.busy.number();
        self.busy.ledger.says(self.session, number, Kind::Ask);
        let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
        let request = ApprovalRequest {
            subject: ApprovalSubject::Action,
            call_id: call_id(call),
            agent: "Busy".to_owned(),
            title: sentence(number),
            raw_input: None,
            command: None,
            cut: false,
            options: vec![option("allow", OptionKind::AllowOnce), option("deny", OptionKind::RejectOnce)],
        };
        let waits = CancellationToken::new();
        std::thread::scope(|scope| {
            let (shown, tell) = std::sync::mpsc::channel::<()>();
            let (waiting, cancel) = (waits.clone(), self.cancel);
            scope.spawn(move || {
                let until = Instant::now() + PATIENCE;
                while tell.recv_timeout(LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    if cancel.is_cancelled() || Instant::now() > until {
                        waiting.cancel();
                    }
                }
            });
            match self.host.ask(request, &waits) {
                ApprovalOutcome::Selected { option_id, .. } => {
                    self.busy.ledger.heard(number, Some(&option_id));
                }
                ApprovalOutcome::Cancelled => self.busy.ledger.heard(number, None),
            }
            drop(shown);
        });
    }

    fn pause(&mut self) {
        let wait = match self.random.u8(0..100) {
            0..60 => return,
            60..90 => self.random.u64(1..10),
            _ => self.random.u64(10..40),
        };
        std::thread::sleep(Duration::from_millis(wait));
    }
}

fn news(call: u64, status: ToolCallStatus, details: ToolCallDetails) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id: call_id(call), status, late: false, details })
}
