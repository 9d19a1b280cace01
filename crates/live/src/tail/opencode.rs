use super::{Tail, Turn, is_action, is_question, need_of, text};
use crate::state::{Failure, Millis, Need};
use serde_json::Value;

impl Tail {
    /// `row`: with `id`, and with the parsed `data` of a message or a part.
    pub(super) fn opencode(&mut self, table: &str, row: &Value, at: Millis) {
        let data = &row["data"];
        match (table, text(data, "role"), text(data, "type")) {
            ("message", "user", _) => {
                let is_new = self.prompts.insert(text(row, "id").to_owned());
                is_new.then(|| self.start());
            }
            ("message", "assistant", _) => {
                let error = text(&data["error"], "name");
                let completed = !data["time"]["completed"].is_null();
                if error.contains("Abort") {
                    self.end(Turn::Interrupted);
                } else if !data["error"].is_null() {
                    let is_login = error.contains("Auth");
                    self.end(Turn::Failed(Some(if is_login { Failure::Login } else { Failure::Other })));
                } else if completed && matches!(text(data, "finish"), "stop" | "length") {
                    self.end(Turn::Ended);
                } else if completed && self.is_refused {
                    self.end(Turn::Interrupted);
                }
            }
            ("part", _, "tool") => {
                let (id, tool, state) = (text(data, "callID"), text(data, "tool"), &data["state"]);
                let status = text(state, "status");
                if !matches!(status, "pending" | "running") {
                    self.returned(id);
                    self.is_refused = status == "error";
                    return;
                }
                self.called(id, tool, at);
                if is_question(tool) {
                    self.asked(id, need_of(Some(tool)), at);
                } else if status == "running" && state["metadata"].is_null() && is_action(tool) {
                    // Metadata appears once the tool runs.
                    self.asked(id, Need::Approval, at);
                } else {
                    self.answered(id);
                }
            }
            _ => {}
        }
    }
}
