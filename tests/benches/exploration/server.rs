//! The whole exploration, requested over the wire from the real server.

use crate::synthetic::{NEEDLE, Synthetic};
use anyhow::{Context, Result, bail};
use futures::{SinkExt, StreamExt};
use openagents_e2e::table::{Goal, Table};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Instant,
};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest},
};

const RUNS: usize = 7;

/// The steps that the measured plan must contain.
const STEPS: [&str; 4] = ["session.search", "session.analyze", "search.grep", "content.get_span"];

pub(crate) fn measure(made: &Synthetic, table: &mut Table) -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut server = start(made, home.path())?;
    let measured = tokio::runtime::Runtime::new()?.block_on(explorations(&mut server, made));
    let memory = peak_memory(server.child.id());
    server.child.kill()?;
    server.child.wait()?;
    let Measured { cold, first, plan, whole } = measured?;
    table.add("exploration, cold index: whole", "ms", vec![cold], None);
    table.add("exploration, warm: first update after the request", "ms", first, Some(Goal::Most(50.0)));
    table.add("exploration, warm: the plan after the request", "ms", plan, None);
    table.add("exploration, warm: whole", "ms", whole, Some(Goal::Most(1500.0)));
    table.add("server: peak memory (VmHWM)", "MB", vec![memory?], Some(Goal::Most(150.0)));
    Ok(())
}

struct Server {
    child: Child,
    port: u64,
    token: String,
}

fn start(made: &Synthetic, home: &std::path::Path) -> Result<Server> {
    let program = std::env::var("OPENAGENTS_BIN").unwrap_or_else(|_| "target/release/openagents".into());
    let mut child = Command::new(&program)
        .args(["serve", "--port", "0", "--json", "--root"])
        .arg(&made.workspace)
        .env("OPENAGENTS_HOME", home)
        .env("CODEX_HOME", &made.codex)
        .env("CLAUDE_CONFIG_DIR", &made.claude)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}; run it by `make bench`"))?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
    let begun: Value = serde_json::from_str(&line)?;
    let token = std::fs::read_to_string(begun["token_file"].as_str().context("no token_file")?)?;
    Ok(Server { child, port: begun["port"].as_u64().context("no port")?, token: token.trim().to_owned() })
}

struct Measured {
    cold: f64,
    first: Vec<f64>,
    plan: Vec<f64>,
    whole: Vec<f64>,
}

type Socket = WebSocketStream<TcpStream>;

async fn explorations(server: &mut Server, made: &Synthetic) -> Result<Measured> {
    let mut request = format!("ws://127.0.0.1:{}/acp", server.port).into_client_request()?;
    request.headers_mut().insert("authorization", format!("Bearer {}", server.token).parse()?);
    let stream = TcpStream::connect(("127.0.0.1", u16::try_from(server.port)?)).await?;
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await?;
    send(&mut socket, json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}})).await?;
    let mut measured = Measured { cold: 0.0, first: Vec::new(), plan: Vec::new(), whole: Vec::new() };
    for run in 0..=RUNS {
        let [first, plan, whole] = one(&mut socket, run + 1, made).await?;
        if run == 0 {
            measured.cold = whole;
        } else {
            measured.first.push(first);
            measured.plan.push(plan);
            measured.whole.push(whole);
        }
    }
    Ok(measured)
}

/// Returns the milliseconds until the first update, the plan and the final message.
async fn one(socket: &mut Socket, id: usize, made: &Synthetic) -> Result<[f64; 3]> {
    let goal = format!("Make the {NEEDLE} safe");
    let params = json!({"root": made.workspace, "goals": [goal]});
    let asked = Instant::now();
    send(socket, json!({"jsonrpc": "2.0", "id": id, "method": "_openagents/explore", "params": params}))
        .await?;
    let (mut first, mut plan, mut steps) = (None, None, BTreeSet::new());
    loop {
        let Some(frame) = socket.next().await else { bail!("the server closed the connection") };
        let Message::Text(text) = frame? else { continue };
        let message: Value = serde_json::from_str(&text)?;
        if let Some(error) = message.get("error") {
            bail!("the server refuses: {error}");
        }
        if message["method"] != "session/update" {
            continue;
        }
        first.get_or_insert_with(|| asked.elapsed());
        let update = &message["params"]["update"];
        match update["sessionUpdate"].as_str() {
            Some("plan") => {
                plan.get_or_insert_with(|| asked.elapsed());
            }
            Some("tool_call") => {
                steps.insert(update["title"].as_str().unwrap_or_default().to_owned());
            }
            Some("tool_call_update") if update["_meta"]["openagents"]["timedOut"] == true => {
                bail!("a step timed out: {}", update["_meta"]);
            }
            Some("tool_call_update") if update["status"] == "failed" => bail!("a step failed: {update}"),
            // Findings come before the summary.
            Some("agent_message_chunk") if !update["_meta"]["openagents"]["summary"].is_null() => break,
            _ => {}
        }
    }
    let whole = asked.elapsed();
    if let Some(missing) = STEPS.iter().find(|step| !steps.contains(**step)) {
        bail!("the plan has no {missing}: {steps:?}");
    }
    Ok([first.unwrap_or(whole), plan.unwrap_or(whole), whole].map(|time| time.as_secs_f64() * 1000.0))
}

async fn send(socket: &mut Socket, message: Value) -> Result<()> {
    Ok(socket.send(Message::text(message.to_string())).await?)
}

/// Returns the largest resident set since the start, in megabytes.
fn peak_memory(pid: u32) -> Result<f64> {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).context("peak memory needs Linux's /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1000.0)
}
