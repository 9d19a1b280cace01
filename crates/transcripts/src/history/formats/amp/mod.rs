//! The threads that Sourcegraph's Amp stored on this machine (until about spring 2026; the samples are from October
//! 2025). A file is one JSON document with one thread.
//!
//! The format was derived from logs. A message's line number is its id plus one; the thread itself is on the line after
//! the last message.

mod decoder;
mod unfold;

use super::folder::entries;
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
pub(crate) struct Amp;

impl Format for Amp {
    fn provider(&self) -> Provider {
        Provider::Amp
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        let threads = || {
            let data = environment.folder("XDG_DATA_HOME");
            Some(data.or_else(|| environment.beneath_home(".local/share"))?.join("amp/threads"))
        };
        environment.folder("AMP_THREADS_DIR").or_else(threads)
    }

    fn watched(&self) -> &'static [&'static str] {
        &[""]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        let thread = |(path, name): (PathBuf, String)| {
            let id = name.strip_suffix(".json").filter(|id| id.starts_with("T-"))?;
            LogFile::stat(path, id, false, false)
        };
        entries(root, budget).filter_map(thread).collect()
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        unfold::open(files.newest)
    }

    fn decoder(&self, _files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::AmpDecoder::default())
    }
}
