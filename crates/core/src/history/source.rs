//! The logs of one agent: finding them, summarising one and decoding one.

use super::{
    claude, codex,
    log_file::{Decoder, Locate, LogFile, Summarised},
    transcript::Provider,
};
use crate::budget::Budget;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) provider: Provider,
    /// `$CODEX_HOME` or `$CLAUDE_CONFIG_DIR`.
    pub(crate) root: PathBuf,
}

impl Source {
    /// Finds all logs, or as many as the budget allows; opens none.
    pub(crate) fn discover(&self, budget: &Budget) -> Vec<LogFile> {
        match self.provider {
            Provider::Codex => codex::discover(&self.root, budget),
            Provider::ClaudeCode => claude::discover(&self.root, budget),
        }
    }

    /// Returns titles stored outside of the logs, by session id.
    pub(crate) fn names(&self) -> HashMap<String, String> {
        match self.provider {
            Provider::Codex => codex::names(&self.root),
            Provider::ClaudeCode => HashMap::new(),
        }
    }

    /// Summarises a log from its head and tail.
    pub(crate) fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
        match self.provider {
            Provider::Codex => codex::summarise(file, locate, budget),
            Provider::ClaudeCode => claude::summarise(file, budget),
        }
    }

    pub(crate) fn decoder(&self, path: &Path, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder> {
        match self.provider {
            Provider::Codex => Box::new(codex::CodexDecoder::new(path, locate, budget)),
            Provider::ClaudeCode => Box::new(claude::ClaudeDecoder),
        }
    }
}
