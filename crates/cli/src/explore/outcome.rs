//! The outcome of a run, folded from its updates.

use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    session_id: String,
    plan_id: String,
    /// State of the last plan.
    plan_state: Option<String>,
    /// Ops that ran.
    ops: usize,
    /// The final message.
    message: Option<String>,
    summary: Value,
}

impl Outcome {
    pub(super) fn of(session_id: String, plan_id: String) -> Self {
        Self { session_id, plan_id, ..Self::default() }
    }

    /// Returns the outcome of a run that did not start.
    pub(super) fn refused(message: String) -> Self {
        Self { message: Some(message), ..Self::default() }
    }

    pub(super) fn session_id(&self) -> &str {
        &self.session_id
    }

    pub(crate) fn add(&mut self, params: &Value) {
        let update = &params["update"];
        let meta = &update["_meta"]["openagents"];
        match update["sessionUpdate"].as_str() {
            Some("plan") => {
                self.plan_state = meta["state"].as_str().map(str::to_owned);
                let entries = crate::output::rows(update, "entries").iter();
                let ran = |entry: &&Value| {
                    entry["status"] == "completed" && entry["_meta"]["openagents"]["error"] != "not run"
                };
                self.ops = entries.filter(ran).count();
            }
            // Findings are a separate message; the final message comes later.
            Some("agent_message_chunk") if meta["findings"].is_null() => {
                self.message = update["content"]["text"].as_str().map(str::to_owned);
                self.summary = meta["summary"].clone();
            }
            _ => {}
        }
    }

    /// The final message ends a run.
    pub(crate) fn is_over(&self) -> bool {
        self.message.is_some()
    }

    /// Returns `complete`, `failed` or `cancelled`.
    pub(super) fn state(&self) -> &str {
        match self.plan_state.as_deref() {
            Some(state @ ("cancelled" | "failed")) => state,
            Some("complete") if self.summary.is_object() => "complete",
            _ if self.message.as_deref() == Some(openagents_orchestration::explore::CANCELLED) => "cancelled",
            _ => "failed",
        }
    }

    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(super) fn summary(&self) -> &Value {
        &self.summary
    }

    pub(super) fn report(&self) -> Value {
        json!({
            "status": self.state(),
            "session_id": self.session_id,
            "plan_id": self.plan_id,
            "repository": self.summary["repository"],
            "intent": self.summary["intent"],
            "source": self.summary["source"],
            "evidence": self.summary["evidence"],
            "findings": self.summary["findings"],
            "ops": self.ops,
            "message": self.message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(state: &str) -> Value {
        json!({"update": {"sessionUpdate": "plan", "entries": [
            {"status": "completed", "_meta": {"openagents": {}}},
            {"status": "completed", "_meta": {"openagents": {"error": "not run"}}},
        ], "_meta": {"openagents": {"state": state}}}})
    }

    fn message(text: &str, summary: Value) -> Value {
        json!({"update": {"sessionUpdate": "agent_message_chunk", "content": {"text": text},
            "_meta": {"openagents": {"summary": summary}}}})
    }

    #[test]
    fn a_run_is_what_its_last_plan_and_message_say() {
        let rows = [
            (vec![plan("complete"), message("done", json!({"repository": "x"}))], "complete"),
            (vec![plan("cancelled"), message("Exploration cancelled.", Value::Null)], "cancelled"),
            (vec![message("Exploration cancelled.", Value::Null)], "cancelled"),
            (vec![message("❌ no", Value::Null)], "failed"),
            (vec![plan("complete")], "failed"),
        ];
        for (updates, expected) in rows {
            let mut outcome = Outcome::default();
            updates.iter().for_each(|params| outcome.add(params));
            assert_eq!(outcome.state(), expected);
        }
    }

    #[test]
    fn what_was_found_does_not_end_a_run() {
        let mut outcome = Outcome::default();
        outcome.add(
            &json!({"update": {"sessionUpdate": "agent_message_chunk", "content": {"text": "**Found:**"},
            "_meta": {"openagents": {"findings": {"findings": []}}}}}),
        );
        assert!(!outcome.is_over());
        outcome.add(&message("done", json!({"repository": "x"})));
        assert!(outcome.is_over());
    }

    #[test]
    fn ops_that_did_not_run_do_not_count() {
        let mut outcome = Outcome::default();
        outcome.add(&plan("cancelled"));
        assert_eq!(outcome.report()["ops"], 1);
    }
}
