//! The budget of 4,096 tokens, and the reduction of larger requests.
//!
//! Reduction, in this order: descriptions of tools, the least important tools, older turns, long tool results, and
//! finally the end of the prompt. Everything that is sent has been counted.

mod fit;
mod tokens;

pub use crate::limits::{ANSWER, CONTEXT};
pub use fit::{Fitted, cut, fit};
pub use tokens::{Counter, estimate};
