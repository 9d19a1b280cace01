//! Apple's Foundation Models, as a language model of ours.
//!
//! The framework is linked by the helper program `openagents-apple` alone, so that everything else starts on any machine.
//! What needs no framework is here and tested everywhere: tool schemas, the budget of 4,096 tokens, the protocol.

pub mod adapter;
pub mod availability;
pub mod budget;
pub mod client;
pub mod protocol;
pub mod schema;
#[cfg(test)]
mod testing;

pub use client::FoundationModels;
