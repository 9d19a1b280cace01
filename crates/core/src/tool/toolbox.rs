//! The tools with what they need, and a call of one on a thread of its own.

use super::{Limits, Registry, ToolContext, ToolError, ToolOutput};
use crate::{
    CancellationToken,
    budget::Progress,
    history::History,
    isolated::{self, Lost, Word},
    workspace::Workspace,
};
use serde_json::Value;
use std::sync::{Arc, mpsc};

type Called = Result<ToolOutput, ToolError>;

/// What all runs of a process share.
#[derive(Debug, Clone)]
pub struct Toolbox {
    /// The session that the calls belong to, if they belong to one.
    pub session: Option<Arc<str>>,
    /// The logs of other agents.
    pub history: Arc<History>,
    /// The caps of the tools.
    pub limits: Limits,
    /// The tools.
    pub registry: Registry,
}

impl Toolbox {
    /// Runs a tool; `on_progress` hears (done, total) on this thread and never after the end. A tool that panics or
    /// hangs costs this call alone, and a cancel waits for nobody.
    pub(crate) fn call(
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
            move |sender: &mpsc::Sender<Word<(u64, u64), Called>>| {
                let reporter = Reporter(sender.clone());
                let context = ToolContext {
                    session: toolbox.session.as_deref(),
                    registry: &toolbox.registry,
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

struct Reporter(mpsc::Sender<Word<(u64, u64), Called>>);

impl Progress for Reporter {
    fn report(&self, done: u64, total: u64) {
        // Nobody listens any more once the call is over.
        let _ = self.0.send(Word::News((done, total)));
    }
}
