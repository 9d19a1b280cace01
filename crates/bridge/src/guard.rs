//! Which `Host` and `Origin` may talk to the bridge. Names and addresses are parsed, never compared as text.

use axum::http::{HeaderMap, HeaderValue, header};
use std::net::IpAddr;

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

/// Judges the `Host` of any request.
pub(crate) fn host(headers: &HeaderMap) -> Verdict {
    let mut hosts = headers.get_all(header::HOST).into_iter();
    match (hosts.next().and_then(authority), hosts.next()) {
        (Some((host, _)), None) if is_ours(&host) => Verdict::Welcome,
        _ => Verdict::WrongHost,
    }
}

/// Judges the `Origin` of an upgrade: none (a program), or a page that this bridge served on `port`, or the window.
pub(crate) fn origin(headers: &HeaderMap, port: u16) -> Verdict {
    let mut origins = headers.get_all(header::ORIGIN).into_iter();
    let Some(origin) = origins.next() else { return Verdict::Welcome };
    if origins.next().is_some() {
        return Verdict::WrongOrigin;
    }
    let Ok(origin) = origin.to_str() else { return Verdict::WrongOrigin };
    if origin == "tauri://localhost" {
        return Verdict::Welcome;
    }
    let Some(rest) = origin.strip_prefix("http://") else { return Verdict::WrongOrigin };
    let Some((host, origin_port)) = split_authority(rest) else { return Verdict::WrongOrigin };
    // Behind a tunnel the port differs from ours; then it is the one that the browser asked for.
    let asked = headers.get(header::HOST).and_then(authority).map(|(_, port)| port);
    let same_port = origin_port == port || Some(origin_port) == asked;
    if is_ours(&host) && same_port { Verdict::Welcome } else { Verdict::WrongOrigin }
}

/// Returns whether any page, ours included, sent the request.
pub(crate) fn is_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    Localhost,
    Other,
}

fn authority(value: &HeaderValue) -> Option<(Name, u16)> {
    split_authority(value.to_str().ok()?)
}

/// Splits `host:port`; the port of plain HTTP is 80.
fn split_authority(text: &str) -> Option<(Name, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (Name::Address(IpAddr::V6(host.parse().ok()?)), rest.strip_prefix(':'))
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            (name(host), port)
        }
    };
    let port = match port {
        None => 80,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
    };
    Some((host, port))
}

fn name(host: &str) -> Name {
    let host = host.strip_suffix('.').unwrap_or(host);
    match host.parse() {
        Ok(address) => Name::Address(IpAddr::V4(address)),
        Err(_) if host.eq_ignore_ascii_case("localhost") => Name::Localhost,
        Err(_) => Name::Other,
    }
}

fn is_ours(name: &Name) -> bool {
    match name {
        Name::Address(address) => address.to_canonical().is_loopback(),
        Name::Localhost => true,
        Name::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn hosts() {
        for (value, expected) in [
            ("127.0.0.1:9099", Verdict::Welcome),
            ("127.0.0.1", Verdict::Welcome),
            ("127.9.9.9:1", Verdict::Welcome),
            ("localhost:9099", Verdict::Welcome),
            ("LOCALHOST:9099", Verdict::Welcome),
            ("localhost.:9099", Verdict::Welcome),
            ("[::1]:9099", Verdict::Welcome),
            ("[::ffff:127.0.0.1]:9099", Verdict::Welcome),
            ("127.0.0.1.example.com:9099", Verdict::WrongHost),
            ("127.0.0.1.nip.io", Verdict::WrongHost),
            ("localhost.example.com", Verdict::WrongHost),
            ("example.com:9099", Verdict::WrongHost),
            ("192.168.1.11:9099", Verdict::WrongHost),
            ("[::2]:9099", Verdict::WrongHost),
            ("[::1", Verdict::WrongHost),
            ("0x7f.1", Verdict::WrongHost),
            ("2130706433", Verdict::WrongHost),
            ("127.0.0.1:+9099", Verdict::WrongHost),
            ("user@127.0.0.1:9099", Verdict::WrongHost),
            ("", Verdict::WrongHost),
        ] {
            assert_eq!(host(&headers(&[(header::HOST, value)])), expected, "{value}");
        }
        assert_eq!(host(&HeaderMap::new()), Verdict::WrongHost);
        let mut twice = headers(&[(header::HOST, "localhost")]);
        twice.append(header::HOST, HeaderValue::from_static("example.com"));
        assert_eq!(host(&twice), Verdict::WrongHost);
    }

    #[test]
    fn origins() {
        for (value, expected) in [
            ("http://127.0.0.1:9099", Verdict::Welcome),
            ("http://localhost:9099", Verdict::Welcome),
            ("http://[::1]:9099", Verdict::Welcome),
            ("tauri://localhost", Verdict::Welcome),
            ("http://localhost:3000", Verdict::WrongOrigin),
            ("http://localhost", Verdict::WrongOrigin),
            ("https://localhost:9099", Verdict::WrongOrigin),
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
            let headers = headers(&[(header::HOST, "127.0.0.1:9099"), (header::ORIGIN, value)]);
            assert_eq!(origin(&headers, 9099), expected, "{value}");
        }
        assert_eq!(origin(&HeaderMap::new(), 9099), Verdict::Welcome);
    }

    #[test]
    fn a_tunnel_keeps_its_port() {
        let tunnel = headers(&[(header::HOST, "localhost:8000"), (header::ORIGIN, "http://localhost:8000")]);
        assert_eq!(origin(&tunnel, 9099), Verdict::Welcome);
    }
}
