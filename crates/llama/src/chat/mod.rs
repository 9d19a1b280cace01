//! Chat formats: messages into tokens, and tokens into text, calls and reasoning.
//!
//! User text and template markup are tokenized separately, so that text can't become markup.

pub(crate) mod arguments;
mod format;
#[cfg(test)]
pub(crate) mod nasty;
mod shield;
mod tagged;
mod template;
#[cfg(test)]
mod template_tests;

pub use format::{AnswerParser, ChatError, ChatFormat, Ending, Vocabulary};
pub use template::{TemplateFormat, chatml};
