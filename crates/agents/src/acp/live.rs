//! A running agent with its session: shows its output, answers its requests and ends each turn exactly once.

use super::{
    config::{AcpAgentConfig, AcpCommand, AcpTimeouts},
    connection::{Connection, Lines, Next},
    files::Access,
    frame::{self, Incoming, RpcError},
    from_wire,
    frozen::PendingCommands,
    stage::{Host, Stage, Turn},
    subagents,
    terminals::Terminals,
};
use crate::{
    limits::{ACP_CANCEL_CHECK, ACP_TICK, EARLY_UPDATES, FAMILY_CHECK, QUEUED_FILES},
    process::{Groups, is_for_commands},
};
use agent_client_protocol_schema::v1 as wire;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost, CANCELLED, ImageBytes, PromptOutcome, SteerRequest, lowering_command},
    update::{RunState, SUBAGENT_PREFIX},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Instant,
};

/// The text shown on a call that is still open when its turn ends.
const UNFINISHED: &str = "the agent never reported a result";

const NO_OUTPUT: &str = "Done, no output.";

/// Returns a prompt: its text, its images, and links to the files that it names, since some agents read these themselves.
fn blocks(text: &str, links: &[PathBuf], images: &[ImageBytes]) -> Vec<Value> {
    let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let image = |ImageBytes { mime_type, bytes }: &ImageBytes| {
        let data = BASE64_STANDARD.encode(bytes);
        json!({"type": "image", "mimeType": mime_type, "data": data})
    };
    let link = |path: &PathBuf| {
        let uri = reqwest::Url::from_file_path(path).ok()?;
        let name = path.file_name()?.to_string_lossy();
        Some(json!({"type": "resource_link", "uri": uri.as_str(), "name": name}))
    };
    words.into_iter().chain(images.iter().map(image)).chain(links.iter().filter_map(link)).collect()
}

enum Due {
    Cancel,
    Idle,
}

pub(super) struct Prompt<'a> {
    pub(super) text: &'a str,
    /// Files and folders that the prompt names, absolute.
    pub(super) links: &'a [PathBuf],
    pub(super) images: &'a [ImageBytes],
    /// A summary of the conversation so far, for an agent session that does not have it.
    pub(super) brief: Option<&'a str>,
    /// A command in the prompt may lower the asking level.
    pub(super) may_change_approval_mode: bool,
}

/// What the agent says in its answer to `initialize`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Abilities {
    pub(super) images: bool,
    /// It takes prompts during its turn: `_session/steering`, of Claude Code and Codex.
    pub(super) steering: bool,
    pub(super) fork: bool,
    pub(super) close: bool,
}

