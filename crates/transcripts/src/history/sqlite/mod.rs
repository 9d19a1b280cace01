//! Reads the database of another agent. Nothing is written next to it, whether the agent is running, has exited or has
//! crashed, except in a window of microseconds that `read.rs` describes.

mod columns;
mod read;

pub(crate) use columns::{Columns, SessionStamps, number, text};
pub(crate) use read::{Remembered, read_database};

#[cfg(unix)]
#[cfg(test)]
mod tests;
