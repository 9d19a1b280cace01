//! A host that collects updates, and the invariants of every turn.

use openagents_agents::acp::{AcpAgent, AcpAgentConfig, AcpCommand, AcpTimeouts, AskingLevel, LevelSetting};
use openagents_core::{
    CancellationToken,
    agent::{
        AccessLimits, AgentEvent, AgentHost, AgentProvider, AgentRequest, Conversation, EarlierKind,
        EarlierSession, PromptOutcome,
    },
    approval::{ApprovalOutcome, ApprovalRequest, Approvals, OptionKind},
    model::Activity,
    update::{AgentPart, OptionChoices, SessionUpdate, ToolCallStatus, ToolContent},
};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

/// Limit of every wait in the tests; longer means a hang.
pub(crate) const HANGS: Duration = Duration::from_secs(60);

/// The answer to an approval request.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    Kind(OptionKind),
    /// Denies, with a message for the agent.
    Denial(&'static str),
    Id(String),
    /// Answers a question.
    Answers(serde_json::Value),
    /// Waits until the request is withdrawn.
    Nothing,
    /// Writes a file while the request is open, then approves.
    Rewriting(PathBuf, String),
}

#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) updates: Mutex<Vec<SessionUpdate>>,
    changed: Condvar,
    pub(crate) asked: Mutex<Vec<ApprovalRequest>>,
    pub(crate) answers: Mutex<VecDeque<Say>>,
    pub(crate) remembered: Mutex<Vec<String>>,
    /// The parts of the agent's state, as reported.
    pub(crate) states: Mutex<Vec<AgentPart>>,
    /// The values that clients chose.
    pub(crate) choices: Mutex<OptionChoices>,
    /// A summary of the earlier conversation.
    pub(crate) brief: Mutex<Option<String>>,
    pub(crate) activities: Mutex<Vec<Option<Activity>>>,
}

impl AgentHost for Host {
    fn emit(&self, event: AgentEvent) {
        match event {
            AgentEvent::Update(update) => self.updates.lock().unwrap().push(update),
            AgentEvent::Activity(activity) => self.activities.lock().unwrap().push(activity),
        }
        self.changed.notify_all();
    }

    fn remember(&self, agent_session_id: &str) {
        self.remembered.lock().unwrap().push(agent_session_id.to_owned());
    }

    fn report(&self, part: AgentPart) {
        self.states.lock().unwrap().push(part);
    }

    fn choices(&self) -> OptionChoices {
        self.choices.lock().unwrap().clone()
    }

    fn brief(&self) -> Option<String> {
        self.brief.lock().unwrap().clone()
    }
}

impl Approvals for Host {
    fn ask(&self, request: ApprovalRequest, cancel: &CancellationToken) -> ApprovalOutcome {
        {
            let updates = self.updates.lock().unwrap();
            let own = |update: &SessionUpdate| match update {
                SessionUpdate::Delegated(delegated) => (*delegated.update).clone(),
                update => update.clone(),
            };
            let known = updates.iter().map(own).any(
                |update| matches!(update, SessionUpdate::ToolCall(call) if call.call_id == request.call_id),
            );
            assert!(known, "asked for a call that was not announced: {request:?}");
        }
        let say = self.answers.lock().unwrap().pop_front().unwrap_or(Say::Kind(OptionKind::AllowOnce));
        let options = request.options.clone();
        self.asked.lock().unwrap().push(request);
        self.changed.notify_all();
        let (mut message, mut content) = (None, None);
        let chosen = match say {
            Say::Denial(words) => {
                message = Some(words.to_owned());
                options.into_iter().find(|option| option.kind == OptionKind::RejectOnce)
            }
            Say::Kind(kind) => options.into_iter().find(|option| option.kind == kind),
            Say::Id(id) => options.into_iter().find(|option| option.id == id),
            Say::Answers(answers) => {
                content = answers.as_object().cloned();
                options.into_iter().find(|option| option.id == "accept")
            }
            Say::Rewriting(path, text) => {
                std::fs::write(path, text).unwrap();
                options.into_iter().find(|option| option.kind == OptionKind::AllowOnce)
            }
            Say::Nothing => {
                let begin = Instant::now();
                while !cancel.is_cancelled() {
                    assert!(begin.elapsed() < HANGS, "the question was not withdrawn");
                    std::thread::sleep(Duration::from_millis(5));
                }
                None
            }
        };
        chosen.map_or(ApprovalOutcome::Cancelled, |option| ApprovalOutcome::Selected {
            option_id: option.id,
            message,
            content: content.take(),
        })
    }
}

impl Host {
    pub(crate) fn with(answers: impl IntoIterator<Item = Say>) -> Arc<Self> {
        let host = Self::default();
        host.answers.lock().unwrap().extend(answers);
        Arc::new(host)
    }

    pub(crate) fn wait(&self, what: &str, mut is_so: impl FnMut(&[SessionUpdate]) -> bool) {
        let begin = Instant::now();
        let mut updates = self.updates.lock().unwrap();
        while !is_so(&updates) {
            assert!(begin.elapsed() < HANGS, "waited for {what} in vain: {updates:#?}");
            updates = self.changed.wait_timeout(updates, Duration::from_millis(50)).unwrap().0;
        }
    }

