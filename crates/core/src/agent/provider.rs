//! Agents with their own loop, and the session that hosts them.

use super::{conversation::Conversation, tools::ToolServer};
use crate::{
    CancellationToken,
    approval::Approvals,
    model::{Activity, Availability, LanguageModel, Usage},
    update::{
        AgentMessage, AgentPart, OptionChoices, OptionValue, RunState, SessionOption, SessionUpdate,
        ToolCallStatus, ToolCallUpdate,
    },
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Answers prompts in a session: a model with tools, a program that speaks ACP, or a command-line program.
pub trait AgentProvider: Send + Sync + std::fmt::Debug {
    /// Returns its id, which is also its mode: `codex`, `claude-code`, `custom:<id>`, `gptoss_20b`.
    fn id(&self) -> &str;

    /// Returns the display name: `Codex`.
    fn name(&self) -> String;

    /// Returns whether prompts stay on this machine.
    fn is_local(&self) -> bool;

    /// Returns the program that runs for a prompt; `None` if it does not start one. Blocks during the lookup unless
    /// cancelled.
    fn program(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        None
    }

    /// Returns whether it decides for itself when to ask: no known setting makes it ask before it acts.
    fn decides_what_it_asks(&self) -> bool {
        false
    }

    /// Returns how many of its own sessions it will delete the next time it starts in a workspace. Reads files. Blocks.
    fn deletes_next(&self, _workspace: &Path, _cancel: &CancellationToken) -> usize {
        0
    }

    /// Returns the folder that the program starts in, if that is not the workspace.
    fn folder(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        None
    }

    /// Returns the last known availability; starts nothing and never blocks.
    fn availability(&self) -> Availability;

    /// Returns the model of a provider without its own loop. The owner of the session then runs the loop with the
    /// session's tools, and [`AgentProvider::prompt`] is not called.
    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        None
    }

    /// Runs a turn on this thread. Returns within 100 ms of a cancel; later output of the agent reaches the host marked
    /// as late. Every announced tool call is closed, and every turn ends with exactly one
    /// [ending](crate::update::AgentMessage::ends_turn) message.
    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome;

    /// Sets an option of a session and returns all options, which the host gets too. `None` if nothing runs for the
    /// session: the option is then set at the next start, by [`AgentHost::choices`]. Blocks while the agent starts, then
    /// for up to 10 s; an error is a sentence.
    fn set_option(
        &self,
        session_id: &str,
        option: &str,
        value: &OptionValue,
    ) -> Result<Option<Vec<SessionOption>>, String>;

    /// Gives the agent a prompt during its turn. Returns whether it took it; not if it is unable to, or if its turn has
    /// ended meanwhile. Blocks until it answers.
    fn steer(&self, request: &SteerRequest) -> bool;

    /// Returns the sessions that it keeps itself in a workspace, newest first. Starts its program. Blocks; an error is a
    /// sentence.
    fn own_sessions(&self, workspace: &Path, cancel: &CancellationToken) -> Result<Vec<OwnSession>, String>;

    /// Deletes one of them there, by its id. Blocks; an error is a sentence.
    fn delete_own_session(
        &self,
        workspace: &Path,
        id: &str,
        cancel: &CancellationToken,
    ) -> Result<(), String>;

    /// Stops one of its sub-agents, by the agent's own id of it. Returns whether it can be stopped by itself; its end
    /// comes as an update.
    fn stop_subagent(&self, session_id: &str, subagent: &str) -> bool;

    /// Asks again before each edit in a session where the user allowed edits until the turn ends.
    fn ask_before_edits(&self, session_id: &str);

    /// Stops everything that it keeps running for a session. Returns immediately.
    fn close(&self, session_id: &str);

    /// Stops all of its processes with their process groups. Blocks for slightly more than 2 s.
    fn shut_down(&self) {}
}

#[derive(Debug, Clone)]
pub struct AgentRequest {
    pub session_id: String,
    /// The workspace; the agent's file access through us is limited to it.
    pub root: PathBuf,
    /// The prompt.
    pub text: String,
    /// The files and folders of the workspace that the prompt names, absolute.
    pub links: Vec<PathBuf>,
    /// Images of the prompt.
    pub images: Vec<ImageBytes>,
    /// The MCP servers that the agent gets. A change restarts it before the turn.
    pub tools: Vec<ToolServer>,
    /// History of the session, for agents that keep none themselves.
    pub transcript: Conversation,
    /// The agent's own session, from an earlier turn.
    pub resume: Option<EarlierSession>,
    /// Limits of its file access through us.
    pub limits: AccessLimits,
    /// A command in the prompt may change when the agent asks: the user wrote it and is allowed to do so.
    pub may_change_approval_mode: bool,
}

