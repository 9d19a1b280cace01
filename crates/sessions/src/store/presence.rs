//! Whether a process that wrote to this store may still be at work.
//!
//! What a process left half-done is closed by the next one, but only once it is certainly gone: an `openagents explore`
//! without a bridge writes to the same database from a process of its own. So everybody who opens the store holds a
//! shared lock, which the operating system takes back when the process ends, however it ends. Whoever gets the lock
//! alone while it opens the store knows that all updates from before that moment have no writer any more.

use super::clock::now_ms;
use std::{
    fs::{File, OpenOptions},
    path::Path,
    time::Duration,
};

const LOCK_FILE: &str = "store.lock";

/// No step of a run is silent for so long. This counts where the lock cannot tell: a writer that ended later than this
/// store was opened, or while somebody else had it open, or a file system without locks. Should a writer wake up after
/// all (its machine slept), its own updates come after the closing ones and correct them.
const SILENT: Duration = Duration::from_secs(600);

/// Held for as long as the store is open.
#[derive(Debug)]
pub(super) struct Presence {
    /// Tells those who come later that this process may be writing.
    _lock: Option<File>,
    /// What was stored before has no writer any more; `None` when somebody else was there.
    alone_since: Option<i64>,
}

impl Presence {
    /// Enters before the first update is written. Without a lock the store works all the same.
    pub(super) fn enter(home: &Path) -> Self {
        let Some(lock) = open(&home.join(LOCK_FILE)) else { return Self { _lock: None, alone_since: None } };
        let alone_since = lock.try_lock().ok().map(|()| now_ms());
        // Given back first: to turn one kind of lock into the other is not defined everywhere. Somebody who slips in
        // between is alone rightly, because nothing was written here yet.
        let released = alone_since.is_none() || lock.unlock().is_ok();
        let held = released && lock.lock_shared().is_ok();
        Self { _lock: held.then_some(lock), alone_since }
    }

    /// Returns whether the writer of a session that was last changed at `last_ts` is gone, this process aside.
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
    fn a_writer_is_gone_when_nobody_else_was_there_or_after_a_long_silence() {
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
