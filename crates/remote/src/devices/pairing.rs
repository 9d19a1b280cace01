//! Pairing with a code.
//!
//! The desktop shows a code. A device that sends the code files a pairing request, and both screens show the same six
//! digits. Allowing the request gives the device a token and uses up the code.

use super::requests::{Deadline, Outcome, OutcomeReceiver};
use crate::token::hash;
use openagents_connection::admission::limit_key;
use openagents_wire::Scope;
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    net::IpAddr,
    time::Duration,
};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

pub(crate) const PAIRING_TIMEOUT: Duration = Duration::from_secs(5 * 60);
pub(crate) const FETCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of concurrent pairing requests.
const CLAIMS: usize = 3;
/// Maximum number of claims. Ended claims are kept for a while, so that their devices learn the outcome.
const ENDED: usize = 16;
/// Ended codes kept so that a late device learns why its code fails.
const PAST: usize = 8;
/// Wrong codes that one address may send per [`GUESSES_IN`].
const GUESSES: usize = 5;
const GUESSES_IN: Duration = Duration::from_secs(60);
/// Maximum number of addresses with counted guesses; the oldest is evicted. Wrong guesses never invalidate the code or
/// lock out other devices: that would let an attacker block every pairing. A code has 40 bits and lasts for five
/// minutes, and the user compares six digits before a device is allowed.
const ADDRESSES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRefusal {
    Wrong,
    Expired,
    Used,
    /// Too many guesses or pending requests; retry after this time.
    SlowDown(Duration),
    Random(getrandom::Error),
}

/// The token of a newly paired device, handed out until the device connects.
#[derive(Clone)]
pub struct Grant {
    pub token: String,
    pub device: String,
    pub name: String,
    pub scope: Scope,
}

#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) code: Code,
    pub(crate) expires: Deadline,
    number: u64,
}

struct Claim {
    /// SHA-256 of the secret that the device polls with.
    secret: [u8; 32],
    request: String,
    number: u64,
    outcome: OutcomeReceiver,
    grant: Option<Grant>,
    /// The token was handed out; the answer may have been lost.
    is_fetched: bool,
}

#[derive(Default)]
pub struct Pairing {
    offer: Option<Offer>,
    number: u64,
    past: VecDeque<(Code, CodeRefusal)>,
    guesses: HashMap<IpAddr, VecDeque<Instant>>,
    claims: VecDeque<Claim>,
}

impl Pairing {
    pub(crate) fn offer(&mut self, code: Code) {
        self.withdraw(CodeRefusal::Expired);
        self.number += 1;
        let expires = Deadline::after(PAIRING_TIMEOUT);
        self.offer = Some(Offer { code, expires, number: self.number });
    }

    pub(crate) fn current(&self) -> Option<&Offer> {
        self.offer.as_ref().filter(|offer| !offer.expires.is_over())
    }

    /// Ends the code. Devices that send it later are refused with `why`.
    pub(crate) fn withdraw(&mut self, why: CodeRefusal) {
        if let Some(offer) = self.offer.take() {
            self.past.truncate(PAST - 1);
            self.past.push_front((offer.code, why));
        }
    }

    /// Checks the code that `address` sent, and returns its number.
    pub(crate) fn check(&mut self, text: &str, address: IpAddr) -> Result<u64, CodeRefusal> {
        let (now, address) = (Instant::now(), limit_key(address));
        self.may_guess(address, now)?;
        if self.offer.as_ref().is_some_and(|offer| offer.expires.is_over()) {
            self.withdraw(CodeRefusal::Expired);
        }
        let code = Code::parse(text);
        let matches = |known: &Code| code.as_ref().is_some_and(|code| known.matches(code));
        if let Some(offer) = &self.offer
            && matches(&offer.code)
        {
            return Ok(offer.number);
        }
        self.count_guess(address, now);
        if let Some((_, why)) = self.past.iter().find(|(known, _)| matches(known)) {
            return Err(*why);
        }
        Err(CodeRefusal::Wrong)
    }

