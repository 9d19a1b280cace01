//! Authentication and authorization: the local user, paired devices, and iOS apps.

pub(crate) mod audit;
pub(crate) mod audit_rows;
pub(crate) mod commands;
pub(crate) mod pairing;
pub(crate) mod registry;
pub(crate) mod requests;
pub(crate) mod settings;
pub(crate) mod snapshot;
pub(crate) mod tables;
pub(crate) mod tabs;
