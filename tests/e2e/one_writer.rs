//! One process writes to a data folder: commands are clients of the running bridge, or of a temporary one.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    agent_turn::{agent, env},
    openai,
    server::{Client, Server},
    terminal::{TestEnv, json_lines, wait_until},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Stdio},
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{Receiver, channel},
    },
};

/// Starts a model that answers once the gate is opened.
fn held_model() -> Result<(openai::Server, Arc<Gate>)> {
    let gate = Arc::new(Gate::default());
    let held = gate.clone();
    let server = openai::Server::start(move |_, reply| {
        held.wait();
        reply.events()?;
        reply.event(&json!({"choices": [{"index": 0, "delta": {"content": "Forty-two."}}]}))?;
        reply.event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
    })?;
    Ok((server, gate))
}

#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(self.changed.wait_while(open, |open| !*open));
    }
}

/// A command whose JSON lines are read while it runs.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn start(mut command: std::process::Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("stdout")?);
        Ok(Self { child, lines })
    }

    fn next(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.lines.read_line(&mut line)? > 0, "it ended: {:?}", self.child.wait()?);
        Ok(serde_json::from_str(&line)?)
    }

    /// Returns the command's last line, which is `final`.
    fn end(mut self) -> Result<Value> {
        let mut rest = Vec::new();
        self.lines.read_to_end(&mut rest)?;
        ensure!(self.child.wait()?.success(), "{}", String::from_utf8_lossy(&rest));
        Ok(json_lines(&rest)?.pop().context("a line")?["final"].take())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines until one is an update with this text.
fn follow(mut command: Running, last: &'static str) -> Receiver<Result<Vec<u64>>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut numbers = Vec::new();
        let followed = loop {
            match command.next() {
                Ok(params) => {
                    numbers.extend(params["_meta"]["openagents"]["seq"].as_u64());
                    if params["update"]["content"]["text"].as_str().is_some_and(|text| text.contains(last)) {
                        break Ok(numbers);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        let _ = sender.send(followed);
    });
    receiver
}

fn serve(env: &TestEnv) -> Result<Server> {
    Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)
}

#[tokio::test]
async fn command_shares_a_session_with_the_app() -> Result<()> {
    let (env, (model, gate)) = (env()?, held_model()?);
    let app = serve(&env)?;
    let mut command =
        Running::start(agent(&env, &model.base_url(), "What is it?", &["--temperature", "0", "--json"])?)?;
    let session = command.next()?["sessionId"].as_str().context("a session id")?.to_owned();
    let attach = Running::start(env.openagents(&["attach", "--json", &session])?)?;
    let attached = follow(attach, "README.md");

    // The prompt waits behind the command's turn.
    let mut client = app.connect().await?;
    let content = json!([{"type": "text", "text": "What does this project do?"}]);
    let prompt = client.send("session/prompt", json!({"sessionId": session, "prompt": content})).await?;
    gate.open();
    let end = command.end()?;
    assert_eq!((&end["status"], &end["message"]), (&json!("complete"), &json!("Forty-two.")));
    let answer = client.until("the end of the second turn", |frame| frame["id"] == prompt).await?;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert_eq!(model.asked()[0].body["temperature"].as_f64(), Some(0.0));

    let numbers = attached.recv()??;
    let stored = openagents_bridge::open_store(&env.folder("home"))?.updates_after(&session, 0, 1_000)?;
    assert_eq!(
        stored.iter().map(|row| row.seq).collect::<Vec<_>>(),
        (1..=stored.len() as u64).collect::<Vec<_>>()
    );
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "live, none missing, none twice");
    Ok(())
}

#[test]
fn commands_share_a_temporary_bridge() -> Result<()> {
    let env = env()?;
    let commands = (0..4).map(|_| Running::start(env.openagents(&["explore", "--json"])?));
    let commands = commands.collect::<Result<Vec<_>>>()?;
    let ends = commands.into_iter().map(Running::end).collect::<Result<Vec<_>>>()?;
    ends.iter().for_each(|end| assert_eq!(end["status"], "complete", "{end}"));
    let home = env.folder("home");
    wait_until("the bridge ends", || openagents_bridge::running(&home).is_none())?;
    let sessions = openagents_bridge::open_store(&home)?.sessions(10, None, None, false)?;
    assert_eq!(sessions.len(), ends.len());
    Ok(())
}

#[tokio::test]
async fn serve_takes_over_after_the_running_turn() -> Result<()> {
    let (env, (model, gate)) = (env()?, held_model()?);
    let home = env.folder("home");
    let mut command = Running::start(agent(&env, &model.base_url(), "What is it?", &["--json"])?)?;
    let session = command.next()?["sessionId"].as_str().context("a session id")?.to_owned();
    let temporary = openagents_bridge::running(&home).context("the temporary bridge")?;

    let app = env.openagents(&["serve", "--port", "0", "--json"])?;
    let app = std::thread::spawn(move || Server::start(app));
    let mut client = Client::beside(&home, "test").await?;
    let list = client.request("session/list", json!({})).await?;
    assert_eq!(list["sessions"][0]["sessionId"], session, "the temporary bridge goes on until the turn ends");
    assert!(!app.is_finished());
    gate.open();
    assert_eq!(command.end()?["message"], "Forty-two.");
    let Ok(app) = app.join() else { anyhow::bail!("the app panicked") };
    let app = app?;
    assert_ne!(app.begun["port"], temporary.port());
    let mut client = app.connect().await?;
    let list = client.request("session/list", json!({})).await?;
    assert_eq!(list["sessions"][0]["sessionId"], session);
    Ok(())
}
