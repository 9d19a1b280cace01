//! Six real agents run through `openagents serve` with a scripted model: what they do without asking, and what
//! happens to their folders. `scripts/peers.sh` installs them and runs these tests.

use anyhow::{Context as _, Result, bail, ensure};
use openagents_e2e::{peers::Peers, server::Client, terminal::TestEnv};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
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
    programs: &'static [&'static str],
    /// Whether it runs commands in a read-only sandbox without asking, and asks before leaving the sandbox.
    has_sandbox: bool,
    /// Where it keeps sessions: folders below `TestEnv`.
    keeps: &'static [&'static str],
    /// The database that holds sessions instead, and two of its tables; each row's id and data are compared.
    database: Option<(&'static str, [&'static str; 2])>,
    /// Its settings files, as paths below `TestEnv`.
    settings: &'static [&'static str],
    /// One of its commands that ends without asking for anything.
    command: &'static str,
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

const GEMINI: Agent = Agent {
    mode: "gemini",
    programs: &["gemini"],
    has_sandbox: false,
    keeps: &[".gemini/tmp", ".gemini/history"],
    database: None,
    settings: &[".gemini/settings.json"],
    command: "memory show",
};

const QWEN: Agent = Agent {
    mode: "qwen",
    programs: &["qwen"],
    has_sandbox: false,
    keeps: &[".qwen/projects", ".qwen/memories"],
    database: None,
    settings: &[".qwen/settings.json"],
    command: "status",
};

const COPILOT: Agent = Agent {
    mode: "copilot",
    programs: &["copilot"],
    has_sandbox: false,
    keeps: &[".copilot/session-state"],
    database: None,
    settings: &[".copilot/settings.json"],
    command: "add-dir",
};

const OPENCODE: Agent = Agent {
    mode: "opencode",
    programs: &["opencode"],
    has_sandbox: false,
    keeps: &[],
    database: Some(("xdg/DATA/opencode/opencode.db", ["message", "part"])),
    settings: &["xdg/CONFIG/opencode/opencode.json"],
    command: "init",
};

/// The beginning of every prompt.
const PROMPT: &str = "Please do it";

/// The effect of a command that no agent may run without asking.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Canary {
    /// Writes into the workspace.
    Inside,
    Outside,
    /// Connects to a port of this machine.
    Socket,
}

const CANARIES: [Canary; 3] = [Canary::Inside, Canary::Outside, Canary::Socket];

/// A session with an agent, and the places where a canary would show up.
pub(crate) struct Scene {
    pub(crate) agent: Agent,
    pub(crate) peers: Peers,
    pub(crate) client: Client,
    pub(crate) session: Value,
    connections: Arc<AtomicUsize>,
    /// The updates of sub-agents that came during turns, by kind.
    of_subagents: Vec<String>,
    /// Goes to the agent with the next answer to an approval.
    message: Option<&'static str>,
}

impl Scene {
    async fn open(agent: Agent) -> Result<Self> {
        Self::with_programs(agent, agent.programs, false).await
    }

    /// Opens a session with an agent that is installed first, as by a click: none is in the `PATH`.
    async fn installed(agent: Agent) -> Result<Self> {
        Self::with_programs(agent, &["node"], true).await
    }

    pub(crate) async fn with_programs(agent: Agent, programs: &[&str], install: bool) -> Result<Self> {
        let env = TestEnv::new("project", &[("README.md", "# Sample\n\nA small folder.\n")])?;
        fs::create_dir(env.folder("outside"))?;
        let (port, connections) = listen()?;
        let script = env.folder("canaries.json");
        fs::write(&script, canaries(&env, port).to_string())?;
        let script = script.to_str().context("a path that is text")?.to_owned();
        let peers = Peers::with_programs(env, programs, &script)?;
        let mut client = peers
            .server
            .connect_as(json!({"protocolVersion": 1,
                "clientInfo": {"name": "test", "title": "Desktop", "version": "1"},
                "clientCapabilities": {"_meta": {"openagents": {"approvals": true}}}}))
            .await?;
        client.trust(&peers.env.workspace).await?;
        if install {
            installed(&mut client, agent).await?;
        }
        found(&mut client, agent).await?;
        let session = new_session(&mut client, agent, &peers.env.workspace).await?;
        Ok(Self { agent, peers, client, session, connections, of_subagents: Vec::new(), message: None })
    }

