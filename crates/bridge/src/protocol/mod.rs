//! The two dialects, and the services that they offer in addition to sessions.

pub mod acp;
pub(crate) mod ios;
pub(crate) mod markdown;
pub(crate) mod services;
