//! The wire: outgoing frames, incoming responses, and the running turn.

use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

/// Set once the client cancels the turn.
pub(crate) type Turn = Arc<AtomicBool>;

#[derive(Debug, Default)]
pub(crate) struct Peer {
    session: Mutex<Session>,
    turn: Mutex<Turn>,
    waiting: Mutex<HashMap<String, mpsc::Sender<Value>>>,
    last_id: AtomicU64,
    /// Held for each frame, so that frames don't interleave.
    output: Mutex<()>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Session {
    pub id: String,
    pub cwd: String,
    pub prompts: u64,
    /// The links of the last prompt.
    pub links: Vec<String>,
    /// The types and sizes of its images.
    pub images: Vec<String>,
    /// Prompts that came during the turn.
    pub steered: Vec<String>,
    pub capabilities: Value,
    /// The MCP servers of the session, as sent.
    pub servers: Value,
    pub mode: String,
    pub speed: String,
    /// The sub-agents that the client has stopped.
    pub stopped: Vec<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peer {
    pub(crate) fn set_capabilities(&self, capabilities: Value) {
        lock(&self.session).capabilities = capabilities;
    }

    pub(crate) fn open(&self, id: &str, params: &Value) {
        let mut session = lock(&self.session);
        let cwd = params["cwd"].as_str().unwrap_or(".");
        (session.id, session.cwd) = (id.to_owned(), cwd.to_owned());
        session.servers.clone_from(&params["mcpServers"]);
        session.mode = std::env::var("FAKE_AGENT_MODE").unwrap_or_else(|_| "ask".to_owned());
        "fast".clone_into(&mut session.speed);
    }

    pub(crate) fn set_mode(&self, mode: &str) {
        mode.clone_into(&mut lock(&self.session).mode);
    }

    pub(crate) fn set_speed(&self, speed: &str) {
        speed.clone_into(&mut lock(&self.session).speed);
    }

    pub(crate) fn session(&self) -> Session {
        lock(&self.session).clone()
    }

    /// Begins a turn for a prompt.
    pub(crate) fn begin(&self, prompt: &Value) -> Turn {
        let blocks = prompt.as_array().into_iter().flatten();
        let links = blocks.clone().filter_map(|block| block["uri"].as_str());
        let images = blocks.filter(|block| block["type"] == "image").map(|block| {
            let data = block["data"].as_str().unwrap_or_default();
            format!("{} {}", block["mimeType"].as_str().unwrap_or_default(), data.len())
        });
        {
            let mut session = lock(&self.session);
            session.prompts += 1;
            session.links = links.map(str::to_owned).collect();
            session.images = images.collect();
        }
        let turn = Turn::default();
        *lock(&self.turn) = turn.clone();
        turn
    }

    pub(crate) fn steer(&self, text: &str) {
        lock(&self.session).steered.push(text.to_owned());
    }

    pub(crate) fn cancel(&self, session: &str) {
        if session != self.session().id {
            return lock(&self.session).stopped.push(session.to_owned());
        }
        lock(&self.turn).store(true, Ordering::SeqCst);
    }

    /// Waits; returns whether the turn was cancelled in the meantime.
    pub(crate) fn wait(turn: &Turn, limit: Duration) -> bool {
        let end = Instant::now().checked_add(limit);
        while end.is_none_or(|end| Instant::now() < end) {
            if turn.load(Ordering::SeqCst) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        turn.load(Ordering::SeqCst)
    }

    pub(crate) fn write_raw(&self, bytes: &[u8]) {
        let _one = lock(&self.output);
        let mut output = std::io::stdout().lock();
        // A closed client is noticed on the input.
        let _ = output.write_all(bytes).and_then(|()| output.flush());
    }

    pub(crate) fn write_frame(&self, mut frame: Value) {
        frame["jsonrpc"] = "2.0".into();
        self.write_raw(format!("{frame}\n").as_bytes());
    }

    pub(crate) fn respond(&self, id: &Value, result: Value) {
        self.write_frame(json!({"id": id, "result": result}));
    }

    pub(crate) fn fail(&self, id: &Value, code: i64, message: &str) {
        self.write_frame(json!({"id": id, "error": {"code": code, "message": message}}));
    }

    pub(crate) fn update(&self, update: Value) {
        self.update_in(&self.session().id, update);
    }

    pub(crate) fn update_in(&self, session: &str, update: Value) {
        self.write_frame(
            json!({"method": "session/update", "params": {"sessionId": session, "update": update}}),
        );
    }

    pub(crate) fn say(&self, kind: &str, text: &str) {
        self.update(json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}));
    }

    /// Sends a request to the client and waits for the whole response.
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        self.begin_asking(method, params).recv().unwrap_or_default()
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn begin_asking(&self, method: &str, mut params: Value) -> mpsc::Receiver<Value> {
        let id = format!("fake-{}", self.last_id.fetch_add(1, Ordering::SeqCst));
        let (sender, answer) = mpsc::channel();
        lock(&self.waiting).insert(id.clone(), sender);
        if params["sessionId"].is_null() {
            params["sessionId"] = self.session().id.into();
        }
        self.write_frame(json!({"id": id, "method": method, "params": params}));
        answer
    }

    /// Sends a request and cancels it in the same write.
    pub(crate) fn ask_and_take_back(&self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = self.session().id.into();
        let (sender, answer) = mpsc::channel();
        lock(&self.waiting).insert("taken-back".to_owned(), sender);
        let request = json!({"jsonrpc": "2.0", "id": "taken-back", "method": method, "params": params});
        let params = json!({"requestId": "taken-back"});
        let cancel = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params});
        self.write_raw(format!("{request}\n{cancel}\n").as_bytes());
        answer.recv().unwrap_or_default()
    }

    /// Sends three requests with one id and returns the first response.
    pub(crate) fn ask_thrice(&self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = self.session().id.into();
        let (sender, answer) = mpsc::channel();
        lock(&self.waiting).insert("same".to_owned(), sender);
        for _ in 0..3 {
            self.write_frame(json!({"id": "same", "method": method, "params": params}));
        }
        answer.recv().unwrap_or_default()
    }

    pub(crate) fn answered(&self, frame: Value) {
        let id = frame["id"].as_str().unwrap_or_default();
        if let Some(sender) = lock(&self.waiting).remove(id) {
            let _ = sender.send(frame);
        }
    }
}
