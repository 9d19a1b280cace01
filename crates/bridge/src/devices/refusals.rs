//! Refusals of the last minute, counted so that the audit log can summarise them.

use super::audit_rows::{ACCESS_REFUSED, AuditEntry};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Maximum number of refusal kinds that are counted separately.
const MAX_COUNTED: usize = 64;

/// The refusals since the last [`Refusals::summary`].
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Repetitions after the first, by entry without its detail.
    more: HashMap<AuditEntry, u32>,
    others: u32,
}

impl Refusals {
    /// Counts a refusal. If it is the first of its kind, returns the number of kinds counted so far.
    pub(super) fn count(&self, refused: AuditEntry) -> Option<usize> {
        let mut state = self.0.lock();
        let kinds = state.more.len();
        match state.more.get_mut(&refused) {
            Some(more) => *more = more.saturating_add(1),
            None if kinds < MAX_COUNTED => {
                state.more.insert(refused, 0);
                return Some(kinds + 1);
            }
            None => state.others = state.others.saturating_add(1),
        }
        None
    }

    /// Returns one entry for each kind that was repeated, and starts over.
    pub(super) fn summary(&self) -> Vec<AuditEntry> {
        let State { more, others } = std::mem::take(&mut *self.0.lock());
        let several = more.into_iter().filter(|(_, more)| *more > 0);
        let summarise =
            |(entry, more)| AuditEntry { detail: format!("{more} more within a minute"), ..entry };
        let mut entries: Vec<AuditEntry> = several.map(summarise).collect();
        if others > 0 {
            let detail = format!("{others} more within a minute, elsewhere");
            entries.push(AuditEntry { action: ACCESS_REFUSED.to_owned(), detail, ..AuditEntry::default() });
        }
        entries
    }
}
