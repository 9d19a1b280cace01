//! Checks of `Host` and `Origin`. Names and addresses are parsed, never compared as text.

use crate::{
    base::listener::Listener,
    network::{addresses, control::Network},
};
use axum::http::{HeaderMap, HeaderValue, header};
use parking_lot::RwLock;
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

/// The verdict on the `Host` or `Origin` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A program, or one of our own pages.
    Allowed,
    /// The `Host` is not one of our names, as in DNS rebinding.
    WrongHost,
    /// A foreign page.
    WrongOrigin,
}

/// Names and addresses of this machine besides loopback. They change while the bridge runs.
#[derive(Debug, Default)]
pub(crate) struct Hosts(RwLock<Names>);

#[derive(Debug, Default)]
struct Names {
    addresses: Vec<IpAddr>,
    local: Vec<String>,
    private: Vec<String>,
}

impl Hosts {
    /// Follows the names and addresses of `network`.
    pub(crate) fn following(network: &Arc<Network>) -> Arc<Self> {
        let hosts = Arc::new(Self::default());
        let (followed, weak) = (hosts.clone(), Arc::downgrade(network));
        network.watch(Arc::new(move || {
            if let Some(network) = weak.upgrade() {
                let (addresses, names) = network.hosts();
                followed.set(addresses, &names);
            }
        }));
        hosts
    }

    /// Sets the addresses of the network listeners, and the names: `.local` ones for the network, others for a private
    /// network whose encrypted proxy forwards to the loopback listener.
    fn set(&self, addresses: impl IntoIterator<Item = IpAddr>, names: &[String]) {
        let addresses = addresses.into_iter().map(|address| address.to_canonical()).collect();
        let names = names.iter().filter_map(|name| addresses::host_name(name));
        let (local, private) = names.partition(|name| name.ends_with(".local"));
        *self.0.write() = Names { addresses, local, private };
    }

    /// Checks the `Host` of a request.
    pub(crate) fn host(&self, headers: &HeaderMap, listener: Listener) -> Verdict {
        match self.requested(headers, listener) {
            Some(_) => Verdict::Allowed,
            None => Verdict::WrongHost,
        }
    }

    /// Checks the `Origin` of a request. Allowed: none (a program), a page of this bridge (on `port` for loopback), and
    /// the desktop window.
    pub(crate) fn origin(&self, headers: &HeaderMap, listener: Listener, port: u16) -> Verdict {
        if self.is_ours(headers, listener, port) { Verdict::Allowed } else { Verdict::WrongOrigin }
    }

    /// Returns whether the request came through a proxy, such as that of a private network: then it is not local, even
    /// on a local socket.
    pub(crate) fn is_proxied(&self, headers: &HeaderMap) -> bool {
        let is_private =
            self.requested(headers, Listener::Loopback).is_some_and(|(kind, _)| kind == Kind::Private);
        is_private || headers.keys().any(|name| is_of_proxy(name.as_str()))
    }

    fn is_ours(&self, headers: &HeaderMap, listener: Listener, port: u16) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).into_iter();
        let Some(origin) = origins.next() else { return true };
        let (Ok(origin), None) = (origin.to_str(), origins.next()) else { return false };
        if origin == "tauri://localhost" {
            return listener == Listener::Loopback;
        }
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let Some((name, at)) = split_authority(rest) else { return false };
        let requested = self.requested(headers, listener);
        match (scheme, self.kind(&name, listener)) {
            // Behind a tunnel the port differs from ours but matches the `Host`.
            ("http", Some(Kind::Loopback)) => {
                let at = at.unwrap_or(80);
                at == port || requested.is_some_and(|(_, port)| port.unwrap_or(80) == at)
            }
            ("https", Some(kind @ (Kind::Network | Kind::Private))) => {
                requested.is_some_and(|(of, port)| of == kind && port.unwrap_or(443) == at.unwrap_or(443))
            }
            _ => false,
        }
    }

    /// Returns the kind of name in the single `Host` header, and its port.
    fn requested(&self, headers: &HeaderMap, listener: Listener) -> Option<(Kind, Option<u16>)> {
        let mut hosts = headers.get_all(header::HOST).into_iter();
        let (name, port) = hosts.next().and_then(authority)?;
        if hosts.next().is_some() {
            return None;
        }
        Some((self.kind(&name, listener)?, port))
    }

    fn kind(&self, name: &Name, listener: Listener) -> Option<Kind> {
        let known = self.0.read();
        match (listener, name) {
            (Listener::Loopback, Name::Address(address)) => address.is_loopback().then_some(Kind::Loopback),
            (Listener::Loopback, Name::Domain(name)) => {
                let private = || known.private.contains(name).then_some(Kind::Private);
                if name == "localhost" { Some(Kind::Loopback) } else { private() }
            }
            (_, Name::Address(address)) => known.addresses.contains(address).then_some(Kind::Network),
            (_, Name::Domain(name)) => known.local.contains(name).then_some(Kind::Network),
        }
    }
}

