//! Checks of `Host` and `Origin`. Names and addresses are parsed, never compared as text.
//!
//! The page is never served at `localhost`. Browsers resolve that name to `::1` first, where another user of this
//! computer may listen and could read the data that the browser stores for the page.

use axum::http::{HeaderMap, header};
use openagents_remote::network::{
    addresses::{self, LOCAL},
    state::NetworkState,
};
use openagents_wire::Listener;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

/// The names and addresses of this machine. `.local` names are for the local network; other names are for a private
/// network whose encrypted proxy forwards to the loopback listener.
#[derive(Debug, Default)]
pub(crate) struct Hosts(pub(crate) Arc<NetworkState>);

impl Hosts {
    /// Returns whether the `Host` of a request is one of our names. In a DNS rebinding attack, it is not.
    pub(crate) fn allow_host(&self, headers: &HeaderMap, listener: Listener) -> bool {
        self.requested_kind(headers, listener).is_some()
    }

    /// Returns whether the request came through a proxy. Such a request is not local, even on a local socket.
    pub(crate) fn is_proxied(&self, headers: &HeaderMap) -> bool {
        let is_private = self.requested_kind(headers, Listener::Loopback) == Some(Kind::Private);
        is_private || headers.keys().any(|name| is_of_proxy(name.as_str()))
    }

    /// Checks the `Origin` of a request. Allowed are no origin (a program), a page of this bridge, and the desktop
    /// window.
    pub(crate) fn allow_origin(&self, headers: &HeaderMap, listener: Listener) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).into_iter();
        let Some(origin) = origins.next() else { return true };
        let (Ok(origin), None) = (origin.to_str(), origins.next()) else { return false };
        if origin == "tauri://localhost" {
            return listener == Listener::Loopback;
        }
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let Some((name, at)) = split_authority(rest) else { return false };
        let requested = requested_host(headers);
        match (scheme, self.kind(&name, listener)) {
            ("http", Some(Kind::Loopback)) => {
                let Name::Address(address) = name else { return false };
                let at = at.unwrap_or(80);
                let is_own = |own: SocketAddr| own.ip().to_canonical() == address && own.port() == at;
                // Behind a tunnel, the address is not ours but equals the `Host`.
                let is_requested =
                    |(host, port): (Name, Option<u16>)| host == name && port.unwrap_or(80) == at;
                self.0.addresses(Listener::Loopback).any(is_own) || requested.is_some_and(is_requested)
            }
            ("https", Some(kind @ (Kind::Network | Kind::Private))) => {
                requested.is_some_and(|(host, port)| {
                    self.kind(&host, listener) == Some(kind) && port.unwrap_or(443) == at.unwrap_or(443)
                })
            }
            _ => false,
        }
    }

    /// Returns the URL to redirect to if the page was requested at `localhost`.
    pub(crate) fn literal_url(&self, headers: &HeaderMap, listener: Listener) -> Option<String> {
        let (name, port) = requested_host(headers)?;
        let is_localhost =
            matches!(&name, Name::Domain(_)) && self.kind(&name, listener) == Some(Kind::Loopback);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        is_localhost.then(|| format!("http://{}{port}", Ipv4Addr::LOCALHOST))
    }

    fn requested_kind(&self, headers: &HeaderMap, listener: Listener) -> Option<Kind> {
        self.kind(&requested_host(headers)?.0, listener)
    }

    fn kind(&self, name: &Name, listener: Listener) -> Option<Kind> {
        let NetworkState { listeners, hosts, .. } = &*self.0;
        match (listener, name) {
            (Listener::Loopback, Name::Address(address)) => address.is_loopback().then_some(Kind::Loopback),
            (Listener::Loopback, Name::Domain(name)) if name == "localhost" => Some(Kind::Loopback),
            (Listener::Loopback, Name::Domain(name)) => {
                (hosts.contains(name) && !name.ends_with(LOCAL)).then_some(Kind::Private)
            }
            (_, Name::Address(address)) => {
                let mut served = listeners.iter().filter(|open| open.kind != Listener::Loopback);
                served.any(|open| open.address.ip().to_canonical() == *address).then_some(Kind::Network)
            }
            (_, Name::Domain(name)) => {
                (hosts.contains(name) && name.ends_with(LOCAL)).then_some(Kind::Network)
            }
        }
    }
}

