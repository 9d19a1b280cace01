use super::{Tail, Turn, each, text};
use crate::state::Failure;
use serde_json::Value;

/// Begins the text with which the program introduces the workspace to the model.
const CONTEXT: &str = "<session_context>";

impl Tail {
    pub(super) fn gemini_cli(&mut self, line: &Value) {
        // After a cancelled request the whole conversation is written again, up to a checkpoint.
        if self.is_repeating {
            self.is_repeating = line["$set"]["messages"].is_null();
            return;
        }
        match text(line, "type") {
            "user" => {
                let is_result = each(line, "content").any(|part| !part["functionResponse"].is_null());
                let first = each(line, "content").next().map(|part| text(part, "text"));
                let is_context = first.is_some_and(|text| text.starts_with(CONTEXT));
                if !is_result && !is_context {
                    self.start();
                }
            }
            "gemini" => {
                let mut calls = each(line, "toolCalls").peekable();
                let called = calls.peek().is_some();
                let cancelled = calls.any(|call| call["status"] == "cancelled");
                self.turn = match (cancelled, called) {
                    (true, _) => Turn::Interrupted,
                    (false, true) => Turn::Open,
                    (false, false) => Turn::MaybeEnded,
                };
            }
            "info" if text(line, "content").contains("cancelled") => {
                self.end(Turn::Interrupted);
                self.is_repeating = true;
            }
            "error" => self.end(Turn::Failed(Some(Failure::Other))),
            _ => {}
        }
    }
}
