//! A client of a bridge on this computer: ACP over a WebSocket, with the types of `openagents_wire`.

use crate::announced;
use futures::{SinkExt, StreamExt, stream::SplitSink};
use openagents_remote::token::Challenge;
use openagents_wire::{ClientMeta, Command, ConnectionMeta, Event, Method};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};
use tokio_util::task::AbortOnDropHandle;

/// Maximum number of frames read ahead.
const FRAMES: usize = 1024;
/// Maximum bytes of the answer to a challenge.
const PROOF: u64 = 16 << 10;
/// Time limit for the answer to a challenge.
const PROOF_TIME: Duration = Duration::from_secs(10);

/// Why a client failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The bridge refused a call, with its message. The connection stays open.
    #[error("{0}")]
    Refused(String),
    /// The bridge of this data folder no longer runs at the address.
    #[error("the bridge has ended")]
    Ended,
    /// The bridge did not answer in time.
    #[error("the bridge does not answer")]
    Silent,
    /// Another program is at the address.
    #[error("the program at http://{0} is not the OpenAgents of this data folder; no token was sent to it")]
    Impostor(SocketAddr),
    /// The bridge closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The connection failed.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The answer cannot be parsed; the bridge is probably of another version.
    #[error("{method} was answered in a way that this version does not know ({reason}); restart OpenAgents")]
    Unknown {
        method: String,
        /// What does not fit.
        reason: String,
    },
}

