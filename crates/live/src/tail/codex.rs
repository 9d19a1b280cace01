use super::{Tail, Turn, is_question, need_of, text};
use crate::state::{Failure, Millis, Need};
use serde_json::Value;

impl Tail {
    pub(super) fn codex(&mut self, line: &Value, at: Millis) {
        let payload = &line["payload"];
        let id = text(payload, "call_id");
        match text(payload, "type") {
            "task_started" => self.start(),
            "task_complete" => {
                let has_plan = self.has_plan;
                let failed = !payload["error"].is_null();
                self.end(if failed { Turn::Failed(failure(&payload["error"])) } else { Turn::Ended });
                self.has_plan = has_plan;
            }
            "turn_aborted" => self.end(Turn::Interrupted),
            "function_call" | "custom_tool_call" => {
                let tool = text(payload, "name");
                self.called(id, tool, at);
                if is_question(tool) {
                    self.asked(id, need_of(Some(tool)), at);
                } else if text(payload, "arguments").contains("require_escalated") {
                    self.asked(id, Need::Approval, at);
                }
            }
            "function_call_output" | "custom_tool_call_output" => self.returned(id),
            "item_completed" => {
                let item = &payload["item"];
                match text(item, "type") {
                    "Plan" => self.has_plan = true,
                    "CommandExecution" => self.answered(text(item, "id")),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// `error` of a `task_complete` record: a text, or an object with the kind in `codexErrorInfo`.
fn failure(error: &Value) -> Option<Failure> {
    let error = error.to_string().to_lowercase();
    if error.contains("unauthorized") || error.contains("401") {
        return Some(Failure::Login);
    }
    Some(if error.contains("limit") { Failure::RateLimit } else { Failure::Other })
}
