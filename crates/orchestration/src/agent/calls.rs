//! Runs and reports the calls of one answer.

use super::row::Row;
use super::{
    agent_loop::{self, AgentLoop, HistoryRead, SessionContext, SessionTool},
    limits::{CALLS, RESULT_CHARS},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, end_call, is_from_model},
    budget::Cancelled,
    model::{CallRequest, Message},
    parallel,
    update::{ToolCallStatus, new_id},
    workspace::Workspace,
};
use openagents_tools::tool::{ToolError, ToolOutput};
use serde_json::Value;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Runs the calls of one turn.
pub(super) struct CallRunner<'a> {
    pub(super) agent: &'a AgentLoop,
    /// The user's prompt; empty if another agent wrote it.
    pub(super) prompt: &'a str,
    pub(super) workspace: Arc<Workspace>,
    pub(super) cancel: &'a CancellationToken,
    pub(super) emit: &'a (dyn Fn(AgentEvent) + Sync),
    /// The conversation may contain text from past sessions.
    pub(super) has_history: AtomicBool,
}

impl CallRunner<'_> {
    /// Returns the results of an answer's calls in order. Calls run concurrently only if all are read-only.
    pub(super) fn run(&self, calls: Vec<CallRequest>) -> Result<Vec<Message>, Cancelled> {
        let results =
            if self.may_run_at_once(&calls) { self.at_once(&calls) } else { self.in_order(&calls)? };
        if self.cancel.is_cancelled() {
            return Err(Cancelled);
        }
        let room = (self.agent.conversation_chars() / 4).clamp(*RESULT_CHARS.start(), *RESULT_CHARS.end());
        let answered = calls.into_iter().zip(results).map(|(call, result)| Message::Tool {
            call_id: call.id,
            name: call.name,
            text: agent_loop::result_text(&result, room),
        });
        Ok(answered.collect())
    }

    fn may_run_at_once(&self, calls: &[CallRequest]) -> bool {
        let is_read_only = |call: &CallRequest| {
            self.own(&call.name).is_none()
                && self.agent.tools.registry.get(&call.name).is_some_and(|tool| tool.is_read_only())
        };
        (2..=CALLS).contains(&calls.len()) && calls.iter().all(is_read_only)
    }

    fn in_order(&self, calls: &[CallRequest]) -> Result<Vec<Result<ToolOutput, ToolError>>, Cancelled> {
        let mut results = Vec::with_capacity(calls.len());
        for (number, call) in calls.iter().enumerate() {
            let result = match self.own(&call.name) {
                Some(tool) if number < CALLS => self.call_own(tool.as_ref(), call),
                _ => {
                    let row = Row::open(self.emit, call, &self.workspace);
                    if number < CALLS {
                        self.call_plain(&row, call)
                    } else {
                        let reason =
                            format!("not run: one answer may ask for {CALLS} tools; ask again for the rest");
                        closed(&row, Err(ToolError::ExecutionFailed(reason)))
                    }
                }
            };
            if self.cancel.is_cancelled() {
                return Err(Cancelled);
            }
            results.push(result);
        }
        Ok(results)
    }

    /// Opens all rows in the order of the calls; each is closed when its call ends.
    fn at_once(&self, calls: &[CallRequest]) -> Vec<Result<ToolOutput, ToolError>> {
        let rows: Vec<_> = calls.iter().map(|call| Row::open(self.emit, call, &self.workspace)).collect();
        let run = |(): &mut (), at: usize| Some(self.call_plain(&rows[at], &calls[at]));
        parallel::map(calls.len(), CALLS, || true, || (), run).into_iter().flatten().collect()
    }

    fn own(&self, name: &str) -> Option<Arc<dyn SessionTool>> {
        agent_loop::offered(self.agent).into_iter().find(|tool| tool.name() == name)
    }

    fn call_plain(&self, row: &Row<'_>, call: &CallRequest) -> Result<ToolOutput, ToolError> {
        let arguments = call.arguments.clone();
        if self.agent.tools.registry.get(&call.name).is_some_and(|tool| tool.reads_history()) {
            self.has_history.store(true, Ordering::Relaxed);
        }
        closed(row, self.agent.tools.call(&call.name, arguments, &self.workspace, self.cancel, |_, _| ()))
    }

    fn history_read(&self) -> HistoryRead {
        if !self.has_history.load(Ordering::Relaxed) {
            HistoryRead::Nothing
        } else if self.agent.tools.history.is_limited() {
            HistoryRead::Workspace
        } else {
            HistoryRead::Everywhere
        }
    }

    /// A session tool opens and closes its own row. If it panics, its row is closed here.
    fn call_own(&self, tool: &dyn SessionTool, call: &CallRequest) -> Result<ToolOutput, ToolError> {
        // Models may repeat a call id; row ids must be unique.
        let id = new_id();
        let context = SessionContext {
            workspace: &self.workspace,
            call_id: &id,
            prompt: self.prompt,
            caller: Some(self.agent.model.id()),
            read: self.history_read(),
            cancel: self.cancel,
            emit: self.emit,
        };
        // Its updates are complete up to the panic, and its state is not used afterwards.
        let reply = catch_unwind(AssertUnwindSafe(|| tool.call(&context, call.arguments.clone())));
        let report = |text: &String| serde_json::from_str(text).is_ok_and(|report| is_from_model(&report));
        if reply.as_ref().is_ok_and(|reply| reply.as_ref().is_ok_and(report)) {
            self.has_history.store(true, Ordering::Relaxed);
        }
        let reply = reply.unwrap_or_else(|_| {
            let error = ToolError::ExecutionFailed(format!("{} stopped unexpectedly", tool.name()));
            end_call(self.emit, &id, ToolCallStatus::Error { message: error.to_string() });
            Err(error)
        });
        reply.map(|text| ToolOutput::whole(Value::String(text)))
    }
}