    /// Sends a prompt, answers every approval with the option of this id or kind, and returns the number
    /// of approvals and the last text.
    async fn turn(&mut self, script: &str, answer: &str, seen: Option<Canary>) -> Result<(usize, String)> {
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
                let option = options
                    .iter()
                    .find(|option| option["kind"] == answer || option["id"] == answer)
                    .with_context(|| format!("{answer}: {approval}"))?;
                let params = json!({"sessionId": self.session, "approvalId": approval["id"], "optionId": option["id"],
                    "message": self.message.take(), "content": first_choices(approval)});
                self.client.request("_openagents/approvals/answer", params).await?;
            }
            if frame["id"] == prompt {
                ensure!(frame.get("error").is_none(), "{frame}");
                return Ok((asked, reply));
            }
        }
    }

    fn has_sung(&self, canary: Canary) -> bool {
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
    let session =
        client.request("session/new", json!({"cwd": folder, "mcpServers": []})).await?["sessionId"].clone();
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
    library.insert("HalfDone".to_owned(), json!({"turns": [
        {"tool_calls": [{"intent": "run", "command": "cat missing.txt", "arguments": {"description": "Look",
            "directory": env.workspace, "dir_path": env.workspace, "timeout": 20_000, "is_background": false}}]},
        {"tool_calls": [{"intent": "write_file", "path": "cart.py", "content": "total = cents / 100\n"}]},
        {"text": "It turns out that the sum rounds twice. Shall I add a test?"}]}));
    let finish = json!({"intent": "run", "command": "echo done > finished.txt",
        "arguments": {"description": "Finish", "directory": env.workspace, "dir_path": env.workspace, "timeout": 20_000,
            "is_background": false, "sandbox_permissions": "require_escalated", "justification": "May I finish?"}});
    let turns_of_finish = json!([{"tool_calls": [finish]}, {"text": "I decided to keep cents."}]);
    library.insert("Finish".to_owned(), json!({"turns": turns_of_finish}));
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

/// No command with an effect outside of the agent's own sandbox runs before the user allows it, in a new session or
/// in a resumed one.
async fn no_command_runs_unasked(agent: Agent) -> Result<()> {
    let mut scene = Scene::open(agent).await?;
    for way in ["new", "back"] {
        for canary in CANARIES {
            let context = || format!("{canary:?} in a session that is {way}");
            if agent.has_sandbox {
                let (asked, reply) = scene.turn(&format!("{canary:?}"), "reject_once", Some(canary)).await?;
                ensure!(!scene.has_sung(canary), "{}: it ran unasked", context());
                ensure!(
                    asked > 0 || reply.contains("The song is over."),
                    "{}: it was not tried: {reply}",
                    context()
                );
            }
            let script = format!("{canary:?}Asking");
            let (asked, reply) = scene.turn(&script, "reject_once", Some(canary)).await?;
            ensure!(!scene.has_sung(canary), "{}: it ran unasked", context());
            ensure!(asked > 0, "{}: nothing was asked: {reply}", context());
        }
        scene.close().await?;
    }
    // The commands have their effect once they are allowed.
    for canary in CANARIES {
        scene.turn(&format!("{canary:?}Asking"), "allow_once", None).await?;
        ensure!(scene.has_sung(canary), "{canary:?} does nothing, even where it is allowed");
    }
    scene.peers.end()
}

/// Returns the sessions that an agent keeps, by name: files and database rows.
fn kept(env: &TestEnv, agent: Agent) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut kept = files(env, agent.keeps)?;
    kept.retain(|_, bytes| is_of_session(bytes));
    if let Some((path, tables)) = agent.database {
        let path = env.folder(path);
        let database = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        for table in tables {
            let mut rows = database.prepare(&format!("SELECT id, data FROM {table}"))?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let name = path.join(table).join(row.get::<_, String>(0)?);
                kept.insert(name, row.get::<_, String>(1)?.into_bytes());
            }
        }
    }
    ensure!(!kept.is_empty(), "{} keeps nothing that a test knows of", agent.mode);
    Ok(kept)
}

fn files(env: &TestEnv, folders: &[&str]) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<PathBuf> = folders.iter().map(|folder| env.folder(folder)).collect();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        } else if path.is_file() {
            found.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(found)
}

