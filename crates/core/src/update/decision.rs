//! Who answers a prompt, and why.

use crate::agent_ids::{CLAUDE_CODE, CODEX, CUSTOM_PREFIX, LOCAL_FM, LOCAL_MODEL};
use serde::{Deserialize, Serialize};

/// Who answers, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Who.
    pub target: Target,
    /// How OpenAgents goes on; absent where the target answers at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<Inline>,
    /// One sentence for people: `Code is written by the local model.`
    pub reason: String,
    /// What was wanted first, when it could not be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Target>,
}

/// Those who can answer. The text form is `inline`, `gptoss`, `codex`, `claude`, `custom:<id>`, or the id of another agent
/// that is known: `gemini`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Target {
    /// OpenAgents itself.
    Inline,
    /// The local model.
    Gptoss,
    /// Codex.
    Codex,
    /// Claude Code.
    Claude,
    /// Another agent that is known, by id: `gemini`.
    Known(String),
    /// An agent that a person added, by id.
    Custom(String),
}

/// How OpenAgents goes on itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inline {
    /// In words: who we are, what we can do, a greeting.
    Answer,
    /// By what is found in the workspace and its past sessions, and a model that is ready.
    #[serde(alias = "explore")]
    Find,
    /// By asking a person which agent may do it; [`Decision::target`] is offered first.
    Card,
    /// By what is found, and what to install or switch on so that it can be done.
    Guidance,
}

impl Target {
    /// Returns the mode that answers for this target; `None` for [`Target::Inline`].
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

    /// Returns the target that a provider id stands for; `None` for one that people do not call by name.
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
            Target::Codex => "codex".to_owned(),
            Target::Claude => "claude".to_owned(),
            Target::Known(id) => id,
            Target::Custom(id) => format!("{CUSTOM_PREFIX}{id}"),
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