fn closed(row: &Row<'_>, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
    row.close(match &result {
        Ok(output) => ToolCallStatus::Completed { output: output.to_json(), cut: output.cut },
        Err(error) => ToolCallStatus::Error { message: error.to_string() },
    });
    result
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;

#[cfg(test)]
mod shown_tests {
    use super::*;
    use crate::agent::row::details;
    use openagents_tools::builtin::testing::Bench;
    use serde_json::json;

    #[test]
    fn row_has_kind_and_location() {
        let bench = Bench::with(&[("src/a.rs", "")]);
        let shown = |name: &str, arguments: Value| {
            let call = CallRequest { id: "1".to_owned(), name: name.to_owned(), arguments };
            let details = details(&call, &bench.workspace);
            let places = details.locations.iter().map(|place| {
                let path = place.path.strip_prefix(bench.root().to_str().unwrap()).unwrap();
                format!(" {path}:{}", place.line.unwrap_or_default())
            });
            format!("{:?}{}", details.kind, places.collect::<String>())
        };
        let rows = [
            ("content.get_span", json!({"path": "src/a.rs", "start_line": 7}), "Some(Read) /src/a.rs:7"),
            (
                "content.get_span",
                json!({"path": "/workspace/src/a.rs", "startLine": -1}),
                "Some(Read) /src/a.rs:0",
            ),
            ("content.get_span", json!({"path": "/etc/passwd"}), "Some(Read)"),
            ("fs.list_dir", json!({"path": "."}), "Some(Read) :0"),
            ("fs.list_dir", json!({"path": 3}), "Some(Read)"),
            ("search.grep", json!({"pattern": "x", "pathPrefix": "src"}), "Some(Search) /src:0"),
            ("search.grep", json!({"pattern": "x"}), "Some(Search)"),
            ("session.list", json!({"path": "src"}), "Some(Read)"),
            ("rm", json!({"path": "src"}), "None"),
        ];
        for (name, arguments, expected) in rows {
            assert_eq!(shown(name, arguments.clone()), expected, "{name} {arguments}");
        }
    }
}
