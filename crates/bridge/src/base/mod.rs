//! Basic types: scopes, passes, errors, JSON-RPC frames and feeds.

pub(crate) mod config;
pub(crate) mod error;
pub(crate) mod feed;
pub(crate) mod headers;
pub(crate) mod limits;
pub(crate) mod listener;
pub(crate) mod machine;
pub(crate) mod pass;
pub(crate) mod prefix;
pub(crate) mod private_file;
pub(crate) mod proof;
pub(crate) mod rpc;
pub(crate) mod scope;
pub(crate) mod token;
