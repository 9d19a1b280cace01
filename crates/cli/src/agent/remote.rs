//! A turn on the bridge, where it shares the loaded model with the app.

use crate::bridge::{reach, wire_path};
use openagents_core::{
    CancellationToken,
    agent::PromptOutcome,
    agent_ids::LOCAL_MODEL,
    model::{Activity, NamedModel, PromptOptions, Usage},
    update::RunState,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Events of a run; `Ended` comes last.
#[derive(Debug)]
pub(super) enum TurnNews {
    /// The id of the session.
    Started(String),
    /// The params of a `session/update`.
    Update(Value),
    /// Activity of the model.
    Activity(Option<Activity>),
    /// A message for a person, printed on stderr.
    Notice(String),
    /// Outcome of the turn.
    Ended(Box<PromptOutcome>),
}

/// A request to the model.
#[derive(Debug)]
pub(super) struct AskedPrompt {
    pub(super) prompt: String,
    pub(super) root: PathBuf,
    pub(super) options: PromptOptions,
}

pub(super) fn start(
    home: PathBuf,
    asked: AskedPrompt,
    cancel: CancellationToken,
    news: mpsc::Sender<TurnNews>,
) {
    tokio::spawn(async move {
        let mut turn = Turn::default();
        let state = match turn.talk(&home, asked, &cancel, &news).await {
            Ok(state) => state,
            Err(error) => {
                let _ = news.send(TurnNews::Notice(format!("{error:#}"))).await;
                RunState::Failed
            }
        };
        let Turn { text, usage, cut_off, .. } = turn;
        let outcome = PromptOutcome { state, text, usage, cut_off };
        // The reader is gone after a second Ctrl-C.
        let _ = news.send(TurnNews::Ended(Box::new(outcome))).await;
    });
}

/// State gathered from the updates of a turn.
#[derive(Default)]
struct Turn {
    message: Option<String>,
    text: String,
    usage: Option<Usage>,
    cut_off: bool,
}

impl Turn {
    async fn talk(
        &mut self,
        home: &Path,
        asked: AskedPrompt,
        cancel: &CancellationToken,
        news: &mpsc::Sender<TurnNews>,
    ) -> anyhow::Result<RunState> {
        let mut bridge = reach(home).await?;
        // The folder was named by a person at this machine, which makes it known.
        let new = json!({"cwd": wire_path(asked.root)?, "mcpServers": [],
            "_meta": {"openagents": {"open": true}}});
        let session = bridge.request("session/new", new).await?["sessionId"].clone();
        let id = session.as_str().unwrap_or_default().to_owned();
        news.send(TurnNews::Started(id)).await?;
        // A question, and a model named for one prompt, are no modes.
        if !asked.options.question && !is_elsewhere(&asked.options) {
            let mode = json!({"sessionId": session, "modeId": LOCAL_MODEL});
            bridge.request("session/set_mode", mode).await?;
        }
        let content = json!([{"type": "text", "text": asked.prompt}]);
        let prompt = json!({"sessionId": session, "prompt": content,
            "_meta": {"openagents": {"options": asked.options}}});
        let prompt = bridge.ask("session/prompt", prompt).await?;
        let mut cancelled = false;
        loop {
            tokio::select! {
                () = cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    bridge.notify("session/cancel", json!({"sessionId": session})).await?;
                }
                message = bridge.next() => {
                    let mut message = message?;
                    let params = message["params"].take();
                    if message["id"] == prompt {
                        return Ok(self.end(&message["result"]));
                    }
                    if params["sessionId"] != session {
                        continue;
                    }
                    match message["method"].as_str() {
                        // The one that was asked for above; it may come after the answer.
                        Some("session/update") if params["update"]["sessionUpdate"] == "current_mode_update" => {}
                        Some("session/update") => {
                            let approval = &params["update"]["_meta"]["openagents"]["approval"];
                            if !cancelled && approval["state"] == "pending" {
                                let text = "this is work for an agent: `openagents serve` and pick one on the page, or \
                                    begin the prompt with its name there (\"@codex …\")";
                                news.send(TurnNews::Notice(text.to_owned())).await?;
                                cancelled = true;
                                bridge.notify("session/cancel", json!({"sessionId": session})).await?;
                            }
                            self.hear(&params["update"]);
                            news.send(TurnNews::Update(params)).await?;
                        }
                        Some("_openagents/activity") => {
                            let activity: Option<Activity> =
                                serde_json::from_value(params["activity"].clone()).unwrap_or_default();
                            news.send(TurnNews::Activity(activity)).await?;
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn hear(&mut self, update: &Value) {
        if update["sessionUpdate"] != "agent_message_chunk" {
            return;
        }
        let id = update["messageId"].as_str().map(str::to_owned);
        if id != self.message {
            self.message = id;
            self.text.clear();
        }
        self.text.push_str(update["content"]["text"].as_str().unwrap_or_default());
        let usage = &update["_meta"]["openagents"]["usage"];
        self.usage = serde_json::from_value(usage.clone()).ok().or(self.usage);
    }

    fn end(&mut self, result: &Value) -> RunState {
        self.cut_off = result["stopReason"] == "max_tokens";
        match (result["stopReason"].as_str(), result["_meta"]["openagents"]["state"].as_str()) {
            (Some("cancelled"), _) => RunState::Cancelled,
            (_, Some("failed")) => RunState::Failed,
            _ => RunState::Complete,
        }
    }
}

fn is_elsewhere(options: &PromptOptions) -> bool {
    matches!(options.model, Some(NamedModel::Server { .. }))
}
