//! The audit log of remote actions. Repeated refusals are summarised.

use super::{
    audit_rows::{self, ACCESS_REFUSED, Actor, AuditEntry},
    registry::Devices,
};
use openagents_connection::{admission::limit_key, fault::Fault, pass::Who};
use openagents_wire::{AuditPage, AuditQuery};
use std::{net::IpAddr, time::Duration};

/// Default and maximum number of rows per page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Window in which refusals of one kind are counted and recorded together.
const SUMMARY: Duration = Duration::from_secs(60);

impl Devices {
    /// Records an action. `detail` contains only names, never secrets or prompt text.
    pub async fn record(&self, actor: &Actor, action: &str, detail: &str) {
        self.store_entry(AuditEntry::new(actor, action, detail)).await;
    }

    pub async fn record_answer(&self, actor: &Actor, detail: &str) {
        self.store_entry(AuditEntry::for_answer(actor, detail)).await;
    }

    async fn store_entry(&self, entry: AuditEntry) {
        let action = entry.action.clone();
        if let Err(error) = self.with_store(move |store| audit_rows::record(store, entry)).await {
            tracing::warn!(%error, action, "audit entry was not stored");
        }
    }

    /// Returns the actor of a connection whose client calls itself `client`.
    pub fn actor(&self, who: &Who, client: &str, address: IpAddr) -> Actor {
        let (device, name) = match who {
            Who::Local if client.is_empty() => (None, "This computer".to_owned()),
            Who::Local | Who::App(_) => (None, client.to_owned()),
            Who::Device(id) => {
                (Some(id.to_string()), self.pass_of(id).map(|pass| pass.name()).unwrap_or_default())
            }
        };
        Actor { device, name, address }
    }

    /// Records that `address` was refused; repetitions within [`SUMMARY`] are counted.
    pub fn refused(&self, address: IpAddr, what: &'static str) {
        if self.is_first(AuditEntry::for_address(limit_key(address), ACCESS_REFUSED, "")) {
            let entry = AuditEntry::for_address(address.to_canonical(), ACCESS_REFUSED, what);
            self.write_in_background(move |store| audit_rows::record(store, entry));
        }
    }

    pub async fn refused_call(&self, actor: &Actor, method: &str) {
        if self.is_first(AuditEntry::new(actor, method, "")) {
            self.record(actor, method, "refused").await;
        }
    }

    /// Counts a refusal. Returns whether it is the first of its kind within [`SUMMARY`] and must be recorded at once.
    fn is_first(&self, refused: AuditEntry) -> bool {
        let kinds = self.refusals.count(refused);
        if kinds == Some(1) {
            self.run_later(SUMMARY, |devices| {
                let entries = devices.refusals.summary();
                devices.write_in_background(move |store| {
                    entries.into_iter().try_for_each(|entry| audit_rows::record(store, entry))
                });
            });
        }
        kinds.is_some()
    }

    /// Returns a page of the audit log, newest first.
    pub async fn audit(&self, AuditQuery { limit, before }: AuditQuery) -> Result<AuditPage, Fault> {
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let entries = self.with_store(move |store| audit_rows::newest(store, limit, before)).await?;
        Ok(AuditPage { entries })
    }
}
