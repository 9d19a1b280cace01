//! Captures logs and what is beside them.

use super::{
    copies::{Completion, KeptSession, described},
    deletions::age,
    keeper::{QUIET, Shared},
    rows,
};
use crate::history::{KeptLog, ListedLog, LogFile, below_root, format_of};
use openagents_core::{budget::Budget, clock::now_ms, file};
use openagents_keep::{Captured, Endangered, FULL_JOURNAL, KeepError, KeptFile, Sealing};
use std::{
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
    time::{Duration, Instant},
};

/// Time limit for reading a log from its copy.
const READING: Duration = Duration::from_secs(10);

impl Shared {
    /// Returns whether the files of a log are captured in their current state, whatever is known about it.
    pub(super) fn has_content(&self, log: &ListedLog) -> bool {
        let session = self.copies.session(log.row.provider, &log.root, &log.row.id);
        session.is_some_and(|session| {
            session.state == state(&log.file) && session.log.gone.is_none() && session.log.file == log.file
        })
    }

    pub(super) fn is_captured(&self, log: &ListedLog) -> bool {
        let session = self.copies.session(log.row.provider, &log.root, &log.row.id);
        session.is_some_and(|session| {
            let KeptLog { file, row, gone, .. } = &*session.log;
            // Its row may change without its log, such as its title.
            session.state == state(&log.file) && gone.is_none() && *file == log.file && *row == log.row
        })
    }

    /// Returns whether everything that is kept of a session is still in its agent's folder.
    pub(super) fn is_redundant(&self, log: &ListedLog, session: &KeptSession) -> bool {
        let is_current = session.state == state(&log.file) && session.log.gone.is_none();
        let files = |all| self.copies.store.files(session.id, all).unwrap_or_default();
        let newest = files(false);
        let exists = |file: &KeptFile| {
            let about = log.root.join(&file.name).metadata();
            about.is_ok_and(|about| about.len() >= file.length)
        };
        is_current
            && !newest.is_empty()
            && newest.len() == files(true).len()
            && (rows::is_in_database(&log.file) || log.file.path.is_file() && newest.iter().all(exists))
    }

    /// Links the files of logs. Returns how many logs have links.
    pub(super) fn link(&self, logs: &[&ListedLog]) -> Result<usize, KeepError> {
        let mut linked = 0;
        for log in logs.iter().filter(|log| self.history.holds(&log.row)) {
            let (collection, about) = described(log);
            let files = files(log);
            let files: Vec<Endangered<'_>> = files
                .iter()
                .map(|(name, path)| Endangered { collection: &collection, about: &about, name, path })
                .collect();
            linked += usize::from(self.copies.store.link(&files)? > 0);
            self.copies.note_linked(log)?;
        }
        Ok(linked)
    }

    /// Captures logs; then their rows are written, and their links removed.
    pub(super) fn capture_part(&self, logs: &[&ListedLog]) -> Result<(), KeepError> {
        let (mut captured, mut rewritten) = (Vec::new(), Vec::new());
        let mut sealing = self.copies.store.seal()?;
        // The user may have excluded some since they were listed.
        let wanted = logs.iter().take_while(|_| !self.cancel.is_cancelled());
        for log in wanted.filter(|log| self.history.holds(&log.row)) {
            let known = self.copies.session(log.row.provider, &log.root, &log.row.id);
            let id = known.map_or_else(|| self.copies.put(log, ""), |session| Ok(session.id))?;
            match self.capture(log, id, &mut sealing, &mut rewritten) {
                Ok(()) => captured.push((*log, id)),
                // It may have been deleted or replaced in the meantime.
                Err(KeepError::File(error)) => {
                    tracing::debug!(%error, path = %log.file.path.display(), "a session was not kept");
                }
                Err(error) => return Err(error),
            }
        }
        sealing.finish()?;
        for (id, name) in rewritten {
            self.copies.store.drop_contained(id, &name)?;
        }
        for (log, id) in captured {
            self.copies.put(log, &state(&log.file))?;
            self.copies.store.unlink(id)?;
        }
        Ok(())
    }

