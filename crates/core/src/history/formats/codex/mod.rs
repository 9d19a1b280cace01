//! The logs of OpenAI Codex ("rollouts"), all versions.
//!
//! Formats: `codex-rs/rollout` and `codex-rs/protocol` of openai/codex, up to 0.169. The SQLite files next to the logs
//! are derived from them and not read. `shell_snapshots/` contains whole environments and is never opened.

mod decoder;
mod discover;
mod fork;
mod names;
mod record;
mod summary;

use crate::{
    budget::Budget,
    history::{
        decoder::Decoder,
        environment::Environment,
        format::Format,
        log_file::{Locate, LogFile, Summarised},
        transcript::Provider,
    },
};
use std::{
    collections::HashMap,
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

    fn names(&self, root: &Path) -> HashMap<String, String> {
        names::names(root)
    }

    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
        summary::summarise(file, locate, budget)
    }

    fn decoder(&self, path: &Path, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CodexDecoder::new(path, locate, budget))
    }

    fn line_decoder(&self, _path: &Path, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CodexDecoder::of_single_lines())
    }
}
