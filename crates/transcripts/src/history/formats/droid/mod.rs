//! The sessions of Factory's Droid (from 2026).
//!
//! The format was derived from a settings file and from the readers of other programs. A file next to each log has the
//! model and the tokens; without a log it is not a session.

mod decoder;

use super::folder::entries;
use crate::history::{
    decoder::Decoder,
    environment::Environment,
    format::Format,
    log_file::{Locate, LogFile},
    transcript::{Provider, SessionFiles},
};
use openagents_core::budget::Budget;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Droid;

impl Format for Droid {
    fn provider(&self) -> Provider {
        Provider::Droid
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        environment.beneath_home(".factory")
    }

    fn watched(&self) -> &'static [&'static str] {
        &["sessions"]
    }

    /// Finds `sessions/<name of a workspace>/<uuid>.jsonl`, in older versions `sessions/<uuid>.jsonl`.
    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        let sessions = root.join("sessions");
        let workspaces = entries(&sessions, budget).map(|(workspace, _)| workspace);
        let mut files = Vec::new();
        for folder in std::iter::once(sessions.clone()).chain(workspaces) {
            let log = |(path, name): (PathBuf, String)| {
                LogFile::stat(path, name.strip_suffix(".jsonl")?, false, false)
            };
            files.extend(entries(&folder, budget).filter_map(log));
        }
        files
    }

    fn decoder(&self, files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::DroidDecoder::new(files.newest))
    }
}
