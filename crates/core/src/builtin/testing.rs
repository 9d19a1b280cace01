//! A workspace on disk with tools, for the tests of this crate.

use crate::{
    CancellationToken,
    history::History,
    tool::{Limits, ToolContext, ToolError, ToolOutput},
    workspace::Workspace,
};
use serde_json::Value;
use std::path::Path;

pub(crate) struct Bench {
    _keep: tempfile::TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) history: History,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
}

impl Bench {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().join("proj");
        std::fs::create_dir(&root).unwrap();
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self {
            workspace: Workspace::open(&root).unwrap(),
            history: History::empty(),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            _keep: keep,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.workspace.root()
    }

    pub(crate) fn context(&self) -> ToolContext<'_> {
        ToolContext {
            workspace: &self.workspace,
            history: &self.history,
            limits: &self.limits,
            cancel: &self.cancel,
            progress: &(),
        }
    }
}

pub(crate) fn call(bench: &Bench, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    super::registry().call(name, &bench.context(), arguments)
}
