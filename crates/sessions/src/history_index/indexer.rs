//! Keeps the index up to date on a thread of its own.

use super::{build::IndexProgress, index::HistoryIndex, search::IndexedMatches};
use openagents_core::{
    CancellationToken,
    history::{History, Transcript},
};
use parking_lot::Mutex;
use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

/// Time between two looks at the logs.
const LOOK: Duration = Duration::from_secs(30);

/// The index, and the thread that fills it until this is dropped.
#[derive(Debug)]
pub struct HistoryIndexer {
    /// `None` if it cannot be opened: then nothing is found by words.
    index: Option<Arc<HistoryIndex>>,
    progress: Arc<Mutex<IndexProgress>>,
    cancel: CancellationToken,
    /// Wakes the thread.
    look: Sender<()>,
}

impl HistoryIndexer {
    /// Opens the index in the data folder `home`; fills it if `fills`. Blocks.
    pub fn start(home: &Path, history: Arc<History>, fills: bool) -> Self {
        let opened = HistoryIndex::open(home);
        let failed =
            |error: &rusqlite::Error| tracing::warn!(%error, "other agents' sessions are not indexed");
        let index = opened.inspect_err(failed).ok().map(Arc::new);
        let (progress, cancel) = (Arc::new(Mutex::default()), CancellationToken::new());
        let (look, wakes) = channel();
        if let Some(index) = index.clone().filter(|_| fills) {
            let (progress, cancel) = (progress.clone(), cancel.clone());
            let fill = move || fill(&index, &history, &progress, &cancel, &wakes);
            if let Err(error) = thread::Builder::new().name("history-index".to_owned()).spawn(fill) {
                tracing::warn!(%error, "other agents' sessions are not indexed");
            }
        }
        Self { index, progress, cancel, look }
    }

    /// Looks for new lines now.
    pub fn look(&self) {
        // Without a thread there is nothing to wake.
        let _ = self.look.send(());
    }

    /// Returns how far the index is.
    pub fn progress(&self) -> IndexProgress {
        *self.progress.lock()
    }

    /// See [`HistoryIndex::search`]; finds nothing without an index. Blocks.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        now: i64,
        is_near: &dyn Fn(&Transcript) -> bool,
    ) -> rusqlite::Result<IndexedMatches> {
        match &self.index {
            Some(index) => index.search(query, limit, now, is_near),
            None => Ok(IndexedMatches::default()),
        }
    }
}

impl Drop for HistoryIndexer {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn fill(
    index: &HistoryIndex,
    history: &History,
    progress: &Mutex<IndexProgress>,
    cancel: &CancellationToken,
    wakes: &Receiver<()>,
) {
    loop {
        if let Err(error) = index.update(history, cancel, &mut |now| *progress.lock() = now) {
            tracing::warn!(%error, "the index of other agents' sessions could not be brought up to date");
        }
        match wakes.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Disconnected) => return,
            // Several who asked meanwhile are served by one look.
            Ok(()) | Err(RecvTimeoutError::Timeout) => while wakes.try_recv().is_ok() {},
        }
        if cancel.is_cancelled() {
            return;
        }
    }
}
