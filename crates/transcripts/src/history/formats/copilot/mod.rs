//! The sessions of GitHub Copilot CLI: folders since 1.0 (read up to 1.0.60), and single files before.
//!
//! Format: `nodejs/src/generated/session-events.ts` of github/copilot-sdk, and logs of 1.0.10, 1.0.59 and 1.0.60.
//! Hooks, 39 % of a log's lines, repeat the arguments and results of calls, and `session.info` has the login: neither
//! is read.

mod decoder;
mod discover;
mod workspace;

use crate::history::{
    decoder::Decoder,
    environment::Environment,
    format::Format,
    log_file::{Locate, LogFile},
    transcript::{Provider, SessionFiles},
};
use openagents_core::budget::Budget;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Copilot;

impl Format for Copilot {
    fn provider(&self) -> Provider {
        Provider::Copilot
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.folder("COPILOT_HOME").or_else(|| environment.beneath_home(".copilot"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["session-state"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover::discover(root, budget)
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CopilotDecoder::new(workspace::facts(files.newest)))
    }
}
