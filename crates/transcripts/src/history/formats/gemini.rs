//! The sessions of Google's Gemini CLI (0.37 and its JSON files of 2025): see [`super::chats`].

use super::chats::{self, ChatDecoder};
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
pub(crate) struct Gemini;

impl Format for Gemini {
    fn provider(&self) -> Provider {
        Provider::Gemini
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        let replaced = environment.folder("GEMINI_CLI_HOME").map(|home| home.join(".gemini"));
        replaced.or_else(|| environment.beneath_home(".gemini"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["tmp"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        crate::history::formats::chats::discover(root, budget)
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        chats::open(files)
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(chats::workspace(files.newest)))
    }
}
