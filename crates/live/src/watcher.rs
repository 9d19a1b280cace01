//! A thread that observes the agents, and says when something has changed.

use crate::observe::{LiveRow, Observer};
use openagents_core::CancellationToken;
use openagents_transcripts::history::HistoryRoots;
use parking_lot::Mutex;
use std::{io, sync::Arc, thread, time::Duration};

/// Time between two looks while an agent runs, and while none does.
const BUSY: Duration = Duration::from_millis(300);
const IDLE: Duration = Duration::from_secs(1);

/// The sessions of running agents, kept current until it is dropped.
#[derive(Debug)]
pub struct LiveWatcher {
    rows: Arc<Mutex<Vec<LiveRow>>>,
    cancel: CancellationToken,
}

impl LiveWatcher {
    /// Starts to observe. Calls `changed` after each change.
    pub fn start(roots: HistoryRoots, changed: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (rows, cancel) = (Arc::default(), CancellationToken::new());
        let watcher = Self { rows, cancel };
        let (rows, cancel) = (watcher.rows.clone(), watcher.cancel.clone());
        thread::Builder::new().name("live".to_owned()).spawn(move || {
            let mut observer = Observer::new(roots);
            while !cancel.is_cancelled() {
                observer.look();
                let new = observer.rows();
                let is_same = {
                    let mut rows = rows.lock();
                    let is_same =
                        rows.len() == new.len() && rows.iter().zip(&new).all(|(old, new)| old.is_like(new));
                    *rows = new;
                    is_same
                };
                if !is_same {
                    changed();
                }
                thread::sleep(if observer.is_busy() { BUSY } else { IDLE });
            }
        })?;
        Ok(watcher)
    }

    /// Returns the sessions, those of which the state changed last first.
    pub fn rows(&self) -> Vec<LiveRow> {
        self.rows.lock().clone()
    }
}

impl Drop for LiveWatcher {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
