//! The sessions of pi (version 3 of its format, and 1 and 2) and of OpenClaw, which is built on it (from March 2026).
//!
//! Format: `packages/coding-agent/src/core/session-manager.ts` of badlogic/pi-mono. A line is an entry of a tree.
//! Titles are lines of the log itself.

mod decoder;
mod discover;
mod envelope;

use crate::history::{
    decoder::Decoder,
    environment::Environment,
    format::Format,
    log_file::{Locate, LogFile},
    transcript::{Provider, SessionFiles},
    tree::Tree,
};
use openagents_core::budget::Budget;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Pi;

impl Format for Pi {
    fn provider(&self) -> Provider {
        Provider::Pi
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.folder("PI_CODING_AGENT_DIR").or_else(|| environment.beneath_home(".pi/agent"))
    }

    fn watched(&self) -> &'static [&'static str] {
        &["sessions"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover::of_pi(root, budget)
    }

    fn tree(&self, _files: SessionFiles<'_>) -> Option<Tree> {
        Some(decoder::TREE)
    }

    fn decoder(&self, _files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::PiDecoder::new(|text| text))
    }
}

#[derive(Debug)]
pub(crate) struct OpenClaw;

impl Format for OpenClaw {
    fn provider(&self) -> Provider {
        Provider::OpenClaw
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.folder("OPENCLAW_STATE_DIR").or_else(|| environment.beneath_home(".openclaw"))
    }

    fn other_roots(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let moved = environment.folder("OPENCLAW_STATE_DIR").is_some();
        environment.beneath_home(".clawdbot").filter(|_| !moved).into_iter().collect()
    }

    fn watched(&self) -> &'static [&'static str] {
        &["agents"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover::of_openclaw(root, budget)
    }

    fn tree(&self, _files: SessionFiles<'_>) -> Option<Tree> {
        Some(decoder::TREE_OF_OPENCLAW)
    }

    fn decoder(&self, _files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::PiDecoder::new(envelope::typed))
    }
}
