//! A connection of a client: where it comes from, how much it holds, and how it ends.

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

/// Nothing here takes so long while the bridge lives.
const HANGS: Duration = Duration::from_secs(60);

/// Where a connection goes, and how.
#[derive(Debug, Clone)]
pub struct Way {
    /// The port of the bridge.
    pub port: u16,
    /// Of the ACP door; without one it is the door of the phone.
    pub token: Option<String>,
    /// The address that the bridge sees.
    pub from: Ipv4Addr,
    /// Bytes that the system holds for a reader that does not read.
    pub receive_buffer: Option<u32>,
}

/// An open connection.
#[derive(Debug)]
pub struct Wire {
    socket: WebSocketStream<TcpStream>,
    last_id: u64,
    /// Bytes of text that came.
    pub bytes: u64,
}

impl Wire {
    /// Connects, without a word yet.
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

    /// Asks, and returns the id that the answer will have.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    /// Sends a message as it is.
    pub async fn send(&mut self, message: Value) -> Result<()> {
        timeout(HANGS, self.socket.send(Message::text(message.to_string()))).await??;
        Ok(())
    }

    /// Returns the next frame, as it came. Nothing is lost when nobody waits to the end.
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

    /// Asks and waits for the answer; what comes before it is given to `take`.
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

    /// Says good-bye.
    pub async fn leave(mut self) {
        // A bridge that was killed hears nothing.
        let _ = timeout(Duration::from_secs(1), self.socket.close(None)).await;
    }

    /// Is gone without a word, and without an end of the socket: as a phone that has lost its network.
    pub fn vanish(self, after: Duration) {
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            drop(self);
        });
    }
}
