//! An ACP client over WebSocket.

use super::proof::prove;
use anyhow::Context;
use futures::{SinkExt, StreamExt, stream::SplitSink};
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path, time::Duration};
use tokio::{net::TcpStream, sync::mpsc};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};
use tokio_util::task::AbortOnDropHandle;

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
    pub(super) async fn greet(socket: WebSocketStream<TcpStream>, ours: Value) -> anyhow::Result<Self> {
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
pub(crate) async fn dial(address: SocketAddr, home: &Path) -> anyhow::Result<WebSocketStream<TcpStream>> {
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