impl Abilities {
    pub(super) fn of(answer: &Value) -> Self {
        let is_given =
            |pointer: &str| answer.pointer(pointer).is_some_and(|it| !it.is_null() && *it != false);
        Self {
            images: is_given("/agentCapabilities/promptCapabilities/image"),
            steering: answer.pointer("/_meta/steering/supported") == Some(&Value::Bool(true)),
            fork: is_given("/agentCapabilities/sessionCapabilities/fork"),
            close: is_given("/agentCapabilities/sessionCapabilities/close"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Live {
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) connection: Arc<Connection>,
    pub(super) terminals: Terminals,
    /// Environment of the commands that the agent runs here.
    pub(super) environment: BTreeMap<String, String>,
    /// File operations, run in the order of the requests.
    pub(super) files: mpsc::SyncSender<Box<dyn FnOnce() + Send>>,
    /// Requests that the agent may cancel, by id.
    pub(super) asks: Mutex<HashMap<String, CancellationToken>>,
    pub(super) pending: PendingCommands,
    timeouts: AcpTimeouts,
    /// Set once it has answered `initialize`.
    abilities: OnceLock<Abilities>,
    /// The session is open, with all options set: prompts may follow.
    open: AtomicBool,
    /// The user has cancelled the running turn. Checked before every message, however many there are.
    cancelled: AtomicBool,
    stage: Mutex<Stage>,
}

impl Live {
    pub(super) fn start(
        config: &AcpAgentConfig,
        command: &AcpCommand,
        root: &Path,
        groups: &Arc<Groups>,
    ) -> io::Result<Arc<Self>> {
        let (connection, lines) = Connection::start(&config.name, command, root, groups)?;
        let (files, jobs) = mpsc::sync_channel::<Box<dyn FnOnce() + Send>>(QUEUED_FILES);
        let work = move || {
            // A panic in one job must not stop the next.
            let job = |job: Box<dyn FnOnce() + Send>| drop(catch_unwind(AssertUnwindSafe(job)));
            jobs.into_iter().for_each(job);
        };
        std::thread::Builder::new().name("agent files".to_owned()).spawn(work)?;
        let plain = command.environment.iter().filter(|(name, value)| is_for_commands(name, value));
        let live = Arc::new(Self {
            name: config.name.clone(),
            root: root.to_owned(),
            connection,
            terminals: Terminals::new(groups.clone()),
            environment: plain.map(|(name, value)| (name.clone(), value.clone())).collect(),
            files,
            asks: Mutex::default(),
            pending: PendingCommands::default(),
            timeouts: config.timeouts,
            abilities: OnceLock::new(),
            open: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            stage: Mutex::new(Stage::new(config.asks)),
        });
        let reading = live.clone();
        std::thread::Builder::new().name("agent".to_owned()).spawn(move || reading.run(lines))?;
        Ok(live)
    }

    /// Changes the state and reports the resulting updates before any other change.
    pub(super) fn stage<T>(&self, change: impl FnOnce(&mut Stage, Instant) -> T) -> T {
        self.staged(&mut self.stage.lock(), change)
    }

    fn staged<T>(&self, stage: &mut Stage, change: impl FnOnce(&mut Stage, Instant) -> T) -> T {
        let result = change(stage, Instant::now());
        if let Some(host) = stage.host.0.clone() {
            // What comes before the first turn is kept for it.
            let ready = stage.timeline.take();
            let (news, silence) = (stage.take_news(Instant::now()), stage.silence.take());
            let report = || {
                ready.into_iter().for_each(|update| host.emit(AgentEvent::Update(update)));
                news.into_iter().for_each(|part| host.report(part));
                silence.into_iter().for_each(|activity| host.emit(AgentEvent::Activity(activity)));
            };
            // A panic in the host must not prevent the end of the turn.
            if catch_unwind(AssertUnwindSafe(report)).is_err() {
                tracing::error!(agent = self.name, "the host failed to handle an update");
            }
        }
        if let Some((done, outcome)) = stage.finished.take() {
            self.terminals.stop_all();
            // The caller may have given up.
            let _ = done.send(outcome);
        }
        result
    }

    fn run(self: &Arc<Self>, lines: Lines) {
        // A panic while reading must still end the turn.
        let read = AssertUnwindSafe(|| self.read_frames(lines));
        if catch_unwind(read).is_err() {
            self.connection
                .stop(format!("{} sent a message that could not be handled; it was stopped", self.name));
        }
        self.close_session();
    }

    fn read_frames(self: &Arc<Self>, mut lines: Lines) {
        let mut recorded = Instant::now();
        loop {
            let due = self.stage.lock().due();
            let left =
                due.map_or(ACP_TICK, |due| due.saturating_duration_since(Instant::now()).min(ACP_TICK));
            match self.connection.next(&mut lines, left) {
                Next::Frame(frame) => {
                    self.apply_cancel(&mut self.stage.lock());
                    self.handle_frame(frame);
                }
                Next::Nothing => {}
                Next::End => break,
            }
            self.tick();
            if recorded.elapsed() >= FAMILY_CHECK {
                // If the agent crashes later, its children can no longer be found.
                self.connection.group.record_descendants();
                recorded = Instant::now();
            }
        }
    }

    fn tick(&self) {
        self.apply_cancel(&mut self.stage.lock());
        let due = self.stage(|stage, now| {
            stage.timeline.tick(now);
            stage.subagents.tick(now, &mut stage.timeline);
            // A command may run for long, and an approval waits for the user.
            let waits = stage.timeline.has_open_calls() || !self.asks.lock().is_empty();
            if stage.turn.is_none() || waits {
                stage.silence.end(now);
            } else {
                stage.silence.tick(now, self.timeouts.silence);
            }
            if stage.cancel_deadline.is_some_and(|cancel_deadline| now >= cancel_deadline) {
                stage.cancel_deadline = None;
                return Some(Due::Cancel);
            }
            let idle = stage.turn.is_none() && stage.prompt.is_none() && !stage.opening;
            let long = now.saturating_duration_since(stage.idle_since) >= self.timeouts.idle;
            // No turn starts from here on.
            stage.closed |= idle && long;
            (idle && long).then_some(Due::Idle)
        });
        let name = &self.name;
        match due {
            Some(Due::Cancel) => {
                self.connection.stop(format!("{name} did not react to a cancel and was stopped"));
            }
            Some(Due::Idle) => {
                let session = self.stage.lock().session.clone().filter(|_| self.abilities().close);
                if let Some(session) = session {
                    // Its answer is not awaited: the agent ends when its input does.
                    self.connection.request("session/close", &json!({"sessionId": session}));
                }
                self.connection.retire(format!("{name} was stopped because it was idle"));
            }
            None => {}
        }
    }

    fn handle_frame(self: &Arc<Self>, frame: Incoming) {
        // An agent that retries may repeat its usage.
        let repeats = matches!(&frame, Incoming::Notification { params, .. }
            if params["update"]["sessionUpdate"] == "usage_update");
        if !repeats {
            self.stage(|stage, now| stage.silence.end(now));
        }
        match frame {
            Incoming::Response { id, result } => self.handle_response(&id, result),
            Incoming::Notification { method, params } => match method.as_str() {
                "session/update" => self.handle_update(params),
                "$/cancel_request" => {
                    if let Some(ask) = self.asks.lock().get(&params["requestId"].to_string()) {
                        ask.cancel();
                    }
                }
                // Of the adapters of Claude Code and Codex.
                "_auth/status_update" => {
                    if let Some(kind) = params["authStatus"]["kind"].as_str() {
                        self.stage(|stage, _| stage.report_login(kind == "none"));
                    }
                }
                // Unknown extension notifications need no response.
                _ => {}
            },
            Incoming::Request { id, method, params } => self.handle_request(id, &method, params),
        }
    }

    fn handle_response(&self, id: &Value, result: Result<Value, RpcError>) {
        let number = frame::number(id);
        let is_handled = self.stage(|stage, now| {
            if number.is_some() && stage.opened_by == number {
                (stage.opened_by, stage.opening, stage.replaying) = (None, false, false);
                stage.idle_since = now;
                if let Ok(opened) = &result {
                    self.apply_options(stage, now, opened);
                }
            }
            if let Some(set) = number.and_then(|number| stage.sets.remove(&number)) {
                self.handle_set(stage, now, set, &result);
                return true;
            }
            if number.is_none() || stage.prompt != number {
                return false;
            }
            (stage.prompt, stage.cancel_deadline, stage.idle_since) = (None, None, now);
            // The user's message with a denial: ACP's response has no field for it, so it is sent as a prompt.
            let message =
                stage.turn.as_mut().map(|turn| std::mem::take(&mut turn.message)).unwrap_or_default();
            match (&stage.session, &result) {
                (Some(session), Ok(_)) if !message.is_empty() => {
                    let prompt = blocks(&message, &[], &[]);
                    stage.prompt = Some(self.send_prompt(&session.clone(), prompt));
                }
                _ => self.end_turn(stage, now, &result),
            }
            true
        });
        if !is_handled {
            self.connection.resolve(id, result);
        }
    }

    /// Handles the response to a prompt, which ends the turn.
    fn end_turn(&self, stage: &mut Stage, now: Instant, result: &Result<Value, RpcError>) {
        let name = &self.name;
        let refused = stage.turn.as_ref().is_some_and(|turn| turn.refused);
        let reason = match result {
            Ok(answer) => answer["stopReason"].as_str().unwrap_or("end_turn"),
            Err(error) => {
                if error.wants_login() {
                    stage.report_login(true);
                }
                let text = match error.wants_login() {
                    true => format!("❌ {}", error.login_sentence(&stage.login)),
                    // Claude Code and Codex also send the sentence as their last message.
                    false if stage.timeline.last_words().is_some_and(|words| error.is(words)) => {
                        String::new()
                    }
                    false => format!("❌ {name}: {}", error.sentence()),
                };
                return stage.end(now, RunState::Failed, UNFINISHED, &text, false);
            }
        };
        // A logout in this turn counts.
        if reason != "cancelled" && !stage.logged_out {
            stage.report_login(false);
        }
        let unfinished = if refused && reason == "cancelled" { "it was not allowed" } else { UNFINISHED };
        let (state, text, cut_off) = match reason {
            "cancelled" if refused => {
                (RunState::Cancelled, format!("{name} stopped because it was not allowed to go on."), false)
            }
            "cancelled" => (RunState::Cancelled, CANCELLED.to_owned(), false),
            "refusal" => (RunState::Failed, format!("❌ {name} refuses to answer this prompt"), false),
            "max_tokens" => {
                let text = format!("The answer was cut off: {name} reached its limit of tokens.");
                (RunState::Complete, text, true)
            }
            "max_turn_requests" => {
                let text = format!("The answer was cut off: {name} reached its limit of steps in one turn.");
                (RunState::Complete, text, true)
            }
            // Agent commands such as `/compact` answer nothing.
            _ if !stage.timeline.has_output() => (RunState::Complete, NO_OUTPUT.to_owned(), false),
            _ => (RunState::Complete, String::new(), false),
        };
        stage.end(now, state, unfinished, &text, cut_off);
    }

    fn handle_update(&self, mut params: Value) {
        let update = params.get_mut("update").map(Value::take).unwrap_or_default();
        self.stage(|stage, now| {
            let theirs = params["sessionId"].as_str();
            let is_own = theirs.is_none() || stage.session.is_none() || theirs == stage.session.as_deref();
            let subagent = theirs.filter(|_| !is_own);
            if let Some(id) = subagent
                && !stage.subagents.knows(id)
            {
                return;
            }
            if let Some(update) = subagents::read(&update) {
                // Before the first prompt there is no turn that they belong to.
                if stage.early.is_none() {
                    stage.apply_subagent(now, subagent, update);
                }
                return;
            }
            if is_own {
                self.apply_options(stage, now, &update);
                if let Some(part) = from_wire::state(&update) {
                    stage.record(part);
                    return;
                }
            }
            if let Some(note) = from_wire::note(&update) {
                if !stage.replaying {
                    stage.output(now, subagent, |timeline| timeline.add_note(now, note));
                }
                return;
            }
            let Ok(update) = serde_json::from_value::<wire::SessionUpdate>(update) else {
                tracing::debug!(agent = self.name, "skipped an unknown update");
                return;
            };
            let is_past = stage.replaying;
            match &mut stage.early {
                _ if is_past => {}
                Some(early) if early.len() < EARLY_UPDATES => early.push(update),
                Some(_) => {}
                None => {
                    stage.output(now, subagent, |timeline| from_wire::add_update(timeline, now, update));
                }
            }
        });
    }

    /// Starts a turn. `None` if the agent has exited.
    pub(super) fn begin(
        &self,
        session: &str,
        prompt: &Prompt<'_>,
        host: Arc<dyn AgentHost>,
        access: Arc<Access>,
    ) -> Option<mpsc::Receiver<PromptOutcome>> {
        let (done, outcome) = mpsc::channel();
        self.stage(|stage, now| {
            if stage.closed || self.connection.is_gone() {
                return None;
            }
            self.cancelled.store(false, Ordering::SeqCst);
            stage.idle_since = now;
            stage.silence.end(now);
            stage.host = Host(Some(host));
            stage.logged_out = false;
            stage.subagent_asks.clear();
            stage.timeline.begin_turn(now);
            for update in stage.early.take().unwrap_or_default() {
                from_wire::add_update(&mut stage.timeline, now, update);
            }
            stage.timeline.begin_answer(now);
            let asks = CancellationToken::new();
            stage.may_change_approval_mode =
                prompt.may_change_approval_mode && lowering_command(prompt.text).is_some();
            stage.turn = Some(Turn {
                asks,
                access,
                done,
                refused: false,
                edits_allowed: false,
                message: String::new(),
            });
            let text = prompt.brief.map(|brief| format!("{brief}{}", prompt.text));
            let text = text.as_deref().unwrap_or(prompt.text);
            stage.prompt = Some(self.send_prompt(session, blocks(text, prompt.links, prompt.images)));
            Some(outcome)
        })
    }

    fn send_prompt(&self, session: &str, prompt: Vec<Value>) -> u64 {
        self.connection.request("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
    }

    pub(super) fn abilities(&self) -> Abilities {
        self.abilities.get().copied().unwrap_or_default()
    }

    pub(super) fn set_abilities(&self, abilities: Abilities) {
        // Set once per process.
        let _ = self.abilities.set(abilities);
    }

    /// Gives the agent a prompt during its turn. Returns whether it took it. Waits for its answer, which may come only
    /// after the user has answered its question, but not longer than the turn lasts.
    pub(super) fn steer(&self, request: &SteerRequest) -> bool {
        if !self.abilities().steering || !request.images.is_empty() && !self.abilities().images {
            return false;
        }
        let prompt = blocks(&request.text, &request.links, &request.images);
        let answer = self.stage(|stage, _| {
            let session = stage.session.as_deref().filter(|_| stage.turn.is_some() && !stage.closed)?;
            // Without a turn the agent must not begin one that we do not know of.
            let meta = json!({"steering": {"idleBehavior": "promptRequired"}});
            let params = json!({"sessionId": session, "prompt": prompt, "_meta": meta});
            Some(self.connection.call("_session/steering", &params).1)
        });
        let Some(answer) = answer else { return false };
        let mut ended = None;
        loop {
            match answer.recv_timeout(ACP_CANCEL_CHECK) {
                Ok(answer) => return answer.is_ok_and(|answer| answer["outcome"] == "injected"),
                Err(mpsc::RecvTimeoutError::Disconnected) => return false,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if self.stage.lock().turn.is_some() {
                ended = None;
            } else if ended.get_or_insert_with(Instant::now).elapsed() >= self.timeouts.cancel {
                return false;
            }
        }
    }

    /// Stops the work of one sub-agent. Returns whether it can be stopped by itself.
    pub(super) fn stop_subagent(&self, id: &str) -> bool {
        let id = id.strip_prefix(SUBAGENT_PREFIX).unwrap_or(id);
        let can_stop = self.stage(|stage, _| {
            let can_stop = stage.subagents.can_stop(id);
            if can_stop {
                stage.cancel_asks_of(id);
            }
            can_stop
        });
        if can_stop {
            self.connection.notify("session/cancel", &json!({"sessionId": id}));
        }
        can_stop
    }

    /// Ends the turn, whatever the agent does: immediately, or before its next message if one is being handled.
    pub(super) fn cancel(&self, session: &str) {
        if !self.cancelled.swap(true, Ordering::SeqCst) {
            self.connection.notify("session/cancel", &json!({"sessionId": session}));
        }
        if let Some(mut stage) = self.stage.try_lock() {
            self.apply_cancel(&mut stage);
        }
    }

    fn apply_cancel(&self, stage: &mut Stage) {
        if !self.cancelled.load(Ordering::SeqCst) || stage.turn.is_none() {
            return;
        }
        self.staged(stage, |stage, now| {
            stage.cancel_deadline = Some(now + self.timeouts.cancel);
            stage.end(now, RunState::Cancelled, "Cancelled", CANCELLED, false);
        });
    }

    /// Returns whether an earlier prompt is unanswered.
    pub(super) fn is_busy(&self) -> bool {
        self.stage.lock().prompt.is_some()
    }

    pub(super) fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    /// Waits while the agent starts. Returns its session; `None` if it has exited, or takes too long.
    pub(super) fn wait_for_session(&self) -> Option<String> {
        let deadline = Instant::now() + self.timeouts.start;
        while !self.open.load(Ordering::SeqCst) {
            if self.is_gone() || Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(ACP_CANCEL_CHECK);
        }
        let stage = self.stage.lock();
        stage.session.clone().filter(|_| !stage.closed && !self.connection.is_gone())
    }

    pub(super) fn is_gone(&self) -> bool {
        self.stage.lock().closed || self.connection.is_gone()
    }

    fn close_session(&self) {
        self.connection.close();
        let why = self.connection.exit_reason();
        self.terminals.release_all();
        self.stage(|stage, now| {
            stage.closed = true;
            stage.prompt = None;
            stage.sets.clear();
            let unfinished = format!("{} exited before this finished", self.name);
            stage.timeline.close_notes(now, &unfinished);
            stage.subagents.close(now, &unfinished, &mut stage.timeline);
            stage.end(now, RunState::Failed, &unfinished, &format!("❌ {why}"), false);
            stage.timeline.close_open(now, &unfinished);
        });
    }
}
