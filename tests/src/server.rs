//! A running `openagents serve` that ends with its test, and an ACP client for it.

use anyhow::{Context as _, Result, bail};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest as _},
};

/// Limit of every wait; longer means a hang.
const HANGS: Duration = Duration::from_secs(120);

/// A server that ends with its test.
#[derive(Debug)]
pub struct Server {
    /// The process.
    pub child: Child,
    /// The first line of its output: `{"url","token_file","port"}`.
    pub begun: Value,
}

impl Server {
    /// Starts `openagents serve --json …` and returns once it serves.
    pub fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout")?).read_line(&mut line)?;
        let begun = serde_json::from_str(&line).with_context(|| format!("the server said: {line:?}"));
        // Owned before an error can return: dropping it ends the process.
        let mut server = Self { child, begun: Value::Null };
        server.begun = begun?;
        Ok(server)
    }

    /// Sends a signal by name: `-TERM`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status()?;
        anyhow::ensure!(sent.success(), "cannot signal the server");
        Ok(())
    }

    /// Connects as an ACP client and sends `initialize`.
    pub async fn connect(&self) -> Result<Client> {
        self.connect_as(json!({"protocolVersion": 1, "clientCapabilities": {}})).await
    }

    /// Connects as an ACP client and sends `initialize` with these parameters.
    pub async fn connect_as(&self, initialize: Value) -> Result<Client> {
        let port = self.begun["port"].as_u64().context("port")?;
        let token = std::fs::read_to_string(self.begun["token_file"].as_str().context("token_file")?)?;
        let mut client = Client::open(port, Some(token.trim()), "/acp").await?;
        client.request("initialize", initialize).await?;
        Ok(client)
    }

    /// Connects as an ACP client with a device's token.
    pub async fn connect_with(&self, token: &str) -> Result<Client> {
        Client::with_token(self.begun["port"].as_u64().context("port")?.try_into()?, token).await
    }

    /// Connects as the iOS app does, without sending anything yet.
    pub async fn connect_ios(&self) -> Result<Client> {
        Client::open(self.begun["port"].as_u64().context("port")?, None, "/").await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection. Keeps every frame that it received, so that a test can check what never came.
#[derive(Debug)]
pub struct Client {
    socket: WebSocketStream<TcpStream>,
    last_id: u64,
    unread: VecDeque<Value>,
    /// Every frame as received.
    pub frames: Vec<String>,
}

impl Client {
    /// Connects to the bridge that runs on the data folder `home`, as an ACP client with a name.
    pub async fn beside(home: &std::path::Path, name: &str) -> Result<Self> {
        let shown: Value = serde_json::from_str(&std::fs::read_to_string(home.join("bridge.json"))?)?;
        let address: std::net::SocketAddr = shown["address"].as_str().context("address")?.parse()?;
        let token = shown["token"].as_str().context("token")?;
        let mut client = Self::open(address.port().into(), Some(token), "/acp").await?;
        let initialize = json!({"protocolVersion": 1, "clientInfo": {"name": name, "version": "1"},
            "clientCapabilities": {"_meta": {"openagents": {"approvals": true}}}});
        client.request("initialize", initialize).await?;
        Ok(client)
    }

    /// Connects as an ACP client with a device's token.
    pub async fn with_token(port: u16, token: &str) -> Result<Self> {
        let mut client = Self::open(port.into(), Some(token), "/acp").await?;
        client.request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})).await?;
        Ok(client)
    }

    async fn open(port: u64, token: Option<&str>, path: &str) -> Result<Self> {
        let mut request = format!("ws://127.0.0.1:{port}{path}").into_client_request()?;
        if let Some(token) = token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
        }
        let stream = TcpStream::connect(("127.0.0.1", u16::try_from(port)?)).await?;
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
        Ok(Self { socket, last_id: 0, unread: VecDeque::new(), frames: Vec::new() })
    }

    /// Sends a request and returns its result; notifications that arrive first are kept for [`Client::next`].
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        loop {
            let frame = self.read_message().await?;
            if frame["id"] != json!(id) {
                self.unread.push_back(frame);
            } else if let Some(error) = frame.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(frame["result"].clone());
            }
        }
    }

    /// Opens a session with an agent in a folder that it trusts, prompts it, and returns
    /// once the answer contains `begun`.
    pub async fn begin_turn(
        &mut self,
        agent: &str,
        cwd: &std::path::Path,
        text: &str,
        begun: &str,
    ) -> Result<()> {
        self.trust(cwd).await?;
        let new = json!({"cwd": cwd, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
        let session = self.request("session/new", new).await?["sessionId"].clone();
        self.request("session/set_mode", json!({"sessionId": session, "modeId": agent})).await?;
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt})).await?;
        let is_answer = |frame: &Value| {
            frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
                && frame.to_string().contains(begun)
        };
        self.until("its answer", is_answer).await.map(drop)
    }

    /// Trusts a folder, so that agents start in it, as `openagents workspaces trust` does.
    pub async fn trust(&mut self, folder: &std::path::Path) -> Result<()> {
        self.request("_openagents/trust/add", json!({"path": folder})).await.map(drop)
    }

    /// Sends a request without waiting and returns its id; [`Client::next`] returns the response.
    pub async fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.write_message(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    pub async fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        self.write_message(json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    pub async fn respond(&mut self, id: &Value, result: Value) -> Result<()> {
        self.write_message(json!({"jsonrpc": "2.0", "id": id, "result": result})).await
    }

    async fn write_message(&mut self, message: Value) -> Result<()> {
        Ok(self.socket.send(Message::text(message.to_string())).await?)
    }

    /// Returns the next frame that no request has taken.
    pub async fn next(&mut self) -> Result<Value> {
        match self.unread.pop_front() {
            Some(frame) => Ok(frame),
            None => self.read_message().await,
        }
    }

    /// Reads until a frame fits and returns it.
    pub async fn until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let frame = self.next().await.with_context(|| format!("waiting for {what}"))?;
            if fits(&frame) {
                return Ok(frame);
            }
        }
    }

    async fn read_message(&mut self) -> Result<Value> {
        loop {
            let frame = tokio::time::timeout(HANGS, self.socket.next()).await.context("nothing came")?;
            let text = match frame.context("the server closed the connection")?? {
                Message::Text(text) => text.to_string(),
                Message::Binary(bytes) => String::from_utf8(bytes.to_vec())?,
                _ => continue,
            };
            let value = serde_json::from_str(&text)?;
            self.frames.push(text);
            return Ok(value);
        }
    }
}
