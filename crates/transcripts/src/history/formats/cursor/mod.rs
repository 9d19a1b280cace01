//! The transcripts of Cursor's editor and CLI, as text and as JSON lines (from 2026; they name no version).
//!
//! The format was derived from logs. Neither form has times, models, titles or tokens, and the JSON lines have no
//! results.

mod decoder;
mod discover;
mod text;

use crate::history::{
    decoder::Decoder,
    environment::Environment,
    format::Format,
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
pub(crate) struct Cursor;

impl Format for Cursor {
    fn provider(&self) -> Provider {
        Provider::Cursor
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.beneath_home(".cursor")
    }

    fn watched(&self) -> &'static [&'static str] {
        &["projects"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover::discover(root, budget)
    }

    fn may_have_run_in(&self, log: &Path, folder: &Path) -> bool {
        discover::may_have_run_in(log, folder)
    }

    fn may_have_run_below(&self, log: &Path, folder: &Path) -> bool {
        discover::may_have_run_below(log, folder)
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        text::open(files.newest)
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CursorDecoder::new(discover::workspace(files.newest)))
    }
}
