//! Tokens: the local token, 256 bits in a file that only its owner can read, and the tokens of tabs and devices.

use super::{error::BridgeError, private_file};
use sha2::{Digest, Sha256};
use std::{
    io,
    path::{Path, PathBuf},
};
use subtle::ConstantTimeEq;

/// Name of the token file in the data folder, for scripts. Our own programs read the token together with the address of
/// its bridge.
const TOKEN_FILE: &str = "token";

const TOKEN_BYTES: usize = 32;
/// Characters of a token.
pub(crate) const TOKEN_DIGITS: usize = 2 * TOKEN_BYTES;

/// The local token and its file. The token is new at every start, so a leaked one is valid only until the next start.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) file: PathBuf,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Token").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Token {
    /// Creates the token of a bridge that holds the lock of the data folder `home`.
    pub(crate) fn create(home: &Path) -> Result<Self, BridgeError> {
        let file = home.join(TOKEN_FILE);
        let failed =
            |error: io::Error| BridgeError::NotWritable { path: file.clone(), reason: error.to_string() };
        let text = new_token().map_err(|error| failed(io::Error::other(error.to_string())))?;
        private_file::write(&file, &text).map_err(failed)?;
        Ok(Self { text, file })
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        hash(&self.text)
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, candidate: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_has_its_own_token_in_a_private_file() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(TOKEN_FILE), "ab".repeat(TOKEN_BYTES)).unwrap();
        let first = Token::create(home.path()).unwrap();
        assert!(first.text.len() == TOKEN_DIGITS && !first.is(&"ab".repeat(TOKEN_BYTES)));
        let second = Token::create(home.path()).unwrap();
        assert!(!second.is(&first.text));
        assert_eq!(std::fs::read_to_string(&second.file).unwrap(), second.text);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&second.file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn the_token_is_not_printed() {
        let token = Token { text: "ab".repeat(TOKEN_BYTES), file: PathBuf::from("token") };
        assert!(!format!("{token:?}").contains("abab"));
    }
}
