//! The ACP endpoint: protocol version 1 over a WebSocket, with our extensions under `_openagents/`.

pub(crate) mod abilities;
mod answer;
pub(crate) mod approvals;
pub(crate) mod calls;
pub(crate) mod connection;
mod editor_options;
pub(crate) mod from_wire;
pub(crate) mod history;
pub(crate) mod history_calls;
mod images;
mod keep;
mod keep_calls;
mod live;
mod moved_folders;
pub(crate) mod past_sessions;
mod prepared_files;
mod questions;
pub(crate) mod requests;
pub(crate) mod services;
pub(crate) mod sessions;
mod share_calls;
pub mod to_wire;

#[cfg(test)]
mod tests;

pub(crate) use crate::acp::connection::serve;
#[cfg(any(test, fuzzing))]
pub(crate) use crate::acp::from_wire::{call, cancelled};
