//! The outcome of a run, folded from its updates.

use crate::words::text;
use agent_client_protocol_schema::v1::{PlanEntry, PlanEntryStatus, SessionUpdate};
use openagents_core::update::Summary;
use openagents_wire::{EntryMeta, ExploreResult, PlanMeta, SpeechMeta, UpdateParams, ours};
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    run: ExploreResult,
    /// State of the last plan.
    plan_state: String,
    ops: usize,
    message: Option<String>,
    summary: Option<Summary>,
}

impl Outcome {
    pub(super) fn for_run(run: ExploreResult) -> Self {
        Self { run, ..Self::default() }
    }

    /// Returns the outcome of a run that did not start.
    pub(super) fn refused(message: String) -> Self {
        Self { message: Some(message), ..Self::default() }
    }

    pub(super) fn session_id(&self) -> &str {
        &self.run.session_id
    }

    pub(crate) fn add(&mut self, params: &UpdateParams) {
        match &params.update {
            SessionUpdate::Plan(plan) => {
                self.plan_state = ours::<PlanMeta>(plan.meta.as_ref()).state;
                let ran = |entry: &&PlanEntry| {
                    let error = ours::<EntryMeta>(entry.meta.as_ref()).error;
                    entry.status == PlanEntryStatus::Completed && error.as_deref() != Some("not run")
                };
                self.ops = plan.entries.iter().filter(ran).count();
            }
            SessionUpdate::AgentMessageChunk(chunk) => {
                let SpeechMeta { summary, findings, is_overview, .. } = ours(chunk.meta.as_ref());
                // Findings and the overview are messages before the final one.
                if findings.is_none() && !is_overview {
                    self.message = Some(text(chunk).to_owned());
                    self.summary = summary;
                }
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
        match self.plan_state.as_str() {
            state @ ("cancelled" | "failed") => state,
            "complete" if self.summary.is_some() => "complete",
            _ if self.message.as_deref() == Some(openagents_orchestration::explore::CANCELLED) => "cancelled",
            _ => "failed",
        }
    }

    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(super) fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    pub(super) fn report(&self) -> Value {
        let summary = serde_json::to_value(&self.summary).unwrap_or_default();
        json!({
            "status": self.state(),
            "session_id": self.run.session_id,
            "plan_id": self.run.plan_id,
            "repository": summary["repository"],
            "intent": summary["intent"],
            "source": summary["source"],
            "evidence": summary["evidence"],
            "findings": summary["findings"],
            "overview": summary["overview"],
            "ops": self.ops,
            "message": self.message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(update: Value) -> UpdateParams {
        serde_json::from_value(json!({"sessionId": "s", "update": update})).unwrap()
    }

    fn plan(state: &str) -> UpdateParams {
        let entry = |ours: Value| json!({"content": "", "priority": "medium", "status": "completed", "_meta": {"openagents": ours}});
        let entries = [entry(json!({})), entry(json!({"error": "not run"}))];
        update(
            json!({"sessionUpdate": "plan", "entries": entries, "_meta": {"openagents": {"state": state}}}),
        )
    }

    fn message(text: &str, ours: Value) -> UpdateParams {
        update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
            "_meta": {"openagents": ours}}))
    }

    fn summary() -> Value {
        json!({"summary": Summary { repository: "x".to_owned(), ..Summary::default() }})
    }

    #[test]
    fn state_follows_last_plan_and_message() {
        let rows = [
            (vec![plan("complete"), message("done", summary())], "complete"),
            (vec![plan("cancelled"), message("Exploration cancelled.", json!({}))], "cancelled"),
            (vec![message("Exploration cancelled.", json!({}))], "cancelled"),
            (vec![message("❌ no", json!({}))], "failed"),
            (vec![plan("complete")], "failed"),
        ];
        for (updates, expected) in rows {
            let mut outcome = Outcome::default();
            updates.iter().for_each(|params| outcome.add(params));
            assert_eq!(outcome.state(), expected);
        }
    }

    #[test]
    fn findings_do_not_end_a_run() {
        let mut outcome = Outcome::default();
        outcome.add(&message("**Found:**", json!({"findings": {"findings": []}})));
        assert!(!outcome.is_over());
        outcome.add(&message("done", summary()));
        assert!(outcome.is_over());
    }

    #[test]
    fn report_counts_only_ops_that_ran() {
        let mut outcome = Outcome::default();
        outcome.add(&plan("cancelled"));
        assert_eq!(outcome.report()["ops"], 1);
    }
}
