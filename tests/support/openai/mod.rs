//! OpenAI-compatible servers that say what a test wants: real HTTP over real TCP, one request a connection.

mod http;
mod script;

pub use http::{Reply, Request, Server};
pub use script::{THOUGHT, scripted};
