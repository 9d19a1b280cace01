//! The bridge as the bench uses it: streaming, catching up, and with many idle clients.

use crate::{
    frames::Frames,
    processes::Usage,
    readers::{block_on, follow},
};
use anyhow::{Context as _, Result, ensure};
use openagents_e2e::chaos::bridge::BusyBridge;
use openagents_e2e::table::{Goal, Table};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};

pub(crate) struct Bridge(BusyBridge);

impl Bridge {
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        BusyBridge::start(folder).map(Self)
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port
    }

    pub(crate) fn token(&self) -> &str {
        &self.0.token
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.pid()
    }

    async fn connect(&self) -> Result<Frames> {
        Frames::connect(self.port(), Some(self.token()), 64 << 10).await
    }

    /// Creates a session in which the busy agent answers.
    pub(crate) fn session(&self) -> Result<String> {
        block_on(async {
            let mut frames = self.connect().await?;
            let new = json!({"cwd": self.0.workspace(), "mcpServers": []});
            let made = ask(&mut frames, "session/new", new).await?;
            let id = made["sessionId"].as_str().context("sessionId")?.to_owned();
            ask(&mut frames, "session/set_mode", json!({"sessionId": id, "modeId": "codex"})).await?;
            Ok(id)
        })
    }

    /// Sends a prompt without waiting for its answer.
    pub(crate) fn prompt(&self, session: &str, text: &str) -> Result<()> {
        block_on(async {
            let mut frames = self.connect().await?;
            send_prompt(&mut frames, session, text).await
        })
    }

    /// Measures how long a client that has missed many updates needs to catch up.
    pub(crate) fn catch_up(&self, missed: u64, runs: usize, table: &mut Table) -> Result<()> {
        let session = self.session()?;
        block_on(async {
            let mut frames = self.connect().await?;
            send_prompt(&mut frames, &session, &format!("flood {missed}")).await?;
            while frames.next(|text| memchr::memmem::find(text, b"stopReason").is_none()).await? {}
            let (mut whole, mut folded) = (Vec::new(), Vec::new());
            for _ in 0..runs {
                whole.push(self.time_to_end(&session, missed, false).await?);
                folded.push(self.time_to_end(&session, missed, true).await?);
            }
            table.add(
                format!("catching up {missed} updates, each of them"),
                "ms",
                whole,
                Some(Goal::Most(300.0)),
            );
            table.add(
                format!("catching up {missed} updates, as a snapshot"),
                "ms",
                folded,
                Some(Goal::Most(300.0)),
            );
            Ok(())
        })
    }

    /// Returns the milliseconds from the request to the last update.
    async fn time_to_end(&self, session: &str, missed: u64, snapshot: bool) -> Result<f64> {
        let mut frames = self.connect().await?;
        let answer = follow(&mut frames, session, u64::from(u32::MAX), false).await?;
        let head = serde_json::from_str::<Value>(&answer)?["result"]["seq"].as_u64().context("seq")?;
        drop(frames);
        let mut frames = self.connect().await?;
        let asked = Instant::now();
        follow(&mut frames, session, head - missed, snapshot).await?;
        let last = if snapshot { "_openagents/snapshot".to_owned() } else { format!("\"seq\":{head},") };
        let is_last = |text: &[u8]| memchr::memmem::rfind(text, last.as_bytes()).is_some();
        let mut came = 1;
        while !frames.next(is_last).await? {
            came += 1;
        }
        let took = asked.elapsed().as_secs_f64() * 1000.0;
        ensure!(snapshot || came == missed, "{came} of {missed} updates came");
        Ok(took)
    }

    /// Measures the cost of clients that follow an idle session.
    pub(crate) fn idle(&self, count: usize, table: &mut Table) -> Result<()> {
        let session = self.session()?;
        block_on(async {
            let before = Usage::for_pid(self.pid())?;
            let mut clients = Vec::new();
            for _ in 0..count {
                let mut frames = Frames::connect(self.port(), Some(self.token()), 1 << 10).await?;
                follow(&mut frames, &session, u64::from(u32::MAX), false).await?;
                clients.push(frames);
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
            let after = Usage::for_pid(self.pid())?;
            let each = (after.resident - before.resident) * 1000.0 / count as f64;
            table.add(
                format!("{count} idle clients: memory of each"),
                "KB",
                vec![each],
                Some(Goal::Most(100.0)),
            );
            Ok(())
        })
    }
}

async fn ask(frames: &mut Frames, method: &str, params: Value) -> Result<Value> {
    let request = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params});
    frames.send(&request.to_string()).await?;
    loop {
        let frame: Value = frames.next(|text: &[u8]| serde_json::from_slice(text)).await??;
        if frame["id"] == 9 {
            return frame.get("result").cloned().with_context(|| frame.to_string());
        }
    }
}

async fn send_prompt(frames: &mut Frames, session: &str, text: &str) -> Result<()> {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    let request = json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params});
    frames.send(&request.to_string()).await?;
    // The prompt is in the log once it is shown.
    while frames.next(|text| memchr::memmem::find(text, b"user_message_chunk").is_none()).await? {}
    Ok(())
}
