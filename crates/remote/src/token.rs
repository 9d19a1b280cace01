//! Tokens: the local token, 256 bits in a file that only its owner can read, and the tokens of tabs and devices.

use openagents_sessions::store::create_folder;
use ring::hmac;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};
use subtle::ConstantTimeEq;
use tempfile::NamedTempFile;

/// Name of the token file in the data folder, for scripts. Our own programs read the token together with the address of
/// its bridge.
const TOKEN_FILE: &str = "token";

const TOKEN_BYTES: usize = 32;
pub(crate) const TOKEN_DIGITS: usize = 2 * TOKEN_BYTES;

/// The local token and its file. The token is new at every start, so a leaked one is valid only until the next start.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub file: PathBuf,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Token").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Token {
    /// Creates the token of a bridge that holds the lock of the data folder `home`.
    pub fn create(home: &Path) -> io::Result<Self> {
        let file = home.join(TOKEN_FILE);
        let text = new_token().map_err(|error| io::Error::other(error.to_string()))?;
        write_private_file(&file, &text)?;
        Ok(Self { text, file })
    }

    pub fn hash(&self) -> [u8; 32] {
        hash(&self.text)
    }

    /// Compares in constant time.
    pub fn matches(&self, candidate: &str) -> bool {
        self.text.as_bytes().ct_eq(candidate.as_bytes()).into()
    }
}

/// Returns a new token: 64 hexadecimal digits.
pub(crate) fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Writes a file and renames it into place, so that a reader sees either the old or the new text, and the new text
/// survives a power cut. Blocks.
pub fn write_private_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder)?;
    // Created with mode 0600.
    let mut draft = NamedTempFile::new_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(path).map_err(|error| error.error)?;
    // The file's name is stored in the folder, so the folder is synced too.
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// The path of the proof: `{"token": KEY ID, "nonce": NONCE}` → `{"port": PORT, "proof": PROOF}`, or `{}` for a token
/// that the bridge does not know.
pub const PROOF: &str = "/proof";

/// Returns the id by which a client names its token to the bridge: 64 hexadecimal digits that are not a secret.
pub fn key_id(hash: &[u8; 32]) -> String {
    hmac_hex(hash, b"openagents token")
}

/// Returns the proof that the bridge on `port` knows the token with this SHA-256. `None` if `nonce` is not 64
/// hexadecimal digits.
pub fn prove(hash: &[u8; 32], nonce: &str, port: u16) -> Option<String> {
    let is_nonce = nonce.len() == TOKEN_DIGITS && nonce.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_nonce.then(|| hmac_hex(hash, &proof_message(nonce, port)))
}

fn proof_message(nonce: &str, port: u16) -> Vec<u8> {
    format!("openagents bridge {nonce} {port}").into_bytes()
}

fn hmac_hex(hash: &[u8; 32], message: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, hash), message);
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode_hex(hex: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(pair).collect()
}

/// A challenge that only the bridge that issued a token can answer. A client sends its token to no other program.
///
/// On loopback only the port identifies the bridge, and any program can take the port of a bridge that crashed. A
/// client therefore sends a nonce first, and sends its token only to a program that returns the HMAC-SHA-256 of the
/// nonce and the port. The nonce prevents replays. The port prevents relaying: a proof from a bridge on another port is
/// useless.
///
/// The key is the SHA-256 of the token. The bridge stores these hashes for devices and tabs anyway, so it can prove
/// itself after a restart without storing any token: reading the data folder is enough to impersonate the bridge, but
/// not to log in. An HMAC reveals nothing about its key, and the key reveals nothing about the 256 random bits that it
/// hashes.
///
/// A connection over TLS needs no proof: its certificate already is one.
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
        let proof = answer["proof"].as_str().and_then(decode_hex);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.hash);
        proof.is_some_and(|proof| hmac::verify(&key, &proof_message(&self.nonce, port), &proof).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_writes_a_new_private_token() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(TOKEN_FILE), "ab".repeat(TOKEN_BYTES)).unwrap();
        let first = Token::create(home.path()).unwrap();
        assert!(first.text.len() == TOKEN_DIGITS && !first.matches(&"ab".repeat(TOKEN_BYTES)));
        let second = Token::create(home.path()).unwrap();
        assert!(!second.matches(&first.text));
        assert_eq!(std::fs::read_to_string(&second.file).unwrap(), second.text);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&second.file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn debug_hides_the_token() {
        let token = Token { text: "ab".repeat(TOKEN_BYTES), file: PathBuf::from("token") };
        assert!(!format!("{token:?}").contains("abab"));
    }

    #[test]
    fn proof_holds_only_for_its_token_nonce_and_port() {
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
    fn proof_matches_the_page() {
        let (hash, nonce) = (hash(&"ab".repeat(32)), "0123456789abcdef".repeat(4));
        insta::assert_snapshot!(key_id(&hash), @"f95f34339c348c0ed031da012cefd10ac0ec9a591b1b09ca75c2811f5168b3f0");
        insta::assert_snapshot!(prove(&hash, &nonce, 9099).unwrap(), @"dc7e90c33e2633dc173cfc551d3f1fbdc8e6903c9b06c0a7bbf1e9fabaa8a876");
        assert_eq!(prove(&hash, &nonce[1..], 9099), None);
        assert_eq!(prove(&hash, &"x".repeat(64), 9099), None);
    }
}