    fn may_guess(&mut self, address: IpAddr, now: Instant) -> Result<(), CodeRefusal> {
        let Some(guesses) = self.guesses.get_mut(&address) else { return Ok(()) };
        guesses.retain(|guess| now.duration_since(*guess) < GUESSES_IN);
        match guesses.front() {
            Some(first) if guesses.len() >= GUESSES => {
                Err(CodeRefusal::SlowDown(GUESSES_IN.saturating_sub(now.duration_since(*first))))
            }
            _ => Ok(()),
        }
    }

    fn count_guess(&mut self, address: IpAddr, now: Instant) {
        if self.guesses.len() >= ADDRESSES && !self.guesses.contains_key(&address) {
            let oldest = self.guesses.iter().min_by_key(|(_, guesses)| guesses.back().copied());
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.guesses.remove(&oldest);
            }
        }
        self.guesses.entry(address).or_default().push_back(now);
    }

    pub(crate) fn has_room(&self) -> Result<(), CodeRefusal> {
        let pending = self.claims.iter().filter(|claim| claim.outcome.get().is_none()).count();
        if pending < CLAIMS { Ok(()) } else { Err(CodeRefusal::SlowDown(Duration::from_secs(15))) }
    }

    /// Adds a device that sent the code with this number and polls with `secret`.
    pub(crate) fn claim(&mut self, number: u64, secret: &str, request: String, outcome: OutcomeReceiver) {
        while self.claims.len() >= ENDED
            && let Some(ended) = self.claims.iter().position(|claim| claim.outcome.get().is_some())
        {
            self.claims.remove(ended);
        }
        self.claims.push_back(Claim {
            secret: hash(secret),
            request,
            number,
            outcome,
            grant: None,
            is_fetched: false,
        });
    }

    /// Sets the token that the device of `request` will fetch, and uses up the code. Returns the other pending requests
    /// for that code.
    pub(crate) fn grant(&mut self, request: &str, grant: Grant) -> Vec<String> {
        let claim = self.claims.iter_mut().find(|claim| claim.request == request);
        let Some(claim) = claim else { return Vec::new() };
        claim.grant = Some(grant);
        let number = claim.number;
        if self.offer.as_ref().is_some_and(|offer| offer.number == number) {
            self.withdraw(CodeRefusal::Used);
        }
        let same = self.claims.iter().filter(|other| other.number == number && other.request != request);
        let rivals = same.filter(|other| other.outcome.get().is_none());
        rivals.map(|other| other.request.clone()).collect()
    }

    pub(crate) fn pending(&self) -> Vec<String> {
        let pending = self.claims.iter().filter(|claim| claim.outcome.get().is_none());
        pending.map(|claim| claim.request.clone()).collect()
    }

    /// Stops handing out the token of this request. Returns the device if it never fetched the token.
    pub(crate) fn end_grant(&mut self, request: &str) -> Option<String> {
        let claim = self.claims.iter_mut().find(|claim| claim.request == request)?;
        claim.grant.take().filter(|_| !claim.is_fetched).map(|grant| grant.device)
    }

    pub(crate) fn connected(&mut self, device: &str) {
        let its = |claim: &&mut Claim| claim.grant.as_ref().is_some_and(|grant| grant.device == device);
        self.claims.iter_mut().filter(its).for_each(|claim| claim.grant = None);
    }

    pub fn outcome(&self, secret: &str) -> Option<OutcomeReceiver> {
        let secret = hash(secret);
        let is_its = |claim: &&Claim| bool::from(claim.secret.ct_eq(&secret));
        self.claims.iter().filter(is_its).fold(None, |_, claim| Some(claim.outcome.clone()))
    }

    /// Returns the outcome of a claim. Includes the token until the device connects, because an answer may be lost.
    pub fn fetch(&mut self, secret: &str) -> Option<(Outcome, Option<Grant>)> {
        let secret = hash(secret);
        let claim = self.claims.iter_mut().find(|claim| bool::from(claim.secret.ct_eq(&secret)))?;
        let outcome = claim.outcome.get()?;
        claim.is_fetched |= claim.grant.is_some();
        Some((outcome, claim.grant.clone()))
    }
}

/// Crockford's base 32, which has no look-alike characters.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const LENGTH: usize = 8;

/// A pairing code: eight characters, 40 bits, shown as `K7QX-2M9P`. `Debug` does not print it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code([u8; LENGTH]);

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Code")
    }
}