/// An agent's own session that has the earlier conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierSession {
    /// The agent's id for it.
    pub id: String,
    pub kind: EarlierKind,
}

/// Whose an agent's earlier session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierKind {
    /// Of this session, which continues in it.
    Own,
    /// Of the session that this one branched from. It must not change.
    Branched,
    /// The same, but that session has had more turns since.
    Passed,
}

/// A session that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSession {
    /// The agent's id of it.
    pub id: String,
    /// One line.
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    pub updated_at: Option<i64>,
}

/// An image as agents get it.
#[derive(Clone, PartialEq, Eq)]
pub struct ImageBytes {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for ImageBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} bytes", self.mime_type, self.bytes.len())
    }
}

/// A prompt that an agent gets during its turn.
#[derive(Debug, Clone)]
pub struct SteerRequest {
    pub session_id: String,
    pub text: String,
    /// The files and folders of the workspace that the text names, absolute.
    pub links: Vec<PathBuf>,
    pub images: Vec<ImageBytes>,
}

/// Commands that, typed as a prompt, change when an agent asks: those of GitHub Copilot, Codex, Gemini CLI and Claude
/// Code.
const LOWERING: [&str; 5] = ["/allow-all", "/permissions", "/autopilot", "/yolo", "/mode"];

pub fn lowering_command(prompt: &str) -> Option<&'static str> {
    let first = prompt.split_whitespace().next()?;
    LOWERING.into_iter().find(|command| command.eq_ignore_ascii_case(first))
}

/// Limits of a delegate, enforced if its file access goes through us.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLimits {
    /// Globs relative to the workspace; empty allows everything.
    pub include: Vec<String>,
    /// Maximum number of files read or written per turn.
    pub max_files: Option<u32>,
}

pub trait AgentHost: Approvals + Send + Sync {
    /// Adds an event to the session, in order.
    fn emit(&self, event: AgentEvent);

    /// Stores the agent's own id for this session, for [`AgentRequest::resume`].
    fn remember(&self, agent_session_id: &str);

    /// Stores a part of the agent's state if it has changed.
    fn report(&self, _part: AgentPart) {}

    /// Returns the values to set when the agent has started. Those that it no longer offers are skipped.
    fn choices(&self) -> OptionChoices {
        OptionChoices::new()
    }

    /// Returns the earlier conversation of this session, for an agent that lost its own copy; `None` if it is empty.
    fn brief(&self) -> Option<String> {
        None
    }
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "almost all are updates, and none is kept")]
pub enum AgentEvent {
    /// An entry for the log.
    Update(SessionUpdate),
    /// Current activity of the model; replaces the previous one and is never stored. `None` when idle.
    Activity(Option<Activity>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// The last answer, or the final message of a turn without one.
    pub text: String,
    /// Figures of the last answer.
    pub usage: Option<Usage>,
    /// The answer reached a limit.
    pub cut_off: bool,
}

impl PromptOutcome {
    /// Returns an outcome without figures.
    pub fn new(state: RunState, text: String) -> Self {
        Self { state, text, usage: None, cut_off: false }
    }
}

/// The final message of a turn that the user stopped.
pub const CANCELLED: &str = "Cancelled.";

/// Beginning of the note below a truncated answer.
pub const CUT_OFF: &str = "The answer was cut off";

/// Emits the final message of a turn.
pub fn say_last(emit: &(dyn Fn(AgentEvent) + Sync), state: RunState, text: &str, usage: Option<Usage>) {
    let message = AgentMessage { usage, ..AgentMessage::last(text, state) };
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(message)));
}

/// Ends a turn with our own message, which is also its outcome.
pub fn end_turn(emit: &(dyn Fn(AgentEvent) + Sync), state: RunState, text: String) -> PromptOutcome {
    say_last(emit, state, &text, None);
    PromptOutcome::new(state, text)
}

pub fn end_call(emit: &(dyn Fn(AgentEvent) + Sync), call_id: &str, status: ToolCallStatus) {
    emit(AgentEvent::Update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id, status))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowering_command_recognises_commands() {
        let lower = [
            "/allow-all on",
            "/allow-all",
            " \u{a0}/Allow-All\ton",
            "/permissions x",
            "/autopilot",
            "/yolo",
            "/mode\nauto",
        ];
        for prompt in lower {
            assert!(lowering_command(prompt).is_some(), "{prompt}");
        }
        let others = [
            "",
            "/",
            "/ mode",
            "/model gpt",
            "mode",
            "a /yolo",
            "//yolo",
            "/compact",
            "/allow-all-of-it",
            "\u{200b}/yolo",
        ];
        for prompt in others {
            assert_eq!(lowering_command(prompt), None, "{prompt}");
        }
    }
}
