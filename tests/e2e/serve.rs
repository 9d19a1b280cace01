//! `openagents serve` as a program: how it starts, which clients it refuses, and how `explore` finds it.

use anyhow::{Context, Result};
use openagents_e2e::{
    server::{Client, Server},
    terminal::{TestEnv, deaf_agent, json_lines, runs, wait_until},
};
use serde_json::{Value, json};
use std::{
    io::Read,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

/// Maximum time from the signal to the end of the process, whatever is running.
const QUIT: Duration = Duration::from_secs(5);

fn start(env: &TestEnv) -> Result<Server> {
    Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)
}

#[test]
fn serve_prints_address_and_keeps_token_private() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let server = start(&env)?;
    let file = server.begun["token_file"].as_str().context("token_file")?;
    assert_eq!(std::fs::metadata(file)?.permissions().mode() & 0o777, 0o600);
    let token = std::fs::read_to_string(file)?;
    assert_eq!(token.trim().len(), 64);
    let port = server.begun["port"].as_u64().context("port")?;
    assert_eq!(server.begun["url"], format!("http://127.0.0.1:{port}/#token={}", token.trim()));
    Ok(())
}

#[test]
fn serve_ends_cleanly_on_sigterm() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    for signal in ["-TERM", "-INT"] {
        let mut server = start(&env)?;
        assert_eq!(ends_in_time(&mut server, signal)?, Some(0));
        assert!(!env.folder("home").join("bridge.json").exists());
    }
    Ok(())
}

/// Signals a server and returns its exit code. Fails if it took longer than [`QUIT`] from the moment the signal was
/// delivered: the time that the test needs to send it is not the server's.
fn ends_in_time(server: &mut Server, signal: &str) -> Result<Option<i32>> {
    server.signal(signal)?;
    let signalled = Instant::now();
    let code = server.child.wait()?.code();
    let took = signalled.elapsed();
    assert!(took <= QUIT, "it took {took:?} to quit");
    Ok(code)
}

/// Starts a turn of an agent that ignores cancels.
async fn begin_with_a_deaf_agent(env: &TestEnv) -> Result<(Server, Client)> {
    let server = start(env)?;
    let mut client = server.connect().await?;
    client
        .request("_openagents/agents/add", json!({"agent": deaf_agent(&env.workspace.join("id"))?}))
        .await?;
    let text = "[[say begun]] [[hang-after-cancel]]";
    client.begin_turn("custom:deaf", &env.workspace, text, "begun").await?;
    Ok((server, client))
}

#[tokio::test]
async fn serve_outlives_no_deaf_agent() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let (mut server, _client) = begin_with_a_deaf_agent(&env).await?;
    let id = std::fs::read_to_string(env.workspace.join("id"))?;
    assert!(runs(&id)?);
    assert_eq!(ends_in_time(&mut server, "-TERM")?, Some(0));
    assert!(!runs(&id)?);
    Ok(())
}

#[tokio::test]
async fn second_ctrl_c_skips_the_deaf_agent() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let (mut server, _client) = begin_with_a_deaf_agent(&env).await?;
    server.signal("-INT")?;
    // `bridge.json` is removed first in a shutdown.
    wait_until("the shutdown begins", || !env.folder("home").join("bridge.json").exists())?;
    assert_eq!(ends_in_time(&mut server, "-INT")?, Some(130));
    Ok(())
}

#[test]
fn serve_rejects_busy_port() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let taken = TcpListener::bind(("127.0.0.1", 0))?;
    let port = taken.local_addr()?.port().to_string();
    let output = env.run(&["serve", "--port", &port])?;
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stderr)?;
    assert!(shown.starts_with(&format!("openagents: port {port} is in use")), "{shown}");
    assert_eq!(shown.lines().count(), 1);
    Ok(())
}

#[test]
fn serve_names_the_running_server() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let server = start(&env)?;
    let output = env.run(&["serve", "--port", "0"])?;
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stderr)?;
    assert!(shown.contains(&format!("http://127.0.0.1:{}", server.begun["port"])), "{shown}");
    Ok(())
}

#[test]
fn explore_uses_a_running_server() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nProj is a project.\n")])?;
    let server = start(&env)?;
    let there = env.explore(&["--goal", "anything"])?;
    assert_eq!((&there["status"], &there["intent"]), (&"complete".into(), &"Proj is a project.".into()));
    drop(server);
    let here = env.explore(&["--goal", "anything"])?;
    for key in ["status", "intent", "source", "ops", "message", "repository", "evidence"] {
        assert_eq!(there[key], here[key], "{key}");
    }
    Ok(())
}

/// Everything sent before the kill is there after it, and the next update has the next number.
#[test]
fn kill_9_loses_no_sent_update() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nProj is a project.\n")])?;
    let mut server = start(&env)?;
    let output = env.run(&["explore", "--json"])?;
    server.child.kill()?;
    server.child.wait()?;
    let shown = json_lines(&output.stdout)?;
    let (last, updates) = shown.split_last().context("lines")?;
    let session = last["final"]["session_id"].as_str().context("session_id")?;
    let store = openagents_bridge::open_store(&env.folder("home"))?;
    let stored = store.updates_after(session, 0, 10_000)?;
    let numbers = |seq: &Value| seq["_meta"]["openagents"]["seq"].as_u64();
    let shown: Vec<_> = updates.iter().filter_map(numbers).collect();
    assert_eq!(
        stored.iter().map(|row| row.seq).collect::<Vec<_>>(),
        (1..=stored.len() as u64).collect::<Vec<_>>()
    );
    assert!(!shown.is_empty() && shown.iter().all(|seq| *seq <= stored.len() as u64));
    Ok(())
}

#[test]
fn serve_rejects_missing_root() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let output = env.run(&["serve", "--port", "0", "--root", "nope"])?;
    assert_eq!(output.status.code(), Some(1));
    let mut shown = String::new();
    output.stderr.as_slice().read_to_string(&mut shown)?;
    assert!(shown.starts_with("openagents: cannot serve nope: "), "{shown}");
    assert!(!env.folder("home").exists());
    Ok(())
}
