//! The snapshot of devices, requests and network, in wire format.

use super::{
    audit_rows::{self, ACCESS_REFUSED, Actor, AuditEntry},
    pairing::{CodeRefusal, Offer, PAIRING_TIMEOUT, compare_code},
    registry::{Device, Devices, clean_name},
    requests::{Kind, Request, RequestInfo},
};
use crate::{
    admission::one_address,
    base::{config::Listener, error::Fault, pass::Who, token},
    network::state::NetworkState,
};
use qrcode::{QrCode, render::svg};
use serde_json::{Value, json};
use std::{net::IpAddr, time::Duration};

/// Minimum side of a QR code, in pixels.
const QR: u32 = 240;

const UNREACHABLE: &str = "Other devices can't reach this computer. Turn on the local network first.";

impl Devices {
    pub(crate) fn snapshot(&self) -> Value {
        let network = self.network.state();
        let state = self.state();
        let pairing = state.pairing.current().map(|offer| pairing(offer, &network));
        let mut shown = serde_json::to_value(&*network).unwrap_or_default();
        if let Some(members) = shown.as_object_mut() {
            let names: Vec<&String> = network.hosts.iter().filter(|name| !name.ends_with(".local")).collect();
            members.insert("names".to_owned(), json!(names));
            if pairing.is_some() && network.problem.is_none() && network.pages().is_empty() {
                members.insert("problem".to_owned(), UNREACHABLE.into());
            }
        }
        let app = |(address, app): &(IpAddr, &crate::devices::requests::App)| json!({"address": address, "allowedAt": app.allowed_at, "until": app.until.at});
        json!({
            "devices": state.devices.iter().map(device).collect::<Vec<_>>(),
            "requests": state.requests.pending().iter().map(request).collect::<Vec<_>>(),
            "pairing": pairing,
            "apps": state.apps.allowed().iter().map(app).collect::<Vec<_>>(),
            "network": shown,
        })
    }
}

fn device(device: &Device) -> Value {
    let row = &device.row;
    json!({
        "id": row.id,
        "name": device.pass.name(),
        "scope": device.pass.scope(),
        "createdAt": row.created_ts,
        "lastSeen": row.last_seen_ts,
        "address": row.last_address,
        "connections": device.connections,
    })
}

fn request(request: &Request) -> Value {
    let info = &request.info;
    json!({
        "id": request.id,
        "kind": match info.kind { Kind::Pair => "pair", Kind::Ios => "ios" },
        "name": info.name,
        "address": info.address,
        "compare": info.compare,
        "askedAt": request.asked_at,
        "expiresAt": request.expires.at,
        "sessionId": info.session,
    })
}

fn pairing(offer: &Offer, network: &NetworkState) -> Value {
    let code = offer.code.shown();
    let mut addresses = network.pages();
    if addresses.is_empty() {
        addresses =
            network.addresses(Listener::Loopback).map(|address| format!("http://{address}")).collect();
    }
    let url = url(&code, &addresses, network.fingerprint.as_deref());
    json!({
        "code": code,
        "expiresAt": offer.expires.at,
        "addresses": addresses,
        "fingerprint": network.fingerprint,
        "url": url,
        "qr": draw(&url),
    })
}

