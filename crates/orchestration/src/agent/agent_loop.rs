//! The parts of the agent loop and of one turn.

use super::{
    limits::{CONVERSATION_CHARS, TOKEN_CHARS},
    session_tool::SessionTool,
};
use openagents_core::{
    agent::Conversation,
    model::{LanguageModel, ModelOptions},
    update::Findings,
};
use openagents_tools::tool::Toolbox;
use std::{path::PathBuf, sync::Arc};

/// A model with tools that answers prompts.
#[derive(Debug, Clone)]
pub struct AgentLoop {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// Options of every request.
    pub options: ModelOptions,
    /// Tools that the model may call.
    pub tools: Toolbox,
    /// Tools that write to the session themselves.
    pub session_tools: Vec<Arc<dyn SessionTool>>,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The workspace; need not exist.
    pub root: PathBuf,
    /// The prompt, from the user or a delegating agent.
    pub text: String,
    /// The part of the text that the user typed, if not all of it; attached text is not an instruction.
    pub words: Option<String>,
    /// History of the session.
    pub transcript: Conversation,
    /// Findings for the question, already shown to the user. The model reads them, and its citations are checked.
    pub findings: Option<Findings>,
    /// Another agent wrote the text and chose the root, so the text is not the user's and the root must be canonical.
    pub delegated: bool,
}

impl AgentLoop {
    /// Returns the maximum length of a conversation with this model, in characters.
    pub(super) fn conversation_chars(&self) -> usize {
        self.model.context_tokens().map_or(CONVERSATION_CHARS, |tokens| tokens as usize * TOKEN_CHARS)
    }
}
