//! The local model through the real programs: `openagents`, its helper, a real engine and real files.

use anyhow::{Context as _, Result, ensure};
use openagents_core::update::SessionUpdate;
use openagents_e2e::{
    gptoss::{self, Script},
    llama_server::small_model,
    server::{Client, Server},
    terminal::{TestEnv, json_lines},
};
use serde_json::{Value, json};
use std::{path::PathBuf, process::Command};

/// A word that occurs only in the scripted model's chain of thought.
const THOUGHT: &str = "secret";

fn env() -> Result<TestEnv> {
    TestEnv::new(
        "proj",
        &[("README.md", "# Proj\n\nProj counts tides.\n"), ("src/main.rs", "fn main() {}\n")],
    )
}

fn scripted(env: &TestEnv) -> Result<PathBuf> {
    let path = env.folder("scripted.gguf");
    gptoss::write_model(&path, &Script::explorer())?;
    Ok(path)
}

fn with_model(env: &TestEnv, arguments: &[&str], model: &std::path::Path) -> Result<Command> {
    let mut command = env.openagents(arguments)?;
    command.env("OPENAGENTS_LLAMA_MODEL", model).env("OPENAGENTS_LLAMA_CONTEXT", "4096");
    Ok(command)
}

async fn local_session(client: &mut Client, env: &TestEnv) -> Result<Value> {
    let made = client.request("session/new", json!({"cwd": env.workspace, "mcpServers": []})).await?;
    let id = made["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": id, "modeId": "gptoss_20b"})).await?;
    Ok(id)
}

async fn prompt(client: &mut Client, session: &Value, text: &str) -> Result<Value> {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    client.request("session/prompt", params).await
}

/// Requests an answer that never ends, waits for its first words, and returns the id of the request.
async fn endless(client: &mut Client, session: &Value) -> Result<u64> {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "please loop"}]});
    let asked = client.send("session/prompt", params).await?;
    client.until("text", |frame| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk").await?;
    Ok(asked)
}

fn updates(client: &Client, kind: &str) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for frame in &client.frames {
        let frame: Value = serde_json::from_str(frame)?;
        let update = &frame["params"]["update"];
        if update["sessionUpdate"] == kind {
            found.push(update.clone());
        }
    }
    Ok(found)
}

fn answer_text(client: &Client) -> Result<String> {
    let chunks = updates(client, "agent_message_chunk")?;
    Ok(chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect())
}

#[tokio::test]
async fn chain_of_thought_is_never_sent_or_stored() -> Result<()> {
    let env = env()?;
    let model = scripted(&env)?;
    let server =
        Server::start(with_model(&env, &["serve", "--port", "0", "--json", "--ios", "allow"], &model)?)?;
    let mut client = server.connect().await?;
    let session = local_session(&mut client, &env).await?;
    let mut phone = server.connect_ios().await?;
    phone
        .request("initialize", json!({"protocol_version": "0.2.2", "client_info": {"name": "test"}}))
        .await?;
    let ask =
        json!({"session_id": session, "content": [{"type": "text", "text": "What is in this folder?"}]});
    phone.request("session/prompt", ask).await?;
    client
        .until("the figures of the answer", |frame| {
            !frame["params"]["update"]["_meta"]["openagents"]["usage"].is_null()
        })
        .await?;
    phone
        .until("an answer on the phone", |frame| {
            frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        })
        .await?;

    let called = updates(&client, "tool_call")?;
    assert_eq!(called.len(), 1, "{called:?}");
    assert_eq!(called[0]["name"], "fs.list_dir");
    assert_eq!(called[0]["rawInput"], json!({"path": "."}));
    let ended = updates(&client, "tool_call_update")?;
    assert!(ended.iter().any(|update| update["status"] == "completed"), "{ended:?}");
    assert!(answer_text(&client)?.contains(Script::explorer().answer), "{}", answer_text(&client)?);

    for frame in client.frames.iter().chain(&phone.frames) {
        assert!(!frame.contains(THOUGHT) && !frame.contains("<|"), "{frame}");
    }
    let store = openagents_bridge::open_store(&env.folder("home"))?;
    let id = session.as_str().context("a session id")?;
    let rows = store.updates_after(id, 0, 10_000)?;
    let stored = serde_json::to_string(&rows.iter().map(|row| &row.update).collect::<Vec<_>>())?;
    assert!(!stored.contains(THOUGHT), "{stored}");
    // An answer may be split into updates at any point.
    let text = rows.iter().filter_map(|row| match &row.update {
        SessionUpdate::AgentMessage(message) => Some(message.text.as_str()),
        _ => None,
    });
    assert!(text.collect::<String>().contains("small project"), "{stored}");
    Ok(())
}

