//! The kinds of work that a turn can be.

use openagents_core::{model::PromptOptions, update::Decision};
use openagents_orchestration::{explore::ExploreRequest, route::Topic};
use serde_json::Value;
use std::path::PathBuf;

/// The work of a turn.
#[derive(Debug)]
pub enum Work {
    /// An exploration.
    Exploration(ExploreRequest),
    /// A prompt for a model or an agent.
    Prompt(Prompt),
    /// One call of `delegate.run`.
    Delegate(Delegation),
    /// A prompt to route.
    Choose(Choice),
    /// A prompt that OpenAgents answers itself.
    Inline(Box<Reply>),
    /// A card on which the user chooses the agent.
    Card(Box<Card>),
}

/// The text of a prompt.
#[derive(Debug, Clone)]
pub struct Said {
    /// The whole text, with attachments.
    pub text: String,
    /// The part that the user wrote, if there are attachments. Attachments do not affect routing.
    pub words: Option<String>,
    /// A command in the prompt may change what an agent asks, because the sender may approve.
    pub may_lower: bool,
}

impl Said {
    /// Returns the part that the user wrote.
    pub fn words(&self) -> &str {
        self.words.as_deref().unwrap_or(&self.text)
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self { text, words: None, may_lower: false }
    }
}

/// See [`Work::Choose`].
#[derive(Debug)]
pub struct Choice {
    pub said: Said,
    /// Runs instead if there is nothing to choose from.
    pub exploration: ExploreRequest,
    /// See [`By::shows_cards`].
    pub shows_cards: bool,
    pub options: PromptOptions,
}

/// A prompt that OpenAgents answers itself.
#[derive(Debug)]
pub struct Reply {
    pub said: Said,
    /// The workspace.
    pub root: PathBuf,
    /// The topic of a fixed reply; `None` for a question.
    pub topic: Option<Topic>,
    /// The routing decision.
    pub decision: Decision,
    /// If no model words an answer, the findings alone are the answer.
    pub only_findings: bool,
}

/// A prompt that needs an agent.
#[derive(Debug)]
pub struct Card {
    pub said: Said,
    /// The workspace.
    pub root: PathBuf,
    pub decision: Decision,
}

/// A prompt for one provider.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The id of a mode (`gptoss_20b`, `codex`, `custom:<id>` …) or of a provider without a mode.
    pub provider: String,
    /// The workspace.
    pub root: PathBuf,
    pub said: Said,
    pub options: PromptOptions,
}

/// See [`Work::Delegate`].
#[derive(Debug, Clone)]
pub struct Delegation {
    /// The workspace of the delegating session.
    pub root: PathBuf,
    /// The id of the call.
    pub call_id: String,
    /// The text shown as the user's message.
    pub text: String,
    /// The tool's arguments; the tool validates them.
    pub arguments: Value,
}
