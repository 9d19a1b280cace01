//! Certificates: our authority, the leaf, and the profile that phones install.

pub(crate) mod authority;
pub(crate) mod files;
pub(crate) mod leaf;
pub(crate) mod profile;
