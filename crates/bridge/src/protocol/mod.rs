//! The two dialects, and what they serve beside sessions.

pub mod acp;
pub(crate) mod agents;
pub(crate) mod ios;
pub(crate) mod markdown;
pub(crate) mod models;
pub(crate) mod services;
