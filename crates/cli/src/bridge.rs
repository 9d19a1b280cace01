//! The bridge of this data folder: the running one, or a temporary one that ends after its last client.

use crate::output;
use anyhow::{Context, ensure};
use futures::{SinkExt, StreamExt, stream::SplitSink};
use openagents_bridge::{Challenge, running};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::Command,
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};
use tokio_util::task::AbortOnDropHandle;

// An ACP client over WebSocket.

/// Maximum number of frames read ahead.
const FRAMES: usize = 1024;

/// An error from the bridge. The connection stays open.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    message: String,
}

/// An initialized connection.
pub(crate) struct Connection {
    sink: SplitSink<WebSocketStream<TcpStream>, Message>,
    frames: mpsc::Receiver<Result<Message, tungstenite::Error>>,
    _reader: AbortOnDropHandle<()>,
    requests: u64,
    silence: Option<Duration>,
    id: String,
}

impl Connection {
    /// Connects to the bridge of the data folder `home`, with its token.
    pub(crate) async fn open(address: SocketAddr, home: &Path) -> anyhow::Result<Self> {
        Self::open_as(address, home, json!({})).await
    }

    /// Like [`Connection::open`], with `ours` in the client's `_meta.openagents`.
    pub(crate) async fn open_as(address: SocketAddr, home: &Path, ours: Value) -> anyhow::Result<Self> {
        Self::greet(dial(address, home).await?, ours).await
    }

    /// Performs the ACP handshake, with `ours` in the client's `_meta.openagents`.
    async fn greet(socket: WebSocketStream<TcpStream>, ours: Value) -> anyhow::Result<Self> {
        let (sink, mut stream) = socket.split();
        let (sender, frames) = mpsc::channel(FRAMES);
        // Keeps reading, and so answers pings, while a command waits for a blocked terminal or pager.
        let _reader = AbortOnDropHandle::new(tokio::spawn(async move {
            while let Some(frame) = stream.next().await
                && sender.send(frame).await.is_ok()
            {}
        }));
        let mut connection = Self { sink, frames, _reader, requests: 0, silence: None, id: String::new() };
        let initialize = json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"openagents": ours}},
            "clientInfo": {"name": "openagents-cli", "version": env!("CARGO_PKG_VERSION")}});
        let initialized = connection.request("initialize", initialize).await?;
        let id = initialized["_meta"]["openagents"]["connection"].as_str();
        connection.id = id.unwrap_or_default().to_owned();
        Ok(connection)
    }

    /// Returns the bridge's id of this connection; prompts in a session carry the id of their sender.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Treats the connection as dead after `silence` without a message or ping.
    pub(crate) fn dead_after(mut self, silence: Duration) -> Self {
        self.silence = Some(silence);
        self
    }

    /// Sends a request and returns its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    /// Sends a request and returns its result; messages that arrive earlier are dropped.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.ask(method, params).await?;
        loop {
            let mut message = self.next().await?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message["result"].take());
            }
        }
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Returns the next result or notification. An error response fails as [`Refused`]. Cancel safe.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Value> {
        while let Some(frame) = self.frame().await? {
            let Message::Text(text) = frame else { continue };
            let Ok(message) = serde_json::from_str::<Value>(&text) else { continue };
            if let Some(error) = message.get("error") {
                let message = error["message"].as_str().unwrap_or("an error without a message").to_owned();
                return Err(Refused { message }.into());
            }
            return Ok(message);
        }
        anyhow::bail!("the connection was closed")
    }

    async fn frame(&mut self) -> anyhow::Result<Option<Message>> {
        let next = self.frames.recv();
        let frame = match self.silence {
            Some(silence) => tokio::time::timeout(silence, next).await.context("the bridge timed out")?,
            None => next.await,
        };
        frame.transpose().context("the connection broke")
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.sink.send(Message::text(message.to_string())).await?)
    }
}

