//! What agents publish about themselves, and what their hooks report.

use crate::{
    state::{Millis, Need},
    tail::need_of,
};
use openagents_transcripts::history::Provider;
use serde_json::Value;

/// The status in Claude Code's record of a process, `sessions/<pid>.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub status: Status,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    Busy,
    /// It waits for the user: `waitingFor`.
    Waiting(String),
    Idle,
    /// The program has removed its record: it is exiting.
    Removed,
    /// One that is not known.
    Other(String),
}

impl Record {
    /// Reads a record; `None` if it has no status, as before 2.1.139.
    pub fn read(record: &Value, at: Millis) -> Option<Self> {
        let status = match record["status"].as_str()? {
            "busy" => Status::Busy,
            "waiting" => Status::Waiting(record["waitingFor"].as_str().unwrap_or_default().to_owned()),
            // In a shell a background command runs; the turn has ended.
            "idle" | "shell" => Status::Idle,
            other => Status::Other(other.to_owned()),
        };
        Some(Self { status, at })
    }

    pub fn removed(at: Millis) -> Self {
        Self { status: Status::Removed, at }
    }
}

/// The status of a thread of Codex's background service: `thread/status/changed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadStatus {
    Working,
    Needs(Need),
    Idle,
    Failed,
}

impl ThreadStatus {
    /// Reads `status`; `None` for one that is not known, or of a thread that is not loaded.
    pub fn read(status: &Value) -> Option<Self> {
        let has = |flag: &str| {
            status["activeFlags"].as_array().is_some_and(|flags| flags.iter().any(|it| it == flag))
        };
        match status["type"].as_str()? {
            "active" if has("waitingOnUserInput") => Some(Self::Needs(Need::Question)),
            "active" if has("waitingOnApproval") => Some(Self::Needs(Need::Approval)),
            "active" => Some(Self::Working),
            "idle" => Some(Self::Idle),
            "systemError" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// The last thing that a hook of the agent has reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) state: HookState,
    pub(crate) at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookState {
    Open,
    Needs(Need),
    Ended,
    Failed,
    Interrupted,
}

impl Hook {
    /// Reads an event that follows another; returns what is known afterwards.
    pub(crate) fn next(
        before: Option<Self>,
        agent: Provider,
        (event, payload): (&str, &Value),
        at: Millis,
    ) -> Option<Self> {
        let to = |state| Some(Self { state, at });
        let is_subagent = payload["agent_id"].as_str().is_some_and(|id| !id.is_empty());
        let waits = match before.map(|hook| hook.state) {
            Some(HookState::Needs(need)) => Some(need),
            _ => None,
        };
        match event.to_lowercase().as_str() {
            "userpromptsubmit" | "userpromptsubmitted" | "beforeagent" if !is_subagent => to(HookState::Open),
            "permissionrequest" => to(HookState::Needs(need_of(payload["tool_name"].as_str()))),
            "permission.asked" => to(HookState::Needs(Need::Approval)),
            "question.asked" => to(HookState::Needs(Need::Question)),
            "notification" => match payload["notification_type"].as_str() {
                // Claude Code's comes 6 s after the dialog, which may have been answered.
                Some("permission_prompt")
                    if agent == Provider::ClaudeCode && before.is_some() && waits.is_none() =>
                {
                    before
                }
                Some("ToolPermission" | "permission_prompt") => {
                    let is_question = payload["details"]["type"] == "ask_user";
                    let need = if is_question { Need::Question } else { waits.unwrap_or(Need::Approval) };
                    to(HookState::Needs(need))
                }
                _ => before,
            },
            "permission.replied" | "question.replied" | "posttooluse" | "aftertool" => to(HookState::Open),
            "stop" | "agentstop" | "afteragent" | "session.idle" if !is_subagent => {
                let is_running = |task: &Value| task["type"] == "subagent" && task["status"] == "running";
                let works =
                    payload["background_tasks"].as_array().is_some_and(|tasks| tasks.iter().any(is_running));
                let has_failed = before.is_some_and(|hook| hook.state == HookState::Failed);
                if works || has_failed { before } else { to(HookState::Ended) }
            }
            "stopfailure" | "session.error" => to(HookState::Failed),
            "interrupt" => to(HookState::Interrupted),
            "session.status" => match payload["status"]["type"].as_str() {
                Some("busy" | "retry") if waits.is_none() => to(HookState::Open),
                _ => before,
            },
            _ => before,
        }
    }
}
