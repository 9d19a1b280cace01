//! The state of the network, as shown to clients and the command line.

use super::addresses::LOCAL;
use crate::base::{config::IosAccess, listener::Listener};
use serde::Serialize;
use std::net::SocketAddr;

/// An open port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct OpenListener {
    /// The kind of listener, which determines the routes.
    pub kind: Listener,
    /// The bound address.
    pub address: SocketAddr,
}

/// The switches and the open ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkState {
    /// Whether network access to the page and ACP is on.
    pub lan: bool,
    /// The access of the iOS app.
    pub ios: IosAccess,
    /// The name of this computer.
    pub computer: String,
    /// The open ports.
    pub listeners: Vec<OpenListener>,
    /// SHA-256 of the authority's certificate, which phones install: `AB:CD:…`.
    pub fingerprint: Option<String>,
    /// When the certificate expires, in milliseconds since the epoch. It is renewed before then.
    pub certificate_until: Option<i64>,
    /// A problem to show to the user: one or more sentences.
    pub problem: Option<String>,
    /// Whether any switch was set on the command line; such switches cannot be changed.
    pub fixed: bool,
    /// The `.local` name of this computer, and its other names.
    #[serde(skip)]
    pub hosts: Vec<String>,
}

impl NetworkState {
    /// Returns the addresses of the open ports of one kind.
    pub fn addresses(&self, kind: Listener) -> impl Iterator<Item = SocketAddr> {
        let open = self.listeners.iter().filter(move |listener| listener.kind == kind);
        open.map(|listener| listener.address)
    }

    /// Returns the page's URLs for other devices, most likely to work first: `https://192.168.1.5:9443`.
    pub fn pages(&self) -> Vec<String> {
        let mut open: Vec<SocketAddr> = self.addresses(Listener::Web).collect();
        open.sort_by_key(|address| (address.is_ipv6(), *address));
        let (local, others): (Vec<&String>, Vec<&String>) =
            self.hosts.iter().partition(|host| host.ends_with(LOCAL));
        let port = open.first().map(SocketAddr::port);
        let v4 = open.iter().filter(|address| address.is_ipv4()).map(|address| format!("https://{address}"));
        let local =
            port.into_iter().flat_map(|port| local.iter().map(move |host| format!("https://{host}:{port}")));
        // A proxy for such a name terminates TLS on port 443.
        let others = others.iter().map(|host| format!("https://{host}"));
        let v6 = open.iter().filter(|address| address.is_ipv6()).map(|address| format!("https://{address}"));
        v4.chain(local).chain(others).chain(v6).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_wire() {
        let open = |kind, address: &str| OpenListener { kind, address: address.parse().unwrap() };
        let state = NetworkState {
            lan: true,
            ios: IosAccess::Ask,
            computer: "mac".to_owned(),
            listeners: vec![
                open(Listener::Loopback, "127.0.0.1:9099"),
                open(Listener::Web, "[fd00::2]:9443"),
                open(Listener::Web, "192.168.1.5:9443"),
                open(Listener::App, "192.168.1.5:9099"),
            ],
            fingerprint: Some("AB:CD".to_owned()),
            certificate_until: Some(7),
            problem: None,
            fixed: false,
            hosts: vec!["mac.local".to_owned(), "mac.tail1234.ts.net".to_owned()],
        };
        assert_eq!(
            state.pages(),
            [
                "https://192.168.1.5:9443",
                "https://mac.local:9443",
                "https://mac.tail1234.ts.net",
                "https://[fd00::2]:9443"
            ]
        );
        insta::assert_json_snapshot!(state, @r#"
        {
          "lan": true,
          "ios": "ask",
          "computer": "mac",
          "listeners": [
            {
              "kind": "loopback",
              "address": "127.0.0.1:9099"
            },
            {
              "kind": "web",
              "address": "[fd00::2]:9443"
            },
            {
              "kind": "web",
              "address": "192.168.1.5:9443"
            },
            {
              "kind": "app",
              "address": "192.168.1.5:9099"
            }
          ],
          "fingerprint": "AB:CD",
          "certificateUntil": 7,
          "problem": null,
          "fixed": false
        }
        "#);
    }
}
