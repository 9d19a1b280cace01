//! Approvals. An approval outlives the connection and the process that requested it; the first answer counts.

mod command;
mod form;

pub use command::{ApprovalCommand, ContentDigest, FrozenCommand, SHOWN_COMMAND};
pub use form::{FieldKind, Form, FormAnswers, FormChoice, FormField};

use crate::{CancellationToken, visible::escaped};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub subject: ApprovalSubject,
    /// Id of the tool call; an unknown call is announced first.
    pub call_id: String,
    /// Display name of the agent.
    pub agent: String,
    /// One line that describes the action.
    pub title: String,
    /// The agent's raw input, verbatim.
    pub raw_input: Option<Value>,
    /// The command that would run; `None` if it is unknown or the action is not a command.
    pub command: Option<ApprovalCommand>,
    /// Part of the changes in question is not shown.
    pub cut: bool,
    /// The options, in the agent's order.
    pub options: Vec<ApprovalOption>,
}

impl ApprovalRequest {
    /// Returns whether all of it can be shown. If not, it can only be denied.
    pub fn is_whole(&self) -> bool {
        !self.cut && self.command.as_ref().is_none_or(ApprovalCommand::is_whole)
    }
}

/// The id of the option of ours that allows edits in the folder until the turn ends. Agents don't get it.
pub const ALLOW_EDITS: &str = "openagents:allow-edits";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalOption {
    /// The agent's own id. Its meaning depends on the agent: use the kind.
    pub id: String,
    /// Label of the button.
    pub name: String,
    /// Its meaning.
    pub kind: OptionKind,
}

/// The protocol's kinds of options. `Always` means this and similar requests from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    /// A kind that is not in the protocol. It counts as one that allows, and only the user can choose it.
    Other,
}

impl OptionKind {
    pub fn denies(self) -> bool {
        matches!(self, Self::RejectOnce | Self::RejectAlways)
    }
}

/// An approval as it is stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// UUID.
    pub id: String,
    /// Its subject. Set by us, never by an agent.
    #[serde(default, skip_serializing_if = "ApprovalSubject::is_action")]
    pub subject: ApprovalSubject,
    pub call_id: String,
    pub agent: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(type = "unknown")]
    pub raw_input: Option<Value>,
    /// SHA-256 of agent, title, raw input and command in hex; equal requests have equal hashes.
    pub hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<ApprovalCommand>,
    pub options: Vec<ApprovalOption>,
    #[serde(flatten)]
    pub state: ApprovalState,
    /// Time of the request, in milliseconds since the epoch.
    pub asked_at: i64,
    /// The raw input was truncated; the hash covers all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw_input_cut: bool,
    /// Part of the changes in question is not shown: the approval can only be denied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Answered after the agent stopped waiting; the answer counts once, if the same request comes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
    /// The agent was resumed after the approval was withdrawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSubject {
    #[default]
    Action,
    /// The first start of an agent in a workspace. The raw input is a `TrustQuestion`. Only a client on this computer
    /// may answer.
    Trust,
    /// The agent asks the user for answers. The raw input is a `Form`. An option that does not deny needs the answers.
    Question,
}

impl Approval {
    /// Describes the action for a record of the answer: the command as shown with its working directory, otherwise the
    /// agent's title with invisible characters escaped.
    pub fn shown(&self) -> String {
        let Some(command) = &self.command else { return escaped(&self.title).into_owned() };
        let more = match command.omitted {
            0 => String::new(),
            bytes => format!("… ({bytes} more bytes)"),
        };
        let how = match &command.exact {
            Some(exact) => format!("in {}", escaped(&exact.cwd.to_string_lossy())),
            None => "reported by the agent".to_owned(),
        };
        format!("{}{more} ({how})", command.text)
    }
}

impl ApprovalSubject {
    fn is_action(&self) -> bool {
        *self == Self::Action
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalState {
    /// Not answered yet.
    Pending,
    /// The user chose an option.
    Answered {
        /// [`ApprovalOption::id`].
        option_id: String,
        /// Name of the client.
        by: String,
        /// Time of the answer, in milliseconds since the epoch.
        at: i64,
        /// Message to the agent, sent with a denial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The answers to a form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(type = "Record<string, unknown> | undefined")]
        content: Option<FormAnswers>,
    },
    /// The turn ended or was cancelled before an answer.
    Expired,
    /// The agent exited or crashed before an answer. The user can resume the session.
    Withdrawn,
}

/// Result of a request for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// The user chose the option with this id.
    Selected {
        /// [`ApprovalOption::id`].
        option_id: String,
        /// The user's message to the agent.
        message: Option<String>,
        /// The answers to a form.
        content: Option<FormAnswers>,
    },
    /// The turn was cancelled, or no client can be asked.
    Cancelled,
}

/// Requests approvals. Implemented by the owner of the clients.
pub trait Approvals: Send + Sync {
    /// Stores and shows the request and waits for the first answer. Blocks; returns within 100 ms of a cancel.
    fn ask(&self, request: ApprovalRequest, cancel: &CancellationToken) -> ApprovalOutcome;
}
