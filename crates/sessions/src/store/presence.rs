//! Detects whether the process that wrote to this store may still run.
//!
//! Unfinished work of a process is closed by the next one, but only once it has certainly exited: `openagents explore`
//! without a bridge writes to the same database from its own process. So every process that opens the store holds a
//! shared lock, which the operating system releases when the process ends. A process that gets the lock exclusively
//! while opening the store knows that all earlier updates have no writer left.

use super::clock::now_ms;
use std::{
    fs::{File, OpenOptions},
    path::Path,
    time::Duration,
};

const LOCK_FILE: &str = "store.lock";

/// Longest silence of a running writer. Used where the lock cannot tell: the writer exited after this store was opened
/// or while another process had it open, or the file system has no locks. If such a writer does continue (its machine
/// slept), its updates follow the closing ones and correct them.
const SILENT: Duration = Duration::from_secs(600);

/// The lock, held while the store is open.
#[derive(Debug)]
pub(super) struct Presence {
    /// Shows other processes that this one may be writing.
    _lock: Option<File>,
    /// Updates stored before this time have no writer left; `None` if another process had the store open.
    alone_since: Option<i64>,
}

impl Presence {
    /// Takes the lock, before the first update is written. The store also works without it.
    pub(super) fn enter(home: &Path) -> Self {
        let Some(lock) = open(&home.join(LOCK_FILE)) else { return Self { _lock: None, alone_since: None } };
        let alone_since = lock.try_lock().ok().map(|()| now_ms());
        // Release it first: converting a lock is not defined on every platform. A process that gets the exclusive lock
        // in between is right to assume that it is alone, because nothing was written here yet.
        let released = alone_since.is_none() || lock.unlock().is_ok();
        let held = released && lock.lock_shared().is_ok();
        Self { _lock: held.then_some(lock), alone_since }
    }

    /// Returns whether the process that last changed a session at `last_ts` has exited. Does not consider this process.
    pub(super) fn is_gone(&self, last_ts: i64) -> bool {
        let silent = i64::try_from(SILENT.as_millis()).unwrap_or(i64::MAX);
        self.alone_since.is_some_and(|since| last_ts < since) || now_ms().saturating_sub(last_ts) >= silent
    }
}

fn open(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_gone_with_an_exclusive_lock_or_after_a_long_silence() {
        let home = tempfile::tempdir().unwrap();
        let before = now_ms() - 1;
        let first = Presence::enter(home.path());
        assert!(first.is_gone(before));
        assert!(!first.is_gone(now_ms() + 1));
        let second = Presence::enter(home.path());
        assert!(!second.is_gone(before));
        assert!(second.is_gone(before - 600_000));
        drop((first, second));
        assert!(Presence::enter(home.path()).is_gone(before));
    }

    #[test]
    fn without_a_lock_only_silence_counts() {
        let presence = Presence::enter(Path::new("/does/not/exist"));
        assert!(!presence.is_gone(now_ms() - 1000));
        assert!(presence.is_gone(0));
    }
}
