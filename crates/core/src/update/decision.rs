//! The routing decision for a prompt.

use crate::agent_ids::{CLAUDE_CODE, CODEX, CUSTOM_PREFIX, LOCAL_FM, LOCAL_MODEL};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The target of a prompt, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub target: Target,
    /// Action of OpenAgents itself; absent if the target answers immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<Inline>,
    /// One sentence for the user: `Code is written by the local model.`
    pub reason: String,
    /// The preferred target, if it was unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Target>,
}

impl Decision {
    /// Returns the decision for a target that answers immediately, without a reason.
    pub fn for_target(target: Target) -> Self {
        Self { target, inline: None, reason: String::new(), instead_of: None }
    }

    /// Returns the decision for an action of OpenAgents itself.
    pub fn inline(inline: Inline, reason: String) -> Self {
        Self { inline: Some(inline), reason, ..Self::for_target(Target::Inline) }
    }
}

/// Targets of prompts. As text: `inline`, `gptoss`, `codex`, `claude`, `custom:<id>`, or another agent's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(into = "String", from = "String")]
#[ts(as = "String")]
pub enum Target {
    /// OpenAgents itself.
    Inline,
    /// The local model.
    Gptoss,
    Codex,
    Claude,
    /// Another known agent, by id: `gemini`.
    Known(String),
    /// An agent added by the user, by id.
    Custom(String),
}

/// Actions of OpenAgents itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Inline {
    /// Answer with a fixed text: identity, capabilities, a greeting.
    Answer,
    /// Answer with findings from the workspace and its past sessions, worded by a model if one is ready.
    #[serde(alias = "explore")]
    Find,
    /// Ask the user to choose the agent; [`Decision::target`] is offered first.
    Card,
    /// Answer with findings, and what to install or enable.
    Guidance,
}

impl Target {
    /// Returns the mode of this target; `None` for [`Target::Inline`].
    pub fn mode(&self) -> Option<String> {
        Some(match self {
            Self::Inline => return None,
            Self::Gptoss => LOCAL_MODEL.to_owned(),
            Self::Codex => CODEX.to_owned(),
            Self::Claude => CLAUDE_CODE.to_owned(),
            Self::Known(id) => id.clone(),
            Self::Custom(id) => format!("{CUSTOM_PREFIX}{id}"),
        })
    }

    /// Returns the target of a provider id; `None` if it has none.
    pub fn of_mode(mode: &str) -> Option<Self> {
        match mode {
            LOCAL_MODEL => Some(Self::Gptoss),
            CODEX => Some(Self::Codex),
            CLAUDE_CODE => Some(Self::Claude),
            LOCAL_FM => None,
            other => Some(match other.strip_prefix(CUSTOM_PREFIX) {
                Some(id) => Self::Custom(id.to_owned()),
                None => Self::Known(other.to_owned()),
            }),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        match target {
            Target::Inline => "inline".to_owned(),
            Target::Gptoss => "gptoss".to_owned(),
            Target::Claude => "claude".to_owned(),
            other => other.mode().unwrap_or_default(),
        }
    }
}

impl From<String> for Target {
    fn from(text: String) -> Self {
        match text.as_str() {
            "gptoss" => Self::Gptoss,
            "codex" => Self::Codex,
            "claude" => Self::Claude,
            "inline" | "" => Self::Inline,
            other => match other.strip_prefix(CUSTOM_PREFIX) {
                Some(id) => Self::Custom(id.to_owned()),
                None => Self::Known(other.to_owned()),
            },
        }
    }
}
