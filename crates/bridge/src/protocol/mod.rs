//! The two dialects, and the services that they offer in addition to sessions.

pub mod acp;
mod highlight;
pub(crate) mod ios;
pub(crate) mod managed;
pub(crate) mod markdown;
pub(crate) mod privacy;
pub(crate) mod services;