/// Returns whether a file contains the user's prompt: some agents leave files without a session and clean them up.
fn is_of_session(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, PROMPT.as_bytes()).is_some()
}

/// Checks that the agent's settings are unchanged and that nothing of its sessions is lost: a file keeps its name and
/// its bytes, and a session that is continued may only grow at the end.
fn check_kept(
    scene: &Scene,
    before: &BTreeMap<PathBuf, Vec<u8>>,
    settings: &BTreeMap<PathBuf, Vec<u8>>,
    when: &str,
) -> Result<()> {
    let agent = scene.agent;
    ensure!(
        files(&scene.peers.env, agent.settings)? == *settings,
        "{when}: the settings of {} changed",
        agent.mode
    );
    let now = kept(&scene.peers.env, agent)?;
    for (path, bytes) in before {
        let bytes_now = now.get(path).with_context(|| format!("{when}: {} is gone", path.display()))?;
        ensure!(bytes_now.starts_with(bytes), "{when}: {} lost what was in it", path.display());
    }
    Ok(())
}

async fn its_sessions_are_kept(agent: Agent) -> Result<()> {
    let mut scene = Scene::open(agent).await?;
    scene.turn("Nothing", "reject_once", None).await?;
    scene.close().await?;
    let settings = files(&scene.peers.env, agent.settings)?;
    let before = kept(&scene.peers.env, agent)?;
    let first = scene.session.clone();
    scene.session = new_session(&mut scene.client, agent, &scene.peers.env.workspace.clone()).await?;
    scene.turn("Nothing", "reject_once", None).await?;
    check_kept(&scene, &before, &settings, "after a new session")?;
    scene.close().await?;
    scene.session = first;
    scene.turn("Nothing", "reject_once", None).await?;
    check_kept(&scene, &before, &settings, "after the first session was continued")?;
    scene.close().await?;
    // A separate start, which is when some agents clean up.
    scene.session = new_session(&mut scene.client, agent, &scene.peers.env.workspace.clone()).await?;
    scene.turn("Nothing", "reject_once", None).await?;
    check_kept(&scene, &before, &settings, "after the next start")?;
    scene.peers.end()
}

/// Returns the command line that gives a prompt to an agent in a terminal, in a new session or in an earlier one.
fn in_terminal(agent: Agent, session: Option<&str>, text: &str) -> Result<String> {
    let resumed = |flag: &str| session.map(|id| format!(" {flag} {id}")).unwrap_or_default();
    Ok(match agent.mode {
        // Its log says that edits are accepted, which is not for us.
        "claude-code" => format!("claude{} --permission-mode acceptEdits -p '{text}'", resumed("--resume")),
        "codex" => format!("codex exec{} -m scripted '{text}'", resumed("resume")),
        "opencode" => format!("opencode run{} '{text}'", resumed("--session")),
        "qwen" => format!("qwen{} -p '{text}'", resumed("--resume")),
        mode => bail!("{mode} continues no sessions of its terminal"),
    })
}

