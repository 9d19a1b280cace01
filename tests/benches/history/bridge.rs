//! Measures how long a client of a running bridge waits.

use crate::{
    corpus::{self, Corpus},
    keep,
    text::Dice,
};
use anyhow::{Context, Result, ensure};
use openagents_e2e::{
    server::{Client, Server},
    table::{Goal, Table},
};
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const RUNS: usize = 15;
const SEARCHES: usize = 300;
const IDLE: Duration = Duration::from_secs(20);

/// Measures a bridge on the empty data folder `home`, which it fills.
pub(crate) async fn measure(made: &Corpus, home: &Path, table: &mut Table) -> Result<()> {
    let started = Instant::now();
    let server = Server::start(program(made, home, &["serve", "--port", "0", "--json"]))?;
    let mut client = server.connect().await?;
    let (page, first) = timed(&mut client, "_openagents/history/list", json!({})).await?;
    table.add("list: first page, nothing known", "ms", vec![first], Some(Goal::Most(300.0)));
    // A window shows about 25 rows; rows read later are sent as changes.
    let rows = page["sessions"].as_array().map_or(0, Vec::len);
    table.add("list: rows of it", "", vec![rows as f64], Some(Goal::Least(25.0)));

    let megabytes = made.bytes as f64 / 1e6;
    wait(&mut client, |state| state["listed"].as_u64() == Some(made.size.transcripts as u64 + 1)).await?;
    table.add(
        "first pass: all sessions in the list",
        "MB/s",
        vec![megabytes / started.elapsed().as_secs_f64()],
        None,
    );
    wait(&mut client, |state| state["indexing"]["done"].as_u64() >= Some(made.size.transcripts as u64))
        .await?;
    table.add(
        "both passes: everything indexed",
        "MB/s",
        vec![megabytes / started.elapsed().as_secs_f64()],
        None,
    );
    let bytes = |name: &str| std::fs::metadata(home.join(name)).map_or(0, |file| file.len());
    // The index is then rewritten in one piece, which empties its log.
    for _ in 0..600 {
        if bytes("history.db-wal") == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    table.add("with the index in one piece", "s", vec![started.elapsed().as_secs_f64()], None);
    let index = (bytes("history.db") + bytes("history.db-wal")) as f64;
    table.add(
        "index, of the transcripts' size",
        "%",
        vec![index / made.bytes as f64 * 100.0],
        Some(Goal::Most(5.0)),
    );
    table.add(
        "bridge: peak memory (VmHWM)",
        "MB",
        vec![peak_memory(server.child.id())?],
        Some(Goal::Most(300.0)),
    );

    let mut warm = Vec::new();
    for _ in 0..RUNS {
        warm.push(timed(&mut client, "_openagents/history/list", json!({})).await?.1);
    }
    table.add("list: first page, warm", "ms", warm, Some(Goal::Most(50.0)));
    search(&mut client, made, table).await?;
    open(&mut client, made, table).await?;
    let before = cpu(server.child.id())?;
    tokio::time::sleep(IDLE).await;
    let used = cpu(server.child.id())? - before;
    table.add("idle: processor", "%", vec![used / IDLE.as_secs_f64() * 100.0], Some(Goal::Most(1.0)));
    drop(client);
    keep::measure(&server, made, table).await
}

async fn search(client: &mut Client, made: &Corpus, table: &mut Table) -> Result<()> {
    let mut dice = Dice::new(3);
    let mut word = |among: usize| made.words[dice.roll(among)].clone();
    let mut queries = Vec::new();
    for number in 0..SEARCHES {
        queries.push(match number % 4 {
            0 => word(made.words.len()),
            1 => format!("{} {}", word(2_000), word(made.words.len())),
            // The most frequent words occur in every session.
            2 => format!("{} {}", word(20), word(20)),
            _ => format!("topic{}x", number * 7),
        });
    }
    let mut times = Vec::new();
    let mut found = 0;
    for query in &queries {
        let (result, time) = timed(client, "_openagents/sessions/search", json!({"query": query})).await?;
        found += usize::from(result["sessions"].as_array().is_some_and(|rows| !rows.is_empty()));
        times.push(time);
    }
    ensure!(found * 2 > SEARCHES, "only {found} of {SEARCHES} searches found something");
    table.add("search: words, p99", "ms", times, Some(Goal::P99(50.0)));
    let typed = "con ver_mo";
    let mut strokes = Vec::new();
    for end in 1..=typed.len() {
        strokes.push(
            timed(client, "_openagents/sessions/search", json!({"query": &typed[..end], "limit": 20}))
                .await?
                .1,
        );
    }
    table.add("search: a keystroke, slowest", "ms", strokes, Some(Goal::P99(50.0)));
    Ok(())
}

async fn open(client: &mut Client, made: &Corpus, table: &mut Table) -> Result<()> {
    let id = corpus::long_id();
    let named = json!({"provider": "claude-code", "id": id});
    let mut ends = Vec::new();
    let mut end = Value::Null;
    for _ in 0..RUNS {
        let (part, time) = timed(client, "_openagents/history/read", named.clone()).await?;
        ensure!(part["updates"].as_array().is_some_and(|updates| updates.len() > 10), "the end is empty");
        ends.push(time);
        end = part["to"].clone();
    }
    table.add("long transcript: its end", "ms", ends, Some(Goal::Most(150.0)));
    let path = made.home.join(format!(".claude/projects/-w-project0/{id}.jsonl"));
    let length = std::fs::metadata(&path)?.len();
    client.request("_openagents/history/watch", json!({})).await?;
    let mut shown = Vec::new();
    for number in 0..RUNS {
        let text = format!("One more thing {number}");
        let line = json!({"type": "user", "uuid": "new", "sessionId": id, "cwd": "/w/project0", "version": "2.1.230",
            "timestamp": "2026-11-01T00:00:00Z", "isSidechain": false, "origin": {"kind": "human"},
            "message": {"role": "user", "content": text}});
        // Does what the page does: it is notified that the session has changed, and continues reading.
        let begun = Instant::now();
        writeln!(OpenOptions::new().append(true).open(&path)?, "{line}")?;
        let output = |frame: &Value| {
            let rows = frame["params"]["sessions"].as_array();
            frame["method"] == "_openagents/history/changed"
                && rows.is_some_and(|rows| rows.iter().any(|row| row["id"] == id))
        };
        client.until("the change of the list", output).await?;
        let mut later = named.clone();
        later["from"] = end;
        let (part, _) = timed(client, "_openagents/history/read", later).await?;
        shown.push(begun.elapsed().as_secs_f64() * 1000.0);
        ensure!(part["updates"].to_string().contains(&text), "the appended line is missing: {part}");
        end = part["to"].clone();
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    OpenOptions::new().write(true).open(&path)?.set_len(length)?;
    table.add("long transcript: an appended line, told and read", "ms", shown, Some(Goal::Most(500.0)));
    Ok(())
}

/// Polls until the state is the wanted one.
async fn wait(client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Result<()> {
    loop {
        let state =
            client.request("_openagents/sessions/search", json!({"query": "con", "limit": 1})).await?;
        let page = client.request("_openagents/history/list", json!({"limit": 1})).await?;
        let listed = page["total"].clone();
        if wanted(&json!({"indexing": state["indexing"], "listed": listed})) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) async fn timed(client: &mut Client, method: &str, params: Value) -> Result<(Value, f64)> {
    let begun = Instant::now();
    let result = client.request(method, params).await?;
    Ok((result, begun.elapsed().as_secs_f64() * 1000.0))
}

/// Returns a command that runs the program on the corpus with the data folder `home`.
pub(crate) fn program(made: &Corpus, home: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var("OPENAGENTS_BIN").unwrap_or_else(|_| "target/release/openagents".into());
    let mut command = Command::new(program);
    command.args(arguments).env("OPENAGENTS_HOME", home).env("HOME", &made.home).current_dir(&made.workspace);
    for variable in [
        "CODEX_HOME",
        "CLAUDE_CONFIG_DIR",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Returns the largest resident set since the start, in megabytes.
pub(crate) fn peak_memory(pid: u32) -> Result<f64> {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).context("peak memory needs Linux's /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1000.0)
}

/// Returns the CPU time since the start, in seconds.
pub(crate) fn cpu(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // After the name in parentheses, user and system time are the 12th and 13th fields, in hundredths of a second.
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}
