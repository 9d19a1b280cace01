//! The traits of a chat format: rendering messages into tokens, and parsing tokens into text, calls and reasoning.

use openagents_core::model::{ModelEvent, ModelRequest};

/// Converts text into the tokens of one vocabulary and back.
pub trait Vocabulary {
    /// Tokenizes markup of a template: markers become special tokens.
    fn markup(&self, text: &str) -> Vec<i32>;

    /// Tokenizes text from the user, a tool or a model; never yields a special token.
    fn text(&self, text: &str) -> Vec<i32>;

    /// Returns the id of a special token by its exact text.
    fn special(&self, marker: &str) -> Option<i32>;

    /// Returns the bytes of a token; for a special token, those of its marker.
    fn bytes(&self, token: i32) -> Vec<u8>;

    /// Returns whether an answer ends with this token.
    fn ends_answer(&self, token: i32) -> bool;
}

/// A chat format: renders prompts and parses answers.
pub trait ChatFormat: Send + Sync + std::fmt::Debug {
    fn tools(&self) -> bool;

    /// Renders a request into the tokens of a prompt.
    fn render(&self, request: &ModelRequest, vocabulary: &dyn Vocabulary) -> Result<Vec<i32>, ChatError>;

    /// Starts parsing an answer to `request`.
    fn parser(&self, request: &ModelRequest) -> Box<dyn AnswerParser>;
}

/// Parses one answer, token by token. The concatenated output does not depend on the split into tokens.
pub trait AnswerParser: Send {
    /// Parses the next token, which never ends the answer. Adds text, preambles, reasoning and calls.
    fn push(&mut self, token: i32, bytes: &[u8], out: &mut Vec<ModelEvent>);

    /// Ends the input and returns how the answer ended. `end` is the token that ended it, see
    /// [`Vocabulary::ends_answer`], or `None` if it was cut off.
    fn finish(&mut self, end: Option<i32>, out: &mut Vec<ModelEvent>) -> Ending;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It has text or calls.
    Whole,
    /// Cut off by the token limit or a cancel.
    CutOff,
    /// Nothing in it can be shown or run; a retry may help.
    Malformed,
}

/// The reason messages can't be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    #[error("this file's vocabulary lacks {0}, which the {1} format requires; use another file of the model")]
    Vocabulary(String, &'static str),
    #[error("the chat template of this file cannot be used: {0}")]
    Template(String),
}
