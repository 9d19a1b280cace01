//! The library of the helper program `openagents-apple`: the protocol, backed by Apple's Foundation Models.
//!
//! [`serve()`] implements the protocol over any two streams and delegates to a [`Backend`]: the framework on macOS
//! (`framework`), and one that is never available elsewhere. **Architecture invariant:** only the helper program
//! links this library, and only this library is linked with the framework.
//!
//! # Layers
//!
//! A module uses only modules of lower layers: `tests/layers` checks every file against this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `backend` | backends that answer requests |
//! | 1 | `limits` | limits and intervals |
//! | 2 | `answering` | one answer |
//! | 2 | `framework` | bindings to the framework, on macOS |
//! | 3 | `serve` | the protocol over two streams |

mod answering;
mod backend;
#[cfg(target_os = "macos")]
mod framework;
mod limits;
mod serve;

pub use backend::{Backend, Exchange, NeverAvailable};
#[cfg(target_os = "macos")]
pub use framework::{Handler, Native};
pub use serve::serve;

pub fn backend() -> std::sync::Arc<dyn Backend> {
    let unavailable = openagents_apple::availability::Facts::of_this_machine().unavailability();
    #[cfg(target_os = "macos")]
    if unavailable.is_none() {
        return std::sync::Arc::new(framework::Framework);
    }
    std::sync::Arc::new(NeverAvailable(
        unavailable.unwrap_or(openagents_apple::availability::Unavailability::Unknown),
    ))
}
