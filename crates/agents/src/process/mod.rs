//! Child processes that leave nothing behind: each has its own process group, which is killed with it, along with
//! descendants that left the group.

mod environment;
mod family;
mod group;
mod groups;
mod last_words;
mod lines;
mod pipe;
mod tail;

pub(crate) use environment::{filtered, is_for_children, is_secret};
pub(crate) use group::{Group, LOOK, exit_in_words, signal_name};
pub(crate) use groups::Groups;
pub(crate) use last_words::LastWords;
pub(crate) use lines::{Line, next_line};
pub(crate) use pipe::Pipe;
pub(crate) use tail::Tail;