    pub(crate) fn wait_for_text(&self, text: &str) {
        self.wait(text, |updates| folded(updates, Path::new("/nowhere")).contains(text));
    }

    pub(crate) fn wait_for_question(&self) {
        self.wait("a question", |_| !self.asked.lock().unwrap().is_empty());
    }

    pub(crate) fn count(&self) -> usize {
        self.updates.lock().unwrap().len()
    }

    pub(crate) fn since(&self, from: usize) -> Vec<SessionUpdate> {
        self.updates.lock().unwrap()[from..].to_vec()
    }

    /// Shows the session as a client would draw it.
    pub(crate) fn shown(&self, root: &Path) -> String {
        folded(&self.updates.lock().unwrap(), root)
    }
}

/// An agent with its own workspace.
pub(crate) struct Scene {
    pub(crate) agent: Arc<AcpAgent>,
    pub(crate) host: Arc<Host>,
    pub(crate) root: PathBuf,
    pub(crate) folder: tempfile::TempDir,
}

#[derive(Default)]
pub(crate) struct Setup<'a> {
    pub(crate) args: Vec<String>,
    pub(crate) environment: &'a [(&'a str, &'a str)],
    pub(crate) timeouts: AcpTimeouts,
    pub(crate) login: Option<String>,
    /// The settings that make the agent ask; without one it decides when to ask.
    pub(crate) asks: &'static [LevelSetting],
    pub(crate) hides_files: bool,
    pub(crate) never_loads: bool,
}

impl Setup<'_> {
    pub(crate) fn scene(self, host: Arc<Host>) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap().join("project");
        std::fs::create_dir(&root).unwrap();
        let mut environment = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        environment.insert("OPENAGENTS_TOKEN".to_owned(), "secret".to_owned());
        let own = self.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        environment.extend(own);
        let program = openagents_e2e::terminal::program("fake-agent").unwrap();
        let command = AcpCommand { program, args: self.args, environment, added: BTreeMap::new(), cwd: None };
        let mut config = AcpAgentConfig::new("custom:fake", "Fake", Arc::new(move || command.clone()));
        (config.login, config.timeouts) = (self.login, self.timeouts);
        if !self.asks.is_empty() {
            config.asks = AskingLevel::Settings(self.asks);
        }
        (config.reads_files_here, config.loads) = (!self.hides_files, !self.never_loads);
        let agent = AcpAgent::new(config);
        Scene { agent: Arc::new(agent), host, root, folder }
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        Setup::default().scene(Host::with([]))
    }

    pub(crate) fn answering(answers: impl IntoIterator<Item = Say>) -> Self {
        Setup::default().scene(Host::with(answers))
    }

    pub(crate) fn request(&self, text: &str) -> AgentRequest {
        AgentRequest {
            images: Vec::new(),
            session_id: "session".to_owned(),
            root: self.root.clone(),
            text: text.to_owned(),
            transcript: Conversation::default(),
            links: Vec::new(),
            tools: Vec::new(),
            resume: None,
            limits: AccessLimits::default(),
            may_change_approval_mode: false,
        }
    }

    /// Sends a prompt, waits for the end of its turn and checks the invariants.
    pub(crate) fn prompt(&self, text: &str) -> PromptOutcome {
        self.turn(&self.request(text), &CancellationToken::new())
    }

    pub(crate) fn turn(&self, request: &AgentRequest, cancel: &CancellationToken) -> PromptOutcome {
        let from = self.host.count();
        let outcome = self.agent.prompt(request, self.host.clone(), cancel);
        check_turn(&self.host.since(from), &outcome);
        outcome
    }

    /// Sends a prompt and cancels it once `is_time` returns.
    pub(crate) fn cancelled(&self, text: &str, is_time: impl FnOnce(&Host)) -> PromptOutcome {
        let cancel = CancellationToken::new();
        std::thread::scope(|scope| {
            let turn = scope.spawn(|| self.turn(&self.request(text), &cancel));
            is_time(&self.host);
            cancel.cancel();
            turn.join().unwrap()
        })
    }

    pub(crate) fn shown(&self) -> String {
        self.host.shown(&self.root)
    }
}

/// The agent's session from an earlier turn.
#[expect(clippy::unnecessary_wraps, reason = "as a request has it")]
pub(crate) fn earlier() -> Option<EarlierSession> {
    Some(EarlierSession { id: "earlier".to_owned(), kind: EarlierKind::Own })
}

/// Checks that every call of the turn is closed and that it has exactly one outcome.
#[track_caller]
pub(crate) fn check_turn(updates: &[SessionUpdate], outcome: &PromptOutcome) {
    assert_eq!(open_calls(updates), Vec::<&str>::new(), "open calls: {updates:#?}");
    check_last_word(updates);
    assert_ne!(outcome.state, openagents_core::update::RunState::Running);
}

