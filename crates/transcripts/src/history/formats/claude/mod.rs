//! The logs of Anthropic's Claude Code ("projects"), all versions.
//!
//! Formats: the session functions of claude-agent-sdk-python, and logs of 1.0 to 2.1.330. A folder name is a lossy form
//! of the project's path, so the path is read from the lines. Titles are lines of the log itself.

mod decoder;
mod discover;
mod line;
mod summary;
mod usage;

use crate::history::{
    decoder::Decoder,
    environment::Environment,
    format::Format,
    log_file::{Locate, LogFile, Summarised},
    tokens::UsageOf,
    transcript::{Provider, SessionFiles},
    tree::Tree,
};
use openagents_core::budget::Budget;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Claude;

impl Format for Claude {
    fn provider(&self) -> Provider {
        Provider::ClaudeCode
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.folder("CLAUDE_CONFIG_DIR").or_else(|| environment.beneath_home(".claude"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["projects"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover::discover(root, budget)
    }

    fn summarise(&self, file: &LogFile, _locate: Locate<'_>, budget: &Budget) -> Summarised {
        summary::summarise(file, budget)
    }

    fn tree(&self, _files: SessionFiles<'_>) -> Option<Tree> {
        Some(line::TREE)
    }

    fn request_usage(&self) -> Option<UsageOf> {
        Some(usage::request_usage)
    }

    fn may_have_run_below(&self, log: &Path, folder: &Path) -> bool {
        discover::may_have_run_below(log, folder)
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::ClaudeDecoder::new(files.newest, budget))
    }

    fn line_decoder(&self, _files: SessionFiles<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::ClaudeDecoder::of_single_lines())
    }
}
