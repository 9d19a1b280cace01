//! Kept copies: how fast they are made, and their size next to that of each file compressed by zstd.

use crate::{
    bridge::{cpu, peak_memory, timed},
    corpus::{self, Corpus},
};
use anyhow::{Result, ensure};
use openagents_e2e::{
    server::{Client, Server},
    table::{Goal, Table},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

/// zstd's default level.
const LEVEL: i32 = 3;
const IDLE: Duration = Duration::from_secs(20);
/// Logs that change, one every `EACH`.
const LOGS: usize = 200;
const EACH: Duration = Duration::from_millis(200);
const HANGS: Duration = Duration::from_secs(60);

/// Measures a bridge that has listed and indexed everything.
pub(crate) async fn measure(server: &Server, made: &Corpus, table: &mut Table) -> Result<()> {
    let (mut client, pid) = (server.connect().await?, server.child.id());
    let (memory, started) = (peak_memory(pid)?, Instant::now());
    client.request("_openagents/keep/configure", json!({"on": true})).await?;
    let kept = loop {
        let kept = client.request("_openagents/keep/status", json!({})).await?;
        ensure!(kept["state"] == "on", "there is no room for the copies: {kept}");
        if kept["waiting"] == 0 && kept["sessions"].as_u64() > Some(0) {
            break kept;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let speed = number(&kept["rawBytes"]) / 1e6 / started.elapsed().as_secs_f64();
    table.add("keep: all sessions copied", "MB/s", vec![speed], None);
    let peer = compressed(&made.home)? as f64;
    // The first connection was closed: it did not answer meanwhile.
    client = server.connect().await?;
    let ratio = number(&kept["bytes"]) / peer;
    println!("Kept: {} bytes for {}; by zstd -{LEVEL} {peer}.", kept["bytes"], kept["rawBytes"]);
    table.add("keep: size by zstd -3 of each file", "×", vec![ratio], Some(Goal::Most(1.15)));
    let more = peak_memory(pid)? - memory;
    table.add("keep: more peak memory", "MB", vec![more], Some(Goal::Most(40.0)));
    let (verified, time) = timed(&mut client, "_openagents/keep/verify", json!({})).await?;
    ensure!(verified["damaged"] == json!([]), "{verified}");
    table.add("keep: verify", "MB/s", vec![number(&verified["bytes"]) / 1e3 / time], None);
    let before = cpu(pid)?;
    tokio::time::sleep(IDLE).await;
    let used = (cpu(pid)? - before) / IDLE.as_secs_f64() * 100.0;
    table.add("keep: processor while idle", "%", vec![used], Some(Goal::Most(1.0)));
    capture(&mut client, made, table).await
}

/// Appends a line to a log of Claude Code every 200 ms, and measures when the copy of each has it.
async fn capture(client: &mut Client, made: &Corpus, table: &mut Table) -> Result<()> {
    // Every tenth session is of Claude Code.
    let logs: Vec<_> =
        (0..made.size.transcripts / 10).take(LOGS).map(|at| corpus::claude_log(made, at * 10)).collect();
    let mut waiting: Vec<(usize, u64, Instant)> = Vec::new();
    let mut lengths = Vec::new();
    let (mut times, mut next) = (Vec::new(), Instant::now());
    while lengths.len() < logs.len() || !waiting.is_empty() {
        if lengths.len() < logs.len() && next <= Instant::now() {
            let (id, path) = &logs[lengths.len()];
            let length = fs::metadata(path)?.len();
            let line = json!({"type": "user", "uuid": "new", "sessionId": id, "cwd": "/w/project0", "version": "2.1.230",
                "timestamp": "2026-11-01T00:00:00Z", "isSidechain": false,
                "message": {"role": "user", "content": "One more thing"}}).to_string() + "\n";
            OpenOptions::new().append(true).open(path)?.write_all(line.as_bytes())?;
            waiting.push((lengths.len(), length + line.len() as u64, Instant::now()));
            lengths.push(length);
            next += EACH;
        }
        let mut left = Vec::new();
        for (at, bytes, since) in waiting {
            let named = json!({"provider": "claude-code", "id": logs[at].0});
            let versions = client.request("_openagents/keep/versions", named).await?;
            let last = versions["versions"].as_array().and_then(|versions| versions.last());
            if last.and_then(|last| last["bytes"].as_u64()) >= Some(bytes) {
                times.push(since.elapsed().as_secs_f64());
            } else {
                ensure!(since.elapsed() < HANGS, "a change is not captured: {versions}");
                left.push((at, bytes, since));
            }
        }
        waiting = left;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for ((_, path), length) in logs.iter().zip(lengths) {
        OpenOptions::new().write(true).open(path)?.set_len(length)?;
    }
    table.add("keep: a change is captured", "s", times, Some(Goal::P99(10.0)));
    Ok(())
}

/// Returns the size of all files below a folder, each compressed.
fn compressed(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        } else {
            let mut count = Count(0);
            zstd::stream::copy_encode(File::open(&path)?, &mut count, LEVEL)?;
            bytes += count.0;
        }
    }
    Ok(bytes)
}

struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