/// Returns the name and the port in the single `Host` header.
fn requested_host(headers: &HeaderMap) -> Option<(Name, Option<u16>)> {
    let mut hosts = headers.get_all(header::HOST).into_iter();
    let host = split_authority(hosts.next()?.to_str().ok()?)?;
    hosts.next().is_none().then_some(host)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Loopback,
    Network,
    Private,
}

fn is_of_proxy(name: &str) -> bool {
    name.starts_with("x-forwarded-")
        || matches!(name, "forwarded" | "via" | "x-real-ip" | "cf-connecting-ip" | "true-client-ip")
}

/// Returns the client address given by the nearest proxy. It can be forged: use it for display and rate limits only.
pub(crate) fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").into_iter().next_back()?.to_str().ok()?;
    let last = last.rsplit(',').next()?.trim();
    let address = last.parse().or_else(|_| last.parse().map(|socket: SocketAddr| socket.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    Domain(String),
}

/// Splits `host:port`. An IPv6 address is in brackets.
fn split_authority(text: &str) -> Option<(Name, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    // `parse` would accept a sign.
    if port.is_some_and(|port| port.starts_with('+')) {
        return None;
    }
    let name = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(v6) => Name::Address(IpAddr::V6(v6.parse().ok()?).to_canonical()),
        None => match host.strip_suffix('.').unwrap_or(host).parse() {
            Ok(v4) => Name::Address(IpAddr::V4(v4)),
            Err(_) => Name::Domain(addresses::host_name(host)?),
        },
    };
    Some((name, port.map(str::parse).transpose().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use openagents_wire::OpenListener;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    /// A machine with an address, a `.local` name and a name in a private network.
    fn hosts() -> Hosts {
        let open = |kind, address: &str| OpenListener { kind, address: address.parse().unwrap() };
        Hosts(Arc::new(NetworkState {
            listeners: vec![
                open(Listener::Loopback, "127.0.0.1:9099"),
                open(Listener::Web, "192.168.1.11:9443"),
                open(Listener::Web, "[fe80::1]:9443"),
            ],
            hosts: ["mac-mini.local", "no name", "mac.tail1234.ts.net"].map(str::to_owned).to_vec(),
            ..NetworkState::default()
        }))
    }

    #[test]
    fn allow_host_on_loopback() {
        for (value, expected) in [
            ("127.0.0.1:9099", true),
            ("127.0.0.1", true),
            ("127.9.9.9:1", true),
            ("localhost:9099", true),
            ("LOCALHOST:9099", true),
            ("localhost.:9099", true),
            ("[::1]:9099", true),
            ("[::ffff:127.0.0.1]:9099", true),
            ("mac.tail1234.ts.net", true),
            ("MAC.tail1234.ts.net.:8443", true),
            ("127.0.0.1.example.com:9099", false),
            ("127.0.0.1.nip.io", false),
            ("localhost.example.com", false),
            ("example.com:9099", false),
            ("192.168.1.11:9099", false),
            ("mac-mini.local:9099", false),
            ("tail1234.ts.net", false),
            ("evil.mac.tail1234.ts.net", false),
            ("[::2]:9099", false),
            ("[::1", false),
            ("[::1]9099", false),
            ("0x7f.1", false),
            ("2130706433", false),
            ("127.0.0.1:+9099", false),
            ("127.0.0.1:99999", false),
            ("user@127.0.0.1:9099", false),
            ("", false),
        ] {
            let headers = self::headers(&[(header::HOST, value)]);
            assert_eq!(hosts().allow_host(&headers, Listener::Loopback), expected, "{value}");
        }
        assert!(!hosts().allow_host(&HeaderMap::new(), Listener::Loopback));
        let mut twice = headers(&[(header::HOST, "localhost")]);
        twice.append(header::HOST, HeaderValue::from_static("example.com"));
        assert!(!hosts().allow_host(&twice, Listener::Loopback));
    }

    #[test]
    fn allow_host_on_the_network() {
        for (value, expected) in [
            ("192.168.1.11:9443", true),
            ("[::ffff:192.168.1.11]:9443", true),
            ("[fe80::1]:9443", true),
            ("mac-mini.local:9443", true),
            ("MAC-MINI.LOCAL.", true),
            ("192.168.1.12:9443", false),
            ("192.168.1.11.nip.io", false),
            ("localhost:9443", false),
            ("127.0.0.1:9443", false),
            ("mac.tail1234.ts.net", false),
            ("other.local", false),
            ("no name", false),
        ] {
            for listener in [Listener::Web, Listener::App] {
                let headers = self::headers(&[(header::HOST, value)]);
                assert_eq!(hosts().allow_host(&headers, listener), expected, "{value}");
            }
        }
        let unknown = headers(&[(header::HOST, "192.168.1.11")]);
        assert!(!Hosts::default().allow_host(&unknown, Listener::Web));
    }

    #[test]
    fn allow_origin_on_loopback() {
        for (value, expected) in [
            ("http://127.0.0.1:9099", true),
            ("http://[::ffff:127.0.0.1]:9099", true),
            ("http://localhost:9099", false),
            ("http://localhost.:9099", false),
            ("http://[::1]:9099", false),
            ("http://127.0.0.2:9099", false),
            ("http://127.0.0.1:9100", false),
            ("tauri://localhost", true),
            ("http://localhost:3000", false),
            ("http://localhost", false),
            ("https://localhost:9099", false),
            ("https://mac.tail1234.ts.net", false),
            ("tauri://localhost.example.com", false),
            ("tauri://evil", false),
            ("http://example.com", false),
            ("http://127.0.0.1.example.com:9099", false),
            ("http://127.0.0.1:9099/", false),
            ("http://127.0.0.1:9099@example.com", false),
            ("file://", false),
            ("null", false),
            ("", false),
        ] {
            let headers = self::headers(&[(header::HOST, "127.0.0.1:9099"), (header::ORIGIN, value)]);
            assert_eq!(hosts().allow_origin(&headers, Listener::Loopback), expected, "{value}");
        }
        assert!(hosts().allow_origin(&HeaderMap::new(), Listener::Loopback));
        let mut twice =
            headers(&[(header::HOST, "127.0.0.1:9099"), (header::ORIGIN, "http://127.0.0.1:9099")]);
        twice.append(header::ORIGIN, HeaderValue::from_static("https://example.com"));
        assert!(!hosts().allow_origin(&twice, Listener::Loopback));
    }

    #[test]
    fn allow_origin_on_the_network() {
        for (host, value, expected) in [
            ("192.168.1.11:9443", "https://192.168.1.11:9443", true),
            ("mac-mini.local:9443", "https://Mac-Mini.local:9443", true),
            ("mac-mini.local", "https://mac-mini.local", true),
            ("192.168.1.11:9443", "http://192.168.1.11:9443", false),
            ("192.168.1.11:9443", "https://192.168.1.11:9444", false),
            ("192.168.1.11:9443", "https://192.168.1.11", false),
            ("192.168.1.11:9443", "https://192.168.1.12:9443", false),
            ("192.168.1.11:9443", "https://localhost:9443", false),
            ("192.168.1.11:9443", "http://localhost:9099", false),
            ("192.168.1.11:9443", "tauri://localhost", false),
        ] {
            let headers = self::headers(&[(header::HOST, host), (header::ORIGIN, value)]);
            assert_eq!(hosts().allow_origin(&headers, Listener::Web), expected, "{host} {value}");
        }
    }

    #[test]
    fn allow_origin_of_a_private_network() {
        for (host, value, expected) in [
            ("mac.tail1234.ts.net", "https://mac.tail1234.ts.net", true),
            ("mac.tail1234.ts.net:8443", "https://mac.tail1234.ts.net:8443", true),
            ("mac.tail1234.ts.net", "https://mac.tail1234.ts.net:8443", false),
            ("mac.tail1234.ts.net", "http://mac.tail1234.ts.net", false),
            ("mac.tail1234.ts.net", "https://other.tail1234.ts.net", false),
        ] {
            let headers = self::headers(&[(header::HOST, host), (header::ORIGIN, value)]);
            assert_eq!(hosts().allow_origin(&headers, Listener::Loopback), expected, "{host} {value}");
            assert!(hosts().is_proxied(&headers));
        }
        assert!(!hosts().is_proxied(&headers(&[(header::HOST, "127.0.0.1:9099")])));
    }

    #[test]
    fn allow_origin_of_a_tunnel() {
        for (host, origin, expected) in [
            ("127.0.0.1:8000", "http://127.0.0.1:8000", true),
            ("[::1]:8000", "http://[::1]:8000", true),
            ("127.0.0.1", "http://127.0.0.1", true),
            ("127.0.0.1:8000", "http://127.0.0.1:8001", false),
            ("127.0.0.1:8000", "http://[::1]:8000", false),
            ("localhost:8000", "http://localhost:8000", false),
        ] {
            let tunnel = headers(&[(header::HOST, host), (header::ORIGIN, origin)]);
            assert_eq!(hosts().allow_origin(&tunnel, Listener::Loopback), expected, "{host} {origin}");
        }
    }

    #[test]
    fn localhost_redirects_to_the_literal_address() {
        for (host, expected) in [
            ("localhost:9099", Some("http://127.0.0.1:9099")),
            ("LocalHost.:8000", Some("http://127.0.0.1:8000")),
            ("localhost", Some("http://127.0.0.1")),
            ("127.0.0.1:9099", None),
            ("[::1]:9099", None),
            ("mac.tail1234.ts.net", None),
            ("localhost.example.com", None),
        ] {
            let headers = self::headers(&[(header::HOST, host)]);
            assert_eq!(hosts().literal_url(&headers, Listener::Loopback).as_deref(), expected, "{host}");
            assert_eq!(hosts().literal_url(&headers, Listener::Web), None, "{host}");
        }
    }

    #[test]
    fn proxy_that_rewrites_host_is_detected() {
        for name in
            ["forwarded", "x-forwarded-for", "X-Forwarded-Proto", "via", "x-real-ip", "cf-connecting-ip"]
        {
            let mut headers = headers(&[(header::HOST, "127.0.0.1:9099")]);
            headers
                .insert(header::HeaderName::try_from(name).unwrap(), HeaderValue::from_static("203.0.113.9"));
            assert!(hosts().is_proxied(&headers), "{name}");
        }
    }

    #[test]
    fn forwarded_for_takes_the_nearest_proxy() {
        for (values, expected) in [
            (&[][..], None),
            (&["203.0.113.9"], Some("203.0.113.9")),
            // The nearest proxy wrote the last address; the others can be forged.
            (&["10.0.0.1, 203.0.113.9"], Some("203.0.113.9")),
            (&["10.0.0.1", "203.0.113.9:51234"], Some("203.0.113.9")),
            (&["::ffff:203.0.113.9"], Some("203.0.113.9")),
            (&["[2001:db8::1]:7"], Some("2001:db8::1")),
            (&["203.0.113.9, unknown"], None),
            (&[""], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("x-forwarded-for", HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(
                forwarded_for(&headers),
                expected.map(|address| address.parse().unwrap()),
                "{values:?}"
            );
        }
    }
}
