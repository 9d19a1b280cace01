//! The trait of tools, and the tools by name.

use super::{
    context::{Limits, ToolContext, unchanged},
    output::{ToolError, ToolOutput},
};
use openagents_core::{
    CancellationToken,
    budget::Progress,
    isolated::{self, Lost, StageMessage},
    text::prefix,
    workspace::Workspace,
};
use openagents_transcripts::history::History;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
};

/// A tool: takes JSON arguments and ends within its limits.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// Returns the name on the wire: `search.grep`.
    fn name(&self) -> &'static str;

    /// Returns a one-sentence description.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether it only reads, so that calls may run concurrently.
    fn is_read_only(&self) -> bool {
        true
    }

    /// Returns whether it reads past sessions and nothing else.
    fn reads_history(&self) -> bool {
        self.name().starts_with("session.")
    }

    /// Runs the tool with arguments that are not validated yet. Blocks; returns within 50 ms of a cancel.
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError>;
}

/// Maximum length of a shown tool name in bytes.
const NAME: usize = 100;

/// Returns the shown part of a name: models may invent names of any length.
pub fn shown_name(name: &str) -> &str {
    prefix(name, NAME)
}

/// Maps names to tools.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
}

impl Registry {
    /// Adds a tool; replaces one of the same name.
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.insert(tool.name(), tool);
        self
    }

    /// Returns the registry without the tools for which `is_dropped` is true.
    pub fn without(mut self, is_dropped: impl Fn(&dyn Tool) -> bool) -> Self {
        self.tools.retain(|_, tool| !is_dropped(tool.as_ref()));
        self
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns the tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Runs a tool by name.
    pub fn call(
        &self,
        name: &str,
        context: &ToolContext<'_>,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.get(name).ok_or_else(|| {
            let names = self.tools.keys().copied().collect::<Vec<_>>().join(", ");
            ToolError::InvalidParameters(format!("no tool named {}; there are {names}", shown_name(name)))
        })?;
        tool.call(context, arguments)
    }
}

type Called = Result<ToolOutput, ToolError>;

/// Data shared by all runs of a process.
#[derive(Debug, Clone)]
pub struct Toolbox {
    /// The transcripts of other agents.
    pub history: Arc<History>,
    pub limits: Limits,
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
                    rewrite: unchanged,
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
