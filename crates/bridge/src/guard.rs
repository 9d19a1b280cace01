//! Which `Host` and `Origin` may talk to the bridge. Names and addresses are parsed, never compared as text.

use crate::{
    http::Listener,
    network::{self, Network},
};
use axum::http::{HeaderMap, HeaderValue, header};
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

/// What a request says about where it comes from, judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A program, or one of our own pages.
    Welcome,
    /// The `Host` is not ours: a name that somebody pointed at this machine.
    WrongHost,
    /// A page of somebody else.
    WrongOrigin,
}

/// What this machine is called, apart from its loopback names. Changes while the bridge runs.
#[derive(Debug, Default)]
pub(crate) struct Hosts(RwLock<Names>);

#[derive(Debug, Default)]
struct Names {
    addresses: Vec<IpAddr>,
    local: Vec<String>,
    private: Vec<String>,
}

impl Hosts {
    /// Follows what is served on the network.
    pub(crate) fn following(network: &Arc<Network>) -> Arc<Self> {
        let hosts = Arc::new(Self::default());
        let (followed, behind) = (hosts.clone(), Arc::downgrade(network));
        network.watch(Arc::new(move || {
            if let Some(network) = behind.upgrade() {
                let (addresses, names) = network.hosts();
                followed.set(addresses, &names);
            }
        }));
        hosts
    }

    /// Takes the addresses that listeners on the network are bound to, the machine's `.local` names, and those under which
    /// a private network brings its own to the loopback listener, encrypted.
    fn set(&self, addresses: impl IntoIterator<Item = IpAddr>, names: &[String]) {
        let addresses = addresses.into_iter().map(|address| address.to_canonical()).collect();
        let names = names.iter().filter_map(|name| network::host_name(name));
        let (local, private) = names.partition(|name| name.ends_with(".local"));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Names { addresses, local, private };
    }

    /// Judges the `Host` of any request.
    pub(crate) fn host(&self, headers: &HeaderMap, listener: Listener) -> Verdict {
        match self.asked(headers, listener) {
            Some(_) => Verdict::Welcome,
            None => Verdict::WrongHost,
        }
    }

    /// Judges the `Origin` of a request: none (a program), or a page that this bridge served (on `port`, for loopback), or
    /// the window.
    pub(crate) fn origin(&self, headers: &HeaderMap, listener: Listener, port: u16) -> Verdict {
        if self.is_ours(headers, listener, port) { Verdict::Welcome } else { Verdict::WrongOrigin }
    }

    /// Returns whether a proxy brought the request, that of a private network for example: it is not from this machine,
    /// though its socket is.
    pub(crate) fn is_proxied(&self, headers: &HeaderMap) -> bool {
        let is_private =
            self.asked(headers, Listener::Loopback).is_some_and(|(kind, _)| kind == Kind::Private);
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
        let asked = self.asked(headers, listener);
        match (scheme, self.kind(&name, listener)) {
            // Behind a tunnel the port differs from ours; then it is the one that the browser asked for.
            ("http", Some(Kind::Loopback)) => {
                let at = at.unwrap_or(80);
                at == port || asked.is_some_and(|(_, asked)| asked.unwrap_or(80) == at)
            }
            ("https", Some(kind @ (Kind::Network | Kind::Private))) => {
                asked.is_some_and(|(of, asked)| of == kind && asked.unwrap_or(443) == at.unwrap_or(443))
            }
            _ => false,
        }
    }

    /// Returns which of our names the one `Host` of a request is, and the port in it.
    fn asked(&self, headers: &HeaderMap, listener: Listener) -> Option<(Kind, Option<u16>)> {
        let mut hosts = headers.get_all(header::HOST).into_iter();
        let (name, port) = hosts.next().and_then(authority)?;
        if hosts.next().is_some() {
            return None;
        }
        Some((self.kind(&name, listener)?, port))
    }

