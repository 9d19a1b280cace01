use super::{Tail, Turn, is_question, need_of, text};
use crate::state::{Failure, Millis, Need};
use serde_json::Value;

impl Tail {
    pub(super) fn copilot(&mut self, line: &Value, at: Millis) {
        let data = &line["data"];
        let id = text(data, "toolCallId");
        match text(line, "type") {
            "user.message" if text(data, "agentId").is_empty() => self.start(),
            "tool.execution_start" => {
                let tool = text(data, "toolName");
                self.called(id, tool, at);
                if is_question(tool) {
                    self.asked(id, need_of(Some(tool)), at);
                }
            }
            "tool.execution_complete" => self.returned(id),
            "permission.requested" => self.asked(text(data, "requestId"), Need::Approval, at),
            "permission.completed" => self.answered(text(data, "requestId")),
            "abort" => self.end(Turn::Interrupted),
            "session.error" => self.end(Turn::Failed(Some(match text(data, "errorType") {
                "authentication" => Failure::Login,
                "rate_limit" | "quota" => Failure::RateLimit,
                _ => Failure::Other,
            }))),
            "assistant.turn_end"
                if text(data, "parentToolCallId").is_empty()
                    && self.calls.is_empty()
                    && self.turn == Turn::Open =>
            {
                self.end(Turn::Ended);
            }
            "assistant.turn_start" if self.turn == Turn::Ended => self.turn = Turn::Open,
            _ => {}
        }
    }
}
