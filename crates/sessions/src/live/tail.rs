//! The end of a log in memory, so that readers that are at most a few seconds behind do not read from disk.

use crate::store::Stored;
use std::{collections::VecDeque, sync::Arc};

/// Maximum number of updates.
const UPDATES: usize = 4_096;
/// Maximum bytes of the updates, as stored.
const BYTES: usize = 4 << 20;

/// The last updates of a log, without gaps.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    updates: VecDeque<Arc<Stored>>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn push(&mut self, update: Arc<Stored>) {
        self.bytes += update.bytes;
        self.updates.push_back(update);
        while self.updates.len() > UPDATES || self.bytes > BYTES {
            let Some(oldest) = self.updates.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// Returns at most `limit` updates after `since`, stopping once they total `bytes` bytes; `None` if the tail begins
    /// later.
    pub(crate) fn after(&self, since: u64, limit: usize, bytes: usize) -> Option<Vec<Arc<Stored>>> {
        let first = self.updates.front().filter(|first| first.seq <= since + 1)?;
        let skip = usize::try_from(since + 1 - first.seq).unwrap_or(usize::MAX);
        let mut taken = 0;
        let fits = |update: &&Arc<Stored>| {
            let fits = taken < bytes;
            taken += update.bytes;
            fits
        };
        Some(self.updates.iter().skip(skip).take(limit).take_while(fits).cloned().collect())
    }
}
