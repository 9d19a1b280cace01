//! Helper programs: separate processes that exchange lines of JSON with us.
//!
//! [`HelperClient`] is our side of a running one; a protocol implements [`HelperCommand`] and [`HelperReport`].

mod client;
mod peer;
mod program;

pub use client::HelperClient;
pub use peer::signal_name;
pub use peer::{
    HelperCommand, HelperLimits, HelperReport, InvalidLine, VERSION, next_report, read_messages, write_line,
};
pub use program::find;