#[tokio::test]
async fn session_switches_modes_and_back() -> Result<()> {
    let env = env()?;
    let server = Server::start(with_model(&env, &["serve", "--port", "0", "--json"], &small_model()?)?)?;
    let mut client = server.connect().await?;
    client.request("_openagents/models/configure", json!({"settings": {"temperature": 0}})).await?;
    let session = local_session(&mut client, &env).await?;
    let end = prompt(&mut client, &session, "What is the capital of France?").await?;
    assert_eq!(end["stopReason"], "end_turn");
    assert!(answer_text(&client)?.contains("Paris"), "{}", answer_text(&client)?);
    client.request("session/set_mode", json!({"sessionId": session, "modeId": "default_mode"})).await?;
    prompt(&mut client, &session, "tides").await?;
    assert!(answer_text(&client)?.contains("`README.md:1-3`: has `tides`"), "{}", answer_text(&client)?);
    client.request("session/set_mode", json!({"sessionId": session, "modeId": "gptoss_20b"})).await?;
    let end = prompt(&mut client, &session, "Say hello.").await?;
    assert_eq!(end["stopReason"], "end_turn");
    assert_eq!(updates(&client, "current_mode_update")?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn endless_answer_is_cancelled_and_next_runs() -> Result<()> {
    let env = env()?;
    let model = scripted(&env)?;
    let server = Server::start(with_model(&env, &["serve", "--port", "0", "--json"], &model)?)?;
    let mut client = server.connect().await?;
    let session = local_session(&mut client, &env).await?;
    let asked = endless(&mut client, &session).await?;
    client.notify("session/cancel", json!({"sessionId": session})).await?;
    let end = client.until("the end of the turn", |frame| frame["id"] == json!(asked)).await?;
    assert_eq!(end["result"]["stopReason"], "cancelled");

    let other = local_session(&mut client, &env).await?;
    let end = prompt(&mut client, &other, "What is in this folder?").await?;
    assert_eq!(end["stopReason"], "end_turn");
    assert!(answer_text(&client)?.contains(Script::explorer().answer));
    Ok(())
}

#[tokio::test]
async fn settings_are_shared_and_survive_restart() -> Result<()> {
    let env = env()?;
    let model = scripted(&env)?;
    let arguments = ["serve", "--port", "0", "--json"];
    let server = Server::start(with_model(&env, &arguments, &model)?)?;
    let (mut one, mut two) = (server.connect().await?, server.connect().await?);
    two.request("_openagents/models/list", json!({"watch": true})).await?;
    one.request("_openagents/models/configure", json!({"settings": {"idleMinutes": 30}})).await?;
    two.until("the news", |frame| frame["params"]["settings"]["idleMinutes"] == 30).await?;
    two.request("_openagents/models/configure", json!({"settings": {"effort": "high"}})).await?;
    let refused = one.request("_openagents/models/configure", json!({"settings": {"temperature": 9}})).await;
    assert!(refused.unwrap_err().to_string().contains("temperature is 9"));
    drop(server);
    let server = Server::start(with_model(&env, &arguments, &model)?)?;
    let listed = server.connect().await?.request("_openagents/models/list", json!({})).await?;
    assert_eq!(
        (&listed["settings"]["idleMinutes"], &listed["settings"]["effort"]),
        (&json!(30), &json!("high"))
    );
    Ok(())
}

/// The model's process exits when its server is killed, whatever it was doing.
#[tokio::test]
async fn helper_ends_after_kill_9_of_the_server() -> Result<()> {
    let env = env()?;
    let model = scripted(&env)?;
    let mut server = Server::start(with_model(&env, &["serve", "--port", "0", "--json"], &model)?)?;
    let mut client = server.connect().await?;
    let session = local_session(&mut client, &env).await?;
    endless(&mut client, &session).await?;
    let helper = child_of(server.child.id())?.context("no helper runs")?;
    server.child.kill()?;
    server.child.wait()?;
    while is_alive(helper) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Ok(())
}

/// A helper that dies is reported in the session as one sentence, and the next prompt starts another one.
#[tokio::test]
async fn dead_helper_is_reported_and_replaced() -> Result<()> {
    let env = env()?;
    let model = scripted(&env)?;
    let server = Server::start(with_model(&env, &["serve", "--port", "0", "--json"], &model)?)?;
    let mut client = server.connect().await?;
    let session = local_session(&mut client, &env).await?;
    let asked = endless(&mut client, &session).await?;
    let helper = child_of(server.child.id())?.context("no helper runs")?;
    Command::new("kill").args(["-9", &helper.to_string()]).status()?;
    client.until("the end of the turn", |frame| frame["id"] == json!(asked)).await?;
    assert!(
        answer_text(&client)?.contains("❌ the local model stopped unexpectedly"),
        "{}",
        answer_text(&client)?
    );

    let other = local_session(&mut client, &env).await?;
    prompt(&mut client, &other, "What is in this folder?").await?;
    assert!(answer_text(&client)?.contains(Script::explorer().answer));
    Ok(())
}

#[test]
fn agent_command_answers_with_a_real_model() -> Result<()> {
    let env = env()?;
    let model = small_model()?;
    let model = model.to_str().context("a path in UTF-8")?;
    let question = "What is the capital of France? Answer in one word.";
    let output =
        env.openagents(&["agent", question, "--model", model, "--temperature", "0", "--json"])?.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = json_lines(&output.stdout)?;
    let last = &lines.last().context("it printed nothing")?["final"];
    assert_eq!(last["status"], "complete");
    assert!(last["message"].as_str().is_some_and(|message| message.contains("Paris")), "{last}");
    assert!(last["usage"]["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{last}");
    let kinds: Vec<_> = lines.iter().filter_map(|line| line["update"]["sessionUpdate"].as_str()).collect();
    assert!(kinds.contains(&"user_message_chunk") && kinds.contains(&"agent_message_chunk"), "{kinds:?}");
    Ok(())
}

/// Each error is one sentence on a single line.
#[test]
fn bad_model_files_are_one_sentence() -> Result<()> {
    let env = env()?;
    let good = std::fs::read(scripted(&env)?)?;
    let foreign = {
        let mut bytes = good.clone();
        let at = bytes.windows(7).position(|part| part == b"gpt-oss").context("the architecture")?;
        bytes[at..at + 7].copy_from_slice(b"gpt-xyz");
        bytes
    };
    let rows: [(&str, &[u8], &str); 4] = [
        ("text.gguf", b"This is a shopping list.\n", "is not a GGUF file"),
        ("short.gguf", &good[..good.len() / 2], "cut off"),
        ("header.gguf", &good[..1000], "cut off"),
        ("foreign.gguf", &foreign, "gpt-xyz"),
    ];
    for (name, bytes, expected) in rows {
        let path = env.folder(name);
        std::fs::write(&path, bytes)?;
        let path = path.to_str().context("a path in UTF-8")?;
        let output = env.run(&["agent", "hello", "--model", path])?;
        assert_eq!(output.status.code(), Some(1), "{name}");
        let report = String::from_utf8(output.stderr)? + &String::from_utf8(output.stdout)?;
        let report = report.trim();
        assert!(report.contains(expected) && report.lines().count() == 1, "{name}: {report}");
    }
    let output = env.run(&["agent", "hello", "--model", "nowhere.gguf"])?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr)?.contains("--model nowhere.gguf: no such file"));
    Ok(())
}

#[test]
fn context_and_length_limits_are_reported() -> Result<()> {
    let env = env()?;
    let model = scripted(&env)?;
    let long = "word ".repeat(6000);
    let output = with_model(&env, &["agent", &long], &model)?.output()?;
    let report = String::from_utf8(output.stderr)? + &String::from_utf8(output.stdout)?;
    assert!(report.contains("tokens and the model was loaded for 4096"), "{report}");
    let output = with_model(&env, &["agent", "please loop"], &model)?
        .env("OPENAGENTS_LLAMA_CONTEXT", "2048")
        .output()?;
    let report = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    assert!(report.contains("cut off"), "{}", &report[report.len().saturating_sub(400)..]);
    Ok(())
}

/// The programs that users start don't link C++: only the helper does.
#[test]
#[cfg(target_os = "linux")]
fn engine_is_linked_only_by_the_helper() -> Result<()> {
    let links = |name: &str| -> Result<bool> {
        // Checks only the program's own dependencies; the window's libraries need C++ too.
        let output = Command::new("readelf")
            .arg("--dynamic")
            .arg(openagents_e2e::terminal::program(name)?)
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        ensure!(text.contains("libc.so"), "{name} cannot be read: {text}");
        Ok(text.contains("libstdc++"))
    };
    assert!(links("openagents-llama")?);
    for name in ["openagents", "openagents-desktop"] {
        assert!(!links(name)?, "{name}");
    }
    Ok(())
}

/// Returns the process whose parent is `parent`.
fn child_of(parent: u32) -> Result<Option<u32>> {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid=,comm="]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = rows.filter(|row| row.len() >= 3 && row[1] == parent.to_string());
    Ok(found.find(|row| row[2].contains("openagents-llam")).and_then(|row| row[0].parse().ok()))
}

/// Returns whether a process is running; a zombie is not.
fn is_alive(process: u32) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output();
    state.is_ok_and(|output| output.stdout.first().is_some_and(|state| *state != b'Z'))
}

