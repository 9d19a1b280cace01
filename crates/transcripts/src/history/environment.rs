//! The environment variables that locate an agent's folder.

use std::{ffi::OsString, path::PathBuf};

/// Looks up environment variables; an empty value counts as unset.
pub(crate) struct Environment<'a>(pub(super) &'a dyn Fn(&str) -> Option<OsString>);

impl Environment<'_> {
    /// Returns the folder that a variable names.
    pub(crate) fn folder(&self, name: &str) -> Option<PathBuf> {
        (self.0)(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    pub(crate) fn beneath_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder("HOME")?.join(name))
    }
}
