//! gpt-oss and other chat models in GGUF format, run by llama.cpp.
//!
//! The model runs in the helper program `openagents-llama`, a separate crate; everything here talks to it, so that an
//! assertion in C++ or a lost GPU is an error followed by a restart. The path of a prompt: [`Local`] checks the machine
//! and the file, its [`Engine`] sends the messages to the helper, and the helper renders them with [`chat`], runs the
//! model and parses the tokens back into events.
//!
//! **Architecture invariant:** no public function takes the text of a prompt. It takes messages, which a template turns
//! into tokens, so that text typed by a person can't become markup.

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
