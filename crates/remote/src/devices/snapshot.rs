//! The snapshot of devices, requests and network.

use super::{
    pairing::Offer,
    registry::{Device, Devices},
    requests::{App, Kind, Request},
};
use crate::network::state;
use openagents_wire::{
    self as wire, AllowedApp, DeviceRequest, DevicesSnapshot, Listener, NetworkState, Pairing,
};
use qrcode::{QrCode, render::svg};
use std::net::IpAddr;

/// Minimum side of a QR code, in pixels.
const QR: u32 = 240;

const UNREACHABLE: &str = "Other devices can't reach this computer. Turn on the local network first.";

impl Devices {
    pub(crate) fn snapshot(&self) -> DevicesSnapshot {
        let network = self.network.state();
        let state = self.state();
        let pairing = state.pairing.current().map(|offer| pairing(offer, &network));
        let is_unreachable = pairing.is_some() && network.problem.is_none() && network.pages().is_empty();
        let app = |(address, app): &(IpAddr, &App)| AllowedApp {
            address: *address,
            allowed_at: app.allowed_at,
            until: app.until.at,
        };
        DevicesSnapshot {
            devices: state.devices.iter().map(device).collect(),
            requests: state.requests.pending().iter().map(request).collect(),
            pairing,
            apps: state.apps.allowed().iter().map(app).collect(),
            network: NetworkState {
                lan: network.lan,
                ios: network.ios,
                computer: network.computer.clone(),
                listeners: network.listeners.clone(),
                fingerprint: network.fingerprint.clone(),
                certificate_until: network.certificate_until,
                problem: network.problem.clone().or(is_unreachable.then(|| UNREACHABLE.to_owned())),
                fixed: network.fixed,
                names: network.hosts.iter().filter(|name| !name.ends_with(".local")).cloned().collect(),
            },
        }
    }
}

fn device(device: &Device) -> wire::Device {
    let row = &device.row;
    wire::Device {
        id: row.id.clone(),
        name: device.pass.name(),
        scope: device.pass.scope(),
        created_at: row.created_ts,
        last_seen: row.last_seen_ts,
        address: row.last_address.clone(),
        connections: device.connections,
    }
}

fn request(request: &Request) -> DeviceRequest {
    let info = &request.info;
    let kind = match info.kind {
        Kind::Pair => "pair",
        Kind::Ios => "ios",
    };
    DeviceRequest {
        id: request.id.clone(),
        kind: kind.to_owned(),
        name: info.name.clone(),
        address: info.address,
        compare: info.compare.clone(),
        asked_at: request.asked_at,
        expires_at: request.expires.at,
        session_id: info.session.clone(),
    }
}

fn pairing(offer: &Offer, network: &state::NetworkState) -> Pairing {
    let code = offer.code.shown();
    let mut addresses = network.pages();
    if addresses.is_empty() {
        addresses =
            network.addresses(Listener::Loopback).map(|address| format!("http://{address}")).collect();
    }
    let url = pairing_url(&code, &addresses, network.fingerprint.as_deref());
    let qr = qr_code(&url);
    Pairing {
        code,
        expires_at: offer.expires.at,
        addresses,
        fingerprint: network.fingerprint.clone(),
        url,
        qr,
    }
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
