use super::{Tail, Turn, each, text};
use crate::state::{Failure, Millis};
use serde_json::Value;

impl Tail {
    pub(super) fn qwen_code(&mut self, line: &Value, at: Millis) {
        match text(line, "type") {
            "user" => self.start(),
            "assistant" => {
                for part in each(&line["message"], "parts") {
                    let call = &part["functionCall"];
                    if !call.is_null() {
                        self.called(text(call, "id"), text(call, "name"), at);
                    }
                }
                if self.calls.is_empty() {
                    self.end(Turn::Ended);
                }
            }
            "tool_result" => {
                let result = &line["toolCallResult"];
                self.returned(text(result, "callId"));
                if result["status"] == "cancelled" {
                    self.end(Turn::Interrupted);
                }
            }
            "system" if line["subtype"] == "ui_telemetry" => {
                let event = &line["uiEvent"];
                let code = event["status_code"].as_u64().unwrap_or_default();
                // Requests that failed otherwise are repeated.
                if text(event, "event.name").ends_with("api_error")
                    && (400..500).contains(&code)
                    && code != 429
                {
                    let why = if matches!(code, 401 | 403) { Failure::Login } else { Failure::Other };
                    self.end(Turn::Failed(Some(why)));
                }
            }
            _ => {}
        }
    }
}
