//! Harmony, the format of gpt-oss: messages into a prompt, and an answer into text, thoughts and calls.
//!
//! Written by hand, since the official library gives up on what real models get wrong. It says what is right, though:
//! the texts in `goldens/` are its own (see `crates/llama/oracle`), and the repairs begin where it would fail.
//!
//! The format in short: a message is `<|start|>header<|message|>body<|end|>`; a header names the role, after
//! `<|channel|>` the channel, and with `to=` the recipient. An answer thinks in `analysis`, says what it is about to
//! do in `commentary`, calls with a recipient, and answers in `final`.

mod header;
mod markers;
mod names;
mod parser;
mod render;
mod typescript;
mod unaddressed;
mod vocabulary;

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod injection_tests;
#[cfg(test)]
mod parser_tests;

pub use vocabulary::HarmonyVocabulary;

use crate::chat::{AnswerParser, ChatError, ChatFormat, Vocabulary};
use openagents_core::model::ModelRequest;

/// The chat format of gpt-oss.
#[derive(Debug, Clone, Default)]
pub struct Harmony {
    /// `2026-11-22`; `None` for the day on which a prompt is made.
    date: Option<String>,
}

impl Harmony {
    /// Makes the format; prompts carry the day on which they are made.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the format for a fixed day, so that prompts can be compared: `2026-11-22`.
    pub fn on(date: impl Into<String>) -> Self {
        Self { date: Some(date.into()) }
    }
}

impl ChatFormat for Harmony {
    fn tools(&self) -> bool {
        true
    }

    fn render(&self, request: &ModelRequest, vocabulary: &dyn Vocabulary) -> Result<Vec<i32>, ChatError> {
        let today = || jiff::Zoned::now().date().to_string();
        let date = self.date.clone().unwrap_or_else(today);
        render::render(request, &date, vocabulary)
    }

    fn parser(&self, request: &ModelRequest) -> Box<dyn AnswerParser> {
        Box::new(parser::Parser::new(&request.tools))
    }
}
