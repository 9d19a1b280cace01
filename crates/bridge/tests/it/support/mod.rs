//! Starts a real bridge on a free port with a scripted explorer, and connects clients to it.

pub mod agents;
pub mod pairing;
pub mod remote;

use futures::{SinkExt, StreamExt};
use openagents_bridge::{Bridge, BridgeConfig, BridgeError, Explore, IosAccess, NetworkConfig, Providers};
use openagents_core::{
    CancellationToken,
    update::{
        AgentMessage, EntryStatus, PlanEntry, PlanSnapshot, RunState, SessionUpdate, Summary, ToolCall,
    },
};
use openagents_orchestration::explore::{ExploreOutcome, ExploreRequest};
use openagents_transcripts::history::HistoryRoots;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        http::{HeaderValue, Request, StatusCode},
        protocol::CloseFrame,
    },
};

/// Timeout of every wait, so that a hanging test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub type Emit<'a> = &'a (dyn Fn(SessionUpdate) + Sync);
type Script = Box<dyn Fn(&ExploreRequest, &CancellationToken, Emit<'_>) -> RunState + Send + Sync>;

/// Runs a closure instead of an exploration.
pub struct Scripted(Script);

impl Scripted {
    pub fn new(
        script: impl Fn(&ExploreRequest, &CancellationToken, Emit<'_>) -> RunState + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(script))
    }
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Scripted")
    }
}

impl Explore for Scripted {
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: Emit<'_>,
    ) -> ExploreOutcome {
        let state = (self.0)(request, cancel, emit);
        ExploreOutcome { state, summary: Summary::default(), ops: 0, message: String::new() }
    }
}

pub fn text(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), ..AgentMessage::default() })
}

/// Returns the final message of a turn.
pub fn last(text: &str) -> SessionUpdate {
    let message = AgentMessage { text: text.to_owned(), ended: true, ..AgentMessage::default() };
    SessionUpdate::AgentMessage(message)
}

/// Emits one message for each goal.
pub fn echo(request: &ExploreRequest, _: &CancellationToken, emit: Emit<'_>) -> RunState {
    request.goals.iter().for_each(|goal| emit(last(goal)));
    RunState::Complete
}

pub fn until_cancelled(_: &ExploreRequest, cancel: &CancellationToken, emit: Emit<'_>) -> RunState {
    emit(text("waiting\n\n"));
    while !cancel.is_cancelled() {
        std::thread::yield_now();
    }
    emit(last("cancelled"));
    RunState::Cancelled
}

/// Returns the updates of a run that is in its second step.
pub fn begun() -> Vec<SessionUpdate> {
    let entry = |status, op: &str| PlanEntry {
        content: format!("Step {op}"),
        status,
        op_id: op.to_owned(),
        op_hash: 7,
        tool: "search.grep".to_owned(),
        error: None,
    };
    let entries = vec![
        entry(EntryStatus::Completed, "one"),
        entry(EntryStatus::InProgress, "two"),
        entry(EntryStatus::Pending, "three"),
    ];
    let plan = PlanSnapshot {
        plan_id: "plan".to_owned(),
        goals: vec!["Understand it".to_owned()],
        state: RunState::Running,
        entries,
    };
    let call = ToolCall {
        call_id: "two".to_owned(),
        name: "search.grep".to_owned(),
        arguments: serde_json::Map::new(),
        op_hash: Some(7),
        stage: None,
        details: Default::default(),
    };
    vec![SessionUpdate::Plan(plan), SessionUpdate::ToolCall(call)]
}

/// A bridge with its own data folder and workspace.
pub struct TestBridge {
    pub home: TempDir,
    pub workspace: PathBuf,
    pub bridge: Bridge,
    pub _folders: TempDir,
}

