//! Runs one op on a thread of its own, so that a tool that hangs or panics costs one step and not the run.

use super::Explorer;
use crate::{
    CancellationToken,
    plan::{Op, OpKind},
    tool::{Progress, ToolContext, ToolError, ToolOutput},
    workspace::Workspace,
};
use serde_json::Value;
use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

/// How soon a cancel is noticed.
const POLL: Duration = Duration::from_millis(10);

/// Every tool ends by its own deadline; a file system that does not answer is given up after this.
const HARD_LIMIT: Duration = Duration::from_secs(10);

/// A step that ran.
pub(super) struct Done {
    pub(super) kind: OpKind,
    pub(super) result: Result<ToolOutput, ToolError>,
}

enum Word {
    Progress(u64, u64),
    Done(Result<ToolOutput, ToolError>),
}

struct Reporter(mpsc::Sender<Word>);

impl Progress for Reporter {
    fn report(&self, done: u64, total: u64) {
        // Nobody listens any more once the step is over.
        let _ = self.0.send(Word::Progress(done, total));
    }
}

/// Runs the op; `on_progress` hears (done, total) on this thread and never after the end.
pub(super) fn run(
    explorer: &Explorer,
    workspace: &Arc<Workspace>,
    op: &Op,
    cancel: &CancellationToken,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<ToolOutput, ToolError> {
    let tool = op.kind.tool();
    let (sender, words) = mpsc::channel();
    let worker = {
        let (explorer, workspace, cancel) = (explorer.clone(), Arc::clone(workspace), cancel.child_token());
        let arguments = Value::Object(op.kind.arguments());
        move || {
            let reporter = Reporter(sender.clone());
            let context = ToolContext {
                workspace: &workspace,
                history: &explorer.history,
                limits: &explorer.limits,
                cancel: &cancel,
                progress: &reporter,
            };
            let result = explorer.registry.call(tool, &context, arguments);
            let _ = sender.send(Word::Done(result));
        }
    };
    let spawned = std::thread::Builder::new().name(tool.to_owned()).spawn(worker);
    spawned.map_err(|error| ToolError::ExecutionFailed(format!("{tool}: {error}")))?;
    let give_up = Instant::now() + HARD_LIMIT;
    loop {
        match words.recv_timeout(POLL) {
            Ok(Word::Done(result)) => return result,
            Ok(Word::Progress(done, total)) => on_progress(done, total),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(ToolError::ExecutionFailed(format!("{tool} stopped unexpectedly")));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        if Instant::now() >= give_up {
            let seconds = HARD_LIMIT.as_secs();
            return Err(ToolError::ExecutionFailed(format!("{tool} gave no answer within {seconds} s")));
        }
    }
}