/// The kind of one of our names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Loopback,
    Network,
    Private,
}

/// Returns whether only proxies send this header.
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

/// Returns whether a page sent the request, ours included.
pub(crate) fn is_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    Domain(String),
}

fn authority(value: &HeaderValue) -> Option<(Name, Option<u16>)> {
    split_authority(value.to_str().ok()?)
}

/// Splits `host:port`.
fn split_authority(text: &str) -> Option<(Name, Option<u16>)> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            let port = match rest {
                "" => None,
                _ => Some(rest.strip_prefix(':')?),
            };
            (Name::Address(IpAddr::V6(host.parse().ok()?).to_canonical()), port)
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            (name(host)?, port)
        }
    };
    let port = match port {
        None => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        Some(_) => return None,
    };
    Some((name, port))
}

fn name(host: &str) -> Option<Name> {
    let bare = host.strip_suffix('.').unwrap_or(host);
    match bare.parse() {
        Ok(address) => Some(Name::Address(IpAddr::V4(address))),
        Err(_) => addresses::host_name(host).map(Name::Domain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    /// A machine with an address, a `.local` name and a name in a private network.
    fn hosts() -> Hosts {
        let hosts = Hosts::default();
        let names = ["Mac-Mini.local.", "no name", "mac.tail1234.ts.net"].map(str::to_owned);
        hosts.set(["192.168.1.11".parse().unwrap(), "fe80::1".parse().unwrap()], &names);
        hosts
    }

    #[test]
    fn hosts_of_this_machine() {
        for (value, expected) in [
            ("127.0.0.1:9099", Verdict::Allowed),
            ("127.0.0.1", Verdict::Allowed),
            ("127.9.9.9:1", Verdict::Allowed),
            ("localhost:9099", Verdict::Allowed),
            ("LOCALHOST:9099", Verdict::Allowed),
            ("localhost.:9099", Verdict::Allowed),
            ("[::1]:9099", Verdict::Allowed),
            ("[::ffff:127.0.0.1]:9099", Verdict::Allowed),
            ("mac.tail1234.ts.net", Verdict::Allowed),
            ("MAC.tail1234.ts.net.:8443", Verdict::Allowed),
            ("127.0.0.1.example.com:9099", Verdict::WrongHost),
            ("127.0.0.1.nip.io", Verdict::WrongHost),
            ("localhost.example.com", Verdict::WrongHost),
            ("example.com:9099", Verdict::WrongHost),
            ("192.168.1.11:9099", Verdict::WrongHost),
            ("mac-mini.local:9099", Verdict::WrongHost),
            ("tail1234.ts.net", Verdict::WrongHost),
            ("evil.mac.tail1234.ts.net", Verdict::WrongHost),
            ("[::2]:9099", Verdict::WrongHost),
            ("[::1", Verdict::WrongHost),
            ("[::1]9099", Verdict::WrongHost),
            ("0x7f.1", Verdict::WrongHost),
            ("2130706433", Verdict::WrongHost),
            ("127.0.0.1:+9099", Verdict::WrongHost),
            ("127.0.0.1:99999", Verdict::WrongHost),
            ("user@127.0.0.1:9099", Verdict::WrongHost),
            ("", Verdict::WrongHost),
        ] {
            let headers = self::headers(&[(header::HOST, value)]);
            assert_eq!(hosts().host(&headers, Listener::Loopback), expected, "{value}");
        }
        assert_eq!(hosts().host(&HeaderMap::new(), Listener::Loopback), Verdict::WrongHost);
        let mut twice = headers(&[(header::HOST, "localhost")]);
        twice.append(header::HOST, HeaderValue::from_static("example.com"));
        assert_eq!(hosts().host(&twice, Listener::Loopback), Verdict::WrongHost);
    }

    #[test]
    fn hosts_of_the_network() {
        for (value, expected) in [
            ("192.168.1.11:9443", Verdict::Allowed),
            ("[::ffff:192.168.1.11]:9443", Verdict::Allowed),
            ("[fe80::1]:9443", Verdict::Allowed),
            ("mac-mini.local:9443", Verdict::Allowed),
            ("MAC-MINI.LOCAL.", Verdict::Allowed),
            ("192.168.1.12:9443", Verdict::WrongHost),
            ("192.168.1.11.nip.io", Verdict::WrongHost),
            ("localhost:9443", Verdict::WrongHost),
            ("127.0.0.1:9443", Verdict::WrongHost),
            ("mac.tail1234.ts.net", Verdict::WrongHost),
            ("other.local", Verdict::WrongHost),
            ("no name", Verdict::WrongHost),
        ] {
            for listener in [Listener::Web, Listener::App] {
                let headers = self::headers(&[(header::HOST, value)]);
                assert_eq!(hosts().host(&headers, listener), expected, "{value}");
            }
        }
        assert_eq!(
            Hosts::default().host(&headers(&[(header::HOST, "192.168.1.11")]), Listener::Web),
            Verdict::WrongHost
        );
    }

    #[test]
    fn origins_on_this_machine() {
        for (value, expected) in [
            ("http://127.0.0.1:9099", Verdict::Allowed),
            ("http://localhost:9099", Verdict::Allowed),
            ("http://[::1]:9099", Verdict::Allowed),
            ("tauri://localhost", Verdict::Allowed),
            ("http://localhost:3000", Verdict::WrongOrigin),
            ("http://localhost", Verdict::WrongOrigin),
            ("https://localhost:9099", Verdict::WrongOrigin),
            ("https://mac.tail1234.ts.net", Verdict::WrongOrigin),
            ("tauri://localhost.example.com", Verdict::WrongOrigin),
            ("tauri://evil", Verdict::WrongOrigin),
            ("http://example.com", Verdict::WrongOrigin),
            ("http://127.0.0.1.example.com:9099", Verdict::WrongOrigin),
            ("http://127.0.0.1:9099/", Verdict::WrongOrigin),
            ("http://127.0.0.1:9099@example.com", Verdict::WrongOrigin),
            ("file://", Verdict::WrongOrigin),
            ("null", Verdict::WrongOrigin),
            ("", Verdict::WrongOrigin),
        ] {
            let headers = self::headers(&[(header::HOST, "127.0.0.1:9099"), (header::ORIGIN, value)]);
            assert_eq!(hosts().origin(&headers, Listener::Loopback, 9099), expected, "{value}");
        }
        assert_eq!(hosts().origin(&HeaderMap::new(), Listener::Loopback, 9099), Verdict::Allowed);
        let mut twice =
            headers(&[(header::HOST, "127.0.0.1:9099"), (header::ORIGIN, "http://127.0.0.1:9099")]);
        twice.append(header::ORIGIN, HeaderValue::from_static("https://example.com"));
        assert_eq!(hosts().origin(&twice, Listener::Loopback, 9099), Verdict::WrongOrigin);
    }

    #[test]
    fn origins_on_the_network() {
        for (host, value, expected) in [
            ("192.168.1.11:9443", "https://192.168.1.11:9443", Verdict::Allowed),
            ("mac-mini.local:9443", "https://Mac-Mini.local:9443", Verdict::Allowed),
            ("mac-mini.local", "https://mac-mini.local", Verdict::Allowed),
            ("192.168.1.11:9443", "http://192.168.1.11:9443", Verdict::WrongOrigin),
            ("192.168.1.11:9443", "https://192.168.1.11:9444", Verdict::WrongOrigin),
            ("192.168.1.11:9443", "https://192.168.1.11", Verdict::WrongOrigin),
            ("192.168.1.11:9443", "https://192.168.1.12:9443", Verdict::WrongOrigin),
            ("192.168.1.11:9443", "https://localhost:9443", Verdict::WrongOrigin),
            ("192.168.1.11:9443", "http://localhost:9099", Verdict::WrongOrigin),
            ("192.168.1.11:9443", "tauri://localhost", Verdict::WrongOrigin),
        ] {
            let headers = self::headers(&[(header::HOST, host), (header::ORIGIN, value)]);
            assert_eq!(hosts().origin(&headers, Listener::Web, 9099), expected, "{host} {value}");
        }
    }

    #[test]
    fn a_private_network_comes_through_the_loopback_listener() {
        for (host, value, expected) in [
            ("mac.tail1234.ts.net", "https://mac.tail1234.ts.net", Verdict::Allowed),
            ("mac.tail1234.ts.net:8443", "https://mac.tail1234.ts.net:8443", Verdict::Allowed),
            ("mac.tail1234.ts.net", "https://mac.tail1234.ts.net:8443", Verdict::WrongOrigin),
            ("mac.tail1234.ts.net", "http://mac.tail1234.ts.net", Verdict::WrongOrigin),
            ("mac.tail1234.ts.net", "https://other.tail1234.ts.net", Verdict::WrongOrigin),
        ] {
            let headers = self::headers(&[(header::HOST, host), (header::ORIGIN, value)]);
            assert_eq!(hosts().origin(&headers, Listener::Loopback, 9099), expected, "{host} {value}");
            assert!(hosts().is_proxied(&headers));
        }
        assert!(!hosts().is_proxied(&headers(&[(header::HOST, "127.0.0.1:9099")])));
    }

    #[test]
    fn a_tunnel_keeps_its_port() {
        let tunnel = headers(&[(header::HOST, "localhost:8000"), (header::ORIGIN, "http://localhost:8000")]);
        assert_eq!(hosts().origin(&tunnel, Listener::Loopback, 9099), Verdict::Allowed);
    }

    #[test]
    fn a_proxy_is_detected_when_it_rewrites_the_host() {
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
    fn the_forwarded_address() {
        for (values, expected) in [
            (&[][..], None),
            (&["203.0.113.9"], Some("203.0.113.9")),
            // The nearest proxy wrote the last one; the others can be forged.
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
