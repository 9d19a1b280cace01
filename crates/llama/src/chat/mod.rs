//! Chat templates: messages into tokens, tokens back into text, calls and reasoning.
//!
//! What a person typed and what a template says are tokenised apart, so that no text can become markup.

pub(crate) mod arguments;
mod conversation;
mod jinja;
mod joined;
#[cfg(test)]
pub(crate) mod nasty;
mod shield;
mod tagged;
mod template;
#[cfg(test)]
mod template_tests;
mod thoughts;

pub(crate) use joined::Joined;
pub use template::{TemplateFormat, chatml};

use openagents_core::model::{CallRequest, ModelRequest, Reasoning};

/// Turns text into the tokens of one vocabulary and back.
pub trait Vocabulary {
    /// Tokenises what a template says: its markers become their special tokens.
    fn markup(&self, text: &str) -> Vec<i32>;

    /// Tokenises what a person, a tool or a model said: never gives a special token, whatever the text is.
    fn text(&self, text: &str) -> Vec<i32>;

    /// Returns the id of a special token by its exact text.
    fn special(&self, marker: &str) -> Option<i32>;

    /// Returns the bytes of a token; those of a special token are its marker.
    fn bytes(&self, token: i32) -> Vec<u8>;

    /// Returns whether an answer ends with this token.
    fn ends_answer(&self, token: i32) -> bool;
}

/// A chat template and the parser of the answers that it asks for.
pub trait ChatFormat: Send + Sync + std::fmt::Debug {
    /// Returns whether tools can be offered.
    fn tools(&self) -> bool;

    /// Makes the tokens of a prompt.
    fn render(&self, request: &ModelRequest, vocabulary: &dyn Vocabulary) -> Result<Vec<i32>, ChatError>;

    /// Starts to parse an answer to `request`.
    fn parser(&self, request: &ModelRequest) -> Box<dyn AnswerParser>;
}

/// Parses one answer, token by token. However the tokens come, the sum of the pieces is the same.
pub trait AnswerParser: Send {
    /// Takes the next token, of those that do not end an answer.
    fn push(&mut self, token: i32, bytes: &[u8], out: &mut Vec<Parsed>);

    /// Says that no more tokens come, and returns how the answer ended. `end` is the token that ended it: one of those
    /// of [`Vocabulary::ends_answer`], or none when it was cut off.
    fn finish(&mut self, end: Option<i32>, out: &mut Vec<Parsed>) -> Ending;
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    /// A piece for the person.
    Text(String),
    /// A piece of what it says before a call.
    Preamble(String),
    /// A piece of its chain of thought.
    Reasoning(Reasoning),
    /// A call, whole; its arguments are an object.
    Call(CallRequest),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It said something, or asked for tools.
    Whole,
    /// It broke off in the middle: the limit, or a cancel.
    CutOff,
    /// Nothing in it can be shown or run: it is worth asking once again.
    Malformed,
}

/// Why messages cannot be made into a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The vocabulary of the file is not the one that the format needs.
    #[error("this file's vocabulary has no {0} where the {1} format needs it; use another file of the model")]
    Vocabulary(String, &'static str),
    /// The template of the file cannot be used.
    #[error("the chat template of this file cannot be used: {0}")]
    Template(String),
}
