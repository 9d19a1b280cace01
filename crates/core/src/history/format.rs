//! One agent's session format: finding its sessions and reading one.

use super::{
    decoder::Decoder,
    environment::Environment,
    lines::{self, OpenLog},
    log_file::{Locate, LogFile, Summarised},
    summary,
    tokens::UsageOf,
    transcript::Provider,
};
use crate::budget::Budget;
use std::{
    collections::HashMap,
    fmt::Debug,
    io,
    path::{Path, PathBuf},
};

/// One agent's format. Readers never fail on a bad line: they skip and count it.
pub(crate) trait Format: Debug + Sync {
    fn provider(&self) -> Provider;

    /// Returns the agent's folder.
    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf>;

    /// Returns its other folders: of older names, or in the editors that it extends.
    fn other_roots(&self, _environment: &Environment<'_>) -> Vec<PathBuf> {
        vec![]
    }

    /// Returns the subfolders in which its sessions change, each with everything below; the empty name is the agent's folder
    /// itself, without what is below.
    fn watched(&self) -> &'static [&'static str];

    /// Finds all sessions below the agent's folder, or as many as the budget allows; opens no log.
    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile>;

    /// Returns whether a session without a logged directory may have run in `folder`: its path holds the folder's name in a
    /// form that other folders may share.
    fn may_have_run_in(&self, _log: &Path, _folder: &Path) -> bool {
        false
    }

    /// Returns whether a session without a known directory may have run in `folder` or below: its path does not rule it
    /// out.
    fn may_have_run_below(&self, _log: &Path, _folder: &Path) -> bool {
        true
    }

    /// Returns titles stored outside of the logs, by session id.
    fn names(&self, _root: &Path) -> HashMap<String, String> {
        HashMap::new()
    }

    /// Opens a session as lines, numbered as evidence names them.
    fn open(&self, path: &Path) -> io::Result<OpenLog> {
        lines::open(path)
    }

    /// Summarises a session from its head and tail.
    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
        let decoder = self.decoder(&file.path, locate, budget);
        summary::summarise(self.provider(), file, self.open(&file.path), decoder, budget)
    }

    /// Returns how the usage is read, if the lines count tokens request by request.
    fn request_usage(&self) -> Option<UsageOf> {
        None
    }

    /// Returns a decoder for the lines of the session at `path`.
    fn decoder(&self, path: &Path, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder>;

    /// Returns a decoder for single lines that are known to count. It may read less of the session
    /// than [`Format::decoder`], which has to tell which lines those are.
    fn line_decoder(&self, path: &Path, budget: &Budget) -> Box<dyn Decoder> {
        self.decoder(path, &|_| None, budget)
    }
}
