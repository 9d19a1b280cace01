//! The sessions of one agent on this machine.

use super::{format::Format, formats, transcript::Provider};
use std::path::PathBuf;

/// An agent's folder and how to read it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) provider: Provider,
    pub(crate) root: PathBuf,
    pub(crate) format: &'static dyn Format,
}

impl Source {
    pub(crate) fn new(provider: Provider, root: PathBuf) -> Self {
        Self { provider, root, format: formats::of(provider) }
    }
}
