//! One agent's session format: finding its sessions and reading one.

use super::{
    decoder::Decoder,
    lines::{self, OpenLog},
    log_file::{Locate, LogFile, Summarised},
    summary,
    taken_back::TakenBack,
    transcript::{Provider, SessionFiles, UsageOf},
    tree::Tree,
};
use crate::limits;
use openagents_core::budget::Budget;
use std::{
    collections::HashMap,
    ffi::OsString,
    fmt::Debug,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

/// A title that is stored outside the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutsideName {
    pub(crate) text: String,
    /// Given by the user; otherwise a title in the log takes precedence.
    pub(crate) is_given: bool,
}

/// One agent's format. Readers never fail on a bad line: they skip and count it.
pub(crate) trait Format: Debug + Sync {
    fn provider(&self) -> Provider;

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf>;

    /// Returns its other folders: those with older names, or in the editors that it extends.
    fn other_roots(&self, _environment: &Environment<'_>) -> Vec<PathBuf> {
        vec![]
    }

    /// Returns the subfolders in which its sessions change, each including everything below it; the empty name is the
    /// agent's folder itself, without its subfolders.
    fn watched(&self) -> &'static [&'static str];

    /// Finds all sessions below the agent's folder, or as many as the budget allows; opens no log.
    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile>;

    /// Returns whether a session without a logged directory may have run in `folder`: its path contains the folder's
    /// name in a form that other folders may share.
    fn may_have_run_in(&self, _log: &Path, _folder: &Path) -> bool {
        false
    }

    /// Returns whether a session without a known directory may have run in `folder` or below it: its path does not rule
    /// it out.
    fn may_have_run_below(&self, _log: &Path, _folder: &Path) -> bool {
        true
    }

    /// Returns titles stored outside the logs, by session id.
    fn names(&self, _root: &Path) -> HashMap<String, OutsideName> {
        HashMap::new()
    }

    /// Opens a session as lines, numbered the way evidence refers to them.
    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        lines::open_all(files)
    }

    /// Returns the tree that the records of a log form, if any.
    fn tree(&self, _files: SessionFiles<'_>) -> Option<Tree> {
        None
    }

    /// Returns the lines that the user undid, among those that begin in a range of byte offsets; empty for formats that
    /// are not line-based, where the open log has them.
    fn taken_back(&self, files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> TakenBack {
        self.tree(files).map(|tree| tree.taken_back(files, range, budget)).unwrap_or_default()
    }

    /// Returns whether lines that begin before `offset` were undone by those after it, judging by the lines from `from`
    /// on.
    fn takes_back_before(&self, files: SessionFiles<'_>, from: u64, offset: u64, budget: &Budget) -> bool {
        if let Some(tree) = self.tree(files) {
            return tree.takes_back_before(files, from, offset, budget);
        }
        let before = self.taken_back(files, from..offset, budget).before(offset);
        self.taken_back(files, from..u64::MAX, budget).before(offset) != before
    }

    /// Summarises a session from its head and tail.
    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
        let decoder = self.decoder(file.files(), locate, budget);
        let log = self.open(file.files()).map(|log| {
            let taken_back =
                log.taken_back().or(|| self.taken_back(file.files(), 0..limits::SUMMARY_WHOLE, budget));
            (log, taken_back)
        });
        summary::summarise(self.provider(), file, log, decoder, budget)
    }

    /// Returns how to read token usage, if the lines count tokens per request.
    fn request_usage(&self) -> Option<UsageOf> {
        None
    }

    fn decoder(&self, files: SessionFiles<'_>, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder>;

    /// Returns a decoder for single lines that are known to count. It may read less of the session than
    /// [`Format::decoder`], which has to determine those lines.
    fn line_decoder(&self, files: SessionFiles<'_>, budget: &Budget) -> Box<dyn Decoder> {
        self.decoder(files, &|_| None, budget)
    }
}

// The environment variables that locate an agent's folder.

/// Looks up environment variables; an empty value counts as unset.
pub(crate) struct Environment<'a>(pub(super) &'a dyn Fn(&str) -> Option<OsString>);

impl Environment<'_> {
    /// Returns the folder that a variable names.
    pub(crate) fn folder(&self, name: &str) -> Option<PathBuf> {
        (self.0)(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    pub(crate) fn beneath_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder("HOME")?.join(name))
    }
}
