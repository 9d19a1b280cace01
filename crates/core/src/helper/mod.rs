//! Helper programs: separate processes that exchange lines of JSON with us. Shared code to find them, to read and write
//! lines, and to describe their exit.

mod ending;
mod lines;
mod program;

pub use ending::{Log, describe};
pub use lines::{Line, read_line, write_line};
pub use program::find;
