//! Authentication of a request by its token. All tokens are compared in constant time.

use crate::{
    admission::caller::Caller,
    admission::{Refusal, one_address},
    base::listener::Listener,
    base::pass::Pass,
    server::state::Server,
};
use axum::http::{HeaderMap, header};
use parking_lot::Mutex;
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The subprotocol that the page offers and the server selects.
pub(crate) const SUBPROTOCOL: &str = "openagents.v1";

/// A browser cannot send a header with an upgrade: it offers the token as a second subprotocol.
const TOKEN_PROTOCOL: &str = "openagents.token.";

/// Returns the pass for the token of a request. The local token is valid only from this machine, not through a proxy or
/// the network.
pub(crate) fn pass(server: &Server, caller: &Caller, headers: &HeaderMap) -> Option<Arc<Pass>> {
    let token = token(headers)?;
    if server.token.is(token) {
        let is_here = caller.listener == Listener::Loopback && !server.hosts.is_proxied(headers);
        return is_here.then(|| server.services.devices.local());
    }
    server.services.devices.authenticate(token)
}

fn token(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| offered(headers))
}

/// Returns whether the client offered our subprotocol, which the server must then select.
pub(crate) fn offers_protocol(headers: &HeaderMap) -> bool {
    protocols(headers).any(|protocol| protocol == SUBPROTOCOL)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn offered(headers: &HeaderMap) -> Option<&str> {
    protocols(headers).find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL))
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Delays the refusal of a failed authentication, longer each time. Not when too many refusals are delayed already. The
/// connection gives its slot back.
pub(crate) async fn delay_refusal(server: &Server, caller: &Caller) -> Option<Refusal> {
    let delay = server.back_off.failed(caller.address);
    caller.unauthenticated.refuse();
    let refusal = server.limits.refusal(caller.address)?;
    tokio::time::sleep(delay).await;
    Some(refusal)
}

/// Backs off per address after failures. A valid token is never delayed.
#[derive(Debug, Default)]
pub(crate) struct BackOff(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    of: HashMap<IpAddr, (u32, Instant)>,
    /// When expired entries were last removed.
    swept: Option<Instant>,
}

/// Delay of the first failure; it doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Time without failures after which an address starts over.
const FORGET: Duration = Duration::from_secs(60);
/// Addresses that are counted; further ones get [`MAX_DELAY`].
const ADDRESSES: usize = 1024;
/// Interval at which expired entries are removed while the map is full.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

impl BackOff {
    /// Counts a failure of `address` and returns the delay of its answer.
    pub(crate) fn failed(&self, address: IpAddr) -> Duration {
        let (now, address) = (Instant::now(), one_address(address));
        let mut failures = self.0.lock();
        if failures.of.len() >= ADDRESSES && !failures.of.contains_key(&address) {
            if failures.swept.is_none_or(|swept| now.duration_since(swept) >= SWEEP_EVERY) {
                failures.swept = Some(now);
                failures.of.retain(|_, (_, last)| now.duration_since(*last) < FORGET);
            }
            if failures.of.len() >= ADDRESSES {
                return MAX_DELAY;
            }
        }
        let (count, last) = failures.of.entry(address).or_insert((0, now));
        if now.duration_since(*last) >= FORGET {
            *count = 0;
        }
        let delay = FIRST_DELAY.saturating_mul(1 << (*count).min(16)).min(MAX_DELAY);
        (*count, *last) = (count.saturating_add(1), now);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::token::Token;
    use axum::http::HeaderValue;

    fn token() -> Token {
        Token { text: "ab".repeat(32), file: "token".into() }
    }

    #[test]
    fn tokens_are_read_from_headers() {
        let good = "ab".repeat(32);
        for (name, value, expected) in [
            (header::AUTHORIZATION, format!("Bearer {good}"), true),
            (header::AUTHORIZATION, format!("bearer {good}"), true),
            (header::AUTHORIZATION, format!("Basic {good}"), false),
            (header::AUTHORIZATION, format!("Bearer {}", "AB".repeat(32)), false),
            (header::AUTHORIZATION, "Bearer ".to_owned(), false),
            (header::AUTHORIZATION, format!("Bearer {}", &good[1..]), false),
            (header::SEC_WEBSOCKET_PROTOCOL, format!("openagents.v1, openagents.token.{good}"), true),
            (header::SEC_WEBSOCKET_PROTOCOL, format!("openagents.token.{good},openagents.v1"), true),
            (header::SEC_WEBSOCKET_PROTOCOL, "openagents.v1".to_owned(), false),
            (header::SEC_WEBSOCKET_PROTOCOL, format!("openagents.v1, openagents.token.{good}0"), false),
            (header::COOKIE, format!("token={good}"), false),
        ] {
            let headers: HeaderMap = [(name, HeaderValue::from_str(&value).unwrap())].into_iter().collect();
            assert_eq!(super::token(&headers).is_some_and(|given| token().is(given)), expected, "{value}");
        }
        assert_eq!(super::token(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn delays_double_with_each_failure() {
        let (back_off, address) = (BackOff::default(), IpAddr::from([127, 0, 0, 1]));
        let delays: Vec<u128> = (0..8).map(|_| back_off.failed(address).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        // An IPv4-mapped IPv6 address is the same address.
        assert_eq!(back_off.failed("::ffff:127.0.0.1".parse().unwrap()), MAX_DELAY);
        assert_eq!(back_off.failed(IpAddr::from([127, 0, 0, 2])), FIRST_DELAY);
        tokio::time::advance(FORGET).await;
        assert_eq!(back_off.failed(address), FIRST_DELAY);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_many_addresses_do_not_fill_the_memory() {
        let back_off = BackOff::default();
        let address = |n: u32| IpAddr::from((0x0A00_0000 + n).to_be_bytes());
        for n in 0..ADDRESSES as u32 {
            assert_eq!(back_off.failed(address(n)), FIRST_DELAY);
        }
        assert_eq!(back_off.failed(address(1 << 20)), MAX_DELAY);
        assert_eq!(back_off.failed(address(0)), FIRST_DELAY * 2);
        assert_eq!(back_off.0.lock().of.len(), ADDRESSES);
        tokio::time::advance(FORGET).await;
        assert_eq!(back_off.failed(address(1 << 20)), FIRST_DELAY);
    }
}
