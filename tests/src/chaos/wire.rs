//! A client's connection: its source address, its buffer size, and how it ends.

use anyhow::{Context as _, Result, bail};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};

/// Limit of every wait while the bridge is alive.
const HANGS: Duration = Duration::from_secs(60);

/// The target and options of a connection.
#[derive(Debug, Clone)]
pub struct Way {
    pub port: u16,
    /// Token for the ACP endpoint; without one the phone endpoint is used.
    pub token: Option<String>,
    /// The source address that the bridge sees.
    pub from: Ipv4Addr,
    /// Bytes that the system buffers for a reader that does not read.
    pub receive_buffer: Option<u32>,
}

/// An open connection.
#[derive(Debug)]
pub struct Wire {
    socket: WebSocketStream<TcpStream>,
    last_id: u64,
    /// Bytes of text received.
    pub bytes: u64,
}

impl Wire {
    /// Connects without sending anything yet.
    pub async fn connect(way: &Way) -> Result<Self> {
        timeout(HANGS, Self::open(way)).await.context("the bridge does not answer")?
    }

    async fn open(way: &Way) -> Result<Self> {
        let path = if way.token.is_some() { "/acp" } else { "/" };
        let mut request = format!("ws://127.0.0.1:{}{path}", way.port).into_client_request()?;
        if let Some(token) = &way.token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
        }
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = way.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind(SocketAddr::from((way.from, 0)))?;
        let stream = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, way.port))).await?;
        let config = WebSocketConfig::default().read_buffer_size(8 << 10);
        let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
        Ok(Self { socket, last_id: 0, bytes: 0 })
    }

    /// Sends a request and returns its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    pub async fn send(&mut self, message: Value) -> Result<()> {
        timeout(HANGS, self.socket.send(Message::text(message.to_string()))).await??;
        Ok(())
    }

    /// Returns the next frame, as received. Cancel-safe: no frame is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<(String, Value)> {
        loop {
            match self.socket.next().await.context("the end")?? {
                Message::Text(text) => {
                    self.bytes += text.len() as u64;
                    let value = serde_json::from_str(&text)?;
                    return Ok((text.as_str().to_owned(), value));
                }
                Message::Close(close) => bail!("closed: {close:?}"),
                _ => {}
            }
        }
    }

    /// Sends a request and waits for the response; frames before it are passed to `take`.
    pub async fn request(
        &mut self,
        method: &str,
        params: Value,
        mut take: impl FnMut(&str, &Value) -> Result<()>,
    ) -> Result<Value> {
        let id = self.ask(method, params).await?;
        loop {
            let (text, frame) = timeout(HANGS, self.next()).await.context("no answer")??;
            if frame["id"] != json!(id) {
                take(&text, &frame)?;
            } else if let Some(error) = frame.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(frame["result"].clone());
            }
        }
    }

    /// Sends a close frame.
    pub async fn leave(mut self) {
        // A bridge that was killed does not respond.
        let _ = timeout(Duration::from_secs(1), self.socket.close(None)).await;
    }

    /// Disappears without a close frame and without closing the socket, like a phone that has lost its network.
    pub fn vanish(self, after: Duration) {
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            drop(self);
        });
    }
}
