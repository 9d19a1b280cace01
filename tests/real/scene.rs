//! A session with a real agent that a scripted model answers, as the tests of this folder open it.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{peers::Peers, server::Client, terminal::TestEnv};
use serde_json::{Map, Value, json};
use std::{
    fs,
    net::TcpListener,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// An agent, with the facts that these tests need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agent {
    pub(crate) mode: &'static str,
    pub(crate) programs: &'static [&'static str],
    /// Whether it runs commands in a read-only sandbox without asking, and asks before leaving the sandbox.
    pub(crate) has_sandbox: bool,
    /// Where it keeps sessions: folders below `TestEnv`.
    pub(crate) keeps: &'static [&'static str],
    /// The database that holds sessions instead, and two of its tables; each row's id and data are compared.
    pub(crate) database: Option<(&'static str, [&'static str; 2])>,
    /// Its settings files, as paths below `TestEnv`.
    pub(crate) settings: &'static [&'static str],
    /// One of its commands that ends without asking for anything.
    pub(crate) command: &'static str,
}

pub(crate) const CLAUDE_CODE: Agent = Agent {
    mode: "claude-code",
    programs: &["claude", "claude-agent-acp"],
    has_sandbox: false,
    keeps: &["claude/projects", "claude/todos", "claude/file-history"],
    database: None,
    settings: &["claude/settings.json"],
    command: "debug",
};

pub(crate) const CODEX: Agent = Agent {
    mode: "codex",
    programs: &["codex", "codex-acp"],
    has_sandbox: true,
    keeps: &["codex/sessions", "codex/archived_sessions"],
    database: None,
    settings: &["codex/config.toml"],
    command: "status",
};

pub(crate) const GEMINI: Agent = Agent {
    mode: "gemini",
    programs: &["gemini"],
    has_sandbox: false,
    keeps: &[".gemini/tmp", ".gemini/history"],
    database: None,
    settings: &[".gemini/settings.json"],
    command: "memory show",
};

pub(crate) const QWEN: Agent = Agent {
    mode: "qwen",
    programs: &["qwen"],
    has_sandbox: false,
    keeps: &[".qwen/projects", ".qwen/memories"],
    database: None,
    settings: &[".qwen/settings.json"],
    command: "status",
};

pub(crate) const COPILOT: Agent = Agent {
    mode: "copilot",
    programs: &["copilot"],
    has_sandbox: false,
    keeps: &[".copilot/session-state"],
    database: None,
    settings: &[".copilot/settings.json"],
    command: "add-dir",
};

pub(crate) const OPENCODE: Agent = Agent {
    mode: "opencode",
    programs: &["opencode"],
    has_sandbox: false,
    keeps: &[],
    database: Some(("xdg/DATA/opencode/opencode.db", ["message", "part"])),
    settings: &["xdg/CONFIG/opencode/opencode.json"],
    command: "init",
};

/// The beginning of every prompt.
pub(crate) const PROMPT: &str = "Please do it";

/// The effect of a command that no agent may run without asking.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Canary {
    /// Writes into the workspace.
    Inside,
    Outside,
    /// Connects to a port of this machine.
    Socket,
}

pub(crate) const CANARIES: [Canary; 3] = [Canary::Inside, Canary::Outside, Canary::Socket];

/// A session with an agent, and the places where a canary would show up.
pub(crate) struct Scene {
    pub(crate) agent: Agent,
    pub(crate) peers: Peers,
    pub(crate) client: Client,
    pub(crate) session: Value,
    connections: Arc<AtomicUsize>,
    /// The updates of sub-agents that came during turns, by kind.
    pub(crate) of_subagents: Vec<String>,
    /// Goes to the agent with the next answer to an approval.
    pub(crate) message: Option<&'static str>,
    /// An approval that contains the first text is denied, with the second one as the reason.
    pub(crate) denied: Option<(String, String)>,
}

impl Scene {
    pub(crate) async fn open(agent: Agent) -> Result<Self> {
        Self::with_scripts(agent, agent.programs, false, Map::new()).await
    }

