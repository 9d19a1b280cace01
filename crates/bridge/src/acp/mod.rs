//! The ACP endpoint: protocol version 1 over a WebSocket, with our extensions under `_openagents/`.

mod agents;
mod approvals;
mod connection;
mod devices;
mod following;
mod from_wire;
mod methods;
mod models;
mod requests;
pub mod to_wire;

#[cfg(test)]
mod tests;

pub(crate) use connection::{Opening, serve};
#[cfg(any(test, fuzzing))]
pub(crate) use from_wire::{call, cancelled};
