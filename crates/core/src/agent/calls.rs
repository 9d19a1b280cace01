//! The calls of one answer: checked, run, and told.

use super::{
    AgentEvent, AgentLoop, SessionContext, SessionTool, end_call, run,
    shown::{self, Row},
    tools,
};
use crate::{
    CancellationToken,
    model::{CallRequest, Message},
    tool::{Arguments, ToolError, ToolOutput},
    update::ToolCallStatus,
    workspace::Workspace,
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

/// Calls of one answer that are run.
const CALLS: usize = 16;

/// Characters of one result.
const RESULT: std::ops::RangeInclusive<usize> = 1_000..=16_000;

/// Nobody wants the results any more.
pub(super) struct Cancelled;

/// Runs the calls of one turn.
pub(super) struct Desk<'a> {
    agent: &'a AgentLoop,
    /// What the person asked; empty where no person did.
    prompt: &'a str,
    workspace: Arc<Workspace>,
    cancel: &'a CancellationToken,
    emit: &'a (dyn Fn(AgentEvent) + Sync),
    /// The schemas of the tools by their names, compiled at the first call.
    schemas: OnceLock<BTreeMap<String, Arguments>>,
}

type Checked = Result<Map<String, Value>, ToolError>;

impl<'a> Desk<'a> {
    pub(super) fn new(
        agent: &'a AgentLoop,
        prompt: &'a str,
        workspace: Arc<Workspace>,
        cancel: &'a CancellationToken,
        emit: &'a (dyn Fn(AgentEvent) + Sync),
    ) -> Self {
        Self { agent, prompt, workspace, cancel, emit, schemas: OnceLock::new() }
    }

    /// Runs what an answer asks for and returns what goes back to the model, in the order of the calls. They run one after
    /// the other, unless none of them changes anything.
    pub(super) fn run(&self, calls: Vec<CallRequest>) -> Result<Vec<Message>, Cancelled> {
        let results =
            if self.may_run_at_once(&calls) { self.at_once(&calls) } else { self.in_order(&calls)? };
        if self.cancel.is_cancelled() {
            return Err(Cancelled);
        }
        let room = (run::conversation(self.agent) / 4).clamp(*RESULT.start(), *RESULT.end());
        let answered = calls.into_iter().zip(results).map(|(call, result)| Message::Tool {
            call_id: call.id,
            name: call.name,
            text: tools::result_text(&result, room),
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
                    let checked = if number < CALLS { self.check(call) } else { Err(too_many()) };
                    self.call_plain(&row, call, checked)
                }
            };
            if self.cancel.is_cancelled() {
                return Err(Cancelled);
            }
            results.push(result);
        }
        Ok(results)
    }

    /// All rows are opened in the order of the calls; each is closed when its call is over.
    fn at_once(&self, calls: &[CallRequest]) -> Vec<Result<ToolOutput, ToolError>> {
        let opened: Vec<_> = calls.iter().map(|call| Row::open(self.emit, call, &self.workspace)).collect();
        std::thread::scope(|scope| {
            let started: Vec<_> = calls
                .iter()
                .zip(&opened)
                .map(|(call, row)| {
                    let work = move || self.call_plain(row, call, self.check(call));
                    // Without another thread, this one does it.
                    std::thread::Builder::new().spawn_scoped(scope, work).map_err(|_| work())
                })
                .collect();
            let stopped = |_| Err(ToolError::ExecutionFailed("the call stopped unexpectedly".to_owned()));
            let end = |started| match started {
                Ok(thread) => std::thread::ScopedJoinHandle::join(thread).unwrap_or_else(stopped),
                Err(result) => result,
            };
            started.into_iter().map(end).collect()
        })
    }

    fn own(&self, name: &str) -> Option<Arc<dyn SessionTool>> {
        tools::offered(self.agent).into_iter().find(|tool| tool.name() == name)
    }

    fn check(&self, call: &CallRequest) -> Checked {
        let schemas = self.schemas.get_or_init(|| {
            let specs = tools::specs(&self.agent.tools.registry, &self.agent.session_tools);
            specs.into_iter().map(|spec| (spec.name, Arguments::of(&spec.parameters))).collect()
        });
        match schemas.get(&call.name) {
            Some(schema) => schema.read(&call.arguments),
            // The registry knows what there is to say about such a name.
            None => Ok(call.arguments.as_object().cloned().unwrap_or_default()),
        }
    }

    fn call_plain(
        &self,
        row: &Row<'_>,
        call: &CallRequest,
        checked: Checked,
    ) -> Result<ToolOutput, ToolError> {
        let result = checked.and_then(|arguments| {
            self.agent.tools.call(&call.name, arguments.into(), &self.workspace, self.cancel, |_, _| ())
        });
        row.close(match &result {
            Ok(output) => ToolCallStatus::Completed { output: output.to_json(), cut: output.cut },
            Err(error) => ToolCallStatus::Error { message: error.to_string() },
        });
        result
    }

    /// Such a tool opens and closes its own row. Where it never gets to that, or panics, it is done here.
    fn call_own(&self, tool: &dyn SessionTool, call: &CallRequest) -> Result<ToolOutput, ToolError> {
        let arguments = match self.check(call) {
            Ok(arguments) => arguments,
            Err(error) => {
                let row = Row::open(self.emit, call, &self.workspace);
                row.close(ToolCallStatus::Error { message: error.to_string() });
                return Err(error);
            }
        };
        // Two calls may have one id when a model, or whatever parsed it, is careless; a row may not.
        let id = uuid::Uuid::new_v4().to_string();
        let watch = shown::Watch::new(&id);
        let emit = |event: AgentEvent| {
            watch.see(&event);
            (self.emit)(event);
        };
        let context = SessionContext {
            workspace: &self.workspace,
            call_id: &id,
            prompt: self.prompt,
            caller: Some(self.agent.model.id()),
            cancel: self.cancel,
            emit: &emit,
        };
        // Its updates are complete up to the panic, and nothing of it is used afterwards.
        let said = catch_unwind(AssertUnwindSafe(|| tool.call(&context, arguments.into())));
        let said = said.unwrap_or_else(|_| {
            let error = ToolError::ExecutionFailed(format!("{} stopped unexpectedly", tool.name()));
            if watch.is_open() {
                end_call(self.emit, &id, ToolCallStatus::Error { message: error.to_string() });
            }
            Err(error)
        });
        said.map(|text| ToolOutput::whole(Value::String(text)))
    }
}

fn too_many() -> ToolError {
    ToolError::ExecutionFailed(format!(
        "not run: one answer may ask for {CALLS} tools; ask again for the rest"
    ))
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
