//! Tokens: the local one, 256 bits in a file that only its owner can read, and those of devices.

use super::{error::BridgeError, private_file};
use sha2::{Digest, Sha256};
use std::{
    io,
    path::{Path, PathBuf},
};
use subtle::ConstantTimeEq;

/// Name of the token's file in the data folder.
pub const TOKEN_FILE: &str = "token";

const TOKEN_BYTES: usize = 32;

/// The local token and its file.
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
    /// Reads the token of the data folder, or creates one.
    pub(crate) fn load(home: &Path) -> Result<Self, BridgeError> {
        let file = home.join(TOKEN_FILE);
        let failed =
            |error: io::Error| BridgeError::NotWritable { path: file.clone(), reason: error.to_string() };
        match std::fs::read_to_string(&file) {
            Ok(text) if is_token(text.trim()) => {
                keep_private(&file).map_err(failed)?;
                return Ok(Self { text: text.trim().to_owned(), file });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let text = new_token().map_err(|error| failed(io::Error::other(error.to_string())))?;
        private_file::write(&file, &text).map_err(failed)?;
        Ok(Self { text, file })
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

/// Returns the SHA-256 of a token.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn is_token(text: &str) -> bool {
    text.len() == TOKEN_BYTES * 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Restores mode 0600, which a copy may have lost.
fn keep_private(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if std::fs::metadata(file)?.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_created_once_and_kept_private() {
        let home = tempfile::tempdir().unwrap();
        let first = Token::load(home.path()).unwrap();
        assert!(is_token(&first.text));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = || std::fs::metadata(&first.file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            std::fs::set_permissions(&first.file, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert_eq!(Token::load(home.path()).unwrap(), first);
            assert_eq!(mode(), 0o600);
        }
        std::fs::write(&first.file, "too short").unwrap();
        assert_ne!(Token::load(home.path()).unwrap().text, first.text);
    }

    #[test]
    fn the_token_is_not_printed() {
        let token = Token { text: "ab".repeat(TOKEN_BYTES), file: PathBuf::from("token") };
        assert!(!format!("{token:?}").contains("abab"));
    }
}
