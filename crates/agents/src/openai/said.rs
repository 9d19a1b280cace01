//! Parses the error messages of servers, in all their formats.

use super::key::Secret;
use crate::limits::SAID_CHARS;
use openagents_core::{json_text, model::ModelError, text::line};
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) message: String,
    pub(super) parameter: Option<String>,
    /// The values of `code` and `type`.
    kinds: Vec<String>,
    pub(super) status: Option<u16>,
    /// Tokens of the prompt and of the context, as reported by llama-server.
    tokens: Option<(u32, u32)>,
}

impl Said {
    pub(super) fn read(body: &str, key: Option<&Secret>) -> Self {
        if let Ok(body) = json_text::from_str::<Value>(body) {
            return Self::of(&body, key);
        }
        // The first line of an HTML page is meaningless.
        let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let message = if line.starts_with('<') { String::new() } else { hidden(line, key) };
        Self { message, ..Self::default() }
    }

    pub(super) fn of(body: &Value, key: Option<&Secret>) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = match &body["error"] {
            Value::Null => body,
            error => error,
        };
        let texts = [&error["message"], error, &error["detail"], &error["detail"][0]["msg"]];
        let message = texts.into_iter().find_map(Value::as_str).unwrap_or_default();
        let kinds = [&error["code"], &error["type"]].into_iter().filter_map(Value::as_str);
        let status = [&error["code"], &error["status"]].into_iter().find_map(Value::as_u64);
        let tokens = |name: &str| error[name].as_u64().and_then(|tokens| u32::try_from(tokens).ok());
        Self {
            message: hidden(message, key),
            parameter: error["param"].as_str().map(str::to_owned),
            kinds: kinds.map(str::to_owned).collect(),
            status: status.and_then(|status| u16::try_from(status).ok()),
            tokens: tokens("n_prompt_tokens").zip(tokens("n_ctx")),
        }
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kinds.iter().any(|known| known == kind)
    }

    /// Returns the message in a form that fits into a sentence.
    pub(super) fn aside(&self) -> String {
        let said = shown(self.message.trim_end_matches('.'));
        if said.is_empty() { said } else { format!(": {said}") }
    }

    /// Returns the error of a context overflow, which the loop can recover from.
    pub(super) fn overflow(&self) -> Option<ModelError> {
        let message = self.message.to_ascii_lowercase();
        let phrases = [
            "maximum context length",
            "context length exceeded",
            "exceeds the available context size",
            "context window",
            "context length of only",
            "exceeds the maximum number of tokens",
            "prompt is too long",
            "reduce the length of the messages",
        ];
        let is_overflow = self.is("context_length_exceeded")
            || self.is("exceed_context_size_error")
            || phrases.iter().any(|phrase| message.contains(phrase));
        if !is_overflow {
            return None;
        }
        let mut numbers = message
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|digits| digits.parse::<u32>().ok())
            .filter(|number| *number >= 256);
        let named = || {
            let (one, other) = (numbers.next()?, numbers.next()?);
            Some((one.max(other), one.min(other)))
        };
        let (needed, context) = self.tokens.or_else(named).unwrap_or_default();
        Some(ModelError::ContextOverflow { needed, context })
    }
}

fn hidden(text: &str, key: Option<&Secret>) -> String {
    key.map_or_else(|| text.to_owned(), |key| key.hide_in(text))
}

/// Shortens foreign text to one line.
pub(super) fn shown(text: &str) -> String {
    line(text, SAID_CHARS)
}
