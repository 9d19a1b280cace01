//! A run on the bridge that is running.

use super::{Asked, News};
use crate::bridge::{Connection, wire_path};
use openagents_core::CancellationToken;
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};
use tokio::sync::mpsc;

pub(super) fn start(
    address: SocketAddr,
    home: &Path,
    asked: Asked,
    cancel: CancellationToken,
    news: mpsc::Sender<News>,
) -> anyhow::Result<()> {
    let Asked { root, goals, planner } = asked;
    let explore = json!({"root": wire_path(root)?, "goals": goals, "planner": planner});
    let home: PathBuf = home.to_owned();
    tokio::spawn(async move {
        if let Err(error) = talk(address, &home, explore, cancel, &news).await {
            let _ = news.send(News::Notice(format!("the bridge at http://{address}: {error:#}"))).await;
        }
    });
    Ok(())
}

async fn talk(
    address: SocketAddr,
    home: &Path,
    explore: Value,
    cancel: CancellationToken,
    news: &mpsc::Sender<News>,
) -> anyhow::Result<()> {
    let mut bridge = Connection::open(address, home).await?;
    let asked = bridge.ask("_openagents/explore", explore).await?;
    let (mut session, mut cancelled) = (None, false);
    loop {
        tokio::select! {
            () = cancel.cancelled(), if !cancelled && session.is_some() => {
                cancelled = true;
                bridge.notify("session/cancel", json!({"sessionId": session})).await?;
            }
            message = bridge.next() => {
                let message = message?;
                if message["id"] == asked {
                    let text = |key: &str| message["result"][key].as_str().unwrap_or_default().to_owned();
                    session = Some(text("sessionId"));
                    let begun = News::Started { session_id: text("sessionId"), plan_id: text("planId") };
                    if news.send(begun).await.is_err() {
                        return Ok(());
                    }
                } else if message["method"] == "session/update"
                    && session.as_deref() == message["params"]["sessionId"].as_str()
                    && news.send(News::Update(message["params"].clone())).await.is_err()
                {
                    return Ok(());
                }
            }
        }
    }
}