/// The findings are the answer; a small model may only add sentences that a source location confirms.
#[test]
fn small_model_makes_no_answer_worse() -> Result<()> {
    let env = env()?;
    std::fs::write(
        env.workspace.join("src/tide.rs"),
        "/// Counts the tides of a day.\npub fn count_tides() {}\n",
    )?;
    let question = "Where are the tides counted?";
    let workspace = env.workspace.display().to_string();
    let without = env.openagents(&["find", question, &workspace, "--json"])?.output()?;
    let without: Value = serde_json::from_slice(&without.stdout)?;
    let asked = with_model(&env, &["ask", question, &workspace, "--json"], &small_model()?)?.output()?;
    let mut lines = json_lines(&asked.stdout)?;
    let last = lines.pop().context("nothing was printed")?["final"].take();
    ensure!(last["status"] == "complete", "{last}");
    let findings = |line: &Value| line["update"]["_meta"]["openagents"]["findings"]["findings"].clone();
    let found =
        lines.iter().map(findings).find(|found| found.is_array()).context("no findings were shown")?;
    ensure!(found == without["findings"] && found[0]["path"] == "src/tide.rs", "{found} {without}");
    let reply = last["message"].as_str().unwrap_or_default();
    ensure!(reply.contains("src/tide.rs") || reply.contains("Only the places found are shown"), "{reply}");
    Ok(())
}