/// Waits for a state of the kept copies.
async fn keeping(scene: &mut Scene, is_it: impl Fn(&Value) -> bool) -> Result<()> {
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

/// A session that began in a terminal continues here, and then in the terminal again. The agent knows what was said, and
/// asks before it acts. A log that was deleted is restored first.
async fn its_terminal_sessions_continue(agent: Agent) -> Result<()> {
    let mut scene = Scene::open(agent).await?;
    scene.peers.shell(&in_terminal(agent, None, "Remember the word heliotrope [[script:Nothing]]")?)?;
    scene.client.request("_openagents/keep/configure", json!({"on": true})).await?;
    // Its list leaves out what was started by a program.
    let listed = scene.peers.run(&["sessions", "list", "--all", "--json", "--provider", agent.mode])?;
    let rows: Vec<Value> = serde_json::from_str(&listed)?;
    let cwd = scene.peers.env.workspace.clone();
    let row = rows.iter().find(|row| row["cwd"].as_str() == cwd.to_str()).with_context(|| listed.clone())?;
    if ["claude-code", "codex", "qwen"].contains(&agent.mode) {
        keeping(&mut scene, |kept| kept["waiting"] == 0 && kept["sessions"] == 1).await?;
        fs::remove_file(row["file_path"].as_str().context("its file")?)?;
        keeping(&mut scene, |kept| kept["gone"] == 1).await?;
    }
    scene.peers.forget_model_requests()?;
    let here = json!({"agent": agent.mode, "cwd": scene.peers.env.workspace, "id": row["id"]});
    scene.session =
        scene.client.request("_openagents/agents/continue_session", here).await?["sessionId"].clone();
    let attach = json!({"sessionId": scene.session, "since": 0});
    scene.client.request("_openagents/attach", attach).await?;
    let (_, reply) = scene.turn("Nothing", "reject_once", None).await?;
    ensure!(reply.contains("Nothing to do.") && !reply.contains("starts a new session"), "{reply}");
    ensure!(scene.peers.model_got("heliotrope")?, "it does not know what was said in the terminal");
    let (asked, reply) = scene.turn("InsideAsking", "reject_once", Some(Canary::Inside)).await?;
    ensure!(asked > 0 && !scene.has_sung(Canary::Inside), "it asked {asked} times: {reply}");
    scene.close().await?;
    scene.peers.forget_model_requests()?;
    let id = row["id"].as_str().context("its id")?;
    scene.peers.shell(&in_terminal(agent, Some(id), "What was said? [[script:Nothing]]")?)?;
    ensure!(
        scene.peers.model_got("heliotrope")? && scene.peers.model_got(PROMPT)?,
        "the terminal does not know what was said here and before"
    );
    scene.peers.end()
}

/// The options of an agent that answers, with their current values.
async fn options(scene: &mut Scene) -> Result<Vec<Value>> {
    let session = scene.session.clone();
    let resumed = scene.client.request("session/resume", json!({"sessionId": session})).await?;
    Ok(resumed["configOptions"].as_array().cloned().unwrap_or_default())
}

/// Returns the values of an option, whether in groups or not.
fn values(option: &Value) -> Vec<&Value> {
    let stated = option["options"].as_array().into_iter().flatten();
    stated
        .flat_map(|entry| match entry["options"].as_array() {
            Some(members) => members.iter().collect(),
            None => vec![entry],
        })
        .collect()
}

/// Sets an option to a value and checks that the agent then reports it.
async fn set(scene: &mut Scene, option: &Value, value: &Value) -> Result<()> {
    let params = json!({"sessionId": scene.session, "configId": option["id"], "value": value["value"]});
    let now = scene.client.request("session/set_config_option", params).await?;
    let now = now["configOptions"].as_array().context("options")?;
    let now = now.iter().find(|now| now["id"] == option["id"]).context("the option is gone")?;
    ensure!(now["currentValue"] == value["value"], "{} is {}", option["id"], now["currentValue"]);
    Ok(())
}

/// An agent's mode starts where it asks, can be changed while the agent runs, and comes back with it. So does its model.
async fn its_options_are_set_and_kept(agent: Agent) -> Result<()> {
    let mut scene = Scene::open(agent).await?;
    scene.turn("Nothing", "reject_once", None).await?;
    let known = options(&mut scene).await?;
    let ids: Vec<_> = known.iter().map(|option| (&option["id"], &option["currentValue"])).collect();
    let mode = known.iter().find(|option| option["category"] == "mode").context("a mode")?;
    let asks = |value: &Value| value["_meta"]["openagents"]["asks"].clone();
    let current = values(mode).into_iter().find(|value| value["value"] == mode["currentValue"]);
    // opencode's modes are its agents; its settings make it ask.
    if agent.mode != "opencode" {
        ensure!(current.map(asks) == Some(json!("ask")), "{ids:?}");
    }
    let other = values(mode).into_iter().find(|value| {
        value["value"] != mode["currentValue"]
            && (agent.mode == "opencode" || ["plan", "edits"].iter().any(|it| asks(value) == *it))
    });
    // Codex has none that asks before commands.
    let mode = other.map(|other| (mode.clone(), other.clone()));
    // Copilot offers no model without an account.
    let model = known.iter().find(|option| option["category"] == "model").and_then(|model| {
        let other = values(model).into_iter().find(|value| value["value"] != model["currentValue"])?;
        Some((model.clone(), other.clone()))
    });
    for (option, value) in mode.iter().chain(&model) {
        set(&mut scene, option, value).await.with_context(|| format!("{}: {ids:?}", agent.mode))?;
    }
    scene.close().await?;
    scene.turn("Nothing", "reject_once", None).await?;
    let back = options(&mut scene).await?;
    for (option, value) in mode.iter().chain(&model) {
        let now = back.iter().find(|now| now["id"] == option["id"]).context("the option is gone")?;
        ensure!(
            now["currentValue"] == value["value"],
            "{} came back as {}",
            option["id"],
            now["currentValue"]
        );
    }
    scene.peers.end()
}

/// Once the user allows edits until the turn ends, the agent's next edit is not asked for. The others write with a
/// command in this script, or are not asked to.
async fn its_edits_are_allowed_until_the_turn_ends(agent: Agent) -> Result<()> {
    if !["claude-code", "gemini", "opencode"].contains(&agent.mode) {
        return Ok(());
    }
    let mut scene = Scene::open(agent).await?;
    let (asked, reply) = scene.turn("Edits", "openagents:allow-edits", None).await?;
    for name in ["one.txt", "two.txt"] {
        ensure!(scene.peers.env.workspace.join(name).exists(), "{name} is not there: {reply}");
    }
    ensure!(asked == 1, "asked {asked} times");
    scene.peers.end()
}

/// From an empty data folder to a command that is denied and one that is allowed; then it is removed again.
async fn its_package_is_installed_by_click(agent: Agent) -> Result<()> {
    let mut scene = Scene::installed(agent).await?;
    let (asked, reply) = scene.turn("InsideAsking", "reject_once", Some(Canary::Inside)).await?;
    ensure!(asked > 0 && !scene.has_sung(Canary::Inside), "asked {asked} times: {reply}");
    scene.turn("InsideAsking", "allow_once", None).await?;
    ensure!(scene.has_sung(Canary::Inside), "it does not run what is allowed");
    scene.client.request("_openagents/agents/uninstall", json!({"id": agent.mode})).await?;
    let left: Vec<_> = fs::read_dir(scene.peers.env.folder("home/agents").join(agent.mode))?
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .collect();
    ensure!(left.is_empty(), "{left:?}");
    scene.peers.end()
}

/// One scene for all three: each start of an agent takes seconds.
async fn its_prompts_have_images_branch_and_steer(agent: Agent) -> Result<()> {
    let mut scene = Scene::open(agent).await?;
    its_model_sees_images(&mut scene).await.context("images")?;
    its_sessions_branch(&mut scene).await.context("branches")?;
    its_turn_gets_a_prompt(&mut scene).await.context("a prompt in a turn")?;
    its_commands_run(&mut scene).await.context("commands")?;
    its_turns_take_files_answers_and_stops(&mut scene).await.context("files, answers and stops")?;
    its_sub_agents_ask_and_have_rows(&mut scene).await.context("sub-agents")?;
    scene.peers.end()
}

/// A command that the agent offers is one of its commands when it is a prompt.
async fn its_commands_run(scene: &mut Scene) -> Result<()> {
    let (session, command) = (scene.session.clone(), scene.agent.command);
    scene.client.send("_openagents/attach", json!({"sessionId": session, "since": 0})).await?;
    let offers = |frame: &Value| {
        frame["params"]["sessionId"] == session
            && frame["params"]["update"]["sessionUpdate"] == "available_commands_update"
    };
    let frame = scene.client.until("its commands", offers).await?;
    let offered = frame["params"]["update"]["availableCommands"].as_array().context("commands")?;
    let names: Vec<_> = offered.iter().map(|offered| &offered["name"]).collect();
    ensure!(names.iter().any(|name| **name == command), "{command} is not one of {names:?}");
    let prompt = json!([{"type": "text", "text": format!("/{command}")}]);
    let prompt =
        scene.client.request("session/prompt", json!({"sessionId": session, "prompt": prompt})).await?;
    ensure!(prompt["_meta"]["openagents"]["state"] == "complete", "{prompt}");
    Ok(())
}

/// A named file, the message with a denial and the answer to a question reach the model; a command ends with its turn.
async fn its_turns_take_files_answers_and_stops(scene: &mut Scene) -> Result<()> {
    let said = |text: &str, session: &Value| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    scene.peers.forget_model_requests()?;
    let named = said(&format!("{PROMPT}, see @README.md [[script:Nothing]]"), &scene.session);
    scene.client.request("session/prompt", named).await?;
    // A link, or the file itself.
    ensure!(scene.peers.model_got("A small folder.")? || scene.peers.model_got("file://")?, "no file");

    scene.message = Some("Sing it in the shower.");
    scene.turn("InsideAsking", "reject_once", Some(Canary::Inside)).await?;
    ensure!(scene.peers.model_got("in the shower")?, "no message");

    if scene.agent.mode == "claude-code" {
        scene.turn("Ask", "accept", None).await?;
        ensure!(scene.peers.model_got("SQLite")?, "no answer");
    }

    let started = scene.peers.env.workspace.join("started.txt");
    let prompt = scene
        .client
        .send("session/prompt", said(&format!("{PROMPT} [[script:Slow]]"), &scene.session))
        .await?;
    let mut stopped = false;
    loop {
        if started.exists() && !stopped {
            scene.client.notify("session/cancel", json!({"sessionId": scene.session})).await?;
            stopped = true;
        }
        let Ok(frame) = tokio::time::timeout(Duration::from_millis(100), scene.client.next()).await else {
            continue;
        };
        let frame = frame?;
        let approval = &frame["params"]["update"]["_meta"]["openagents"]["approval"];
        if approval["state"] == "pending" {
            let allow =
                approval["options"].as_array().into_iter().flatten().find(|it| it["kind"] == "allow_once");
            let params = json!({"sessionId": scene.session, "approvalId": approval["id"], "optionId": allow.context("no option")?["id"]});
            scene.client.request("_openagents/approvals/answer", params).await?;
        }
        if frame["id"] == prompt {
            ensure!(frame["result"]["stopReason"] == "cancelled", "{frame}");
            return Ok(());
        }
    }
}

/// What a sub-agent of Claude Code or Codex does is shown below its call, and it asks like its agent.
async fn its_sub_agents_ask_and_have_rows(scene: &mut Scene) -> Result<()> {
    if !["claude-code", "codex"].contains(&scene.agent.mode) {
        return Ok(());
    }
    let script = if scene.agent.has_sandbox { "HelperInsideAsking" } else { "HelperInside" };
    if scene.agent.mode == "codex" {
        // Codex has a tool for sub-agents only with some models.
        let settings = scene.peers.env.folder("codex/config.toml");
        fs::write(&settings, fs::read_to_string(&settings)?.replace("gpt-5.5", "gpt-5.4"))?;
        scene.client.request("session/close", json!({"sessionId": scene.session})).await?;
        scene.session = new_session(&mut scene.client, scene.agent, &scene.peers.env.workspace).await?;
    }
    let (asked, reply) = scene.turn(script, "allow_once", Some(Canary::Inside)).await?;
    let kinds = &scene.of_subagents;
    ensure!(asked > 0 && scene.has_sung(Canary::Inside), "asked {asked} times: {reply} {kinds:?}");
    let has = |kind: &str| kinds.iter().any(|other| other == kind);
    ensure!(has("tool_call") && has("agent_message_chunk"), "{kinds:?}");
    Ok(())
}

/// The image of a prompt reaches the model.
async fn its_model_sees_images(scene: &mut Scene) -> Result<()> {
    let image = json!({"type": "image", "mimeType": "image/png", "data": PNG});
    let text = format!("{PROMPT} [[script:Nothing]]");
    let prompt = json!([{"type": "text", "text": text}, image]);
    let params = json!({"sessionId": scene.session, "prompt": prompt});
    let end = scene.client.request("session/prompt", params).await?;
    ensure!(end["_meta"]["openagents"]["state"] == "complete", "{end}");
    // Qwen Code leaves images out for a model whose name it does not know.
    let sees = scene.agent.mode != "qwen";
    ensure!(scene.peers.model_got(PNG)? == sees, "whether the model got the image: {}", !sees);
    Ok(())
}

/// A red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// A branch has the earlier conversation, as a fork of the agent's session or as a summary. The first session is unchanged.
async fn its_sessions_branch(scene: &mut Scene) -> Result<()> {
    let first = scene.session.clone();
    let text = format!("{PROMPT}, and remember the word heliotrope [[script:Nothing]]");
    let params = json!({"sessionId": first, "prompt": [{"type": "text", "text": text}]});
    scene.client.request("session/prompt", params).await?;
    let fork = json!({"sessionId": first, "cwd": scene.peers.env.workspace, "mcpServers": []});
    scene.session = scene.client.request("session/fork", fork).await?["sessionId"].clone();
    scene.peers.forget_model_requests()?;
    let branch = scene.session.clone();
    scene.client.request("_openagents/attach", json!({"sessionId": branch, "since": 0})).await?;
    let (_, reply) = scene.turn("Nothing", "reject_once", None).await?;
    ensure!(reply.contains("Nothing to do."), "{reply}");
    ensure!(scene.peers.model_got("heliotrope")?, "the branch does not know what was said");
    let forks = ["claude-code", "codex", "opencode"].contains(&scene.agent.mode);
    ensure!(reply.contains("with a summary of this one") != forks, "{reply}");
    let (asked, reply) = scene.turn("InsideAsking", "reject_once", Some(Canary::Inside)).await?;
    ensure!(asked > 0 && !scene.has_sung(Canary::Inside), "the branch asked {asked} times: {reply}");
    scene.session = first;
    let (_, reply) = scene.turn("Nothing", "reject_once", None).await?;
    ensure!(!reply.contains("starts a new session"), "{reply}");
    Ok(())
}

/// A prompt sent now reaches the turn of an agent that can take it there; the turn of any other is stopped for it.
async fn its_turn_gets_a_prompt(scene: &mut Scene) -> Result<()> {
    let said = |text: String, session: &Value| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    let session = scene.session.clone();
    let first = said(format!("{PROMPT} [[script:Long]]"), &session);
    let first = scene.client.send("session/prompt", first).await?;
    let counts = |frame: &Value| {
        let text = frame["params"]["update"]["content"]["text"].as_str();
        text.is_some_and(|text| text.contains("seven")) && frame["params"]["sessionId"] == session
    };
    scene.client.until("words", counts).await?;
    let second = said("Stop counting [[script:Nothing]]".to_owned(), &session);
    let second = scene.client.send("session/prompt", second).await?;
    let queued = |frame: &Value| !frame["params"]["queued"][0]["id"].is_null();
    let queue = scene.client.until("the queue", queued).await?;
    let now = json!({"sessionId": session, "id": queue["params"]["queued"][0]["id"]});
    let now = scene.client.send("_openagents/queue/send_now", now).await?;
    let (mut ends, mut steered) = (BTreeMap::new(), 0);
    while ends.len() < 3 {
        let frame = scene.client.next().await?;
        steered += usize::from(frame["params"]["update"]["_meta"]["openagents"]["steered"] == true);
        if let Some(id) = frame["id"].as_u64().filter(|id| [first, second, now].contains(id)) {
            ensure!(frame.get("error").is_none(), "{frame}");
            ends.insert(id, frame["result"]["stopReason"].clone());
        }
    }
    let steers = ["claude-code", "codex"].contains(&scene.agent.mode);
    ensure!(ends[&first] == if steers { "end_turn" } else { "cancelled" }, "{ends:?}");
    ensure!(ends[&second] == "end_turn", "{ends:?}");
    ensure!(steered == usize::from(steers), "{steered} prompts were steered");
    ensure!(scene.peers.model_got("Stop counting")?, "the model did not get the prompt");
    Ok(())
}

macro_rules! with_each {
    ($($name:ident: $agent:ident),*; $what:tt) => { $(mod $name { with_each!(@ $agent $what); })* };
    (@ $agent:ident ($($what:ident),*)) => {
        $(#[tokio::test] async fn $what() -> anyhow::Result<()> { super::$what(super::$agent).await })*
    };
}

with_each!(
    claude_code: CLAUDE_CODE, codex: CODEX, gemini: GEMINI, qwen: QWEN, copilot: COPILOT, opencode: OPENCODE;
    (no_command_runs_unasked, its_sessions_are_kept, its_options_are_set_and_kept,
     its_edits_are_allowed_until_the_turn_ends, its_package_is_installed_by_click,
     its_prompts_have_images_branch_and_steer)
);

with_each!(
    claude_code_terminal: CLAUDE_CODE, codex_terminal: CODEX, qwen_terminal: QWEN, opencode_terminal: OPENCODE;
    (its_terminal_sessions_continue)
);
