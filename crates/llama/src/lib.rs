//! gpt-oss and other chat models in GGUF format, run by llama.cpp.
//!
//! The model runs in the helper program `openagents-llama`, a separate crate; everything here talks to it, so that a
//! failed C++ assertion or a lost GPU becomes an error followed by a restart. The path of a prompt: [`Local`] checks
//! the machine and the file, its [`Engine`] sends the messages to the helper, and the helper renders them with
//! [`chat`], runs the model and parses the tokens back into events.
//!
//! **Architecture invariant:** no public function takes the text of a prompt. It takes messages, which a template turns
//! into tokens, so that text typed by the user can't become markup.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `engine` | the `Engine` trait |
//! | 1 | `limits` | limits and intervals |
//! | 2 | `chat` | chat templates and their parsers |
//! | 2 | `gguf` | facts from the header of a model file |
//! | 2 | `protocol` | commands and reports of the helper |
//! | 3 | `harmony` | the format of gpt-oss |
//! | 3 | `machine` | what fits into memory |
//! | 4 | `models` | model files: catalogue, download, checks |
//! | 5 | `client` | the helper as an `Engine` |
//! | 6 | `local` | `Local`: the model as a `LanguageModel` |

pub mod chat;
pub mod client;
pub mod engine;
pub mod gguf;
pub mod harmony;
mod limits;
pub mod local;
mod machine;
mod models;
pub mod protocol;

pub use engine::{Engine, LoadRequest, Loaded};
pub use local::{Local, LocalConfig};
