//! Stored updates.

use bytes::Bytes;
use openagents_core::update::SessionUpdate;
use std::sync::OnceLock;

/// One numbered update of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// 1, 2, 3 … without gaps within a session.
    pub seq: u64,
    /// Milliseconds since the epoch; never decreases within a session.
    pub ts: i64,
    /// The update.
    pub update: SessionUpdate,
    /// Size in the store, in bytes.
    pub bytes: usize,
    /// The update as sent to clients.
    pub encoded: Encoded,
}

/// An update as sent to clients, encoded once for all of them. The caller determines the format.
#[derive(Debug, Clone, Default)]
pub struct Encoded(OnceLock<Bytes>);

impl Encoded {
    /// Returns the encoded update; encodes it on the first call.
    pub fn get_or_encode(&self, encode: impl FnOnce() -> String) -> Bytes {
        self.0.get_or_init(|| encode().into()).clone()
    }
}

/// Always equal: the encoding is derived from the update.
impl PartialEq for Encoded {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
