//! Child processes that leave nothing behind: each has a process group of its own, and the group ends with it.

mod environment;
mod group;
mod tail;

pub(crate) use environment::filtered;
pub(crate) use group::{Group, exit_in_words, signal_name};
pub(crate) use tail::Tail;
