//! Harmony, the chat format of gpt-oss: renders prompts and parses text, reasoning and calls.
//!
//! Written by hand, since the official library rejects mistakes that real models make. The library is still the
//! reference: it generated the texts in `goldens/` (see `crates/llama/oracle`), and repairs apply only where it would
//! fail.
//!
//! The format in short: a message is `<|start|>header<|message|>body<|end|>`; a header has the role, the channel after
//! `<|channel|>`, and the recipient after `to=`. An answer has reasoning in `analysis`, preambles in `commentary`,
//! calls with a recipient, and its text in `final`.

mod names;
mod parser;
mod render;
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
    /// Such as `2026-11-22`; `None` for the current day.
    date: Option<String>,
}

impl Harmony {
    /// Creates the format with the current day in prompts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the format with a fixed day such as `2026-11-22`, for reproducible prompts.
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