    fn capture(
        &self,
        log: &ListedLog,
        id: i64,
        sealing: &mut Sealing<'_>,
        rewritten: &mut Vec<(i64, String)>,
    ) -> Result<(), KeepError> {
        // A journal of as many bytes would be sealed at once.
        let least = if age(&log.file) > QUIET { 0 } else { FULL_JOURNAL };
        let mut add = |name: String, source: &mut File| -> Result<(), KeepError> {
            let sealing = Some((&mut *sealing, least));
            let captured = self.copies.store.capture(id, &name, source, now_ms(), sealing)?;
            if captured == (Captured::Rewritten { before_stays: false }) {
                rewritten.push((id, name));
            }
            Ok(())
        };
        if rows::is_in_database(&log.file) {
            self.databases.lock().insert(log.file.path.clone(), Instant::now());
            let tables = format_of(log.row.provider).tables();
            let mut document = tempfile::tempfile_in(self.copies.store.folder())?;
            document.write_all(&rows::read(&log.file, &log.root, tables)?)?;
            return add(rows::name(&log.row.id), &mut document);
        }
        let mut files = files(log);
        // A folder is listed without what was deleted in it meanwhile.
        for name in self.copies.store.links_of(id)? {
            if files.iter().all(|(other, _)| *other != name) {
                let path = log.root.join(&name);
                files.push((name, path));
            }
        }
        let (mut found, mut missing) = (0, None);
        for (name, path) in files {
            let opened = match file::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match self.copies.store.linked(id, &name)? {
                        Some(link) => file::open(&link),
                        None => Err(error),
                    }
                }
                opened => opened,
            };
            match opened {
                Ok(mut source) => {
                    add(name, &mut source)?;
                    found += usize::from(path == log.file.path);
                }
                // A file beside the log need not exist.
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        match missing {
            Some(error) if found == 0 => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Captures a log that has only links, or whose capture did not end, or that was not read.
    pub(super) fn complete(&self, session: &KeptSession) -> Result<Completion, KeepError> {
        let log = &session.log;
        let log = ListedLog { root: log.root.clone(), file: log.file.clone(), row: log.row.clone() };
        if !self.copies.store.links_of(session.id)?.is_empty() {
            self.capture_part(&[&log])?;
        } else if !self.copies.store.files(session.id, false)?.is_empty() {
            self.copies.put(&log, &state(&log.file))?;
        }
        let copy = || self.copies.session(log.row.provider, &log.root, &log.row.id);
        let Some(copy) = copy().filter(|copy| !copy.state.is_empty()) else {
            return Ok(Completion::Nothing);
        };
        if copy.log.row.was_read() {
            return Ok(Completion::Copy(copy));
        }
        // It was linked before there was time to read it.
        let budget = Budget::within(READING, &self.cancel);
        let row = self.history.row_of_copy(&copy.log, &budget).filter(|_| !budget.spent());
        let Some(row) = row else { return Ok(Completion::Later) };
        // Only now is it known where it ran.
        if !self.history.holds(&row) {
            return Ok(Completion::Nothing);
        }
        let (provider, root, id) = (log.row.provider, log.root.clone(), log.row.id.clone());
        self.copies.put(&ListedLog { row, ..log }, &copy.state)?;
        Ok(self.copies.session(provider, &root, &id).map_or(Completion::Nothing, Completion::Copy))
    }
}

/// Returns what changes with a log.
fn state(file: &LogFile) -> String {
    format!("{} {}", file.stamp.size, file.stamp.mtime_ns)
}

/// Returns the files of a session with their relative paths.
fn files(log: &ListedLog) -> Vec<(String, PathBuf)> {
    let beside = format_of(log.row.provider).beside(&log.file.path);
    let all = log.file.earlier.iter().cloned().chain([log.file.path.clone()]).chain(beside);
    let named = |path: PathBuf| Some((below_root(&path, &log.root)?, path));
    all.filter_map(named).collect()
}
