//! Digests of the parts of agent settings that need a new answer when they change.

use sha2::{Digest, Sha256};

/// Returns the digest of a file. If it was not read to its end, `rest` adds its size and modification time.
pub(super) fn whole(bytes: &[u8], rest: Option<(u64, u128)>) -> Vec<u8> {
    let rest = rest.map(|(size, modified)| format!("{size} {modified}"));
    let digest = digest(&[bytes, rest.unwrap_or_default().as_bytes()]);
    digest.into_bytes()
}

/// Returns the SHA-256 of several parts, in hex. Their lengths are hashed too, so that no other parts give the same
/// digest.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
