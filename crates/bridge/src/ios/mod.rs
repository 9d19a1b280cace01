//! The door of the OpenAgents iOS app: JSON-RPC "0.2.2" in snake_case, without a token, off unless it was opened,
//! and then for those whom a person allows.
//!
//! The app is shipped and cannot be changed: what looks odd here is what it needs.

mod connection;
mod folding;
mod from_wire;
mod history;
mod methods;
mod pending;
mod phone;
mod projection;
mod resume;
mod threads;
mod to_wire;

#[cfg(test)]
mod tests;

pub(crate) use connection::{entry, serve};
pub(crate) use pending::PendingConnections;
pub(crate) use resume::Resumes;

/// Reads a call and throws it away.
#[cfg(any(test, fuzzing))]
pub(crate) fn reads(method: &str, params: &serde_json::Value) -> Result<(), crate::error::Fault> {
    from_wire::call(method, params).map(drop)
}
