//! The sessions of Goose, by Block: one database since 1.10 (schema 5, and up to 17 according to its source). Older
//! JSON lines were imported into it.
//!
//! Format: `crates/goose/src/session/session_manager.rs` of block/goose. The first line is the session, then each
//! message is a line.

mod decoder;
mod tables;

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
pub(crate) struct Goose;

impl Format for Goose {
    fn provider(&self) -> Provider {
        Provider::Goose
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        let moved = environment.folder("GOOSE_PATH_ROOT").map(|root| root.join("data"));
        moved.or_else(|| environment.beneath_home(".local/share/goose"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["sessions"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        tables::discover(&root.join("sessions/sessions.db"), budget)
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        tables::open(files.newest)
    }

    fn decoder(&self, _files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::GooseDecoder::default())
    }
}
