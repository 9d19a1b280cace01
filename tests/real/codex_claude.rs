//! The real Codex and the real Claude Code, through `openagents serve`, with a scripted model. `scripts/peers.sh`
//! installs them and runs these tests.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    peers::Peers,
    server::{Client, Server},
};
use serde_json::{Value, json};

/// An agent, and a script with which it tries to create a file.
#[derive(Debug, Clone, Copy)]
struct Agent {
    mode: &'static str,
    name: &'static str,
    script: &'static str,
    file: &'static str,
    text: &'static str,
    programs: [&'static str; 2],
}

const CODEX: Agent = Agent {
    mode: "codex",
    name: "Codex",
    script: "patch",
    file: "patched.txt",
    text: "added by a patch\n",
    programs: ["codex", "codex-acp"],
};

const CLAUDE_CODE: Agent = Agent {
    mode: "claude-code",
    name: "Claude Code",
    script: "write-file",
    file: "made.txt",
    text: "made by a scripted model\n",
    programs: ["claude", "claude-agent-acp"],
};

/// Two clients of one session: the first asks, the second answers.
struct SharedSession {
    peers: Peers,
    first: Client,
    second: Client,
    session: Value,
}

impl SharedSession {
    async fn open(agent: Agent, second: Client, peers: Peers) -> Result<Self> {
        let mut first = connect(&peers.server, "Desktop", true).await?;
        let mut second = second;
        let made =
            first.request("session/new", json!({"cwd": peers.env.workspace, "mcpServers": []})).await?;
        let session = made["sessionId"].clone();
        let mode = json!({"sessionId": session, "modeId": agent.mode});
        first.request("session/set_mode", mode).await?;
        first.trust(&peers.env.workspace).await?;
        second.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await?;
        Ok(Self { peers, first, second, session })
    }

    async fn prompt(&mut self, script: &str) -> Result<u64> {
        let text = format!("Please do it [[script:{script}]]");
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        self.first.send("session/prompt", params).await
    }

    /// Waits for an approval in the second client's log and returns it.
    async fn asked(&mut self) -> Result<Value> {
        let asked = |frame: &Value| approval(frame)["state"] == "pending";
        Ok(approval(&self.second.until("an approval", asked).await?).clone())
    }

    /// Answers the approval from the second client.
    async fn answer(&mut self, asked: &Value, kind: &str) -> Result<()> {
        let params =
            json!({"sessionId": self.session, "approvalId": asked["id"], "optionId": option(asked, kind)?});
        let answered = self.second.request("_openagents/approvals/answer", params).await?;
        ensure!(answered["state"] == "answered", "{answered}");
        Ok(())
    }

    /// Waits for the end of a turn and returns why it ended.
    async fn ended(&mut self, prompt: u64) -> Result<Value> {
        let end = self.first.until("the end of the turn", |frame| frame["id"] == prompt).await?;
        ensure!(end.get("error").is_none(), "{end}");
        Ok(end["result"]["stopReason"].clone())
    }

