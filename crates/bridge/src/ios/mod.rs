//! The door of the OpenAgents iOS app: JSON-RPC "0.2.2" in snake_case, without a token, off unless it was opened.
//!
//! The app is shipped and cannot be changed: what looks odd here is what it needs.

mod connection;
mod folding;
mod from_wire;
mod history;
mod methods;
mod phone;
mod projection;
mod resume;
mod threads;
mod to_wire;

#[cfg(test)]
mod tests;

pub(crate) use connection::serve;
pub(crate) use resume::Resumes;
