//! Authentication and authorization: the local user, paired devices, and iOS apps.

pub mod audit;
pub mod audit_rows;
pub mod commands;
pub mod pairing;
pub mod registry;
pub mod requests;
pub mod snapshot;
pub mod tables;
pub mod tabs;
