//! The logs of Anthropic's Claude Code ("projects"), all versions.
//!
//! Formats: the session functions of claude-agent-sdk-python, and logs of 1.0 to 2.1.330. A folder name is a lossy form
//! of the project's path, so the path is read from the lines.

mod decoder;
mod discover;
mod line;
mod summary;

use super::{
    source::{Decoder, Locate, LogFile, Source},
    transcript::{Provider, Transcript},
};
use crate::budget::Budget;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// The logs beneath one `$CLAUDE_CONFIG_DIR`.
#[derive(Debug)]
pub(crate) struct Claude {
    root: PathBuf,
}

impl Claude {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

impl Source for Claude {
    fn provider(&self) -> Provider {
        Provider::ClaudeCode
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn discover(&self, budget: &Budget) -> Vec<LogFile> {
        discover::discover(&self.root.join("projects"), budget)
    }

    fn names(&self) -> HashMap<String, String> {
        // Titles are lines of the log itself.
        HashMap::new()
    }

    fn summarise(&self, file: &LogFile, _locate: Locate<'_>, budget: &Budget) -> Transcript {
        summary::summarise(file, budget)
    }

    fn given_title(&self, file: &LogFile, budget: &Budget) -> Option<String> {
        summary::given_title(file, budget)
    }

    fn decoder(&self, _path: &Path, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::ClaudeDecoder)
    }
}
