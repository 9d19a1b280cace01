//! The tasks of Cline in VS Code and related editors (logs of April and May 2026), and the sessions of its CLI since 3.
//!
//! Format: `src/core/task` and `sdk/packages/core/src/session` of cline/cline. A file is one JSON document; a message's
//! line number is its position in it.

mod decoder;
mod unfold;

use crate::history::{
    decoder::Decoder,
    format::{Environment, Format},
    lines::OpenLog,
    log_file::{Locate, LogFile},
    transcript::{Provider, SessionFiles},
};
use openagents_core::budget::Budget;
use std::{
    io,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(crate) struct Cline;

impl Format for Cline {
    fn provider(&self) -> Provider {
        Provider::Cline
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        unfold::data(environment)
    }

    fn other_roots(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        unfold::others(environment)
    }

    fn watched(&self) -> &'static [&'static str] {
        &["", "tasks", "sessions"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        unfold::discover(root, budget)
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        unfold::open(files.newest)
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::ClineDecoder::new(files.newest))
    }
}
