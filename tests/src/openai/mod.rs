//! OpenAI-compatible servers that respond as a test requires: real HTTP over real TCP, one request per connection.

mod http;
mod script;

pub use http::{Reply, Request, Server};
pub use script::{THOUGHT, scripted};
