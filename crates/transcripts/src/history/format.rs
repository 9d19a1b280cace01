//! One agent's session format: finding its sessions and reading one.

use super::{
    log::{
        decoder::Decoder,
        lines::{self, OpenLog},
        log_file::{Locate, LogFile, Summarised},
        tree::Tree,
        undone::UndoneLines,
    },
    requests::UsageSource,
    summary,
    transcript::{Provider, SessionFiles},
};
use crate::limits;
use openagents_core::budget::Budget;
use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

/// One agent's format: a row of the table in [`super::formats`]. Readers never fail on a bad line: they skip and count
/// it.
#[derive(Debug)]
pub(crate) struct FormatSpec {
    pub(super) provider: Provider,
    pub(super) root: fn(&Environment<'_>) -> Option<PathBuf>,
    /// Folders with former names, and those in the editors that the agent extends.
    pub(super) other_roots: fn(&Environment<'_>) -> Vec<PathBuf>,
    /// The subfolders in which its sessions change, each including everything below it; the empty name is the agent's
    /// folder itself, without its subfolders.
    pub(super) watched: &'static [&'static str],
    /// Sessions are rows of databases, which may be busy.
    pub(super) is_database: bool,
    /// Finds all sessions below the agent's folder, or as many as the budget allows; opens no log.
    pub(super) discover: fn(&Path, &Budget) -> Vec<LogFile>,
    /// Returns whether a session without a logged directory may have run in a folder: the log's path contains the
    /// folder's name in a form that other folders may share.
    pub(super) may_have_run_in: fn(log: &Path, folder: &Path) -> bool,
    /// Returns whether a session without a known directory may have run in a folder or below it: the log's path does
    /// not rule it out.
    pub(super) may_have_run_below: fn(log: &Path, folder: &Path) -> bool,
    /// Returns titles stored outside the logs, by session id.
    pub(super) names: fn(&Path) -> HashMap<String, OutsideName>,
    /// Opens a session as lines, numbered the way evidence refers to them.
    pub(super) open: fn(SessionFiles<'_>) -> io::Result<OpenLog>,
    pub(super) decoder: fn(SessionFiles<'_>, Locate<'_>, &Budget) -> Box<dyn Decoder>,
    /// Returns a decoder for lines that are known to count, which reads less of the session than `decoder`.
    pub(super) single_lines: Option<fn() -> Box<dyn Decoder>>,
    /// Returns the tree that the records of a log form, if any.
    pub(super) tree: fn(SessionFiles<'_>) -> Option<Tree>,
    /// Replaces the lines that the tree drops.
    pub(super) find_undone: Option<FindUndone>,
    /// Replaces [`summary::summarise`].
    pub(super) own_summary: Option<fn(&LogFile, Locate<'_>, &Budget) -> Summarised>,
    /// Replaces `discover` where requests are counted: copies of a log, of which a list shows one, may have others.
    pub(super) every_log: Option<fn(&Path, &Budget) -> Vec<LogFile>>,
    /// Reads the requests to models, if the logs report them.
    pub(super) usage: Option<UsageSource>,
    /// Returns the other files that belong to a log: those that its reader opens, and the outputs that it names.
    pub(super) beside: fn(log: &Path) -> Vec<PathBuf>,
    /// The tables of a database with the rows of a session, and their columns with its id.
    pub(super) tables: &'static [(&'static str, &'static str)],
}

impl FormatSpec {
    /// Creates a line-based format without a folder and without special rules.
    pub(super) const fn new(
        provider: Provider,
        discover: fn(&Path, &Budget) -> Vec<LogFile>,
        decoder: fn(SessionFiles<'_>, Locate<'_>, &Budget) -> Box<dyn Decoder>,
    ) -> Self {
        Self {
            provider,
            root: |_| None,
            other_roots: |_| vec![],
            watched: &[],
            is_database: false,
            discover,
            may_have_run_in: |_, _| false,
            may_have_run_below: |_, _| true,
            names: |_| HashMap::new(),
            open: lines::open_all,
            decoder,
            single_lines: None,
            tree: |_| None,
            find_undone: None,
            own_summary: None,
            every_log: None,
            usage: None,
            beside: |_| vec![],
            tables: &[],
        }
    }

    /// See [`FormatSpec::beside`].
    pub(crate) fn beside(&self, log: &Path) -> Vec<PathBuf> {
        (self.beside)(log)
    }

    /// See [`FormatSpec::tables`].
    pub(crate) fn tables(&self) -> &'static [(&'static str, &'static str)] {
        self.tables
    }

    /// Returns the lines that the user undid, among those that begin in a range of byte offsets; empty for formats that
    /// are not line-based, where the open log has them.
    pub(super) fn undone(&self, files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> UndoneLines {
        match self.find_undone {
            Some(find) => find(files, range, budget),
            None => (self.tree)(files).map(|tree| tree.undone(files, range, budget)).unwrap_or_default(),
        }
    }

    /// Returns whether lines that begin before `offset` were undone by those after it, judging by the lines from `from`
    /// on.
    pub(super) fn undoes_before(
        &self,
        files: SessionFiles<'_>,
        from: u64,
        offset: u64,
        budget: &Budget,
    ) -> bool {
        if let Some(tree) = (self.tree)(files) {
            return tree.undoes_before(files, from, offset, budget);
        }
        let before = self.undone(files, from..offset, budget).before(offset);
        self.undone(files, from..u64::MAX, budget).before(offset) != before
    }

    pub(super) fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
        if let Some(summarise) = self.own_summary {
            return summarise(file, locate, budget);
        }
        let decoder = (self.decoder)(file.files(), locate, budget);
        let log = (self.open)(file.files()).map(|log| {
            let undone = log.undone().or(|| self.undone(file.files(), 0..limits::SUMMARY_WHOLE, budget));
            (log, undone)
        });
        summary::summarise(self.provider, file, log, decoder, budget)
    }

    /// Returns a decoder for single lines that are known to count.
    pub(super) fn line_decoder(&self, files: SessionFiles<'_>, budget: &Budget) -> Box<dyn Decoder> {
        match self.single_lines {
            Some(decoder) => decoder(),
            None => (self.decoder)(files, &|_| None, budget),
        }
    }
}

type FindUndone = fn(SessionFiles<'_>, Range<u64>, &Budget) -> UndoneLines;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutsideName {
    pub(crate) text: String,
    /// Given by the user; otherwise a title in the log takes precedence.
    pub(crate) is_given: bool,
}

/// Looks up environment variables; an empty value counts as unset.
pub(crate) struct Environment<'a>(pub(super) &'a dyn Fn(&str) -> Option<OsString>);

impl Environment<'_> {
    pub(crate) fn folder(&self, variable: &str) -> Option<PathBuf> {
        (self.0)(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    pub(crate) fn beneath_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder("HOME")?.join(name))
    }

    /// Returns the folder that a variable names, otherwise the folder `name` below the home folder.
    pub(crate) fn folder_or(&self, variable: &str, name: &str) -> Option<PathBuf> {
        self.folder(variable).or_else(|| self.beneath_home(name))
    }

    pub(crate) fn data_home(&self) -> Option<PathBuf> {
        self.folder_or("XDG_DATA_HOME", ".local/share")
    }
}
