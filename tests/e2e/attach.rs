//! `openagents attach`: a session live in a terminal, each update exactly once, even if the connection breaks.

use anyhow::{Context, Result, ensure};
use openagents_bridge::acp::to_wire::session_update;
use openagents_core::update::{AgentMessage, SessionUpdate};
use openagents_e2e::{
    pseudo_terminal::PseudoTerminal,
    server::{Client, Server},
    terminal::{TestEnv, program},
};
use openagents_sessions::store::NewSession;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Stdio},
};

fn env() -> Result<TestEnv> {
    TestEnv::new("proj", &[("README.md", "# Proj\n\nProj is a project.\n")])
}

fn serve(env: &TestEnv, port: &str) -> Result<Server> {
    Server::start(env.openagents(&["serve", "--port", port, "--json"])?)
}

/// Opens a session in which the scripted agent answers.
async fn session(client: &mut Client, env: &TestEnv) -> Result<String> {
    let agent = json!({"id": "fake", "name": "Fake", "kind": "acp", "command": program("fake-agent")?});
    client.request("_openagents/agents/add", json!({"agent": agent})).await?;
    client.trust(&env.workspace).await?;
    let new = json!({"cwd": env.workspace, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
    let session = client.request("session/new", new).await?["sessionId"].as_str().context("id")?.to_owned();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": "custom:fake"})).await?;
    Ok(session)
}

async fn prompt(client: &mut Client, session: &str, text: &str) -> Result<u64> {
    let content = json!([{"type": "text", "text": text}]);
    client.send("session/prompt", json!({"sessionId": session, "prompt": content})).await
}

/// A running `openagents attach --json`.
struct Attached {
    child: Child,
    lines: BufReader<ChildStdout>,
    heard: Vec<Value>,
}

impl Attached {
    fn start(env: &TestEnv, arguments: &[&str]) -> Result<Self> {
        let mut command = env.openagents(&[&["attach", "--json"], arguments].concat())?;
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("stdout")?);
        Ok(Self { child, lines, heard: Vec::new() })
    }

    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Result<()> {
        loop {
            let mut line = String::new();
            ensure!(self.lines.read_line(&mut line)? > 0, "it ended: {:?}", self.child.wait()?);
            let params = serde_json::from_str(&line)?;
            let found = fits(&params);
            self.heard.push(params);
            if found {
                return Ok(());
            }
        }
    }

    fn until_said(&mut self, text: &str) -> Result<()> {
        self.until(|params| {
            let update = &params["update"];
            update["sessionUpdate"] == "agent_message_chunk"
                && update["content"]["text"].as_str().is_some_and(|reply| reply.contains(text))
        })
    }

    fn numbers(&self) -> Vec<u64> {
        self.heard.iter().filter_map(seq).collect()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn seq(params: &Value) -> Option<u64> {
    params["_meta"]["openagents"]["seq"].as_u64()
}

fn counted(to: usize) -> Vec<u64> {
    (1..=to as u64).collect()
}

#[tokio::test]
async fn attach_prints_each_update_once_across_kill_9() -> Result<()> {
    let env = env()?;
    let mut server = serve(&env, "0")?;
    let port = server.begun["port"].to_string();
    let mut client = server.connect().await?;
    let session = session(&mut client, &env).await?;
    prompt(&mut client, &session, "[[words 2000]]").await?;
    let mut attached = Attached::start(&env, &[&session, "--no-snapshot"])?;
    attached.until(|params| seq(params) == Some(30))?;

    server.child.kill()?;
    server.child.wait()?;
    drop(server);
    // First on another port, then on the old one: the address is read again each time.
    let elsewhere = serve(&env, "0")?;
    let mut client = elsewhere.connect().await?;
    prompt(&mut client, &session, "[[say Elsewhere.]]").await?;
    attached.until_said("Elsewhere.")?;
    drop(elsewhere);
    let server = serve(&env, &port)?;
    let mut client = server.connect().await?;
    prompt(&mut client, &session, "[[call Look]] [[say Back again.]]").await?;
    attached.until_said("again.")?;

    assert_eq!(attached.numbers(), counted(attached.heard.len()), "none twice, none missing, in order");
    let stored = openagents_bridge::open_store(&env.folder("home"))?.updates_after(&session, 0, 10_000)?;
    for (printed, stored) in attached.heard.iter().zip(&stored) {
        assert_eq!(*printed, session_update(&session, stored.seq, stored.ts, &stored.update));
    }
    Ok(())
}

/// Writes a message in `chunks` chunks.
fn write_log(home: &Path, cwd: PathBuf, session: &str, chunks: usize) -> Result<()> {
    let store = openagents_bridge::open_store(home)?;
    store.create_session(NewSession { id: session.to_owned(), cwd, mode: "default_mode".to_owned() })?;
    let chunk = |number: usize| {
        let (text, message_id) = (format!("{number} "), Some("m".to_owned()));
        SessionUpdate::AgentMessage(AgentMessage { text, message_id, ..Default::default() })
    };
    store.append(session, (1..=chunks).map(chunk).collect())?;
    Ok(())
}

#[tokio::test]
async fn attach_folds_long_log_unless_disabled() -> Result<()> {
    const LONG: usize = 3_000;
    let env = env()?;
    let session = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    let (home, workspace) = (env.folder("home"), env.workspace.clone());
    tokio::task::spawn_blocking(move || write_log(&home, workspace, session, LONG)).await??;
    let server = serve(&env, "0")?;
    let mut client = server.connect().await?;
    let mode = json!({"sessionId": session, "modeId": "codex"});
    let is_mode = |params: &Value| params["update"]["sessionUpdate"] == "current_mode_update";

    let mut folded = Attached::start(&env, &[&session[..8]])?;
    folded.until(|params| seq(params) == Some(LONG as u64))?;
    let mut whole = Attached::start(&env, &[session, "--no-snapshot"])?;
    whole.until(|params| seq(params) == Some(LONG as u64))?;
    let mut late = Attached::start(&env, &["--since", "2990"])?;
    late.until(|params| seq(params) == Some(LONG as u64))?;
    client.request("session/set_mode", mode).await?;
    for attached in [&mut folded, &mut whole, &mut late] {
        attached.until(is_mode)?;
    }

    assert!(folded.heard.len() < LONG / 10, "{}", folded.heard.len());
    let text = |attached: &Attached| -> String {
        let reply = attached.heard.iter().filter_map(|params| params["update"]["content"]["text"].as_str());
        reply.collect()
    };
    assert_eq!(text(&folded), text(&whole));
    assert_eq!(whole.numbers(), counted(whole.heard.len()));
    assert_eq!(late.numbers(), counted(whole.heard.len())[2_990..]);
    Ok(())
}

#[tokio::test]
async fn attach_answers_approval_and_continues() -> Result<()> {
    let env = env()?;
    let server = serve(&env, "0")?;
    let mut client = server.connect().await?;
    let session = session(&mut client, &env).await?;
    prompt(&mut client, &session, "[[say Good morning.]]").await?;
    let mut terminal = PseudoTerminal::start(env.openagents(&["attach"])?)?;
    let at = terminal.until("Good morning.", 0)?;
    prompt(&mut client, &session, "[[edit made.txt]]").await?;
    let at = terminal.until("› [[edit made.txt]]", at)?;
    let at = terminal.until("Fake asks:", at)?;
    let at = terminal.until("1  Yes", at)?;
    let at = terminal.until("Type a number and Enter.", at)?;
    terminal.type_line("9")?;
    let at = terminal.until("type one of the numbers shown", at)?;
    terminal.type_line("1")?;
    let at = terminal.until("Yes, answered on openagents-cli", at)?;
    let at = terminal.until("I wrote made.txt.", at)?;
    assert!(env.workspace.join("made.txt").is_file());
    terminal.type_line("[[say Typed here.]]")?;
    let at = terminal.until("Typed here.", at)?;
    let at = terminal.until("Typed here.", at).context("the echo of the keyboard, then the answer")?;
    assert!(!terminal.screen[at..].contains("› [[say"), "what was typed is not said again");
    terminal.interrupt()?;
    assert_eq!(terminal.end()?.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn attach_reports_reconnects() -> Result<()> {
    let env = env()?;
    let server = serve(&env, "0")?;
    let port = server.begun["port"].to_string();
    let mut client = server.connect().await?;
    let session = session(&mut client, &env).await?;
    prompt(&mut client, &session, "[[say Good morning.]]").await?;
    let mut terminal = PseudoTerminal::start(env.openagents(&["attach", &session])?)?;
    let at = terminal.until("Good ", 0)?;
    let at = terminal.until("Good ", at)?;
    let at = terminal.until("morning.", at)?;
    drop(server);
    let at = terminal.until("offline since ", at)?;
    let at = terminal.until("trying again", at)?;
    let server = serve(&env, &port)?;
    terminal.type_line("")?;
    let at = terminal.until("live", at)?;
    let mut client = server.connect().await?;
    prompt(&mut client, &session, "[[say And on.]]").await?;
    terminal.until("And on.", at)?;
    assert_eq!(terminal.screen.matches("Good ").count(), 2, "in the prompt, and once said");
    Ok(())
}

#[test]
fn attach_shows_exploration_like_explore() -> Result<()> {
    let env = env()?;
    let _server = serve(&env, "0")?;
    env.explore(&[])?;
    let mut terminal = PseudoTerminal::start(env.openagents(&["attach"])?)?;
    let at = terminal.until("README.md", 0)?;
    let at = terminal.until("✓", at)?;
    let at = terminal.until("Proj is a project.", at)?;
    terminal.until("Evidence", at)?;
    Ok(())
}

#[test]
fn attach_reports_unknown_session() -> Result<()> {
    let env = env()?;
    let fails = |arguments: &[&str], expected: &str| -> Result<()> {
        let output = env.run(&[&["attach"], arguments].concat())?;
        let report = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert!(report.contains(expected) && report.lines().count() == 1, "{report}");
        Ok(())
    };
    fails(&[], "OpenAgents is not running here; start the app, or `openagents serve`")?;
    let _server = serve(&env, "0")?;
    fails(&[], "no sessions yet")?;
    fails(&["0123"], "no session id begins with 0123")?;
    fails(&["01234567-0123-4123-8123-0123456789ab"], "There is no session 01234567")?;
    Ok(())
}
