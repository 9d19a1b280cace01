//! Scripted agents, and a bridge that runs them.

use super::{Client, Scripted, TestBridge, config, echo};
use openagents_bridge::{Bridge, Explore, Providers};
use openagents_core::{
    CancellationToken,
    agent::*,
    agent_ids::{CLAUDE_CODE, CODEX},
    approval::*,
    model::*,
    update::*,
};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{
        Arc, Condvar, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub type Session = Arc<dyn AgentHost>;

type Turn = dyn Fn(&AgentRequest, &Session, &CancellationToken) -> RunState + Send + Sync;

pub struct ScriptedAgent {
    pub id: String,
    pub local: bool,
    pub decides_what_it_asks: AtomicBool,
    pub availability: Mutex<Availability>,
    pub turn: Box<Turn>,
    /// Set for an agent that runs in our agent loop.
    pub model: Option<Arc<dyn LanguageModel>>,
    /// The next turn reaches a limit.
    pub cut_off: AtomicBool,
    pub requests: Mutex<Vec<AgentRequest>>,
    pub closed: Mutex<Vec<String>>,
    /// Prompts that came during a turn; `None`: it takes none.
    pub steered: Mutex<Option<Vec<String>>>,
    /// The ids of the sessions that it keeps itself.
    pub own: Mutex<Vec<String>>,
}

impl std::fmt::Debug for ScriptedAgent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.id)
    }
}

impl ScriptedAgent {
    pub fn new(
        id: &str,
        turn: impl Fn(&AgentRequest, &Session, &CancellationToken) -> RunState + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: id.to_owned(),
            local: false,
            decides_what_it_asks: AtomicBool::new(false),
            availability: Mutex::new(Availability::Ready),
            turn: Box::new(turn),
            model: None,
            cut_off: AtomicBool::new(false),
            requests: Mutex::default(),
            closed: Mutex::default(),
            steered: Mutex::default(),
            own: Mutex::default(),
        })
    }
}

/// A model that delegates its first task to Codex and then repeats the report.
#[derive(Debug)]
pub struct Delegating {
    pub offered: Mutex<Vec<String>>,
}

impl LanguageModel for Delegating {
    fn id(&self) -> &str {
        "delegating"
    }
    fn name(&self) -> String {
        "Delegating".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { tools: true, local: true, loaded: true }
    }
    fn availability(&self) -> Availability {
        Availability::Ready
    }
    fn respond(
        &self,
        request: &ModelRequest,
        _: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        *self.offered.lock().unwrap() = request.tools.iter().map(|tool| tool.name.clone()).collect();
        match request.messages.last() {
            Some(Message::Tool { text, .. }) => {
                let report: Value = serde_json::from_str(text).unwrap();
                on_event(ModelEvent::Text(format!("Codex says: {}", report["notes"])));
                Ok(StopReason::EndTurn)
            }
            _ => {
                let arguments = json!({"user_prompt": "Fix it"});
                let (id, name) = ("1".to_owned(), "codex.run".to_owned());
                on_event(ModelEvent::ToolCall(CallRequest { id, name, arguments }));
                Ok(StopReason::ToolCalls)
            }
        }
    }
}

impl AgentProvider for ScriptedAgent {
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> String {
        match self.id.as_str() {
            CODEX => "Codex".to_owned(),
            CLAUDE_CODE => "Claude Code".to_owned(),
            other => other.to_owned(),
        }
    }
    fn is_local(&self) -> bool {
        self.local
    }
    fn program(&self, _cancel: &CancellationToken) -> Option<std::path::PathBuf> {
        (self.id == CODEX).then(|| "/usr/bin/codex".into())
    }
    fn decides_what_it_asks(&self) -> bool {
        self.decides_what_it_asks.load(Ordering::SeqCst)
    }
    fn deletes_next(&self, _: &Path, _: &CancellationToken) -> usize {
        if self.id == CLAUDE_CODE { 12 } else { 0 }
    }
    fn availability(&self) -> Availability {
        self.availability.lock().unwrap().clone()
    }
    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        self.model.clone()
    }
    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        self.requests.lock().unwrap().push(request.clone());
        let state = (self.turn)(request, &host, cancel);
        let cut_off = self.cut_off.swap(false, Ordering::SeqCst);
        PromptOutcome { state, text: String::new(), usage: None, cut_off }
    }
    fn steer(&self, request: &SteerRequest) -> bool {
        let mut steered = self.steered.lock().unwrap();
        steered.as_mut().map(|texts| texts.push(request.text.clone())).is_some()
    }
    fn set_option(&self, _: &str, _: &str, _: &OptionValue) -> Result<Option<Vec<SessionOption>>, String> {
        Ok(None)
    }
    fn own_sessions(&self, _: &Path, _: &CancellationToken) -> Result<Vec<OwnSession>, String> {
        let row = |id: &String| OwnSession { id: id.clone(), title: None, updated_at: Some(1) };
        Ok(self.own.lock().unwrap().iter().map(row).collect())
    }
    fn delete_own_session(&self, _: &Path, id: &str, _: &CancellationToken) -> Result<(), String> {
        self.own.lock().unwrap().retain(|own| own != id);
        Ok(())
    }
    fn stop_subagent(&self, _: &str, _: &str) -> bool {
        false
    }
    fn ask_before_edits(&self, _: &str) {}
    fn close(&self, session_id: &str) {
        self.closed.lock().unwrap().push(session_id.to_owned());
    }
}

