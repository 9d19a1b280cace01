//! A turn on the bridge, where it shares the loaded model with the app.

use crate::{
    bridge::{Connection, reach, wire_path},
    output, trust,
};
use openagents_core::{
    agent::PromptOutcome,
    agent_ids::LOCAL_MODEL,
    model::{Activity, NamedModel, PromptOptions, Usage},
    update::RunState,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A request to the model.
#[derive(Debug)]
pub(super) struct AskedPrompt {
    pub(super) prompt: String,
    pub(super) root: PathBuf,
    pub(super) options: PromptOptions,
}

/// An event of a turn.
#[derive(Debug)]
pub(super) enum TurnNews {
    /// The params of a `session/update`.
    Update(Value),
    Activity(Option<Activity>),
    /// An agent starts once the user trusts the folder; holds the approval.
    Trust(Value),
    /// The turn is over.
    Ended(RunState),
}

/// A prompt that was sent, and the answer so far.
pub(super) struct Turn {
    bridge: Connection,
    session: Value,
    /// Id of the request that the end of the turn answers.
    prompt: u64,
    cancelled: bool,
    message: Option<String>,
    text: String,
    usage: Option<Usage>,
    cut_off: bool,
}

impl Turn {
    /// Sends the prompt in a new session on the bridge of the data folder `home`.
    pub(super) async fn begin(home: &Path, asked: AskedPrompt) -> anyhow::Result<Self> {
        let mut bridge = reach(home).await?;
        // The user named the folder on this machine, which makes it known.
        let new = json!({"cwd": wire_path(asked.root)?, "mcpServers": [],
            "_meta": {"openagents": {"open": true}}});
        let session = bridge.request("session/new", new).await?["sessionId"].take();
        // A question, and a model named for one prompt, are not modes.
        if !asked.options.question && !matches!(asked.options.model, Some(NamedModel::Server { .. })) {
            let mode = json!({"sessionId": session, "modeId": LOCAL_MODEL});
            bridge.request("session/set_mode", mode).await?;
        }
        let content = json!([{"type": "text", "text": asked.prompt}]);
        let prompt = json!({"sessionId": session, "prompt": content,
            "_meta": {"openagents": {"options": asked.options}}});
        let prompt = bridge.ask("session/prompt", prompt).await?;
        let (message, text, usage) = (None, String::new(), None);
        Ok(Self { bridge, session, prompt, cancelled: false, message, text, usage, cut_off: false })
    }

    pub(super) fn session_id(&self) -> Option<&str> {
        self.session.as_str()
    }

    pub(super) async fn cancel(&mut self) -> anyhow::Result<()> {
        self.cancelled = true;
        self.bridge.notify("session/cancel", json!({"sessionId": self.session})).await
    }

    /// Answers an approval of the session or of a delegate.
    pub(super) async fn answer(&mut self, approval: &Value, option: &str) -> anyhow::Result<()> {
        let params = json!({"sessionId": self.session, "approvalId": approval["id"], "optionId": option});
        self.bridge.ask("_openagents/approvals/answer", params).await.map(drop)
    }

    pub(super) async fn next(&mut self) -> anyhow::Result<TurnNews> {
        loop {
            let mut message = self.bridge.next().await?;
            let params = message["params"].take();
            if message["id"] == self.prompt {
                return Ok(TurnNews::Ended(self.end(&message["result"])));
            }
            if params["sessionId"] != self.session {
                continue;
            }
            match message["method"].as_str() {
                // The mode update that the `session/set_mode` above caused; it may come after the answer.
                Some("session/update") if params["update"]["sessionUpdate"] == "current_mode_update" => {}
                Some("session/update") => {
                    let approval = &params["update"]["_meta"]["openagents"]["approval"];
                    if !self.cancelled && approval["state"] == "pending" && trust::is_about_trust(approval) {
                        return Ok(TurnNews::Trust(approval.clone()));
                    }
                    if !self.cancelled && approval["state"] == "pending" {
                        output::warn(
                            "this is work for an agent: `openagents serve` and pick one on the page, or begin the prompt \
                             with its name there (\"@codex …\")",
                        );
                        self.cancel().await?;
                    }
                    self.hear(&params["update"]);
                    return Ok(TurnNews::Update(params));
                }
                Some("_openagents/activity") => {
                    let activity = serde_json::from_value(params["activity"].clone());
                    return Ok(TurnNews::Activity(activity.unwrap_or_default()));
                }
                _ => {}
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

    /// Returns the outcome of the turn, which ended in `state`.
    pub(super) fn outcome(&self, state: RunState) -> PromptOutcome {
        PromptOutcome { state, text: self.text.clone(), usage: self.usage, cut_off: self.cut_off }
    }
}
