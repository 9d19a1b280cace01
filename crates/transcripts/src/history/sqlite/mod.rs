//! Reads the database of another agent. Nothing is written next to it, whether the agent is running, has exited or has
//! crashed, except in a window of microseconds that `read.rs` describes.

mod columns;
mod connection;
mod copy;
mod error;
mod files;
mod read;
mod remembered;
mod stamps;

pub(crate) use columns::{Columns, number, text};
pub(crate) use read::read;
pub(crate) use remembered::Remembered;
pub(crate) use stamps::SessionStamps;

#[cfg(unix)]
#[cfg(test)]
mod tests;
