//! Certificates: our authority, the leaf, and the profile that phones install.

pub mod authority;
pub mod files;
pub mod leaf;
pub mod profile;