    /// Opens a session with an agent that is installed first, as by a click: none is in the `PATH`.
    pub(crate) async fn installed(agent: Agent) -> Result<Self> {
        Self::with_scripts(agent, &["node"], true, Map::new()).await
    }

    /// Opens a session with an agent of which these programs are installed, and a model with more scripts, by name.
    pub(crate) async fn with_scripts(
        agent: Agent,
        programs: &[&str],
        install: bool,
        scripts: Map<String, Value>,
    ) -> Result<Self> {
        let env = TestEnv::new("project", &[("README.md", "# Sample\n\nA small folder.\n")])?;
        fs::create_dir(env.folder("outside"))?;
        let (port, connections) = listen()?;
        let script = env.folder("canaries.json");
        let mut model = canaries(&env, port);
        model["library"].as_object_mut().context("a library")?.extend(scripts);
        fs::write(&script, model.to_string())?;
        let script = script.to_str().context("a path that is text")?.to_owned();
        let peers = Peers::with_programs(env, programs, &script)?;
        let mut client = connected(&peers).await?;
        if install {
            installed(&mut client, agent).await?;
        }
        found(&mut client, agent).await?;
        let session = new_session(&mut client, agent, &peers.env.workspace).await?;
        Ok(Self {
            agent,
            peers,
            client,
            session,
            connections,
            of_subagents: Vec::new(),
            message: None,
            denied: None,
        })
    }

    /// Sends a prompt, answers every approval with the option of this id or kind, and returns the number
    /// of approvals and the last text.
    pub(crate) async fn turn(
        &mut self,
        script: &str,
        answer: &str,
        seen: Option<Canary>,
    ) -> Result<(usize, String)> {
        self.say(&format!("{PROMPT} [[script:{script}]]"), answer, seen).await
    }

    /// Like [`Scene::turn`], with the whole prompt.
    pub(crate) async fn say(
        &mut self,
        text: &str,
        answer: &str,
        seen: Option<Canary>,
    ) -> Result<(usize, String)> {
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        let prompt = self.client.send("session/prompt", params).await?;
        let (mut asked, mut reply) = (0, String::new());
        loop {
            let frame = self.client.next().await.with_context(|| format!("{} at {text}", self.agent.mode))?;
            // A session that was attached before also reports.
            if frame["params"]["sessionId"].is_string() && frame["params"]["sessionId"] != self.session {
                continue;
            }
            let update = &frame["params"]["update"];
            if frame["params"]["_meta"]["openagents"]["childSessionId"].is_string() {
                self.of_subagents.extend(update["sessionUpdate"].as_str().map(str::to_owned));
            } else if update["sessionUpdate"] == "agent_message_chunk" {
                reply.push_str(update["content"]["text"].as_str().unwrap_or_default());
            }
            let approval = &update["_meta"]["openagents"]["approval"];
            if approval["state"] == "pending" {
                asked += 1;
                if let Some(canary) = seen {
                    ensure!(!self.has_sung(canary), "{canary:?} ran before {} was answered", self.agent.mode);
                }
                let options = approval["options"].as_array().context("options")?;
                let denied = self.denied.as_ref().filter(|(text, _)| approval.to_string().contains(text));
                let wanted = if denied.is_some() { "reject_once" } else { answer };
                let option = options
                    .iter()
                    .find(|option| option["kind"] == wanted || option["id"] == wanted)
                    .with_context(|| format!("{wanted}: {approval}"))?;
                let message =
                    denied.map(|(_, reason)| reason.clone()).or(self.message.take().map(str::to_owned));
                let params = json!({"sessionId": self.session, "approvalId": approval["id"], "optionId": option["id"],
                    "message": message, "content": first_choices(approval)});
                self.client.request("_openagents/approvals/answer", params).await?;
            }
            if frame["id"] == prompt {
                ensure!(frame.get("error").is_none(), "{frame}");
                return Ok((asked, reply));
            }
        }
    }