impl TestBridge {
    pub async fn new(
        script: impl Fn(&ExploreRequest, &CancellationToken, Emit<'_>) -> RunState + Send + Sync + 'static,
    ) -> Self {
        let (home, folders) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let workspace = folders.path().canonicalize().unwrap().join("demo");
        std::fs::create_dir(&workspace).unwrap();
        let bridge = start(home.path(), &workspace, script).await.unwrap();
        Self { home, workspace, bridge, _folders: folders }
    }

    pub fn port(&self) -> u16 {
        self.bridge.address().port()
    }

    pub async fn acp(&self) -> Client {
        acp(self.port(), self.bridge.token()).await
    }

    /// An app that reconnects after its socket broke. Retries until the server has noticed, like the app.
    pub async fn phone_again(&self) -> Client {
        loop {
            let mut phone = self.phone().await;
            // The answer to a request comes after the resumed updates.
            phone.request("tinyvex/history.recentSessions", json!({})).await;
            if !phone.notes.is_empty() {
                return phone;
            }
            phone.socket.close(None).await.unwrap();
            while phone.socket.next().await.is_some() {}
        }
    }

    /// An initialized app.
    pub async fn phone(&self) -> Client {
        phone(self.port()).await
    }
}

pub fn config(home: &Path, workspace: &Path) -> BridgeConfig {
    BridgeConfig {
        home: home.to_owned(),
        port: 0,
        root: workspace.to_owned(),
        ios: Some(IosAccess::Allow),
        network: NetworkConfig { announce: false, ..NetworkConfig::default() },
        history: HistoryRoots::default(),
        temporary: false,
    }
}

pub async fn start(
    home: &Path,
    workspace: &Path,
    script: impl Fn(&ExploreRequest, &CancellationToken, Emit<'_>) -> RunState + Send + Sync + 'static,
) -> Result<Bridge, BridgeError> {
    start_as(config(home, workspace), script).await
}

pub async fn start_as(
    config: BridgeConfig,
    script: impl Fn(&ExploreRequest, &CancellationToken, Emit<'_>) -> RunState + Send + Sync + 'static,
) -> Result<Bridge, BridgeError> {
    Bridge::start_with(config, |_| Providers {
        explorer: Arc::new(Scripted::new(script)),
        models: None,
        agents: None,
        foundation: None,
    })
    .await
}

pub fn request(port: u16, path: &str) -> Request<()> {
    format!("ws://127.0.0.1:{port}{path}").into_client_request().unwrap()
}

pub fn with(mut request: Request<()>, name: &'static str, value: &str) -> Request<()> {
    request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    request
}

pub async fn acp(port: u16, token: &str) -> Client {
    let mut client =
        Client::connect(with(request(port, "/acp"), "authorization", &format!("Bearer {token}")))
            .await
            .unwrap();
    let result = client.request("initialize", json!({"protocolVersion": 1})).await;
    client.id = result["_meta"]["openagents"]["connection"].as_str().unwrap().to_owned();
    client
}

pub async fn phone(port: u16) -> Client {
    let mut phone = Client::connect(request(port, "/")).await.unwrap();
    phone.request("initialize", json!({"protocol_version": "0.2.2", "client_info": {"name": "test"}})).await;
    phone
}

pub async fn refused(request: Request<()>) -> StatusCode {
    match Client::connect(request).await {
        Err(tungstenite::Error::Http(response)) => response.status(),
        other => panic!("not refused: {:?}", other.map(|_| ())),
    }
}

/// The transport of a socket: TCP or TLS.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

pub struct Client {
    pub socket: WebSocketStream<Box<dyn Wire>>,
    pub protocol: Option<String>,
    pub id: String,
    next_id: u64,
    /// Notifications received while waiting for something else.
    pub notes: VecDeque<Value>,
    pub queues: Vec<Value>,
    /// Answers to other requests, because a turn may end before the request that ended it is answered.
    answers: Vec<Value>,
}

impl Client {
    pub async fn connect(request: Request<()>) -> Result<Self, tungstenite::Error> {
        let place = request.uri().authority().unwrap().as_str().to_owned();
        Self::over(TcpStream::connect(place).await?, request).await
    }

    /// Connects over an existing transport.
    pub async fn over(wire: impl Wire + 'static, request: Request<()>) -> Result<Self, tungstenite::Error> {
        let wire: Box<dyn Wire> = Box::new(wire);
        let (socket, response) = tokio_tungstenite::client_async(request, wire).await?;
        let protocol =
            response.headers().get("sec-websocket-protocol").map(|p| p.to_str().unwrap().to_owned());
        Ok(Self {
            socket,
            protocol,
            id: String::new(),
            next_id: 1,
            notes: VecDeque::new(),
            queues: Vec::new(),
            answers: Vec::new(),
        })
    }

    pub async fn send(&mut self, frame: &Value) {
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request and returns its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Returns the next frame; keeps queue notifications.
    pub async fn frame(&mut self) -> Value {
        loop {
            let frame: Value = match self.message().await {
                Some(Message::Text(text)) => {
                    assert!(text.contains("\"jsonrpc\":\"2.0\""), "{text}");
                    serde_json::from_str(&text).unwrap()
                }
                other => panic!("the socket ended: {other:?}"),
            };
            match frame["method"] == "_openagents/queue" {
                true => self.queues.push(frame["params"].clone()),
                false => return frame,
            }
        }
    }

    /// Returns the next message that is not a ping.
    pub async fn message(&mut self) -> Option<Message> {
        loop {
            match tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("an answer in time") {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Returns the answer to a request, with `result` or `error`; keeps notifications.
    pub async fn answer(&mut self, id: u64) -> Value {
        if let Some(known) = self.answers.iter().position(|frame| frame["id"] == id) {
            return self.answers.swap_remove(known);
        }
        loop {
            let frame = self.frame().await;
            if frame["method"].is_string() {
                self.notes.push_back(frame);
                continue;
            }
            if frame["id"] == id {
                return frame;
            }
            self.keep(frame);
        }
    }

    fn keep(&mut self, answer: Value) {
        let was_asked = answer["id"].as_u64().is_some_and(|id| id < self.next_id);
        assert!(was_asked, "an unexpected answer: {answer}");
        self.answers.push(answer);
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        let answer = self.answer(id).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    pub async fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.ask(method, params).await;
        let answer = self.answer(id).await;
        let error = &answer["error"];
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// Returns the params of the next notification.
    pub async fn note(&mut self) -> Value {
        if let Some(frame) = self.notes.pop_front() {
            return frame["params"].clone();
        }
        loop {
            let frame = self.frame().await;
            if frame["method"].is_string() {
                return frame["params"].clone();
            }
            self.keep(frame);
        }
    }

    pub async fn notes_until(&mut self, text: &str) -> Vec<Value> {
        let mut notes = Vec::new();
        loop {
            let note = self.note().await;
            let found = note.to_string().contains(text);
            notes.push(note);
            if found {
                return notes;
            }
        }
    }

    pub async fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match self.message().await {
                Some(Message::Close(frame)) => return frame,
                Some(_) => {}
                None => return None,
            }
        }
    }
}

pub fn seq(note: &Value) -> u64 {
    note["_meta"]["openagents"]["seq"].as_u64().unwrap_or_else(|| panic!("no number in {note}"))
}

/// Returns the kinds and texts of the updates in notes.
pub fn shown(notes: &[Value]) -> Vec<String> {
    let show = |note: &Value| {
        let update = &note["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let text = [&update["content"]["text"], &update["content"]["content"]["text"], &update["title"]]
            .into_iter()
            .find_map(Value::as_str);
        text.map_or_else(|| kind.to_owned(), |text| format!("{kind}: {text}"))
    };
    notes.iter().map(show).collect()
}

pub fn prompt(session: &Value, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}
