//! The audit log of remote actions. Repeated refusals are summarised.

use super::{
    audit_rows, audit_rows::Actor, audit_rows::AuditEntry, audit_rows::AuditRow, audit_rows::DETAIL,
    refusals::Occurrence, refusals::Refused, registry::Devices,
};
use crate::{
    admission::one_address,
    base::{error::Fault, pass::Who},
};
use openagents_sessions::run_blocking;
use serde_json::{Value, json};
use std::{net::IpAddr, time::Duration};

/// Rows of one page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Window in which refusals of one kind are counted and recorded together.
const SUMMARY: Duration = Duration::from_secs(60);

impl Devices {
    /// Records an action. `detail` holds names only, never secrets or prompt text.
    pub(crate) async fn record(&self, actor: &Actor, action: &str, detail: &str) {
        let (store, entry) = (self.store.clone(), AuditEntry::of(actor, action, detail));
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
            let entry = Refused::Access(address.to_canonical()).entry(what);
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
        let counted = self.refusals.count(refused);
        if counted == Occurrence::FirstOfAll {
            self.later(SUMMARY, |devices| {
                let entries = devices.refusals.summary();
                devices.write(move |store| {
                    entries.into_iter().try_for_each(|entry| audit_rows::record(store, entry))
                });
            });
        }
        counted != Occurrence::Again
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
