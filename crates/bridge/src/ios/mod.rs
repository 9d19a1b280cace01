//! The endpoint of the OpenAgents iOS app: JSON-RPC "0.2.2" in snake_case, without a token. Off by default; each app
//! has to be approved.
//!
//! The app is shipped and cannot be changed, so odd behaviour here is what it needs.

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

/// Parses a call and discards it.
#[cfg(any(test, fuzzing))]
pub(crate) fn reads(method: &str, params: &serde_json::Value) -> Result<(), crate::error::Fault> {
    from_wire::call(method, params).map(drop)
}
