//! gpt-oss, and other chat models in GGUF, through llama.cpp.
//!
//! The model runs in the helper program `openagents-llama`, which has a crate of its own; everything here talks to it,
//! so that an assertion in C++ or a lost GPU is an error message and a restart. The way of a prompt: [`Local`] checks
//! the machine and the file, its [`Engine`] sends the messages to the helper, the helper renders them with [`chat`],
//! runs them, and parses the tokens back into events.
//!
//! **Architecture invariant:** no public function takes the text of a prompt. Messages go in; a template makes tokens
//! of them, and nothing that a person types can become markup.

pub mod chat;
pub mod client;
pub mod engine;
pub mod gguf;
pub mod harmony;
pub mod local;
pub mod machine;
pub mod models;
pub mod protocol;

pub use engine::{Engine, LoadRequest, Loaded};
pub use local::{Local, LocalConfig};
