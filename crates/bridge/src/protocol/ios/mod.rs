//! The endpoint of the OpenAgents iOS app: JSON-RPC "0.2.2" in snake_case, without a token. Off by default; each app
//! has to be approved.
//!
//! The app has shipped and cannot be changed, so any odd behaviour here is required by the app.

pub(crate) mod connection;
pub(crate) mod from_wire;
pub(crate) mod methods;
pub(crate) mod pending;
pub(crate) mod phone;
pub(crate) mod projection;
pub(crate) mod resume;
pub(crate) mod threads;
pub(crate) mod to_wire;

#[cfg(test)]
mod tests;

pub(crate) use connection::{check_access, serve};

#[cfg(any(test, fuzzing))]
pub(crate) fn parse_call(method: &str, params: &serde_json::Value) -> Result<(), crate::base::error::Fault> {
    from_wire::parse_call(method, params).map(drop)
}