/// A terminal that shows what is typed.
#[derive(Debug, Default)]
pub struct ScriptedLogin {
    typed: Mutex<Vec<String>>,
    changed: Condvar,
}

impl LoginTerminal for ScriptedLogin {
    fn screen(&self, since: u64, wait: Duration) -> LoginScreen {
        let is_same = |typed: &mut Vec<String>| typed.len() as u64 <= since;
        let typed = self.changed.wait_timeout_while(self.typed.lock().unwrap(), wait, is_same).unwrap().0;
        LoginScreen { version: typed.len() as u64, lines: typed.clone(), ..LoginScreen::default() }
    }
    fn type_text(&self, text: &str) -> Result<(), String> {
        self.typed.lock().unwrap().push(text.to_owned());
        self.changed.notify_all();
        Ok(())
    }
    fn stop(&self) {}
}

#[derive(Default)]
pub struct ScriptedAgents {
    pub agents: Vec<Arc<ScriptedAgent>>,
    pub login: Arc<ScriptedLogin>,
    pub snapshot: Mutex<AgentsSnapshot>,
    pub watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    pub shut_down: AtomicBool,
    pub store: OnceLock<Arc<dyn SettingsStore>>,
}

impl std::fmt::Debug for ScriptedAgents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ScriptedAgents")
    }
}

impl Agents for ScriptedAgents {
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>> {
        self.agents.iter().cloned().map(|agent| agent as Arc<dyn AgentProvider>).collect()
    }
    fn snapshot(&self) -> AgentsSnapshot {
        self.snapshot.lock().unwrap().clone()
    }
    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>) {
        self.watchers.lock().unwrap().push(on_change);
    }
    fn command(&self, command: AgentCommand) -> Result<(), AgentsError> {
        match command {
            AgentCommand::Check => self.snapshot.lock().unwrap().checked_at = Some(1),
            AgentCommand::Add { agent } => self.snapshot.lock().unwrap().settings.custom.push(agent),
            AgentCommand::Remove { id } => return Err(AgentsError::Unknown(id)),
            AgentCommand::Configure { settings: change } => {
                let mut snapshot = self.snapshot.lock().unwrap();
                let settings = &mut snapshot.settings;
                settings.choose = change.choose.unwrap_or(settings.choose);
                if let Some(WorkspaceAgent { workspace, agent: Some(agent) }) = change.workspace_agent {
                    settings.workspace_agents.insert(workspace, agent);
                }
                for UnaskedAgent { agent, folder } in change.unasked {
                    settings.unasked.entry(agent).or_default().insert(folder);
                }
                let store = self.store.get().unwrap();
                store.set(AGENT_SETTINGS, serde_json::to_value(settings).unwrap()).unwrap();
            }
            AgentCommand::LoginType { text, .. } => {
                self.login.type_text(&text).map_err(AgentsError::Refused)?
            }
            other => return Err(AgentsError::Refused(format!("{other:?} is tested in the agents crate"))),
        }
        self.watchers.lock().unwrap().iter().for_each(|on_change| on_change());
        Ok(())
    }
    fn login(&self, _id: &str) -> Option<Arc<dyn LoginTerminal>> {
        Some(self.login.clone())
    }
    fn shut_down(&self) {
        self.shut_down.store(true, Ordering::SeqCst);
    }
}

pub async fn start_with(home: &Path, workspace: &Path, agents: Arc<ScriptedAgents>) -> Bridge {
    Bridge::start_with(config(home, workspace), |surroundings| {
        let _ = agents.store.set(surroundings.settings);
        let explorer: Arc<dyn Explore> = Arc::new(Scripted::new(echo));
        Providers { explorer, models: None, agents: Some(agents), foundation: None }
    })
    .await
    .unwrap()
}

/// Starts a bridge with agents, in a trusted workspace.
pub async fn test_bridge(agents: Vec<Arc<ScriptedAgent>>) -> (TestBridge, Arc<ScriptedAgents>) {
    let (test, agents) = untrusted_bridge(agents).await;
    trust(&test, &test.workspace).await;
    (test, agents)
}

