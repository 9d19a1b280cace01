//! The baseline: a typical WebSocket broadcast with axum and a tokio channel. It stores nothing, numbers nothing, and
//! drops updates for which a slow reader has no room.

use crate::processes::Child;
use anyhow::{Context as _, Result};
use axum::{
    Router,
    extract::{
        State, WebSocketUpgrade,
        ws::{Message, Utf8Bytes},
    },
    routing::any,
};
use serde_json::json;
use std::{
    io::BufRead as _,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::broadcast;

/// The plain server as the bench uses it.
pub(crate) struct Peer {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Peer {
    pub(crate) fn start() -> Result<Self> {
        let (child, port) = Child::part(&["peer"])?;
        Ok(Self { child, port: port.parse()? })
    }

    pub(crate) fn stream(&mut self, updates: u64, per_second: u64) -> Result<()> {
        self.child.say(&format!("{updates} {per_second}"))
    }
}

/// Prints its port, and streams on request: `UPDATES PER_SECOND`.
#[tokio::main]
pub(crate) async fn main() -> Result<()> {
    let (updates, _) = broadcast::channel::<Utf8Bytes>(4096);
    let router = Router::new().route("/acp", any(follow)).with_state(updates.clone());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?.port());
    std::thread::spawn(move || {
        let shown = std::io::stdin().lock().lines().next().and_then(Result::ok);
        if let Some((count, per_second)) = shown.as_deref().and_then(|shown| shown.split_once(' ')) {
            stream(&updates, count.parse().unwrap_or(0), per_second.parse().unwrap_or(1));
        }
    });
    axum::serve(listener, router).await.context("the plain server")
}

async fn follow(
    State(updates): State<broadcast::Sender<Utf8Bytes>>,
    upgrade: WebSocketUpgrade,
) -> axum::response::Response {
    upgrade.on_upgrade(async move |mut socket| {
        let mut updates = updates.subscribe();
        while let Ok(text) = updates.recv().await {
            if socket.send(Message::Text(text)).await.is_err() {
                return;
            }
        }
    })
}

/// Sends updates of the same size and shape as ours, at the same rate.
fn stream(to: &broadcast::Sender<Utf8Bytes>, count: u32, per_second: u32) {
    let (began, each) = (Instant::now(), Duration::from_secs(1) / per_second);
    for index in 0..count {
        if let Some(early) = (each * index).checked_sub(began.elapsed()) {
            std::thread::sleep(early);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let ours = json!({"progress": 0.5, "note": format!("⟪{now}⟫ {index:0>100}")});
        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "in_progress",
            "_meta": {"openagents": ours}});
        let params = json!({"sessionId": "0c7a3f50-4f6e-4f5e-9a1e-0a4a3b1c2d3e", "update": update,
            "_meta": {"openagents": {"seq": index, "ts": 1_700_000_000_000_u64}}});
        let text = json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string();
        // Having no receivers is not an error.
        let _ = to.send(text.into());
    }
}
