//! `openagents doctor` and `openagents agents`, with and without a running bridge.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    server::Server,
    terminal::{TestEnv, program},
};
use serde_json::{Value, json};
use std::process::{Command, Output};

fn env() -> Result<TestEnv> {
    TestEnv::new("proj", &[("README.md", "# Proj\n")])
}

/// Returns a command that finds only added agents in the PATH.
fn openagents(env: &TestEnv, arguments: &[&str]) -> Result<Command> {
    let mut command = env.openagents(arguments)?;
    command.env("OPENAGENTS_AGENT_PATH", "/usr/bin:/bin");
    Ok(command)
}

fn run(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    Ok(openagents(env, arguments)?.output()?)
}

fn printed(output: &Output) -> Result<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", output.status);
    Ok(String::from_utf8(output.stdout.clone())?)
}

fn cards(env: &TestEnv) -> Result<Vec<Value>> {
    let snapshot: Value = serde_json::from_str(&printed(&run(env, &["doctor", "--json"])?)?)?;
    assert_eq!(snapshot["checking"], false);
    Ok(snapshot["agents"].as_array().context("agents")?.clone())
}

fn card(env: &TestEnv, id: &str) -> Result<Option<Value>> {
    Ok(cards(env)?.into_iter().find(|card| card["id"] == id))
}

fn add_check_and_remove(env: &TestEnv) -> Result<()> {
    let agent = program("fake-agent")?;
    let agent = agent.to_str().context("a path that is text")?;
    let added = printed(&run(
        env,
        &["agents", "add", "fake", "--name", "Fake", "--env", "FAKE_AGENT_LOAD=1", "--", agent],
    )?)?;
    assert!(added.contains("custom:fake") && added.contains("supports session/load"), "{added}");
    let fake = card(env, "custom:fake")?.context("the agent that was added")?;
    assert_eq!(
        (&fake["usable"], &fake["transport"], &fake["name"]),
        (&json!(true), &json!("acp"), &json!("Fake"))
    );
    // Adding the same id again changes the agent, which now exits at once.
    printed(&run(env, &["agents", "add", "fake", "--env", "FAKE_AGENT_EXIT=3", "--", agent])?)?;
    let fake = card(env, "custom:fake")?.context("the agent that was changed")?;
    assert_eq!(fake["usable"], false);
    let problem = fake["problem"].as_str().context("a problem")?;
    assert!(problem.contains("exit code 3") && problem.contains("told to exit"), "{problem}");
    let table = printed(&run(env, &["agents", "list"])?)?;
    assert!(table.contains("✗ Codex") && table.contains("openagents agents install codex"), "{table}");
    printed(&run(env, &["agents", "remove", "fake"])?)?;
    assert_eq!(card(env, "custom:fake")?, None);
    let again = run(env, &["agents", "remove", "fake"])?;
    assert!(String::from_utf8_lossy(&again.stderr).contains("no such agent: fake"));
    Ok(())
}

#[test]
fn doctor_adds_checks_and_removes_agents() -> Result<()> {
    add_check_and_remove(&env()?)
}

#[test]
fn doctor_uses_a_running_bridge() -> Result<()> {
    let env = env()?;
    let _server = Server::start(openagents(&env, &["serve", "--port", "0", "--json"])?)?;
    add_check_and_remove(&env)
}

#[test]
fn registry_entry_becomes_an_agent() -> Result<()> {
    let env = env()?;
    let entry = env.folder("agent.json");
    let distribution = json!({"npx": {"package": "@example/agent@1.2.3", "args": ["--acp"]}});
    std::fs::write(
        &entry,
        json!({"id": "example", "name": "Example", "distribution": distribution}).to_string(),
    )?;
    let entry = entry.to_str().context("a path that is text")?;
    // Nothing is downloaded: there is no npx in this PATH.
    let mut command = openagents(&env, &["agents", "add", "example", "--registry", entry])?;
    let added = printed(&command.env("OPENAGENTS_AGENT_PATH", "/nowhere").output()?)?;
    assert!(added.contains("Example") && added.contains("npx is not in the PATH"), "{added}");
    Ok(())
}

#[test]
fn doctor_corrects_bad_usage() -> Result<()> {
    let env = env()?;
    let rows: [(&[&str], i32, &str); 5] = [
        (&["agents", "add", "x"], 2, "-- COMMAND"),
        (&["agents", "add", "x", "--openai", "http://localhost:1/v1"], 2, "--model"),
        (&["agents", "add", "X", "--", "agent"], 1, "a-z"),
        (&["agents", "add", "x", "--openai", "ftp://h/v1", "--model", "m"], 1, "http"),
        (
            &[
                "agents",
                "add",
                "x",
                "--openai",
                "http://h/v1",
                "--model",
                "m",
                "--header",
                "Authorization: k",
            ],
            1,
            "secret",
        ),
    ];
    for (arguments, code, expected) in rows {
        let output = run(&env, arguments)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
    Ok(())
}

/// Started as from the Dock: without a terminal and with only the system's PATH.
#[cfg(target_os = "linux")]
#[test]
fn silent_login_shell_is_named_and_stopped() -> Result<()> {
    let env = env()?;
    let (shell, children) = (env.folder("slow-shell"), env.folder("children"));
    let script = format!("#!/bin/sh\nsleep 600 & echo $! >> {}\nwait\n", children.display());
    std::fs::write(&shell, script)?;
    let mode = Command::new("chmod").arg("755").arg(&shell).status()?;
    ensure!(mode.success(), "chmod");
    let openagents = program("openagents")?;
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(openagents).arg("doctor");
    env.surround(&mut command);
    command.env("SHELL", &shell).env("PATH", "/usr/bin:/bin").env_remove("OPENAGENTS_AGENT_PATH");
    let table = printed(&command.output()?)?;
    let problem =
        format!("! The login shell {} did not answer within 5 s. Its start-up files wait", shell.display());
    assert!(table.contains(&problem), "{table}");
    assert!(table.contains("start OpenAgents from a terminal"), "{table}");
    let children = std::fs::read_to_string(children)?;
    // The shell is asked only once, even with several waiters.
    assert_eq!(children.lines().count(), 1);
    let there = std::path::Path::new("/proc").join(children.trim());
    // A killed process may still have to be reaped by its new parent.
    let state = std::fs::read_to_string(there.join("stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    Ok(())
}