/// Draws a QR code as SVG.
fn draw(url: &str) -> String {
    let drawn = QrCode::new(url).map(|qr| qr.render::<svg::Color<'_>>().min_dimensions(QR, QR).build());
    let drawn = drawn.unwrap_or_default();
    drawn.find("<svg").map_or(String::new(), |start| drawn[start..].to_owned())
}

/// Returns the URL that a phone opens. The fragment is never sent to a server.
fn url(code: &str, addresses: &[String], fingerprint: Option<&str>) -> String {
    let Some((first, others)) = addresses.split_first() else { return String::new() };
    let mut url = format!("{first}/#pair={code}");
    if let Some(fingerprint) = fingerprint {
        url += &format!("&fingerprint={}", fingerprint.replace(':', ""));
    }
    let others: Vec<&str> = others.iter().filter_map(|address| address.strip_prefix("https://")).collect();
    if !others.is_empty() {
        url += &format!("&addresses={}", others.join(","));
    }
    url
}

// Pairing requests of devices that sent the right code.

impl Devices {
    /// Files a pairing request for a device that knows the code. Returns the secret it polls with, the digits that both
    /// screens show, and the expiry in milliseconds since the epoch.
    pub(crate) fn claim(
        &self,
        code: &str,
        name: &str,
        address: IpAddr,
    ) -> Result<(String, String, i64), CodeRefusal> {
        let secret = token::new_token().map_err(CodeRefusal::Random)?;
        let mut state = self.state();
        let number = state.pairing.check(code, address)?;
        state.pairing.has_room()?;
        let compare = loop {
            let compare = compare_code().map_err(CodeRefusal::Random)?;
            let taken = |info: &RequestInfo| info.compare.as_deref() == Some(&compare);
            if !state.requests.pending().iter().any(|request| taken(&request.info)) {
                break compare;
            }
        };
        let info = RequestInfo {
            kind: Kind::Pair,
            name: clean_name(name),
            address,
            at: None,
            compare: Some(compare.clone()),
            session: None,
        };
        let (id, outcome) = state.requests.add(info, PAIRING_TIMEOUT);
        let expires_at = state.requests.get(&id).map_or(0, |request| request.expires.at);
        state.pairing.claim(number, &secret, id, outcome);
        drop(state);
        self.later(PAIRING_TIMEOUT, Self::tidy);
        self.changed();
        Ok((secret, compare, expires_at))
    }
}

// The audit log of remote actions. Repeated refusals are summarised.

/// Default and maximum number of rows per page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Window in which refusals of one kind are counted and recorded together.
const SUMMARY: Duration = Duration::from_secs(60);

impl Devices {
    /// Records an action. `detail` contains only names, never secrets or prompt text.
    pub(crate) async fn record(&self, actor: &Actor, action: &str, detail: &str) {
        self.store_entry(AuditEntry::of(actor, action, detail)).await;
    }

    /// Records the answer to an approval, with the whole command that was shown.
    pub(crate) async fn record_answer(&self, actor: &Actor, detail: &str) {
        self.store_entry(AuditEntry::of_answer(actor, detail)).await;
    }

    async fn store_entry(&self, entry: AuditEntry) {
        let action = entry.action.clone();
        if let Err(error) = self.stored(move |store| audit_rows::record(store, entry)).await {
            tracing::warn!(%error, action, "audit entry was not stored");
        }
    }

    /// Returns the actor of a connection whose client calls itself `client`.
    pub(crate) fn actor(&self, who: &Who, client: &str, address: IpAddr) -> Actor {
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
    pub(crate) fn refused(&self, address: IpAddr, what: &'static str) {
        if self.is_first(AuditEntry::of_address(one_address(address), ACCESS_REFUSED, "")) {
            let entry = AuditEntry::of_address(address.to_canonical(), ACCESS_REFUSED, what);
            self.write(move |store| audit_rows::record(store, entry));
        }
    }

    /// Records a refused call; repetitions within [`SUMMARY`] are counted.
    pub(crate) async fn refused_call(&self, actor: &Actor, method: &str) {
        if self.is_first(AuditEntry::of(actor, method, "")) {
            self.record(actor, method, "refused").await;
        }
    }

    /// Counts a refusal. Returns whether it is the first of its kind within [`SUMMARY`] and must be recorded at once.
    fn is_first(&self, refused: AuditEntry) -> bool {
        let kinds = self.refusals.count(refused);
        if kinds == Some(1) {
            self.later(SUMMARY, |devices| {
                let entries = devices.refusals.summary();
                devices.write(move |store| {
                    entries.into_iter().try_for_each(|entry| audit_rows::record(store, entry))
                });
            });
        }
        kinds.is_some()
    }

    /// Returns a page of the audit log, newest first, in wire format.
    pub(crate) async fn audit(&self, limit: Option<usize>, before: Option<i64>) -> Result<Value, Fault> {
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let entries = self.stored(move |store| audit_rows::newest(store, limit, before)).await?;
        Ok(json!({"entries": entries}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qr_code_url() {
        let addresses = ["https://192.168.1.5:9443", "https://mac.local:9443"].map(str::to_owned);
        assert_eq!(
            url("K7QX-2M9P", &addresses, Some("AB:CD")),
            "https://192.168.1.5:9443/#pair=K7QX-2M9P&fingerprint=ABCD&addresses=mac.local:9443"
        );
        assert_eq!(
            url("K7QX-2M9P", &["http://127.0.0.1:9099".to_owned()], None),
            "http://127.0.0.1:9099/#pair=K7QX-2M9P"
        );
    }
}