    pub(crate) fn has_sung(&self, canary: Canary) -> bool {
        match canary {
            Canary::Inside => self.peers.env.workspace.join("canary.txt").exists(),
            Canary::Outside => self.peers.env.folder("outside/canary.txt").exists(),
            Canary::Socket => self.connections.load(Ordering::SeqCst) > 0,
        }
    }

    /// Stops the agent: the next prompt restarts it in the same session.
    pub(crate) async fn close(&mut self) -> Result<()> {
        self.client.request("session/close", json!({"sessionId": self.session})).await?;
        self.client
            .request("_openagents/attach", json!({"sessionId": self.session, "since": 0}))
            .await
            .map(drop)
    }
}

/// Connects to the server as a client that shows approvals, and trusts the workspace.
pub(crate) async fn connected(peers: &Peers) -> Result<Client> {
    let mut client = peers
        .server
        .connect_as(json!({"protocolVersion": 1,
            "clientInfo": {"name": "test", "title": "Desktop", "version": "1"},
            "clientCapabilities": {"_meta": {"openagents": {"approvals": true}}}}))
        .await?;
    client.trust(&peers.env.workspace).await?;
    Ok(client)
}

/// Answers the form of a question with the first choice of each field; `null` for another approval.
fn first_choices(approval: &Value) -> Value {
    let fields = approval["rawInput"]["fields"].as_array().filter(|_| approval["subject"] == "question");
    let choice = |field: &Value| {
        let value = field["choices"][0]["value"].clone();
        let value = if field["type"] == "choices" { json!([value]) } else { value };
        (!field["choices"].is_null()).then(|| (field["name"].as_str().unwrap_or_default().to_owned(), value))
    };
    fields.map_or(Value::Null, |fields| {
        fields.iter().filter_map(choice).collect::<serde_json::Map<_, _>>().into()
    })
}

