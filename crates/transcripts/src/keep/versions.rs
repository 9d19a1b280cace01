//! The versions of a session's log: agents shorten logs and write them anew.

use super::{
    copies::{KeptCopies, KeptSession},
    rows,
};
use crate::history::{KeptLog, Provider, below_root};
use openagents_keep::{KeepError, KeptFile};
use std::io::{self, Write};

/// A version of the log of a session. An older one has something that the current one has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptVersion {
    /// 1 is the oldest.
    pub number: usize,
    /// When it was first seen, in milliseconds since the epoch.
    pub since_ms: i64,
    pub bytes: u64,
    /// 1 for a session in a database.
    pub lines: u64,
    pub is_current: bool,
}

impl KeptCopies {
    /// Returns the versions of a session's log, oldest first; none if it has no copy. Reads all of them to count their
    /// lines. Blocks.
    pub fn versions(&self, provider: Provider, id: &str) -> Result<Vec<KeptVersion>, KeepError> {
        let Some(session) = self.find(provider, id) else { return Ok(Vec::new()) };
        let files = self.log_versions(&session)?;
        let count = files.len();
        let version = |(at, file): (usize, KeptFile)| {
            let mut lines = LineCount::default();
            self.store.write_to(file.version, &mut lines)?;
            let (number, is_current) = (at + 1, at + 1 == count);
            let lines = lines.whole + u64::from(lines.has_rest);
            Ok(KeptVersion { number, since_ms: file.since, bytes: file.length, lines, is_current })
        };
        files.into_iter().enumerate().map(version).collect()
    }

    /// Returns since when, in milliseconds since the epoch, a session's log is a shorter or different one than before;
    /// `None` if it has only grown, or has no copy. Sessions in databases change in place, which does not count.
    pub fn replaced_at(&self, provider: Provider, id: &str) -> Option<i64> {
        self.find(provider, id)?.replaced_at
    }

    /// Returns the newest versions of a session's files, with another version of its log; `None` if there is none with this
    /// number.
    pub(super) fn files_at(
        &self,
        session: &KeptSession,
        number: Option<usize>,
    ) -> Result<Option<Vec<KeptFile>>, KeepError> {
        let mut files = self.store.files(session.id, false)?;
        if let Some(number) = number {
            let versions = self.log_versions(session)?;
            let version = number.checked_sub(1).and_then(|at| versions.into_iter().nth(at));
            let Some(version) = version else { return Ok(None) };
            files
                .iter_mut()
                .filter(|file| file.name == version.name)
                .for_each(|file| *file = version.clone());
        }
        Ok(Some(files))
    }

    /// Returns the complete versions of a session's log, oldest first.
    fn log_versions(&self, session: &KeptSession) -> Result<Vec<KeptFile>, KeepError> {
        let KeptLog { root, file, row, .. } = &*session.log;
        let newest = self.store.files(session.id, false)?;
        let named = |name: &str| newest.iter().find(|file| file.name == name);
        let log = below_root(&file.path, root);
        let current = named(&rows::name(&row.id)).or_else(|| named(&log?));
        let mut all = self.store.files(session.id, true)?;
        // A newer one is being captured, and the capture of an older one may not have ended.
        all.retain(|file| {
            file.is_complete && current.is_some_and(|it| it.name == file.name && file.version <= it.version)
        });
        Ok(all)
    }
}

#[derive(Default)]
struct LineCount {
    whole: u64,
    /// Bytes follow the last line break.
    has_rest: bool,
}

impl Write for LineCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.whole += bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        if let Some(last) = bytes.last() {
            self.has_rest = *last != b'\n';
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
