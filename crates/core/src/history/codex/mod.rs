//! The logs of OpenAI Codex ("rollouts"), all versions.
//!
//! Formats: `codex-rs/rollout` and `codex-rs/protocol` of openai/codex, up to 0.169. The SQLite files next to the logs
//! are derived from them and not read. `shell_snapshots/` contains whole environments and is never opened.

mod decoder;
mod discover;
mod fork;
mod names;
mod patch;
mod record;
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

/// The logs beneath one `$CODEX_HOME`.
#[derive(Debug)]
pub(crate) struct Codex {
    root: PathBuf,
}

impl Codex {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

impl Source for Codex {
    fn provider(&self) -> Provider {
        Provider::Codex
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn discover(&self, budget: &Budget) -> Vec<LogFile> {
        discover::discover(&self.root, budget)
    }

    fn names(&self) -> HashMap<String, String> {
        names::read(&self.root.join("session_index.jsonl"))
    }

    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Transcript {
        summary::summarise(file, locate, budget)
    }

    fn given_title(&self, file: &LogFile, budget: &Budget) -> Option<String> {
        summary::given_title(file, budget)
    }

    fn decoder(&self, path: &Path, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::CodexDecoder::new(path, locate, budget))
    }
}
