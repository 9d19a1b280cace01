//! A numbered update as it is read.

use bytes::Bytes;
use openagents_core::update::SessionUpdate;
use std::sync::OnceLock;

/// One numbered update of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// 1, 2, 3 … without gaps within a session.
    pub seq: u64,
    /// Milliseconds since the epoch; never goes back within a session.
    pub ts: i64,
    /// What happened.
    pub update: SessionUpdate,
    /// Bytes of it in the store.
    pub bytes: usize,
    /// The update as clients are sent it.
    pub encoded: Encoded,
}

/// An update in the form that clients are sent, encoded once for all of them. The caller knows the format.
#[derive(Debug, Clone, Default)]
pub struct Encoded(OnceLock<Bytes>);

impl Encoded {
    /// Returns the text, and encodes the update if this is the first time.
    pub fn get_or_encode(&self, encode: impl FnOnce() -> String) -> Bytes {
        self.0.get_or_init(|| encode().into()).clone()
    }
}

/// Equal updates have the same form, encoded yet or not.
impl PartialEq for Encoded {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