    fn kind(&self, name: &Name, listener: Listener) -> Option<Kind> {
        let known = self.read();
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

    fn read(&self) -> RwLockReadGuard<'_, Names> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which of our names one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Loopback,
    Network,
    Private,
}

/// Returns whether a header is one that proxies write, and nobody else.
fn is_of_proxy(name: &str) -> bool {
    name.starts_with("x-forwarded-")
        || matches!(name, "forwarded" | "via" | "x-real-ip" | "cf-connecting-ip" | "true-client-ip")
}

/// Returns the address that the nearest proxy says it forwards for. Anybody can write that: it is shown, and tells those
/// apart who fail, and nobody is trusted for it.
pub(crate) fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").into_iter().next_back()?.to_str().ok()?;
    let last = last.rsplit(',').next()?.trim();
    let address = last.parse().or_else(|_| last.parse().map(|socket: SocketAddr| socket.ip()));
    address.ok().map(|address| address.to_canonical())
}

/// Returns whether any page, ours included, sent the request.
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
        Err(_) => network::host_name(host).map(Name::Domain),
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
            ("127.0.0.1:9099", Verdict::Welcome),
            ("127.0.0.1", Verdict::Welcome),
            ("127.9.9.9:1", Verdict::Welcome),
            ("localhost:9099", Verdict::Welcome),
            ("LOCALHOST:9099", Verdict::Welcome),
            ("localhost.:9099", Verdict::Welcome),
            ("[::1]:9099", Verdict::Welcome),
            ("[::ffff:127.0.0.1]:9099", Verdict::Welcome),
            ("mac.tail1234.ts.net", Verdict::Welcome),
            ("MAC.tail1234.ts.net.:8443", Verdict::Welcome),
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
            ("192.168.1.11:9443", Verdict::Welcome),
            ("[::ffff:192.168.1.11]:9443", Verdict::Welcome),
            ("[fe80::1]:9443", Verdict::Welcome),
            ("mac-mini.local:9443", Verdict::Welcome),
            ("MAC-MINI.LOCAL.", Verdict::Welcome),
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
            ("http://127.0.0.1:9099", Verdict::Welcome),
            ("http://localhost:9099", Verdict::Welcome),
            ("http://[::1]:9099", Verdict::Welcome),
            ("tauri://localhost", Verdict::Welcome),
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
        assert_eq!(hosts().origin(&HeaderMap::new(), Listener::Loopback, 9099), Verdict::Welcome);
        let mut twice =
            headers(&[(header::HOST, "127.0.0.1:9099"), (header::ORIGIN, "http://127.0.0.1:9099")]);
        twice.append(header::ORIGIN, HeaderValue::from_static("https://example.com"));
        assert_eq!(hosts().origin(&twice, Listener::Loopback, 9099), Verdict::WrongOrigin);
    }

    #[test]
    fn origins_on_the_network() {
        for (host, value, expected) in [
            ("192.168.1.11:9443", "https://192.168.1.11:9443", Verdict::Welcome),
            ("mac-mini.local:9443", "https://Mac-Mini.local:9443", Verdict::Welcome),
            ("mac-mini.local", "https://mac-mini.local", Verdict::Welcome),
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
            ("mac.tail1234.ts.net", "https://mac.tail1234.ts.net", Verdict::Welcome),
            ("mac.tail1234.ts.net:8443", "https://mac.tail1234.ts.net:8443", Verdict::Welcome),
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
        assert_eq!(hosts().origin(&tunnel, Listener::Loopback, 9099), Verdict::Welcome);
    }

    /// A proxy that writes another `Host` made everybody somebody at this machine.
    #[test]
    fn a_proxy_that_rewrites_the_host_is_one_still() {
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
    fn whom_a_proxy_forwards_for() {
        for (values, expected) in [
            (&[][..], None),
            (&["203.0.113.9"], Some("203.0.113.9")),
            // The last one was written by the proxy that is nearest, the others by whoever liked to.
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