    fn file(&self, agent: Agent) -> Option<String> {
        std::fs::read_to_string(self.peers.env.workspace.join(agent.file)).ok()
    }
}

/// Connects as a client that shows approvals from the log, or as one that does not.
async fn connect(server: &Server, title: &str, approvals: bool) -> Result<Client> {
    server
        .connect_as(json!({"protocolVersion": 1,
            "clientInfo": {"name": "test", "title": title, "version": "1"},
            "clientCapabilities": {"_meta": {"openagents": {"approvals": approvals}}}}))
        .await
}

fn approval(frame: &Value) -> &Value {
    &frame["params"]["update"]["_meta"]["openagents"]["approval"]
}

/// Finds an option by its kind, since its id is the agent's own.
fn option(asked: &Value, kind: &str) -> Result<Value> {
    let options = asked["options"].as_array().context("options")?;
    let found =
        options.iter().find(|option| option["kind"] == kind).with_context(|| format!("{kind}: {asked}"))?;
    // The protocol's own request names the id differently.
    Ok(found.get("optionId").unwrap_or(&found["id"]).clone())
}

/// Finds the diff of a file among the updates that a client received.
fn diff(client: &Client, file: &str) -> Result<Value> {
    for frame in &client.frames {
        let frame: Value = serde_json::from_str(frame)?;
        let content = frame["params"]["update"]["content"].as_array().cloned().unwrap_or_default();
        let of_file = |part: &&Value| {
            part["type"] == "diff" && part["path"].as_str().is_some_and(|path| path.ends_with(file))
        };
        if let Some(diff) = content.iter().find(of_file) {
            return Ok(diff.clone());
        }
    }
    anyhow::bail!("there is no diff of {file} in the timeline")
}

async fn an_approval_from_the_second_client_lets_it_edit(agent: Agent) -> Result<()> {
    let peers = Peers::start(&agent.programs)?;
    let second = connect(&peers.server, "Phone", true).await?;
    let mut shared = SharedSession::open(agent, second, peers).await?;
    let prompt = shared.prompt(agent.script).await?;
    let asked = shared.asked().await?;
    assert_eq!(asked["agent"], agent.name);
    assert_eq!(shared.file(agent), None, "it was written before anybody allowed it");
    shared.answer(&asked, "allow_once").await?;
    assert_eq!(shared.ended(prompt).await?, "end_turn");
    assert_eq!(shared.file(agent).as_deref(), Some(agent.text));
    for client in [&shared.first, &shared.second] {
        assert_eq!(diff(client, agent.file)?["newText"], agent.text);
    }
    let shown: Vec<Value> =
        shared.first.frames.iter().filter_map(|frame| serde_json::from_str(frame).ok()).collect();
    let answered = shown.iter().map(approval).find(|approval| approval["state"] == "answered");
    assert_eq!(answered.context("the first client is told")?["by"], "Phone");
    shared.peers.end()
}

async fn an_editor_that_knows_only_the_protocol_answers_too(agent: Agent) -> Result<()> {
    let peers = Peers::start(&agent.programs)?;
    let second = connect(&peers.server, "Editor", false).await?;
    let mut shared = SharedSession::open(agent, second, peers).await?;
    let prompt = shared.prompt(agent.script).await?;
    let asked = |frame: &Value| frame["method"] == "session/request_permission";
    let request = shared.second.until("a permission", asked).await?;
    let chosen = json!({"outcome": "selected", "optionId": option(&request["params"], "allow_once")?});
    shared.second.respond(&request["id"], json!({"outcome": chosen})).await?;
    assert_eq!(shared.ended(prompt).await?, "end_turn");
    assert_eq!(shared.file(agent).as_deref(), Some(agent.text));
    shared.peers.end()
}

async fn a_rejection_leaves_the_file_alone(agent: Agent) -> Result<()> {
    let peers = Peers::start(&agent.programs)?;
    let second = connect(&peers.server, "Phone", true).await?;
    let mut shared = SharedSession::open(agent, second, peers).await?;
    let prompt = shared.prompt(agent.script).await?;
    let asked = shared.asked().await?;
    shared.answer(&asked, "reject_once").await?;
    let reason = shared.ended(prompt).await?;
    // Codex ends the turn; Claude Code continues without the file.
    assert!(["end_turn", "cancelled"].iter().any(|expected| reason == *expected), "{reason}");
    assert_eq!(shared.file(agent), None);
    // The session can continue.
    let prompt = shared.prompt("done").await?;
    assert_eq!(shared.ended(prompt).await?, "end_turn");
    shared.peers.end()
}

async fn a_cancel_ends_it(agent: Agent) -> Result<()> {
    let peers = Peers::start(&agent.programs)?;
    let second = connect(&peers.server, "Phone", true).await?;
    let mut shared = SharedSession::open(agent, second, peers).await?;
    // Cancelled in the middle of an answer, from the other client.
    let prompt = shared.prompt("long-stream").await?;
    let speaks = |frame: &Value| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
    shared.second.until("its first words", speaks).await?;
    shared.second.notify("session/cancel", json!({"sessionId": shared.session})).await?;
    assert_eq!(shared.ended(prompt).await?, "cancelled");
    // Cancelled while the turn waits for an answer.
    let prompt = shared.prompt(agent.script).await?;
    let asked = shared.asked().await?;
    shared.first.notify("session/cancel", json!({"sessionId": shared.session})).await?;
    assert_eq!(shared.ended(prompt).await?, "cancelled");
    let expired =
        |frame: &Value| approval(frame)["id"] == asked["id"] && approval(frame)["state"] == "expired";
    shared.second.until("the end of the approval", expired).await?;
    assert_eq!(shared.file(agent), None);
    shared.peers.end()
}

async fn doctor_hears_what_it_supports(agent: Agent) -> Result<()> {
    let peers = Peers::start(&agent.programs)?;
    let snapshot: Value = serde_json::from_str(&peers.run(&["doctor", "--json"])?)?;
    let cards = snapshot["agents"].as_array().context("agents")?;
    let card = cards.iter().find(|card| card["id"] == agent.mode).context("the agent")?;
    assert_eq!((&card["usable"], &card["transport"]), (&json!(true), &json!("acp")), "{card}");
    assert!(card["version"].is_string() && card["adapter"].is_string(), "{card}");
    let supports = card["supports"].as_array().context("supports")?;
    assert!(supports.contains(&json!("session/load")), "{card}");
    peers.end()
}

macro_rules! with_both {
    ($($what:ident),*) => {
        mod codex {
            $(#[tokio::test] async fn $what() -> anyhow::Result<()> { super::$what(super::CODEX).await })*
        }
        mod claude_code {
            $(#[tokio::test] async fn $what() -> anyhow::Result<()> { super::$what(super::CLAUDE_CODE).await })*
        }
    };
}

with_both!(
    an_approval_from_the_second_client_lets_it_edit,
    an_editor_that_knows_only_the_protocol_answers_too,
    a_rejection_leaves_the_file_alone,
    a_cancel_ends_it,
    doctor_hears_what_it_supports
);