/// Returns the calls that have not ended.
pub(crate) fn open_calls(updates: &[SessionUpdate]) -> Vec<&str> {
    let mut open: Vec<&str> = Vec::new();
    for update in updates {
        match update {
            SessionUpdate::ToolCall(call) => open.push(&call.call_id),
            SessionUpdate::ToolCallUpdate(update) => {
                if matches!(update.status, ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. }) {
                    open.retain(|id| *id != update.call_id);
                }
            }
            _ => {}
        }
    }
    open
}

/// Checks that there is exactly one outcome and that later updates are late.
#[track_caller]
pub(crate) fn check_last_word(updates: &[SessionUpdate]) {
    let mut ended = None;
    for (at, update) in updates.iter().enumerate() {
        if matches!(update, SessionUpdate::AgentMessage(message) if message.ended) {
            assert_eq!(ended, None, "two last words: {updates:#?}");
            ended = Some(at);
        }
    }
    let ended = ended.unwrap_or_else(|| panic!("no last word: {updates:#?}"));
    for update in &updates[ended + 1..] {
        assert!(
            is_late(update) || matches!(update, SessionUpdate::ToolCall(_)),
            "after the last word: {update:#?}"
        );
    }
}

/// Returns whether an update belongs to an ended turn.
pub(crate) fn is_late(update: &SessionUpdate) -> bool {
    match update {
        SessionUpdate::AgentMessage(message) => message.late,
        SessionUpdate::AgentThought(thought) => thought.late,
        SessionUpdate::ToolCallUpdate(update) => update.late,
        _ => false,
    }
}

/// Joins updates as clients do: one block per message, thought, plan and call, at the position of its first update.
pub(crate) fn folded(updates: &[SessionUpdate], root: &Path) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let mut texts: HashMap<String, usize> = HashMap::new();
    let mut calls: Vec<(String, usize, Vec<String>, String, String)> = Vec::new();
    for update in updates {
        let text = match update {
            SessionUpdate::AgentMessage(it) => Some(("says", &it.message_id, &it.text, it.late, it.ended)),
            SessionUpdate::AgentThought(it) => Some(("thinks", &it.message_id, &it.text, it.late, false)),
            _ => None,
        };
        if let Some((voice, id, text, late, ended)) = text {
            let id = id.clone().expect("a message without an id");
            let at = *texts.entry(id).or_insert_with(|| {
                blocks.push(format!("{}{voice}: ", if late { "late, " } else { "" }));
                blocks.len() - 1
            });
            blocks[at].push_str(text);
            if ended {
                blocks[at].push_str(" ∎");
            }
        }
        match update {
            SessionUpdate::ToolCall(call) => {
                let arguments = serde_json::to_string(&call.arguments).unwrap();
                blocks.push(format!("call {} {arguments}", call.name));
                let title = call.details.title.clone().unwrap_or_default();
                let content = show(&call.details.content);
                calls.push((call.call_id.clone(), blocks.len() - 1, Vec::new(), title, content));
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let (_, _, words, title, content) =
                    calls.iter_mut().find(|call| call.0 == update.call_id).expect("news of an unknown call");
                let word = match &update.status {
                    ToolCallStatus::Unchanged => "news".to_owned(),
                    ToolCallStatus::Started { .. } => "started".to_owned(),
                    ToolCallStatus::Completed { output, .. } => format!("completed {output}"),
                    ToolCallStatus::Error { message } => format!("error: {message}"),
                };
                let word = if update.late { format!("late {word}") } else { word };
                if words.last() != Some(&word) {
                    words.push(word);
                }
                if let Some(new) = &update.details.title {
                    title.clone_from(new);
                }
                if !update.details.content.is_empty() {
                    *content = show(&update.details.content);
                }
            }
            SessionUpdate::Plan(plan) => {
                let entries = plan.entries.iter().map(|entry| {
                    format!("{} {:?} {}", entry.content, entry.status, entry.error.as_deref().unwrap_or(""))
                });
                let entries: Vec<_> = entries.map(|entry| entry.trim_end().to_owned()).collect();
                blocks.push(format!("plan {}: {}", plan.state.as_str(), entries.join(" | ")));
            }
            _ => {}
        }
    }
    for (_, at, words, title, content) in calls {
        let block = &mut blocks[at];
        // The number of terminal updates, and whether the command or its call ends first, depend on timing.
        let words = if content.contains("\n  terminal ") {
            &words[words.len().saturating_sub(1)..]
        } else {
            &words[..]
        };
        write!(block, "\n  {title}\n  {}", words.join(" → ")).unwrap();
        block.push_str(&content);
    }
    blocks.join("\n").replace(&root.display().to_string(), "ROOT")
}

fn show(content: &[ToolContent]) -> String {
    let piece = |piece: &ToolContent| match piece {
        ToolContent::Text { text } => format!("\n  text {text:?}"),
        ToolContent::Diff { path, old_text, new_text, .. } => {
            format!("\n  diff {path}: {old_text:?} → {new_text:?}")
        }
        ToolContent::Terminal { command, output, exit_code, signal, .. } => {
            format!("\n  terminal {command:?}: {output:?} {exit_code:?} {signal:?}")
        }
    };
    content.iter().map(piece).collect()
}
