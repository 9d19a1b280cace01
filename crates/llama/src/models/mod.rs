//! The model files of this machine: catalog, downloads, listing and verification.
//!
//! A download is ready once its SHA-256 matches the listing at a pinned commit. Names from a server are never paths.

pub(crate) mod catalog;
pub(crate) mod download;
pub(crate) mod manifest;
pub(crate) mod model_store;
pub(crate) mod remote;

#[cfg(test)]
mod download_tests;
#[cfg(test)]
pub(crate) mod testing;
