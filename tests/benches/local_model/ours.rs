//! Our side: a session in the local model's mode, prompted by a client over WebSocket.

use crate::{CONTEXT, Run};
use anyhow::{Context as _, Result, bail};
use openagents_e2e::server::{Client, Server};
use serde_json::{Value, json};
use std::{path::Path, process::Command, time::Instant};

pub(crate) struct Ours {
    _home: tempfile::TempDir,
    _server: Server,
    client: Client,
    pub(crate) instructions: String,
    /// The engine's own measurement of the time to the first token of each short question, in milliseconds.
    pub(crate) own_first_ms: Vec<f64>,
    memory: Option<u64>,
}

impl Ours {
    pub(crate) async fn start(model: &Path) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let workspace = home.path().join("shelves");
        std::fs::create_dir(&workspace)?;
        let program = std::env::var("OPENAGENTS_BIN").context("OPENAGENTS_BIN")?;
        let mut command = Command::new(program);
        command
            .args(["serve", "--port", "0", "--json", "--root"])
            .arg(&workspace)
            .env("HOME", home.path())
            .env("OPENAGENTS_HOME", home.path().join("data"))
            .env("OPENAGENTS_LLAMA_MODEL", model)
            .env("OPENAGENTS_LLAMA_THREADS", "1")
            .env("OPENAGENTS_LLAMA_CONTEXT", CONTEXT.to_string());
        let server = Server::start(command)?;
        let client = server.connect().await?;
        let instructions = openagents_orchestration::agent::instructions("shelves", None);
        Ok(Self {
            _home: home,
            _server: server,
            client,
            instructions,
            own_first_ms: Vec::new(),
            memory: None,
        })
    }

    pub(crate) async fn run(&mut self, question: &str, tokens: u32) -> Result<Run> {
        let client = &mut self.client;
        let settings = json!({"temperature": 0.0, "maxTokens": tokens});
        client.request("_openagents/models/configure", json!({"settings": settings})).await?;
        let root = self._home.path().join("shelves");
        let session = client.request("session/new", json!({"cwd": root, "mcpServers": []})).await?;
        let id = session["sessionId"].clone();
        client.request("session/set_mode", json!({"sessionId": id, "modeId": "gptoss_20b"})).await?;
        let prompt = json!({"sessionId": id, "prompt": [{"type": "text", "text": question}]});
        let asked = Instant::now();
        client.send("session/prompt", prompt).await?;
        let mut first = None;
        loop {
            let frame = client.next().await?;
            let update = &frame["params"]["update"];
            if update["sessionUpdate"] != "agent_message_chunk" {
                continue;
            }
            let text = update["content"]["text"].as_str().unwrap_or_default();
            if text.starts_with('❌') {
                bail!("{text}");
            }
            if !text.is_empty() {
                first.get_or_insert_with(|| asked.elapsed().as_secs_f64());
            }
            let usage = &update["_meta"]["openagents"]["usage"];
            if !usage.is_null() {
                let whole = asked.elapsed().as_secs_f64();
                let first = first.context("an answer without text")?;
                self.memory = usage["memoryBytes"].as_u64();
                if tokens < 16 {
                    self.own_first_ms.push(number(usage, "firstTokenMs")?);
                }
                return Ok(Run {
                    first,
                    rest: whole - first,
                    read: number(usage, "promptTokens")? - number(usage, "cachedTokens")?,
                    generated: number(usage, "tokens")?,
                });
            }
        }
    }

    /// Returns the helper's resident memory in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        self.memory.context("no figure of the helper's memory")
    }
}

fn number(usage: &Value, key: &str) -> Result<f64> {
    usage[key].as_f64().with_context(|| format!("no {key} in {usage}"))
}
