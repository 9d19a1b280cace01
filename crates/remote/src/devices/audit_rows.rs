//! The audit table, bounded to its newest rows.

use openagents_core::approval::SHOWN_COMMAND;
use openagents_sessions::store::{Store, StoreError};
use openagents_wire::RemoteAction;
use parking_lot::Mutex;
use rusqlite::{Transaction, params};
use std::{collections::HashMap, net::IpAddr};

/// Rows kept of access decisions, and of all other entries. The two are bounded separately, so calls cannot push out
/// the decision that allowed them.
const KEPT: i64 = 10_000;
const SLACK: i64 = 100;

/// Maximum bytes of a name, an action or a detail, except the detail of an answer.
const DETAIL: usize = 200;
/// Maximum bytes of the detail of an answer: the longest command that is shown, with its option and its folder.
const ANSWER_DETAIL: usize = SHOWN_COMMAND + 1024;

pub(super) const ACCESS_REFUSED: &str = "access.refused";

/// SQL condition that selects access decisions.
const DECIDED: &str = "(action LIKE 'pair.%' OR action LIKE 'device.%' OR action LIKE 'app.%'
    OR action LIKE 'network.%')";

#[derive(Debug, Clone)]
pub struct Actor {
    /// `None` for the local user and for unauthenticated clients.
    pub device: Option<String>,
    pub name: String,
    pub address: IpAddr,
}

/// One audited action. Never holds a token of ours, a code, or the text of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct AuditEntry {
    /// `None` when the actor is not a paired device.
    pub(crate) device: Option<String>,
    pub(crate) name: String,
    pub(crate) address: String,
    /// A method, or a name such as `pair.allowed`.
    pub(crate) action: String,
    /// For example a session, a scope, or the chosen option with the command that was shown.
    pub(crate) detail: String,
}

impl AuditEntry {
    pub(crate) fn new(actor: &Actor, action: &str, detail: &str) -> Self {
        let short = |text: &str| openagents_core::text::prefix(text, DETAIL).to_owned();
        Self {
            device: actor.device.clone(),
            name: short(&actor.name),
            address: actor.address.to_string(),
            action: short(action),
            detail: short(detail),
        }
    }

    pub(crate) fn for_answer(actor: &Actor, detail: &str) -> Self {
        let detail = openagents_core::text::prefix(detail, ANSWER_DETAIL).to_owned();
        Self { detail, ..Self::new(actor, "approval.answered", "") }
    }

    pub(crate) fn for_address(address: IpAddr, action: &str, detail: &str) -> Self {
        Self::new(&Actor { device: None, name: String::new(), address }, action, detail)
    }
}

pub(crate) fn record(store: &Store, entry: AuditEntry) -> Result<(), StoreError> {
    store.write(move |transaction, now| {
        transaction
            .prepare_cached(
                "INSERT INTO audit (ts, device_id, name, address, action, detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![now, entry.device, entry.name, entry.address, entry.action, entry.detail])?;
        if transaction.last_insert_rowid() % SLACK == 0 {
            prune(transaction, KEPT)?;
        }
        Ok(())
    })
}

/// Returns at most `limit` entries with an id below `before`, newest first. Blocks.
pub(crate) fn newest(
    store: &Store,
    limit: usize,
    before: Option<i64>,
) -> Result<Vec<RemoteAction>, StoreError> {
    store.query(|connection| {
        let mut statement = connection.prepare_cached(
            "SELECT id, ts, device_id, name, address, action, detail FROM audit WHERE id < ?1
             ORDER BY id DESC LIMIT ?2",
        )?;
        let rows = statement.query_map(params![before.unwrap_or(i64::MAX), limit], |row| {
            Ok(RemoteAction {
                id: row.get(0)?,
                ts: row.get(1)?,
                device: row.get(2)?,
                name: row.get(3)?,
                address: row.get(4)?,
                action: row.get(5)?,
                detail: row.get(6)?,
            })
        })?;
        rows.collect()
    })
}

fn prune(transaction: &Transaction<'_>, kept: i64) -> rusqlite::Result<()> {
    for of in [DECIDED.to_owned(), format!("NOT {DECIDED}")] {
        let newest = format!("SELECT id FROM audit WHERE {of} ORDER BY id DESC LIMIT 1 OFFSET ?1");
        let delete = format!("DELETE FROM audit WHERE {of} AND id <= ({newest})");
        transaction.prepare_cached(&delete)?.execute([kept])?;
    }
    Ok(())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tables::open_store;

    #[test]
    fn prune_keeps_access_decisions() {
        let home = tempfile::tempdir().unwrap();
        let store = open_store(home.path()).unwrap();
        let record = |action: &str| {
            record(&store, AuditEntry { action: action.to_owned(), ..AuditEntry::default() }).unwrap();
        };
        record("pair.allowed");
        record("device.renamed");
        for _ in 0..5 {
            record("session/prompt");
        }
        record("app.allowed");
        store.write(|transaction, _| prune(transaction, 2)).unwrap();
        let shown =
            |rows: Vec<RemoteAction>| rows.into_iter().map(|row| (row.id, row.action)).collect::<Vec<_>>();
        let row = |id, action: &str| (id, action.to_owned());
        let kept = [row(8, "app.allowed"), row(7, "session/prompt"), row(6, "session/prompt")];
        let all = shown(newest(&store, 10, None).unwrap());
        assert_eq!(all, [&kept[..], &[row(2, "device.renamed")]].concat());
        assert_eq!(shown(newest(&store, 2, Some(8)).unwrap()), kept[1..]);
        assert!(newest(&store, 1, None).unwrap()[0].ts > 0);
    }
}