/// Trusts a folder, as `openagents workspaces trust` does.
pub async fn trust(test: &TestBridge, folder: &Path) -> Value {
    test.acp().await.request("_openagents/trust/add", json!({"path": folder})).await
}

/// Starts a bridge with agents, in a workspace that is not trusted yet.
pub async fn untrusted_bridge(agents: Vec<Arc<ScriptedAgent>>) -> (TestBridge, Arc<ScriptedAgents>) {
    let (home, folders) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = folders.path().canonicalize().unwrap().join("demo");
    std::fs::create_dir(&workspace).unwrap();
    let agents = Arc::new(ScriptedAgents { agents, ..ScriptedAgents::default() });
    let bridge = start_with(home.path(), &workspace, agents.clone()).await;
    (TestBridge { home, workspace, bridge, _folders: folders }, agents)
}

pub async fn session_in(client: &mut Client, test: &TestBridge, mode: &str) -> Value {
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": mode})).await;
    session
}

pub fn update(update: SessionUpdate) -> AgentEvent {
    AgentEvent::Update(update)
}

pub fn say(host: &Session, text: &str) {
    let message_id = Some("answer".to_owned());
    let message = AgentMessage { text: text.to_owned(), message_id, ..AgentMessage::default() };
    host.emit(update(SessionUpdate::AgentMessage(message)));
}

/// Emits the final message of a turn.
pub fn end(host: &Session, text: &str) {
    let message_id = Some("end".to_owned());
    let message = AgentMessage { text: text.to_owned(), message_id, ended: true, ..AgentMessage::default() };
    host.emit(update(SessionUpdate::AgentMessage(message)));
}

pub fn call(host: &Session, id: &str, name: &str) {
    host.emit(update(SessionUpdate::ToolCall(ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        arguments: serde_json::Map::new(),
        op_hash: None,
        stage: None,
        details: ToolCallDetails::default(),
    })));
}

pub fn call_update(host: &Session, id: &str, status: ToolCallStatus) {
    host.emit(update(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
        call_id: id.to_owned(),
        status,
        late: false,
        details: ToolCallDetails::default(),
    })));
}

pub fn completed(host: &Session, id: &str) {
    call_update(host, id, ToolCallStatus::Completed { output: json!({}), cut: Cut::default() });
}

pub fn wants_to_edit(call_id: &str, file: &str) -> ApprovalRequest {
    let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
    ApprovalRequest {
        subject: ApprovalSubject::Action,
        call_id: call_id.to_owned(),
        agent: "Codex".to_owned(),
        title: format!("Edit {file}"),
        raw_input: Some(json!({"path": file})),
        command: None,
        cut: false,
        options: vec![option("yes", OptionKind::AllowOnce), option("no", OptionKind::RejectOnce)],
    }
}

pub fn asks_to_edit(file: &str, host: &Session, cancel: &CancellationToken) -> RunState {
    let call_id = uuid();
    call(host, &call_id, "edit");
    let outcome = host.ask(wants_to_edit(&call_id, file), cancel);
    match outcome {
        ApprovalOutcome::Selected { option_id, .. } => {
            completed(host, &call_id);
            end(host, &format!("told {option_id}"));
            RunState::Complete
        }
        ApprovalOutcome::Cancelled => {
            call_update(host, &call_id, ToolCallStatus::Error { message: "not allowed".to_owned() });
            end(host, "Cancelled.");
            RunState::Cancelled
        }
    }
}

pub fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub fn until_cancelled(host: &Session, cancel: &CancellationToken) -> RunState {
    while !cancel.is_cancelled() {
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    end(host, "Cancelled.");
    RunState::Cancelled
}

pub fn ours(note: &Value) -> &Value {
    &note["_meta"]["openagents"]
}

pub fn approval(note: &Value) -> &Value {
    &note["update"]["_meta"]["openagents"]["approval"]
}

/// Waits for a pending approval and returns it.
pub async fn asked(client: &mut Client) -> Value {
    loop {
        let note = client.note().await;
        if approval(&note)["state"] == "pending" {
            return approval(&note).clone();
        }
    }
}

/// A client that reads approvals from the log, like ours.
pub async fn ours_client(test: &TestBridge, name: &str) -> Client {
    client_of(test, name, true).await
}

/// A third-party client.
pub async fn others_client(test: &TestBridge, name: &str) -> Client {
    client_of(test, name, false).await
}

async fn client_of(test: &TestBridge, name: &str, approvals: bool) -> Client {
    let mut client = test.acp().await;
    let params = json!({
        "protocolVersion": 1,
        "clientInfo": {"name": name, "version": "1"},
        "clientCapabilities": {"session": {"configOptions": {}}, "_meta": {"openagents": {"approvals": approvals}}},
    });
    client.request("initialize", params).await;
    client
}