/// Connects to the bridge of the data folder `home`, with its token, after the bridge has proved its identity. Fails if
/// the bridge is no longer at `address`.
async fn dial(address: SocketAddr, home: &Path) -> anyhow::Result<WebSocketStream<TcpStream>> {
    let announced = openagents_bridge::announced(home).filter(|announced| announced.address == address);
    let token = announced.context("the bridge has ended")?.token;
    prove(address, &token).await?;
    let mut request = format!("ws://{address}/acp").into_client_request()?;
    let bearer = HeaderValue::from_str(&format!("Bearer {token}"))?;
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(address).await?;
    let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
    Ok(socket)
}

/// Returns a path as UTF-8 for a message to the bridge.
pub(crate) fn wire_path(path: std::path::PathBuf) -> anyhow::Result<String> {
    path.into_os_string().into_string().map_err(|path| {
        let shown = path.to_string_lossy();
        anyhow::anyhow!("{shown}: a running bridge accepts only UTF-8 paths; stop it first")
    })
}

// Asks the program at an address to prove that it is our bridge before the token is sent to it.

/// Longest accepted response in bytes.
const ANSWER: u64 = 16 << 10;
/// Timeout for a bridge's response.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Fails unless the program at `address` proves that it knows `token`, which is not sent.
async fn prove(address: SocketAddr, token: &str) -> anyhow::Result<()> {
    let challenge = Challenge::new(token).context("no random numbers")?;
    let (path, body) = challenge.request();
    let asked = timeout(ANSWER_TIME, ask(address, path, &body.to_string())).await;
    let answer = asked.context("the bridge does not answer")??;
    ensure!(
        challenge.is_met_by(&answer, address.port()),
        "the program at http://{address} is not the OpenAgents of this data folder; no token was sent to it"
    );
    Ok(())
}

/// Posts `body` and returns the response; `null` if it is not JSON.
async fn ask(address: SocketAddr, path: &str, body: &str) -> anyhow::Result<Value> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body).unwrap_or_default())
}

// Reaches the running bridge, or starts a temporary one: `openagents serve --until-idle`.
//
// Only a bridge writes to the data folder, so every command that needs more than transcripts and code is a client of
// one.

/// Time limit for another bridge to end and a new one to start.
const START_TIME: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// The first line that a temporary bridge prints.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FirstLine {
    /// It is serving.
    Serving {
        address: SocketAddr,
        /// Notices about the start, for the user.
        notices: Vec<String>,
    },
    /// It is not serving, for this reason.
    Failed(String),
}

/// Connects to the bridge of the data folder `home`; starts a temporary one if none is running.
pub(crate) async fn reach(home: &Path) -> anyhow::Result<Connection> {
    Connection::greet(reach_socket(home).await?, json!({})).await
}

/// Like [`reach`], without the ACP handshake.
pub(crate) async fn reach_socket(home: &Path) -> anyhow::Result<WebSocketStream<TcpStream>> {
    let until = Instant::now() + START_TIME;
    loop {
        let address = match running(home) {
            Some(address) => address,
            None => start(home).await?,
        };
        match dial(address, home).await {
            Ok(socket) => return Ok(socket),
            // The bridge may have just ended, as a temporary one does.
            Err(_) if running(home) != Some(address) && Instant::now() < until => sleep(PAUSE).await,
            Err(error) => return Err(error).with_context(|| format!("the bridge at http://{address}")),
        }
    }
}

/// Starts a temporary bridge, which runs on after this process as long as it has clients.
async fn start(home: &Path) -> anyhow::Result<SocketAddr> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let mut command = Command::new(&program);
    command.args(["serve", "--until-idle"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C in the terminal is for this command, which cancels its turn and waits for the end.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).await?;
    }
    match serde_json::from_str(&line) {
        Ok(FirstLine::Serving { address, notices }) => {
            notices.iter().for_each(|notice| output::warn(notice));
            Ok(address)
        }
        // Another command may have started a bridge at the same time.
        Ok(FirstLine::Failed(reason)) => running(home).with_context(|| reason),
        Err(_) => running(home).context("the temporary bridge ended at once; see `openagents serve`"),
    }
}
