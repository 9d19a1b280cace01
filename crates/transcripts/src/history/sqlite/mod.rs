//! Reads the database of another agent. Nothing is written beside it, no matter whether the agent is running, has ended
//! or crashed, but for a gap of microseconds that `read.rs` describes.

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
