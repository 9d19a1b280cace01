//! The snapshot of devices, requests and network, in wire format.

use super::{
    pairing::Offer,
    registry::{Device, Devices},
    requests::{App, Kind, Request},
};
use crate::{base::config::Listener, network::state::NetworkState};
use qrcode::{QrCode, render::svg};
use serde_json::{Value, json};
use std::net::IpAddr;

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
        let app = |(address, app): &(IpAddr, &App)| json!({"address": address, "allowedAt": app.allowed_at, "until": app.until.at});
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
    let url = pairing_url(&code, &addresses, network.fingerprint.as_deref());
    json!({
        "code": code,
        "expiresAt": offer.expires.at,
        "addresses": addresses,
        "fingerprint": network.fingerprint,
        "url": url,
        "qr": qr_code(&url),
    })
}

fn qr_code(url: &str) -> String {
    let drawn = QrCode::new(url).map(|qr| qr.render::<svg::Color<'_>>().min_dimensions(QR, QR).build());
    let drawn = drawn.unwrap_or_default();
    drawn.find("<svg").map_or(String::new(), |start| drawn[start..].to_owned())
}

/// Returns the URL that a phone opens. The fragment is never sent to a server.
fn pairing_url(code: &str, addresses: &[String], fingerprint: Option<&str>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairing_url_has_code_and_fingerprint() {
        let addresses = ["https://192.168.1.5:9443", "https://mac.local:9443"].map(str::to_owned);
        assert_eq!(
            pairing_url("K7QX-2M9P", &addresses, Some("AB:CD")),
            "https://192.168.1.5:9443/#pair=K7QX-2M9P&fingerprint=ABCD&addresses=mac.local:9443"
        );
        assert_eq!(
            pairing_url("K7QX-2M9P", &["http://127.0.0.1:9099".to_owned()], None),
            "http://127.0.0.1:9099/#pair=K7QX-2M9P"
        );
    }
}
