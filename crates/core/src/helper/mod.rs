//! Helper programs: what has to run in a process of its own talks to us in lines of JSON. Here is what they share: where
//! such a program is, the lines, and words for how it ended.

mod ending;
mod lines;
mod program;

pub use ending::{Log, describe};
pub use lines::{Line, read_line, write_line};
pub use program::find;
