//! Apple's Foundation Models as a language model.
//!
//! Only the helper program `openagents-apple`, a separate crate, links the framework, so that everything else starts
//! on any machine. This crate contains everything that does not need the framework and is tested everywhere: whether
//! the model is worth asking ([`availability`]), tool schemas in both directions ([`schema`], [`adapter`]), the
//! [`budget`] of 4,096 tokens, the helper's [`protocol`], and its [`client`], which other crates use.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `availability` | whether the model can be asked |
//! | 1 | `limits` | limits and intervals |
//! | 2 | `protocol` | commands and reports of the helper |
//! | 2 | `schema` | tool schemas in both directions |
//! | 3 | `adapter` | tool calls of the model |
//! | 3 | `budget` | the context of 4,096 tokens |
//! | 4 | `client` | the helper as a `LanguageModel` |

pub mod adapter;
pub mod availability;
pub mod budget;
pub mod client;
mod limits;
pub mod protocol;
pub mod schema;
#[cfg(test)]
mod testing;

pub use client::FoundationModels;
