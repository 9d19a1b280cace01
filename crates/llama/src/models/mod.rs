//! The model files of this machine: what can be downloaded, what is there, and whether it is whole.
//!
//! A download is never called ready before its SHA-256 was compared with what the server's listing said at a pinned
//! commit. No name that a server sends becomes a path.

pub mod catalog;
pub mod download;
pub mod manifest;
mod partial;
mod progress;
pub mod remote;
pub mod shelf;
pub mod verify;

#[cfg(test)]
mod download_tests;
#[cfg(test)]
pub(crate) mod testing;
