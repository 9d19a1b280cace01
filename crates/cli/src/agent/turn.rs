//! A turn on the bridge, where it shares the loaded model with the app.

use crate::{
    bridge::{reach, wire_path},
    output, trust,
    words::text,
};
use agent_client_protocol_schema::v1::{
    CancelNotification, ContentChunk, NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse,
    SessionUpdate, SetSessionModeRequest, StopReason,
};
use openagents_bridge::client::{Client, Incoming};
use openagents_core::{
    agent::PromptOutcome,
    agent_ids::LOCAL_MODEL,
    approval::{Approval, ApprovalState},
    model::{Activity, NamedModel, PromptOptions, Usage},
    update::RunState,
};
use openagents_wire::{
    AnswerApproval, EndMeta, Method, NewSessionMeta, PromptParamsMeta, SpeechMeta, ToolMeta, UpdateParams,
    meta, methods, ours,
};
use serde::Deserialize;
use serde_json::Value;
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
    Update(Value, Box<UpdateParams>),
    Activity(Option<Activity>),
    /// An agent starts once the user trusts the folder; holds the approval.
    Trust(Box<Approval>),
    Ended(RunState),
}

/// A prompt that was sent, and the answer so far.
pub(super) struct Turn {
    bridge: Client,
    session: String,
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
        let ours = meta(&NewSessionMeta { open: true, policy: None });
        let new = NewSessionRequest::new(wire_path(asked.root)?).meta(ours);
        let new: NewSessionResponse = bridge.request("session/new", &new).await?;
        let session = new.session_id.to_string();
        // A question, and a model named for one prompt, are not modes.
        if !asked.options.question && !matches!(asked.options.model, Some(NamedModel::Server { .. })) {
            let mode = SetSessionModeRequest::new(session.clone(), LOCAL_MODEL);
            bridge.request::<Value>("session/set_mode", &mode).await?;
        }
        let ours = meta(&PromptParamsMeta { options: Some(asked.options), prompt_id: None });
        let prompt = PromptRequest::new(session.clone(), vec![asked.prompt.into()]).meta(ours);
        let prompt = bridge.ask("session/prompt", &prompt).await?;
        let (message, text, usage) = (None, String::new(), None);
        Ok(Self { bridge, session, prompt, cancelled: false, message, text, usage, cut_off: false })
    }

    pub(super) fn session_id(&self) -> &str {
        &self.session
    }

    pub(super) async fn cancel(&mut self) -> anyhow::Result<()> {
        self.cancelled = true;
        Ok(self.bridge.notify("session/cancel", &CancelNotification::new(self.session.clone())).await?)
    }

    pub(super) async fn answer(&mut self, approval: &Approval, option: &str) -> anyhow::Result<()> {
        let answer = AnswerApproval {
            session_id: self.session.clone(),
            approval_id: approval.id.clone(),
            option_id: option.to_owned(),
            message: None,
            content: None,
        };
        self.bridge.ask(methods::ApprovalsAnswer::NAME, &answer).await?;
        Ok(())
    }

    pub(super) async fn next(&mut self) -> anyhow::Result<TurnNews> {
        loop {
            let message = self.bridge.next().await?;
            if let Some(doing) = message.event::<methods::ActivityChanged>()
                && doing.session_id == self.session
            {
                return Ok(TurnNews::Activity(doing.activity));
            }
            let params = match message {
                Incoming::Answer(id, result) if id == self.prompt => {
                    return Ok(TurnNews::Ended(self.end(serde_json::from_value(result)?)));
                }
                Incoming::Notification(method, params) if method == "session/update" => params,
                _ => continue,
            };
            // An update of another version may have a kind that is not known here.
            let Ok(update) = UpdateParams::deserialize(&params) else { continue };
            if update.session_id != self.session {
                continue;
            }
            match &update.update {
                // What the `session/set_mode` above caused; it may come after the answer.
                SessionUpdate::CurrentModeUpdate(_) | SessionUpdate::ConfigOptionUpdate(_) => continue,
                SessionUpdate::ToolCallUpdate(call) if !self.cancelled => {
                    if let Some(approval) = ours::<ToolMeta>(call.meta.as_ref()).approval
                        && approval.state == ApprovalState::Pending
                    {
                        if trust::is_about_trust(&approval) {
                            return Ok(TurnNews::Trust(Box::new(approval)));
                        }
                        output::warn(
                            "this is work for an agent: `openagents serve` and pick one on the page, or begin the prompt \
                             with its name there (\"@codex …\")",
                        );
                        self.cancel().await?;
                    }
                }
                SessionUpdate::AgentMessageChunk(chunk) => self.add(chunk),
                _ => {}
            }
            return Ok(TurnNews::Update(params, Box::new(update)));
        }
    }

    fn add(&mut self, chunk: &ContentChunk) {
        let id = chunk.message_id.as_ref().map(|id| id.0.to_string());
        if id != self.message {
            self.message = id;
            self.text.clear();
        }
        self.text.push_str(text(chunk));
        self.usage = ours::<SpeechMeta>(chunk.meta.as_ref()).usage.or(self.usage);
    }

    fn end(&mut self, response: PromptResponse) -> RunState {
        self.cut_off = response.stop_reason == StopReason::MaxTokens;
        match response.stop_reason {
            StopReason::Cancelled => RunState::Cancelled,
            _ if ours::<EndMeta>(response.meta.as_ref()).state == RunState::Failed.as_str() => {
                RunState::Failed
            }
            _ => RunState::Complete,
        }
    }

    /// Returns the outcome of the turn, which ended in `state`.
    pub(super) fn outcome(&self, state: RunState) -> PromptOutcome {
        PromptOutcome { state, text: self.text.clone(), usage: self.usage, cut_off: self.cut_off }
    }
}
