//! One op of a plan: its run, and what it came to.

use super::{
    Explorer,
    isolated::{self, Lost, Word},
};
use crate::{
    CancellationToken,
    plan::{Op, OpKind},
    tool::{Progress, ToolContext, ToolError, ToolOutput},
    workspace::Workspace,
};
use serde_json::Value;
use std::sync::{Arc, mpsc};

type ToolResult = Result<ToolOutput, ToolError>;

/// A step that ran.
#[derive(Debug, Clone)]
pub(super) struct Done {
    pub(super) kind: OpKind,
    pub(super) result: ToolResult,
}

/// Runs the op; `on_progress` hears (done, total) on this thread and never after the end.
pub(super) fn run(
    explorer: &Explorer,
    workspace: &Arc<Workspace>,
    op: &Op,
    cancel: &CancellationToken,
    mut on_progress: impl FnMut(u64, u64),
) -> ToolResult {
    let tool = op.kind.tool();
    let arguments = Value::Object(op.kind.arguments());
    let work = {
        let (explorer, workspace, cancel) = (explorer.clone(), Arc::clone(workspace), cancel.child_token());
        move |sender: &mpsc::Sender<Word<(u64, u64), ToolResult>>| {
            let reporter = Reporter(sender.clone());
            let context = ToolContext {
                workspace: &workspace,
                history: &explorer.history,
                limits: &explorer.limits,
                cancel: &cancel,
                progress: &reporter,
            };
            explorer.registry.call(tool, &context, arguments)
        }
    };
    let ran = isolated::run(tool, cancel, work, |(done, total)| on_progress(done, total));
    ran.unwrap_or_else(|lost| {
        Err(match lost {
            Lost::Cancelled => ToolError::Cancelled,
            other => ToolError::ExecutionFailed(other.to_string()),
        })
    })
}

struct Reporter(mpsc::Sender<Word<(u64, u64), ToolResult>>);

impl Progress for Reporter {
    fn report(&self, done: u64, total: u64) {
        // Nobody listens any more once the step is over.
        let _ = self.0.send(Word::News((done, total)));
    }
}
