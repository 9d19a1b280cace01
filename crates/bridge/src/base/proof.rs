//! Proof that a program is the bridge that issued a token. A client requires it before it sends the token.
//!
//! On loopback only the port identifies the bridge, and any program can take the port of a bridge that crashed. A
//! client therefore sends a nonce first, and sends its token only to a program that returns the HMAC-SHA-256 of the
//! nonce and the port. The nonce prevents replays. The port prevents relaying: a proof from a bridge on another port is
//! useless.
//!
//! The key is the SHA-256 of the token. The bridge stores these hashes for devices and tabs anyway, so it can prove
//! itself after a restart without storing any token: reading the data folder is enough to impersonate the bridge, but
//! not to log in. An HMAC reveals nothing about its key, and the key reveals nothing about the 256 random bits that it
//! hashes.
//!
//! A connection over TLS needs no proof: its certificate already is one.

use super::token::{TOKEN_DIGITS, hash, new_token};
use ring::hmac;
use serde_json::{Value, json};

/// The path of the proof: `{"token": KEY ID, "nonce": NONCE}` → `{"port": PORT, "proof": PROOF}`, or `{}` for a token
/// that the bridge does not know.
pub(crate) const PROOF: &str = "/proof";

/// Returns the id by which a client names its token to the bridge: 64 hexadecimal digits that are not a secret.
pub(crate) fn key_id(hash: &[u8; 32]) -> String {
    hex(hash, b"openagents token")
}

/// Returns the proof that the bridge on `port` knows the token with this SHA-256. `None` if `nonce` is not 64
/// hexadecimal digits.
pub(crate) fn prove(hash: &[u8; 32], nonce: &str, port: u16) -> Option<String> {
    let is_nonce = nonce.len() == TOKEN_DIGITS && nonce.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_nonce.then(|| hex(hash, &message(nonce, port)))
}

fn message(nonce: &str, port: u16) -> Vec<u8> {
    format!("openagents bridge {nonce} {port}").into_bytes()
}

fn hex(hash: &[u8; 32], message: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, hash), message);
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(pair).collect()
}

/// A challenge that only the bridge that issued a token can answer.
pub struct Challenge {
    hash: [u8; 32],
    nonce: String,
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Challenge").field("nonce", &self.nonce).finish_non_exhaustive()
    }
}

impl Challenge {
    /// Creates a challenge for the bridge that issued `token`, with a new nonce. Fails if the operating system returns
    /// no random numbers.
    pub fn new(token: &str) -> std::io::Result<Self> {
        let nonce = new_token().map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Self { hash: hash(token), nonce })
    }

    /// Returns the path and the body of the POST request.
    pub fn request(&self) -> (&'static str, Value) {
        (PROOF, json!({"token": key_id(&self.hash), "nonce": self.nonce}))
    }

    /// Returns whether `answer` is the proof of the bridge on `port`. Compares in constant time.
    pub fn is_met_by(&self, answer: &Value, port: u16) -> bool {
        let proof = answer["proof"].as_str().and_then(bytes);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.hash);
        proof.is_some_and(|proof| hmac::verify(&key, &message(&self.nonce, port), &proof).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_token_nonce_and_port_alone() {
        let challenge = Challenge::new("token").unwrap();
        let proof = |token: &str, nonce: &str, port| json!({"proof": prove(&hash(token), nonce, port)});
        assert!(challenge.is_met_by(&proof("token", &challenge.nonce, 9099), 9099));
        let other = Challenge::new("token").unwrap();
        for (what, answer) in [
            ("another token", proof("other", &challenge.nonce, 9099)),
            ("another nonce", proof("token", &other.nonce, 9099)),
            ("another port", proof("token", &challenge.nonce, 9100)),
            ("no proof", json!({})),
            ("the question", challenge.request().1),
            ("not hexadecimal", json!({"proof": "ü".repeat(32)})),
            ("half a proof", json!({"proof": "ab"})),
        ] {
            assert!(!challenge.is_met_by(&answer, 9099), "{what}");
        }
    }

    /// The page must compute the same values; see `ui/src/backend/proof.test.ts`.
    #[test]
    fn the_same_proof_as_on_the_page() {
        let (hash, nonce) = (hash(&"ab".repeat(32)), "0123456789abcdef".repeat(4));
        insta::assert_snapshot!(key_id(&hash), @"f95f34339c348c0ed031da012cefd10ac0ec9a591b1b09ca75c2811f5168b3f0");
        insta::assert_snapshot!(prove(&hash, &nonce, 9099).unwrap(), @"dc7e90c33e2633dc173cfc551d3f1fbdc8e6903c9b06c0a7bbf1e9fabaa8a876");
        assert_eq!(prove(&hash, &nonce[1..], 9099), None);
        assert_eq!(prove(&hash, &"x".repeat(64), 9099), None);
    }
}
