//! Logs as their agents write them: lines and records, decoded into events.

pub(crate) mod action;
pub(crate) mod decoder;
pub(crate) mod event;
pub(crate) mod images;
pub(crate) mod joined;
pub(crate) mod json;
pub(crate) mod known;
pub(crate) mod lines;
pub(crate) mod log_file;
pub(crate) mod title;
pub(crate) mod tree;
pub(crate) mod undone;
