//! The logs of OpenAI Codex ("rollouts"), all versions.
//!
//! Formats: `codex-rs/rollout` and `codex-rs/protocol` of openai/codex, up to 0.169. The SQLite files next to the logs
//! are derived from them; only the names of threads are read there. `shell_snapshots/` contains whole environments and
//! is never opened.

mod decoder;
mod discover;
mod record;
mod summary;
mod taken_back;

use crate::history::{
    decoder::Decoder,
    format::{Environment, Format, OutsideName},
    log_file::{Locate, LogFile, Summarised},
    taken_back::TakenBack,
    transcript::{Provider, SessionFiles},
};
use openagents_core::budget::Budget;
use std::{
    collections::HashMap,
    ops::Range,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(crate) struct Codex;

impl Format for Codex {
    fn provider(&self) -> Provider {
        Provider::Codex
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.folder("CODEX_HOME").or_else(|| environment.beneath_home(".codex"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["sessions", "archived_sessions"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover::discover(root, budget)
    }

    fn names(&self, root: &Path) -> HashMap<String, OutsideName> {
        discover::names(root)
    }

    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
        summary::summarise(file, locate, budget)
    }

    fn taken_back(&self, files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> TakenBack {
        taken_back::taken_back(files, range, budget)
    }

    fn decoder(&self, files: SessionFiles<'_>, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CodexDecoder::new(files, locate, budget))
    }

    fn line_decoder(&self, _files: SessionFiles<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CodexDecoder::of_single_lines())
    }
}
