//! The sessions of Qwen Code: JSONL since 0.12 (up to 0.14.3, and the newer keys of its source), and the JSON files of
//! 2025, in the form of Gemini CLI (see [`super::chats`]).
//!
//! Format: `packages/core/src/services/chatRecordingService.ts` of QwenLM/qwen-code.

mod decoder;
mod discover;

use super::chats::{self, ChatDecoder};
use crate::history::{
    decoder::Decoder,
    environment::Environment,
    format::Format,
    lines::{self, OpenLog},
    log_file::{Locate, LogFile},
    transcript::{Provider, SessionFiles},
    tree::Tree,
};
use openagents_core::budget::Budget;
use std::{
    io,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(crate) struct Qwen;

impl Format for Qwen {
    fn provider(&self) -> Provider {
        Provider::Qwen
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        let placed = environment.folder("QWEN_RUNTIME_DIR").or_else(|| environment.folder("QWEN_HOME"));
        placed.or_else(|| environment.beneath_home(".qwen"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["projects", "tmp"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        let mut files = discover::discover(root, budget);
        files.extend(chats::discover::discover(root, budget));
        files
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        if discover::is_of_2025(files.newest) { chats::open(files) } else { lines::open_all(files) }
    }

    fn tree(&self, files: SessionFiles<'_>) -> Option<Tree> {
        (!discover::is_of_2025(files.newest)).then_some(decoder::TREE)
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        if discover::is_of_2025(files.newest) {
            // Its folder is named after a hash of the workspace's path, which is recorded nowhere else.
            Box::new(ChatDecoder::new(None))
        } else {
            Box::new(decoder::QwenDecoder::new(discover::is_of_subagent(files.newest)))
        }
    }
}
