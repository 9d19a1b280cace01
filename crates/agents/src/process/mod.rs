//! Child processes that leave nothing behind: their process groups and other descendants are killed with them.

mod collected;
mod environment;
mod group;
mod pipe;

pub(crate) use crate::process::{
    collected::Tail,
    group::Groups,
    pipe::{Line, read_lines},
};
pub(crate) use collected::Collected;
pub(crate) use environment::{filtered, is_for_children, is_for_commands};
pub(crate) use group::{Group, exit_in_words, signal_name};
pub(crate) use pipe::Pipe;
