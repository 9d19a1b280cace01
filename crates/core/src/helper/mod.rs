//! Helper programs: separate processes that exchange lines of JSON with us.
//!
//! [`HelperClient`] is our side of a running one; a protocol implements [`HelperCommand`] and [`HelperReport`].

mod client;
mod ending;
mod environment;
mod limits;
mod lines;
mod messages;
mod peer;
mod program;

pub use client::HelperClient;
#[cfg(unix)]
pub use ending::signal_name;
pub use limits::HelperLimits;
pub use lines::{InvalidLine, read_messages, write_line};
pub use messages::{HelperCommand, HelperReport, VERSION, next_report};
pub use program::find;
