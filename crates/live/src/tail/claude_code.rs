use super::{Tail, Turn, each, text};
use crate::state::{Failure, Millis};
use serde_json::Value;

/// Begins the record of a turn that the user interrupted.
const INTERRUPTED: &str = "[Request interrupted by user";
/// Begin records of commands that the program handles itself.
const LOCAL: [&str; 3] = ["<command-name>", "<local-command", "<bash-"];
/// Mark records that are no prompts.
const NO_PROMPT: [&str; 3] = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"];

impl Tail {
    pub(super) fn claude_code(&mut self, line: &Value, at: Millis) {
        if line["isSidechain"] == true {
            return;
        }
        let message = &line["message"];
        let blocks = || each(message, "content");
        match text(line, "type") {
            "user" => {
                let results = blocks().filter(|block| block["type"] == "tool_result");
                let results: Vec<_> = results.map(|block| text(block, "tool_use_id")).collect();
                results.iter().for_each(|id| self.returned(id));
                let begins = |start: &str| {
                    let typed = message["content"].as_str().into_iter();
                    typed.chain(blocks().map(|block| text(block, "text"))).any(|text| text.starts_with(start))
                };
                if begins(INTERRUPTED) {
                    self.end(Turn::Interrupted);
                } else if results.is_empty()
                    && NO_PROMPT.iter().all(|mark| line[mark] != true)
                    && !LOCAL.iter().any(|start| begins(start))
                {
                    self.start();
                }
            }
            "assistant" if line["isApiErrorMessage"] == true => {
                self.end(Turn::Failed(Some(failure(text(line, "error")))));
            }
            "assistant" => {
                self.is_prompt_last = false;
                for block in blocks().filter(|block| block["type"] == "tool_use") {
                    self.called(text(block, "id"), text(block, "name"), at);
                }
                let ended = matches!(text(message, "stop_reason"), "end_turn" | "stop_sequence");
                if ended && self.calls.is_empty() {
                    self.end(Turn::Ended);
                }
            }
            _ => {}
        }
    }
}

/// `error` of an `isApiErrorMessage` record.
fn failure(error: &str) -> Failure {
    match error {
        "rate_limit" => Failure::RateLimit,
        "authentication_failed" | "invalid_api_key" => Failure::Login,
        _ => Failure::Other,
    }
}
