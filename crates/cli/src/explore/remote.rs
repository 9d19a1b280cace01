//! A run on the bridge.

use crate::bridge::{Refused, reach, wire_path};
use openagents_core::{CancellationToken, explore::PlannerChoice};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Events of a run: `Started`, then updates.
#[derive(Debug)]
pub(super) enum RunNews {
    /// The ids of the run.
    Started { session_id: String, plan_id: String },
    /// The params of a `session/update`.
    Update(Value),
    /// The bridge refused the request, for this reason.
    Refused(String),
    /// A message for a person, printed on stderr.
    Notice(String),
}

/// A request for an exploration.
#[derive(Debug, Clone)]
pub(super) struct AskedExploration {
    pub(super) root: PathBuf,
    pub(super) goals: Vec<String>,
    pub(super) planner: PlannerChoice,
}

pub(super) fn start(
    home: &Path,
    asked: AskedExploration,
    cancel: CancellationToken,
    news: mpsc::Sender<RunNews>,
) -> anyhow::Result<()> {
    let AskedExploration { root, goals, planner } = asked;
    let explore = json!({"root": wire_path(root)?, "goals": goals, "planner": planner});
    let home: PathBuf = home.to_owned();
    tokio::spawn(async move {
        if let Err(error) = talk(&home, explore, cancel, &news).await {
            let failed = match error.downcast::<Refused>() {
                Ok(refused) => RunNews::Refused(refused.to_string()),
                Err(error) => RunNews::Notice(format!("{error:#}")),
            };
            let _ = news.send(failed).await;
        }
    });
    Ok(())
}

async fn talk(
    home: &Path,
    explore: Value,
    cancel: CancellationToken,
    news: &mpsc::Sender<RunNews>,
) -> anyhow::Result<()> {
    let mut bridge = reach(home).await?;
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
                    let begun = RunNews::Started { session_id: text("sessionId"), plan_id: text("planId") };
                    if news.send(begun).await.is_err() {
                        return Ok(());
                    }
                } else if message["method"] == "session/update"
                    && session.as_deref() == message["params"]["sessionId"].as_str()
                    && news.send(RunNews::Update(message["params"].clone())).await.is_err()
                {
                    return Ok(());
                }
            }
        }
    }
}
