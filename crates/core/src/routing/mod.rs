//! Who answers a prompt when a person leaves the choice to OpenAgents.
//!
//! Rules over the prompt say what it wants; where they cannot tell, a model that is in memory may; then whoever is
//! available answers. **Architecture invariant:** nothing leaves this machine through the choice of a rule or a model: an
//! agent elsewhere is chosen only where a person asked it by name, beyond doubt, or the session allows it.

mod about_us;
mod asking;
mod choice;
#[cfg(test)]
mod corpus_tests;
mod explore;
mod named;
mod pattern;
mod prompt;
mod rules;
mod situation;
mod unclear;
mod work;

pub use about_us::Topic;
pub use situation::Situation;

use crate::{CancellationToken, model::LanguageModel};
use rules::Wish;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Chooses who answers.
#[derive(Debug, Clone, Default)]
pub struct Router {
    /// Asked where the rules cannot tell, best first: the first that is on this machine and in memory. May be empty.
    pub models: Vec<Arc<dyn LanguageModel>>,
}

impl Router {
    /// Chooses. Takes no time, or 2 s at most where a model is asked; a cancel ends that within 100 ms.
    pub fn decide(&self, prompt: &str, situation: &Situation, cancel: &CancellationToken) -> Decision {
        let wish = match rules::wish(prompt, situation) {
            Wish::Unclear => unclear::ask(&self.models, prompt, cancel),
            clear => clear,
        };
        choice::choose(wish, situation)
    }
}

/// Returns what a prompt wants to hear where it is talk, by the rules alone.
pub fn topic(prompt: &str, situation: &Situation) -> Option<Topic> {
    match rules::wish(prompt, situation) {
        Wish::Talk(topic) => Some(topic),
        _ => None,
    }
}

/// Returns whether a person's words ask `target` to do something. A name alone asks nobody.
pub(crate) fn is_asked(prompt: &str, target: &Target, situation: &Situation) -> bool {
    rules::is_asked(prompt, target, situation)
}

/// Returns who is asked by name to do something.
pub(crate) fn asked(prompt: &str, situation: &Situation) -> Option<Target> {
    match rules::wish(prompt, situation) {
        Wish::Named(target) => Some(target),
        _ => None,
    }
}

pub(crate) use choice::worker;
/// Who answers, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Who.
    pub target: Target,
    /// How [`Target::Inline`] answers; absent otherwise.
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

/// How OpenAgents answers itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inline {
    /// In words: who we are, what we can do, a greeting, a short explanation.
    Answer,
    /// By exploring the workspace with the prompt as the goal.
    Explore,
    /// With what to install or switch on so that somebody can do it.
    Guidance,
}

impl Target {
    /// Returns the mode that answers for this target; `None` for [`Target::Inline`].
    pub fn mode(&self) -> Option<String> {
        Some(match self {
            Self::Inline => return None,
            Self::Gptoss => crate::agent_ids::LOCAL_MODEL.to_owned(),
            Self::Codex => crate::agent_ids::CODEX.to_owned(),
            Self::Claude => crate::agent_ids::CLAUDE_CODE.to_owned(),
            Self::Known(id) => id.clone(),
            Self::Custom(id) => format!("{}{id}", crate::agent_ids::CUSTOM_PREFIX),
        })
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
            Target::Custom(id) => format!("custom:{id}"),
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
            other => match other.strip_prefix("custom:") {
                Some(id) => Self::Custom(id.to_owned()),
                None => Self::Known(other.to_owned()),
            },
        }
    }
}
