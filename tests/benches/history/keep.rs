//! Kept copies: how fast they are made, and their size next to that of each file compressed by zstd.

use crate::{
    bridge::{cpu, peak_memory, timed},
    corpus::Corpus,
};
use anyhow::{Result, ensure};
use openagents_e2e::{
    server::Client,
    table::{Goal, Table},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};

/// zstd's default level.
const LEVEL: i32 = 3;
const IDLE: Duration = Duration::from_secs(20);

/// Measures a bridge, process `pid`, that has listed and indexed everything.
pub(crate) async fn measure(client: &mut Client, pid: u32, made: &Corpus, table: &mut Table) -> Result<()> {
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
    let ratio = number(&kept["bytes"]) / peer;
    table.add("keep: size by zstd -3 of each file", "×", vec![ratio], Some(Goal::Most(1.15)));
    let more = peak_memory(pid)? - memory;
    table.add("keep: more peak memory", "MB", vec![more], Some(Goal::Most(40.0)));
    let (verified, time) = timed(client, "_openagents/keep/verify", json!({})).await?;
    ensure!(verified["damaged"] == json!([]), "{verified}");
    table.add("keep: verify", "MB/s", vec![number(&verified["bytes"]) / 1e3 / time], None);
    let before = cpu(pid)?;
    tokio::time::sleep(IDLE).await;
    let used = (cpu(pid)? - before) / IDLE.as_secs_f64() * 100.0;
    table.add("keep: processor while idle", "%", vec![used], Some(Goal::Most(1.0)));
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
