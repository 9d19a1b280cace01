//! The model files of this machine: catalog, downloads, listing and verification.
//!
//! A download is not ready before its SHA-256 was compared with the server's listing at a pinned commit. Names sent by
//! a server never become paths.

pub mod catalog;
pub mod download;
pub mod manifest;
pub mod model_store;
mod partial;
mod progress;
pub mod remote;
pub mod verify;

#[cfg(test)]
mod download_tests;
#[cfg(test)]
pub(crate) mod testing;
