//! 4,096 tokens: what a request may hold, and what is left out of one that holds more.
//!
//! The order in which things are given up: words of the tools, the least important tools, the older turns, long results
//! of tools, and last the end of the prompt itself. Nothing is sent that was not counted.

mod fit;
mod tokens;

pub use fit::{Fitted, cut, fit};
pub use tokens::{Counter, estimate};

/// Tokens that the context of the framework's model holds, the answer included.
pub const CONTEXT: u32 = 4096;

/// Tokens of an answer where a person set no limit, and at the most.
pub const ANSWER: u32 = 1024;
