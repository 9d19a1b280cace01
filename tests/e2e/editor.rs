//! `openagents acp`: an editor starts OpenAgents as its agent and talks to it over standard input and output.

use anyhow::{Context, Result, ensure};
use openagents_e2e::{
    server::Server,
    terminal::{TestEnv, wait_until},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// An editor's side of the pipe.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Editor {
    fn start(env: &TestEnv) -> Result<Self> {
        let mut child = env.openagents(&["acp"])?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("stdout")?);
        Ok(Self { child, input, output })
    }

    fn ask(&mut self, id: u64, method: &str, params: Value) -> Result<()> {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        Ok(writeln!(self.input.as_mut().context("stdin")?, "{frame}")?)
    }

    /// Reads up to the response to `id`; returns it and the frames before it.
    fn answer(&mut self, id: u64) -> Result<(Value, Vec<Value>)> {
        let mut before = Vec::new();
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "it ended before answering {id}: {before:?}");
            let frame: Value = serde_json::from_str(&line)?;
            if frame["id"] == id && frame.get("method").is_none() {
                return Ok((frame, before));
            }
            before.push(frame);
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn talk(env: &TestEnv) -> Result<()> {
    let mut editor = Editor::start(env)?;
    editor.ask(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
    let (initialized, _) = editor.answer(1)?;
    assert_eq!(initialized["result"]["protocolVersion"], 1);
    assert_eq!(initialized["result"]["agentInfo"]["name"], "openagents");
    editor.ask(2, "session/new", json!({"cwd": env.workspace, "mcpServers": []}))?;
    let session = editor.answer(2)?.0["result"]["sessionId"].clone();
    let prompt = json!([{"type": "text", "text": "What does this project do?"}]);
    editor.ask(3, "session/prompt", json!({"sessionId": session, "prompt": prompt}))?;
    let (ended, before) = editor.answer(3)?;
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let text =
        |frame: &Value| frame["params"]["update"]["content"]["text"].as_str().unwrap_or_default().to_owned();
    let found = before
        .iter()
        .map(text)
        .any(|text| text.starts_with("A small project.") && text.contains("`README.md:3`"));
    assert!(found, "{before:?}");
    // An editor that closes the pipe wants the agent to exit.
    drop(editor.input.take());
    assert_eq!(editor.child.wait()?.code(), Some(0));
    Ok(())
}

#[test]
fn editor_bridge_ends_with_the_editor() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nA small project.\n")])?;
    talk(&env)?;
    wait_until("the bridge ends", || !env.folder("home").join("bridge.json").exists())
}

#[test]
fn editor_survives_takeover_by_the_app() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nA small project.\n")])?;
    let mut editor = Editor::start(&env)?;
    editor.ask(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
    editor.answer(1)?;
    editor.ask(2, "session/new", json!({"cwd": env.workspace, "mcpServers": []}))?;
    let session = editor.answer(2)?.0["result"]["sessionId"].clone();
    let question = |text: &str| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    editor.ask(3, "session/prompt", question("What does this project do?"))?;
    editor.answer(3)?;
    let _app = Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)?;
    editor.ask(4, "session/prompt", question("Where is it described?"))?;
    let (ended, before) = editor.answer(4)?;
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert!(before.iter().all(|frame| frame["id"] != 1), "it was greeted once: {before:?}");
    Ok(())
}

#[test]
fn editor_joins_a_running_bridge() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nA small project.\n")])?;
    let _server = Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)?;
    talk(&env)?;
    assert!(env.folder("home").join("bridge.json").exists(), "the bridge goes on");
    Ok(())
}
