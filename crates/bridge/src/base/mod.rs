//! Basic types: scopes, passes, errors, JSON-RPC frames and feeds.

pub(crate) mod config;
pub(crate) mod error;
pub(crate) mod feed;
pub(crate) mod headers;
pub(crate) mod pass;
pub(crate) mod prefix;
pub(crate) mod rpc;
pub(crate) mod token;
