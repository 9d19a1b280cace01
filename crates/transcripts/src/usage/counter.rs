//! Brings the counts up to date on a thread, when a client asks for them.

use super::{
    store::{UsageError, UsageStore},
    update::UsageProgress,
};
use crate::history::History;
use openagents_core::{CancellationToken, budget::Budget};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Time limit for reading: the next question continues.
const READING: Duration = Duration::from_secs(3600);

/// The counts, and the thread that reads logs for them.
#[derive(Debug)]
pub struct UsageCounter {
    store: UsageStore,
    history: Arc<History>,
    state: Mutex<State>,
    changed: Condvar,
    cancel: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    is_reading: bool,
    progress: UsageProgress,
    /// Why the last reading failed.
    failed: Option<UsageError>,
}

impl UsageCounter {
    pub fn new(store: UsageStore, history: Arc<History>) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Arc::new(Self { store, history, state, changed, cancel: CancellationToken::new() })
    }

    pub fn store(&self) -> &UsageStore {
        &self.store
    }

    /// Reads what is new in the logs, for at most `wait`; then reading continues on its thread. Returns the progress, and
    /// whether it continues. Blocks.
    pub fn refresh(self: &Arc<Self>, wait: Duration) -> Result<(UsageProgress, bool), UsageError> {
        let mut state = self.state.lock();
        if !state.is_reading {
            let this = self.clone();
            *state = State { is_reading: true, ..State::default() };
            if let Err(error) = thread::Builder::new().name("usage".to_owned()).spawn(move || this.read()) {
                tracing::warn!(%error, "the token counts are not brought up to date");
                state.is_reading = false;
            }
        }
        let deadline = Instant::now() + wait;
        while state.is_reading && !self.changed.wait_until(&mut state, deadline).timed_out() {}
        match state.failed.take() {
            Some(error) => Err(error),
            None => Ok((state.progress, state.is_reading)),
        }
    }

    fn read(&self) {
        // Running agents take precedence. The threads that read logs inherit the priority.
        if let Err(error) = thread_priority::ThreadPriority::Min.set_for_current() {
            tracing::debug!(?error, "tokens are counted at normal priority");
        }
        let budget = Budget::within(READING, &self.cancel);
        let _reading = Reading(self);
        let read = self.store.update(&self.history, &budget, &mut |progress| {
            self.state.lock().progress = progress;
            true
        });
        let mut state = self.state.lock();
        match read {
            Ok(progress) => state.progress = progress,
            Err(error) => state.failed = Some(error),
        }
    }

    /// Forgets the logs that the user has excluded. Blocks.
    pub fn forget_excluded(&self) -> Result<(), UsageError> {
        self.store.forget_excluded(&self.history)
    }

    /// Ends reading soon. What was read is kept.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends reading, and waits until the current part is written. Blocks.
    pub fn stop(&self) {
        self.cancel();
        let mut state = self.state.lock();
        while state.is_reading {
            self.changed.wait(&mut state);
        }
        self.store.checkpoint();
    }
}

/// Reports the end of reading when it is dropped, even after a panic.
struct Reading<'a>(&'a UsageCounter);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_reading = false;
        self.0.changed.notify_all();
    }
}
