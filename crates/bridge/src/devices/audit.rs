//! The audit log of remote actions. Repeated refusals are summarised.

use crate::{admission::one_address, base::error::Fault};
use crate::{
    base::pass::Who,
    devices::audit_rows,
    devices::audit_rows::{AuditEntry, AuditRow},
    devices::registry::Devices,
};
use openagents_sessions::run_blocking;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::HashMap, net::IpAddr, time::Duration};

/// Rows of one page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Window in which refusals of one kind are counted and recorded together.
const SUMMARY: Duration = Duration::from_secs(60);
/// Kinds of refusals counted separately in that window.
const MAX_COUNTED: usize = 64;
const ACCESS_REFUSED: &str = "access.refused";
/// Bytes of a name, an action or a detail.
const DETAIL: usize = 200;

/// The author of an audit entry.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// `None` for the local user and for unauthenticated clients.
    pub(crate) device: Option<String>,
    pub(crate) name: String,
    pub(crate) address: IpAddr,
}

/// Refusals of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// Repetitions after the first.
    more: HashMap<Refused, u32>,
    others: u32,
}

/// Key by which refusals are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Refused {
    /// An address was refused access.
    Access(IpAddr),
    /// A device called a method beyond its scope.
    Call { device: Option<String>, name: String, address: IpAddr, method: String },
}

impl Refused {
    fn entry(&self, detail: String) -> AuditEntry {
        match self {
            Self::Access(address) => AuditEntry {
                address: address.to_string(),
                action: ACCESS_REFUSED.to_owned(),
                detail,
                ..AuditEntry::default()
            },
            Self::Call { device, name, address, method } => {
                let actor = Actor { device: device.clone(), name: name.clone(), address: *address };
                entry(&actor, method, &detail)
            }
        }
    }
}

impl Devices {
    /// Records an action. `detail` holds names only, never secrets or prompt text.
    pub(crate) async fn record(&self, actor: &Actor, action: &str, detail: &str) {
        let (store, entry) = (self.store.clone(), entry(actor, action, detail));
        let written = run_blocking(move || audit_rows::record(&store, entry)).await;
        if !matches!(written, Some(Ok(()))) {
            tracing::warn!(action, "audit entry was not stored");
        }
    }

    /// Returns the actor of a connection whose client calls itself `client`.
    pub(crate) fn actor(&self, who: &Who, client: &str, address: IpAddr) -> Actor {
        let (device, name) = match who {
            Who::Local if client.is_empty() => (None, "This computer".to_owned()),
            Who::Local | Who::App(_) => (None, client.to_owned()),
            Who::Device(id) => (Some(id.to_string()), self.name_of(id).unwrap_or_default()),
        };
        Actor { device, name, address }
    }

    /// Records that `address` was refused; repetitions within [`SUMMARY`] are counted.
    pub(crate) fn refused(&self, address: IpAddr, what: &'static str) {
        if self.count(Refused::Access(one_address(address))) {
            let entry = Refused::Access(address.to_canonical()).entry(what.to_owned());
            self.write(move |store| audit_rows::record(store, entry));
        }
    }

    /// Records a refused call; repetitions within [`SUMMARY`] are counted.
    pub(crate) async fn refused_call(&self, actor: &Actor, method: &str) {
        let Actor { device, name, address } = actor.clone();
        let method = openagents_sessions::prune::head(method, DETAIL).to_owned();
        if self.count(Refused::Call { device, name, address, method: method.clone() }) {
            self.record(actor, &method, "refused").await;
        }
    }

    /// Counts a refusal. Returns whether it is the first of its kind within [`SUMMARY`] and must be recorded at once.
    fn count(&self, refused: Refused) -> bool {
        let (is_first, begins) = {
            let mut counted = self.refusals.0.lock();
            let begins = counted.more.is_empty();
            let has_room = counted.more.len() < MAX_COUNTED;
            match counted.more.get_mut(&refused) {
                Some(more) => {
                    *more = more.saturating_add(1);
                    (false, false)
                }
                None if has_room => {
                    counted.more.insert(refused, 0);
                    (true, begins)
                }
                None => {
                    counted.others = counted.others.saturating_add(1);
                    (false, false)
                }
            }
        };
        if begins {
            self.later(SUMMARY, Self::summarise_refusals);
        }
        is_first
    }

    fn summarise_refusals(&self) {
        let counted = std::mem::take(&mut *self.refusals.0.lock());
        let several = counted.more.into_iter().filter(|(_, more)| *more > 0);
        let mut entries: Vec<AuditEntry> =
            several.map(|(refused, more)| refused.entry(format!("{more} more within a minute"))).collect();
        if counted.others > 0 {
            let detail = format!("{} more within a minute, elsewhere", counted.others);
            entries.push(AuditEntry { action: ACCESS_REFUSED.to_owned(), detail, ..AuditEntry::default() });
        }
        self.write(move |store| entries.into_iter().try_for_each(|entry| audit_rows::record(store, entry)));
    }

    /// Returns a page of the audit log, newest first, in wire format.
    pub(crate) async fn audit(&self, limit: Option<usize>, before: Option<i64>) -> Result<Value, Fault> {
        let (store, limit) = (self.store.clone(), limit.unwrap_or(PAGE).clamp(1, PAGE_MAX));
        let rows = run_blocking(move || audit_rows::newest(&store, limit, before)).await;
        let rows = rows.ok_or_else(|| Fault::internal("Reading the audit log was interrupted."))??;
        let wire = |row: &AuditRow| {
            let AuditEntry { device, name, address, action, detail } = &row.entry;
            json!({"id": row.id, "ts": row.ts, "device": device, "name": name, "address": address,
                "action": action, "detail": detail})
        };
        Ok(json!({"entries": rows.iter().map(wire).collect::<Vec<_>>()}))
    }
}

fn entry(actor: &Actor, action: &str, detail: &str) -> AuditEntry {
    let short = |text: &str| openagents_sessions::prune::head(text, DETAIL).to_owned();
    AuditEntry {
        device: actor.device.clone(),
        name: short(&actor.name),
        address: actor.address.to_string(),
        action: short(action),
        detail: short(detail),
    }
}
