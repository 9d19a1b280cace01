//! The input of a fixed answer.

use crate::{
    agent::conversation::Conversation,
    route::{Situation, Topic},
    update::Decision,
};

/// A prompt that OpenAgents answers itself.
#[derive(Debug, Clone, Copy)]
pub struct InlineQuestion<'a> {
    /// The person's prompt.
    pub prompt: &'a str,
    /// Topic of a fixed answer; `None` for a question.
    pub topic: Option<&'a Topic>,
    /// Why it is answered here.
    pub decision: &'a Decision,
    /// The available agents.
    pub situation: &'a Situation,
    /// History of the session.
    pub transcript: &'a Conversation,
}
