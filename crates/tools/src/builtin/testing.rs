//! A workspace on disk with tools, for tests.

#![allow(clippy::unwrap_used, missing_docs, reason = "only tests use it")]

use crate::tool::{Limits, ToolContext, ToolError, ToolOutput, unchanged};
use openagents_core::{CancellationToken, workspace::Workspace};
use openagents_transcripts::history::History;
use serde_json::Value;
use std::path::Path;

#[derive(Debug)]
pub struct Bench {
    _keep: tempfile::TempDir,
    pub workspace: Workspace,
    pub history: History,
    pub limits: Limits,
    pub cancel: CancellationToken,
}

impl Bench {
    pub fn with(files: &[(&str, &str)]) -> Self {
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

    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    pub fn context(&self) -> ToolContext<'_> {
        ToolContext {
            workspace: &self.workspace,
            history: &self.history,
            limits: &self.limits,
            cancel: &self.cancel,
            progress: &(),
            rewrite: unchanged,
        }
    }
}

pub fn call(bench: &Bench, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    super::registry().call(name, &bench.context(), arguments)
}
