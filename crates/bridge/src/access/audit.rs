//! What was done from afar: written down, and summarised where it is much.

use super::{Devices, Who};
use crate::{error::Fault, limits::one_address, sessions::beside, store::Deed};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Rows of one page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Refusals of an address are counted for so long and told together.
const SUMMARY: Duration = Duration::from_secs(60);
/// Addresses that are told one by one in that time.
const ADDRESSES: usize = 16;
/// Characters of a detail.
const DETAIL: usize = 200;

/// Who does something.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// `None` for the person at this machine, and for those who are not let in yet.
    pub(crate) device: Option<String>,
    pub(crate) name: String,
    pub(crate) address: IpAddr,
}

/// Refusals of the last minute.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// Those after the first.
    more: HashMap<IpAddr, u32>,
    others: u32,
}

impl Devices {
    /// Writes down what somebody did. `detail` names things and holds nothing that is secret or was said.
    pub(crate) async fn record(&self, actor: &Actor, action: &str, detail: &str) {
        let (store, deed) = (self.store.clone(), deed(actor, action, detail));
        let written = beside(move || store.record_deed(deed)).await;
        if !matches!(written, Some(Ok(()))) {
            tracing::warn!(action, "what was done from afar was not written down");
        }
    }

    /// Returns who acts over a connection whose client calls itself `client`.
    pub(crate) fn actor(&self, who: &Who, client: &str, address: IpAddr) -> Actor {
        let (device, name) = match who {
            Who::Local if client.is_empty() => (None, "This computer".to_owned()),
            Who::Local | Who::App(_) => (None, client.to_owned()),
            Who::Device(id) => (Some(id.to_string()), self.name_of(id).unwrap_or_default()),
        };
        Actor { device, name, address }
    }

    /// Writes down that somebody at `address` was not let in; what comes soon after is counted.
    pub(crate) fn refused(&self, address: IpAddr, what: &'static str) {
        let one = one_address(address);
        let (is_first, begins) = {
            let mut counted = self.refusals.0.lock().unwrap_or_else(PoisonError::into_inner);
            let begins = counted.more.is_empty();
            let has_room = counted.more.len() < ADDRESSES;
            match counted.more.get_mut(&one) {
                Some(more) => {
                    *more = more.saturating_add(1);
                    (false, false)
                }
                None if has_room => {
                    counted.more.insert(one, 0);
                    (true, begins)
                }
                None => {
                    counted.others = counted.others.saturating_add(1);
                    (false, false)
                }
            }
        };
        if is_first {
            self.write_refusal(address.to_string(), what.to_owned());
        }
        if begins {
            self.later(SUMMARY, Self::summarise_refusals);
        }
    }

    fn summarise_refusals(&self) {
        let counted = std::mem::take(&mut *self.refusals.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (address, more) in counted.more.into_iter().filter(|(_, more)| *more > 0) {
            self.write_refusal(address.to_string(), format!("{more} more within a minute"));
        }
        if counted.others > 0 {
            let detail = format!("{} more within a minute, at other addresses", counted.others);
            self.write_refusal(String::new(), detail);
        }
    }

    fn write_refusal(&self, address: String, detail: String) {
        let deed = Deed { address, action: "access.refused".to_owned(), detail, ..Deed::default() };
        self.write(move |store| store.record_deed(deed));
    }

    /// Returns a page of what was done, newest first, as it goes over the wire.
    pub(crate) async fn audit(&self, limit: Option<usize>, before: Option<i64>) -> Result<Value, Fault> {
        let (store, limit) = (self.store.clone(), limit.unwrap_or(PAGE).clamp(1, PAGE_MAX));
        let rows = beside(move || store.deeds(limit, before)).await;
        let rows = rows.ok_or_else(|| Fault::internal("The reading was interrupted."))??;
        let wire = |row: &crate::store::AuditRow| {
            let Deed { device, name, address, action, detail } = &row.deed;
            json!({"id": row.id, "ts": row.ts, "device": device, "name": name, "address": address,
                "action": action, "detail": detail})
        };
        Ok(json!({"entries": rows.iter().map(wire).collect::<Vec<_>>()}))
    }
}

fn deed(actor: &Actor, action: &str, detail: &str) -> Deed {
    let short = |text: &str| crate::prune::head(text, DETAIL).to_owned();
    Deed {
        device: actor.device.clone(),
        name: short(&actor.name),
        address: actor.address.to_string(),
        action: short(action),
        detail: short(detail),
    }
}