/// Waits until the agent is found. On a busy machine, `--version` may take longer than the check allows.
pub(crate) async fn found(client: &mut Client, agent: Agent) -> Result<()> {
    for _ in 0..5 {
        let card = loop {
            let agents = client.request("_openagents/agents/list", json!({})).await?;
            let cards = agents["agents"].as_array().context("agents")?;
            let card = cards.iter().find(|card| card["id"] == agent.mode).context("the agent")?;
            if agents["checking"] == false && agents["checkedAt"].is_number() {
                break card.clone();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        if card["usable"] == true && card["problem"].is_null() {
            return Ok(());
        }
        client.request("_openagents/agents/check", json!({})).await?;
    }
    anyhow::bail!("{} is not found", agent.mode)
}

/// Installs the package on offer and waits for the end.
async fn installed(client: &mut Client, agent: Agent) -> Result<()> {
    let mut begun = false;
    loop {
        let agents = client.request("_openagents/agents/list", json!({})).await?;
        let cards = agents["agents"].as_array().context("agents")?;
        let card = cards.iter().find(|card| card["id"] == agent.mode).context("the agent")?;
        let package = &card["package"];
        ensure!(package["problem"].is_null(), "{card}");
        if package["installed"].is_string() {
            return Ok(());
        }
        if !begun && agents["checking"] == false {
            ensure!(card["usable"] == false, "it is there before it is installed: {card}");
            let params = json!({"id": agent.mode, "package": package["offer"]["package"]});
            client.request("_openagents/agents/install", params).await?;
            begun = true;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub(crate) async fn new_session(client: &mut Client, agent: Agent, folder: &Path) -> Result<Value> {
    let session = client
        .request(
            "session/new",
            json!({"cwd": folder, "mcpServers": [], "_meta": {"openagents": {"open": true}}}),
        )
        .await?["sessionId"]
        .clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": agent.mode})).await?;
    Ok(session)
}

/// Counts the connections to a port of this machine.
fn listen() -> Result<(u16, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (port, connections) = (listener.local_addr()?.port(), Arc::<AtomicUsize>::default());
    let count = connections.clone();
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    Ok((port, connections))
}

/// Returns a model script for each canary, by name: `Inside`, and `InsideAsking` for Codex, which has to ask before
/// leaving its sandbox.
fn canaries(env: &TestEnv, port: u16) -> Value {
    // Some agents ask the model whether a command needs the user's approval: the script says that none does.
    let classifier = json!({"when_offered": "respond_in_schema", "sticky": true,
        "tool_calls": [{"name": "respond_in_schema", "arguments": {"shouldBlock": false}}]});
    let mut library = serde_json::Map::new();
    for canary in CANARIES {
        let command = match canary {
            Canary::Inside => "echo canary > canary.txt".to_owned(),
            Canary::Outside => format!("echo canary > {}", env.folder("outside/canary.txt").display()),
            Canary::Socket => format!("bash -c 'echo canary > /dev/tcp/127.0.0.1/{port}'"),
        };
        let mut arguments = json!({
            "description": "Sing", "directory": env.workspace, "dir_path": env.workspace, "timeout": 20_000,
            "is_background": false,
        });
        for (name, asks) in [(format!("{canary:?}"), false), (format!("{canary:?}Asking"), true)] {
            if asks {
                arguments["sandbox_permissions"] = json!("require_escalated");
                arguments["justification"] = json!("May I sing?");
            }
            let call = json!({"intent": "run", "command": command, "arguments": arguments});
            let turns =
                json!([{"text": "I will sing.", "tool_calls": [call]}, {"text": "The song is over."}]);
            library.insert(name, json!({"turns": turns}));
        }
    }
    let edits = ["one.txt", "two.txt"].map(|path| {
        let call = json!({"intent": "write_file", "path": path, "content": "made\n"});
        json!({"text": "I write a file.", "tool_calls": [call]})
    });
    let turns = edits.into_iter().chain([json!({"text": "Both are written."})]).collect::<Vec<_>>();
    let long = json!({"text": "One two three four five six seven. ".repeat(40), "delay_ms_per_token": 30});
    for name in ["Inside", "InsideAsking"] {
        library.insert(format!("Helper{name}"), json!({"turns": [
            {"text": "I will ask a helper.", "tool_calls": [{"intent": "subagent",
                "prompt": format!("[[script:{name}]] Sing and report."),
                "arguments": {"description": "Sing a song", "subagent_type": "general-purpose", "task_name": "singer", "fork_turns": "none"}}]},
            {"when_tool_result": true, "when_offered": "wait_agent", "tool_calls": [{"match": ["wait_agent"],
                "arguments": {"targets": ["{last:[0-9a-f]+-[0-9a-f-]+}"], "timeout_ms": 20_000}}]},
            {"when_tool_result": true, "text": "The helper has answered."},
        ]}));
    }
    let slow = json!({"intent": "run", "command": "touch started.txt; tail -f /dev/null",
        "arguments": {"description": "Wait", "directory": env.workspace, "dir_path": env.workspace, "timeout": 90_000,
            "is_background": false, "sandbox_permissions": "require_escalated", "justification": "May I wait?"}});
    library.insert("Slow".to_owned(), json!({"turns": [{"tool_calls": [slow]}, {"text": "It has ended."}]}));
    let question = json!({"question": "Which database?", "header": "Database", "multiSelect": false, "options": [
        {"label": "SQLite", "description": "One file"}, {"label": "Postgres", "description": "A server"}]});
    library.insert("Ask".to_owned(), json!({"turns": [
        {"tool_calls": [{"name": "AskUserQuestion", "arguments": {"questions": [question]}}]}, {"text": "I see."}]}));
    library.insert("Long".to_owned(), json!({"turns": [long, {"text": "Nothing to do."}]}));
    library.insert("Edits".to_owned(), json!({"turns": turns}));
    json!({"turns": [classifier], "default": {"text": "Nothing to do."}, "library": library})
}

/// Waits for a state of the kept copies.
pub(crate) async fn keeping(scene: &mut Scene, is_it: impl Fn(&Value) -> bool) -> Result<()> {
    let started = Instant::now();
    loop {
        let kept = scene.client.request("_openagents/keep/status", json!({})).await?;
        if is_it(&kept) {
            return Ok(());
        }
        ensure!(started.elapsed() < Duration::from_secs(60), "{kept}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
