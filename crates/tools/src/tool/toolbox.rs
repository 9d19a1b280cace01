//! The tools with their dependencies; runs each call on a separate thread.

use super::{context::ToolContext, error::ToolError, limits::Limits, output::ToolOutput, registry::Registry};
use openagents_core::{
    CancellationToken,
    budget::Progress,
    isolated::{self, Lost, StageMessage},
    workspace::Workspace,
};
use openagents_transcripts::history::History;
use serde_json::Value;
use std::sync::{Arc, mpsc};

type Called = Result<ToolOutput, ToolError>;

/// Data shared by all runs of a process.
#[derive(Debug, Clone)]
pub struct Toolbox {
    /// The transcripts of other agents.
    pub history: Arc<History>,
    /// Limits of the tools.
    pub limits: Limits,
    /// The tools.
    pub registry: Registry,
}

impl Toolbox {
    /// Runs a tool. `on_progress` receives (done, total) on this thread, never after the end. A tool that panics or
    /// hangs only fails this call, and a cancel returns without waiting for it.
    pub fn call(
        &self,
        name: &str,
        arguments: Value,
        workspace: &Arc<Workspace>,
        cancel: &CancellationToken,
        mut on_progress: impl FnMut(u64, u64),
    ) -> Called {
        let work = {
            let (toolbox, workspace, cancel) = (self.clone(), Arc::clone(workspace), cancel.child_token());
            let name = name.to_owned();
            move |sender: &mpsc::Sender<StageMessage<(u64, u64), Called>>| {
                let reporter = Reporter(sender.clone());
                let context = ToolContext {
                    workspace: &workspace,
                    history: &toolbox.history,
                    limits: &toolbox.limits,
                    cancel: &cancel,
                    progress: &reporter,
                };
                toolbox.registry.call(&name, &context, arguments)
            }
        };
        let ran =
            isolated::run(name, isolated::FILES, cancel, work, |(done, total)| on_progress(done, total));
        ran.unwrap_or_else(|lost| {
            Err(match lost {
                Lost::Cancelled => ToolError::Cancelled,
                other => ToolError::ExecutionFailed(other.to_string()),
            })
        })
    }
}

struct Reporter(mpsc::Sender<StageMessage<(u64, u64), Called>>);

impl Progress for Reporter {
    fn report(&self, done: u64, total: u64) {
        // The receiver is dropped once the call is over.
        let _ = self.0.send(StageMessage::News((done, total)));
    }
}