impl Code {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes)?;
        // 256 is a multiple of 32, so the distribution is uniform.
        Ok(Self(bytes.map(|byte| ALPHABET[usize::from(byte % 32)])))
    }

    /// Parses a typed code. Ignores case, spaces and hyphens; reads `O` as `0`, `I` and `L` as `1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut characters = text.bytes().filter(|byte| !matches!(byte, b' ' | b'-')).map(|byte| {
            let character = match byte.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                other => other,
            };
            ALPHABET.contains(&character).then_some(character)
        });
        let mut code = [0; LENGTH];
        for slot in &mut code {
            *slot = characters.next()??;
        }
        characters.next().is_none().then_some(Self(code))
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    pub(crate) fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        format!("{}-{}", String::from_utf8_lossy(first), String::from_utf8_lossy(second))
    }
}

/// Returns six random digits for both screens: `482 913`.
pub(crate) fn compare_code() -> Result<String, getrandom::Error> {
    let number = getrandom::u64()? % 1_000_000;
    Ok(format!("{:03} {:03}", number / 1000, number % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn offered() -> (Pairing, String) {
        let mut pairing = Pairing::default();
        let code = Code::new().unwrap();
        pairing.offer(code);
        (pairing, code.shown())
    }

    /// Returns a code that was never offered.
    fn wrong(right: &str) -> String {
        let first = if right.starts_with('0') { '1' } else { '0' };
        format!("{first}{}", &right[1..])
    }

    fn address(n: u32) -> IpAddr {
        IpAddr::from((0x0A00_0000 + n).to_be_bytes())
    }

    #[tokio::test(start_paused = true)]
    async fn codes_are_used_withdrawn_or_expire() {
        let (mut pairing, code) = offered();
        assert_eq!(pairing.check(&code, HERE), Ok(1));
        assert_eq!(pairing.check(&code.to_lowercase().replace('-', " "), HERE), Ok(1));
        assert_eq!(pairing.check(&wrong(&code), HERE), Err(CodeRefusal::Wrong));
        assert_eq!(pairing.check("", HERE), Err(CodeRefusal::Wrong));
        pairing.withdraw(CodeRefusal::Used);
        assert_eq!(pairing.check(&code, HERE), Err(CodeRefusal::Used));
        assert!(pairing.current().is_none());
        let next = Code::new().unwrap();
        pairing.offer(next);
        assert_eq!(pairing.check(&next.shown(), HERE), Ok(2));
        tokio::time::advance(PAIRING_TIMEOUT - Duration::from_millis(1)).await;
        assert_eq!(pairing.check(&next.shown(), HERE), Ok(2));
        assert!(pairing.current().is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(pairing.current().is_none());
        assert_eq!(pairing.check(&next.shown(), HERE), Err(CodeRefusal::Expired));
        assert_eq!(pairing.check(&code, HERE), Err(CodeRefusal::Used));
    }

    #[tokio::test(start_paused = true)]
    async fn address_may_guess_five_times_a_minute() {
        let (mut pairing, code) = offered();
        for _ in 0..GUESSES {
            assert_eq!(pairing.check(&wrong(&code), HERE), Err(CodeRefusal::Wrong));
        }
        // The right code is refused as well: it is the sixth guess.
        assert_eq!(pairing.check(&code, HERE), Err(CodeRefusal::SlowDown(GUESSES_IN)));
        assert_eq!(
            pairing.check(&code, "::ffff:127.0.0.1".parse().unwrap()),
            Err(CodeRefusal::SlowDown(GUESSES_IN))
        );
        assert_eq!(pairing.check(&code, address(1)), Ok(1));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(pairing.check(&code, HERE), Err(CodeRefusal::SlowDown(Duration::from_secs(40))));
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(pairing.check(&code, HERE), Ok(1));
    }

    /// Regression: fifty wrong codes withdrew the code that the user was about to type.
    #[tokio::test(start_paused = true)]
    async fn other_guesses_do_not_end_the_code() {
        let (mut pairing, code) = offered();
        for n in 0..3 * ADDRESSES as u32 {
            assert_eq!(pairing.check(&wrong(&code), address(n)), Err(CodeRefusal::Wrong));
        }
        assert!(pairing.current().is_some());
        assert_eq!(pairing.check(&code, HERE), Ok(1));
        // Guesses from many addresses don't fill memory, and the most recent addresses are still counted.
        assert_eq!(pairing.guesses.len(), ADDRESSES);
        let last = address(3 * ADDRESSES as u32 - 1);
        for _ in 1..GUESSES {
            assert_eq!(pairing.check(&wrong(&code), last), Err(CodeRefusal::Wrong));
        }
        assert!(matches!(pairing.check(&code, last), Err(CodeRefusal::SlowDown(_))));
    }

    #[tokio::test]
    async fn grant_is_fetched_until_the_device_connects() {
        use crate::devices::requests::{Kind, RequestInfo, Requests};
        let (mut pairing, mut requests) = (offered().0, Requests::default());
        let claim = |pairing: &mut Pairing, requests: &mut Requests, secret: &str| {
            let name = "Phone".to_owned();
            let info =
                RequestInfo { kind: Kind::Pair, name, address: HERE, at: None, compare: None, session: None };
            let (id, outcome) = requests.add(info, PAIRING_TIMEOUT);
            pairing.claim(1, secret, id.clone(), outcome);
            id
        };
        let ids = ["a", "b", "c"].map(|secret| {
            assert_eq!(pairing.has_room(), Ok(()));
            claim(&mut pairing, &mut requests, secret)
        });
        assert!(matches!(pairing.has_room(), Err(CodeRefusal::SlowDown(_))));
        assert!(pairing.outcome("d").is_none() && pairing.fetch("a").is_none());
        let (token, device) = ("t".to_owned(), "d".to_owned());
        let grant = Grant { token, device, name: "Phone".to_owned(), scope: Scope::View };
        assert_eq!(pairing.grant(&ids[0], grant), ids[1..]);
        assert!(pairing.current().is_none(), "the code is used up");
        requests.end(&ids[0], Outcome::Allowed);
        requests.end(&ids[1], Outcome::Declined);
        assert!(matches!(pairing.fetch("a"), Some((Outcome::Allowed, Some(_)))));
        assert!(matches!(pairing.fetch("a"), Some((Outcome::Allowed, Some(_)))));
        pairing.connected("other");
        assert!(matches!(pairing.fetch("a"), Some((Outcome::Allowed, Some(_)))));
        pairing.connected("d");
        assert!(matches!(pairing.fetch("a"), Some((Outcome::Allowed, None))));
        assert!(matches!(pairing.fetch("b"), Some((Outcome::Declined, None))));
        assert_eq!(pairing.end_grant(&ids[0]), None);
        // Ended claims make room.
        for n in 0..100 {
            let id = claim(&mut pairing, &mut requests, &n.to_string());
            requests.end(&id, Outcome::Declined);
        }
        assert!(
            pairing.claims.len() <= ENDED
                && pairing.outcome("c").is_some()
                && pairing.outcome("99").is_some()
        );
    }

    #[test]
    fn typed_codes_are_parsed_leniently() {
        for (text, expected) in [
            ("K7QX-2M9P", Some("K7QX-2M9P")),
            ("k7qx2m9p", Some("K7QX-2M9P")),
            (" k7 qx - 2m 9p ", Some("K7QX-2M9P")),
            ("OoIiLl01", Some("0011-1101")),
            ("K7QX-2M9", None),
            ("K7QX-2M9PA", None),
            ("K7QX-2M9U", None),
            ("K7QX_2M9P", None),
            ("K7QX-2M9é", None),
            ("", None),
        ] {
            assert_eq!(Code::parse(text).map(|code| code.shown()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn shown_codes_are_read_back() {
        for _ in 0..100 {
            let code = Code::new().unwrap();
            assert!(Code::parse(&code.shown()).is_some_and(|read| read.matches(&code)));
        }
        let (one, other) = (Code::new().unwrap(), Code::new().unwrap());
        assert!(!one.matches(&other) && !format!("{one:?}").contains(&one.shown()));
    }

    #[test]
    fn compare_codes_have_six_digits() {
        for _ in 0..100 {
            let code = compare_code().unwrap();
            let digits = code.bytes().filter(u8::is_ascii_digit).count();
            assert!(code.len() == 7 && digits == 6 && code.as_bytes()[3] == b' ', "{code}");
        }
    }
}
