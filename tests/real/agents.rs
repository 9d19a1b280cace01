//! Six real agents run through `openagents serve` with a scripted model: what they do without asking, and what
//! happens to their folders. `scripts/peers.sh` installs them and runs these tests.

use crate::scene::{
    Agent, CANARIES, CLAUDE_CODE, CODEX, COPILOT, Canary, GEMINI, OPENCODE, PROMPT, QWEN, Scene, keeping,
    new_session,
};
use anyhow::{Context as _, Result, bail, ensure};
use openagents_e2e::terminal::TestEnv;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

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

/// A session whose folder was moved continues in the new one, with its whole history. Its first prompt names both folders.
async fn its_sessions_follow_a_moved_folder(agent: Agent) -> Result<()> {
    let mut scene = Scene::open(agent).await?;
    let [old, new] = ["old", "new"].map(|name| scene.peers.env.workspace.join(name));
    fs::create_dir_all(&old)?;
    let line = in_terminal(agent, None, "Remember the word heliotrope [[script:Nothing]]")?;
    scene.peers.shell(&format!("cd old && {line}"))?;
    let listed = scene.peers.run(&["sessions", "list", "--all", "--json", "--provider", agent.mode])?;
    let rows: Vec<Value> = serde_json::from_str(&listed)?;
    let row = rows.iter().find(|row| row["cwd"].as_str() == old.to_str()).with_context(|| listed.clone())?;
    fs::rename(&old, &new)?;
    scene.client.request("_openagents/workspaces/map", json!({"from": old, "to": new})).await?;
    scene.peers.forget_model_requests()?;
    let here = json!({"agent": agent.mode, "cwd": new, "id": row["id"]});
    scene.session =
        scene.client.request("_openagents/agents/continue_session", here).await?["sessionId"].clone();
    let attach = json!({"sessionId": scene.session, "since": 0});
    scene.client.request("_openagents/attach", attach).await?;
    let (_, reply) = scene.turn("Nothing", "reject_once", None).await?;
    ensure!(!reply.contains("starts a new session"), "{reply}");
    ensure!(scene.peers.model_got("heliotrope")?, "it does not know what was said in the old folder");
    ensure!(scene.peers.model_got("This folder was ")?, "the prompt does not name the old folder");
    scene.close().await?;
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

with_each!(
    claude_code_moved: CLAUDE_CODE, codex_moved: CODEX;
    (its_sessions_follow_a_moved_folder)
);
