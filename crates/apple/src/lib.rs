//! Apple's Foundation Models, as a language model of ours.
//!
//! The framework is linked by the helper program `openagents-apple` alone, which has a crate of its own, so that everything
//! else starts on any machine. What needs no framework is here and tested everywhere: whether it is worth asking
//! ([`availability`]), tool schemas both ways ([`schema`], [`adapter`]), the [`budget`] of 4,096 tokens, the [`protocol`]
//! of the helper, and its [`client`], which is what others use.

pub mod adapter;
pub mod availability;
pub mod budget;
pub mod client;
pub mod protocol;
pub mod schema;
#[cfg(test)]
mod testing;

pub use client::FoundationModels;