impl From<std::io::Error> for ClientError {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<tungstenite::Error> for ClientError {
    fn from(error: tungstenite::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

/// A message of the bridge.
#[derive(Debug)]
pub enum Incoming {
    /// The answer to the request with this id.
    Answer(u64, Value),
    /// A notification: its method and params.
    Notification(String, Value),
}

impl Incoming {
    /// Returns the params, if this is that notification.
    pub fn event<E: Event>(&self) -> Option<E::Params> {
        match self {
            Self::Notification(method, params) if method == E::NAME => E::Params::deserialize(params).ok(),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

/// An initialized connection.
#[derive(Debug)]
pub struct Client {
    sink: SplitSink<WebSocketStream<TcpStream>, Message>,
    frames: mpsc::Receiver<Result<Message, tungstenite::Error>>,
    _reader: AbortOnDropHandle<()>,
    requests: u64,
    silence: Option<Duration>,
    id: String,
}

impl Client {
    /// Connects to the bridge of the data folder `home` at `address`, with its token. `name` is shown in the debug panel.
    pub async fn connect(
        address: SocketAddr,
        home: &Path,
        name: &str,
        ours: ClientMeta,
    ) -> Result<Self, ClientError> {
        Self::greet(dial(address, home).await?, name, ours).await
    }

    /// Performs the ACP handshake on a socket of [`dial`].
    pub async fn greet(
        socket: WebSocketStream<TcpStream>,
        name: &str,
        meta: ClientMeta,
    ) -> Result<Self, ClientError> {
        let (sink, mut stream) = socket.split();
        let (sender, frames) = mpsc::channel(FRAMES);
        // Keeps reading, and so answers pings, while the caller is blocked by a terminal or a pager.
        let _reader = AbortOnDropHandle::new(tokio::spawn(async move {
            while let Some(frame) = stream.next().await
                && sender.send(frame).await.is_ok()
            {}
        }));
        let mut client = Self { sink, frames, _reader, requests: 0, silence: None, id: String::new() };
        let initialize = json!({"protocolVersion": 1,
            "clientCapabilities": {"_meta": {"openagents": meta}},
            "clientInfo": {"name": name, "version": env!("CARGO_PKG_VERSION")}});
        let initialized: Value = client.request("initialize", &initialize).await?;
        let ours = initialized["_meta"]["openagents"].clone();
        client.id =
            serde_json::from_value::<ConnectionMeta>(ours).map(|ours| ours.connection).unwrap_or_default();
        Ok(client)
    }

    /// Returns the bridge's id of this connection; prompts in a session carry the id of their sender.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Treats the connection as dead after `silence` without a message or ping.
    pub fn dead_after(mut self, silence: Duration) -> Self {
        self.silence = Some(silence);
        self
    }

    /// Calls a method of ours; messages that arrive before the answer are dropped.
    pub async fn call<M: Method>(&mut self, params: M::Params) -> Result<M::Answer, ClientError> {
        self.request(M::NAME, &params).await
    }

    /// Runs a command, and returns the state afterwards.
    pub async fn command<C: Command>(&mut self, command: &C) -> Result<C::Answer, ClientError> {
        let (method, params) = command.to_call().map_err(|error| unknown(C::PREFIX, &error))?;
        self.request(&method, &params).await
    }

    /// Sends a request and returns its id.
    pub async fn ask(&mut self, method: &str, params: &impl Serialize) -> Result<u64, ClientError> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    /// Sends a request and returns its answer; messages that arrive earlier are dropped.
    pub async fn request<R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, ClientError> {
        let id = self.ask(method, params).await?;
        loop {
            if let Incoming::Answer(answered, result) = self.next().await?
                && answered == id
            {
                return serde_json::from_value(result).map_err(|error| unknown(method, &error));
            }
        }
    }

    pub async fn notify(&mut self, method: &str, params: &impl Serialize) -> Result<(), ClientError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Returns the next answer or notification. An error response fails as [`ClientError::Refused`]. Cancel safe.
    pub async fn next(&mut self) -> Result<Incoming, ClientError> {
        while let Some(frame) = self.frame().await? {
            let Message::Text(text) = frame else { continue };
            let Ok(envelope) = serde_json::from_str::<Envelope>(&text) else { continue };
            return match envelope {
                Envelope { error: Some(refusal), .. } => Err(ClientError::Refused(refusal.message)),
                Envelope { method: Some(method), params, .. } => Ok(Incoming::Notification(method, params)),
                Envelope { id: Some(id), result, .. } => Ok(Incoming::Answer(id, result)),
                _ => continue,
            };
        }
        Err(ClientError::Closed)
    }

    async fn frame(&mut self) -> Result<Option<Message>, ClientError> {
        let next = self.frames.recv();
        let frame = match self.silence {
            Some(silence) => timeout(silence, next).await.map_err(|_| ClientError::Silent)?,
            None => next.await,
        };
        Ok(frame.transpose()?)
    }

    async fn send(&mut self, message: &Value) -> Result<(), ClientError> {
        Ok(self.sink.send(Message::text(message.to_string())).await?)
    }
}

fn unknown(method: &str, error: &serde_json::Error) -> ClientError {
    ClientError::Unknown { method: method.to_owned(), reason: error.to_string() }
}

/// Opens a socket to the bridge of the data folder `home` at `address`, with its token, after the bridge has proved its
/// identity.
pub async fn dial(address: SocketAddr, home: &Path) -> Result<WebSocketStream<TcpStream>, ClientError> {
    let announced = announced(home).filter(|announced| announced.address == address);
    let token = announced.ok_or(ClientError::Ended)?.token;
    prove(address, &token).await?;
    let mut request = format!("ws://{address}/acp").into_client_request()?;
    let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
    request.headers_mut().insert("authorization", bearer.map_err(tungstenite::Error::from)?);
    let stream = TcpStream::connect(address).await?;
    let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
    Ok(socket)
}

/// Fails unless the program at `address` proves that it knows `token`, which is not sent.
async fn prove(address: SocketAddr, token: &str) -> Result<(), ClientError> {
    let challenge = Challenge::new(token).map_err(|error| ClientError::Broken(error.to_string()))?;
    let (path, body) = challenge.request();
    let answer = timeout(PROOF_TIME, post(address, path, &body.to_string())).await;
    let answer = answer.map_err(|_| ClientError::Silent)??;
    if challenge.is_met_by(&answer, address.port()) { Ok(()) } else { Err(ClientError::Impostor(address)) }
}

/// Posts `body` and returns the response; `null` if it is not JSON.
async fn post(address: SocketAddr, path: &str, body: &str) -> Result<Value, ClientError> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(PROOF).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body).unwrap_or_default())
}
