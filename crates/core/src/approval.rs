//! Permissions that agents ask for. An approval is an object of its own: it outlives the connection that shows it and the
//! process that asked, every client sees it, and the first answer counts.

use crate::CancellationToken;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// What an agent asks a person for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tool call that it is about; one that was never announced is announced first.
    pub call_id: String,
    /// Name of the agent, for people.
    pub agent: String,
    /// One line: what would be done.
    pub title: String,
    /// What the agent states, verbatim.
    #[serde(default)]
    pub raw_input: Option<Value>,
    /// What would be run, where it runs through our own `terminal/*`; otherwise nobody has stated it.
    #[serde(default)]
    pub command: Option<FrozenCommand>,
    /// What a person can choose, in the agent's order.
    pub options: Vec<ApprovalOption>,
}

/// A command as it was shown: exactly this is run, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrozenCommand {
    /// The executable, canonical and absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs, canonical and inside the workspace.
    pub cwd: PathBuf,
    /// What the agent adds to the environment, by name, in its order. A person is shown it with the command: a variable may
    /// change what a program does. Part of [`Approval::hash`] like the rest.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
}

/// One thing that a person can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalOption {
    /// The agent's own id. Two agents mean different things by the same id: go by the kind.
    pub id: String,
    /// What stands on the button.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
}

/// The protocol's kinds of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// This once.
    AllowOnce,
    /// This and the like from now on.
    AllowAlways,
    /// Not this once.
    RejectOnce,
    /// Not this nor the like from now on.
    RejectAlways,
}

/// An approval as it is stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// UUID.
    pub id: String,
    /// See [`ApprovalRequest::call_id`].
    pub call_id: String,
    /// See [`ApprovalRequest::agent`].
    pub agent: String,
    /// See [`ApprovalRequest::title`].
    pub title: String,
    /// See [`ApprovalRequest::raw_input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// SHA-256 of agent, title, raw input and command, in hexadecimal digits: the same question again has the same hash.
    pub hash: String,
    /// See [`ApprovalRequest::command`]; absent means "not stated".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<FrozenCommand>,
    /// See [`ApprovalRequest::options`].
    pub options: Vec<ApprovalOption>,
    /// How it stands.
    #[serde(flatten)]
    pub state: ApprovalState,
    /// When it was asked, in milliseconds since the epoch.
    pub asked_at: i64,
    /// The raw input is too long to be kept and shown whole; the hash is that of the whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw_input_cut: bool,
    /// It was answered when nobody waited for it: the answer counts once, when the same question is asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
    /// The agent was told to go on after it was withdrawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
}

/// How an approval stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalState {
    /// Nobody has answered.
    Pending,
    /// Somebody has chosen.
    Answered {
        /// [`ApprovalOption::id`].
        option_id: String,
        /// Who: the name of the client.
        by: String,
        /// When, in milliseconds since the epoch.
        at: i64,
    },
    /// The turn ended, or was cancelled, before anybody answered.
    Expired,
    /// The agent that asked is gone: with the process, or by a crash. A person can resume the session.
    Withdrawn,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// A person chose this option.
    Selected {
        /// [`ApprovalOption::id`].
        option_id: String,
    },
    /// The turn was cancelled, or there is nobody to ask.
    Cancelled,
}

/// Asks people. Implemented by whoever has the clients.
pub trait Approvals: Send + Sync {
    /// Stores the question, shows it on every client and waits for the first answer. Blocks; returns within 100 ms of a
    /// cancel.
    fn ask(&self, request: ApprovalRequest, cancel: &CancellationToken) -> ApprovalOutcome;
}
