//! What the helper program `openagents-apple` runs: the protocol, and Apple's Foundation Models behind it.
//!
//! [`serve()`] speaks the protocol over any two streams and leaves the answering to a [`Backend`]: on macOS that is the
//! framework (`framework`), elsewhere nothing that answers, only the reason why. **Architecture invariant:** nothing that
//! people start links this library; they start the program, which alone is linked with the framework.

mod answering;
mod backend;
#[cfg(target_os = "macos")]
mod framework;
mod serve;

pub use backend::{Backend, Exchange, Nothing};
#[cfg(target_os = "macos")]
pub use framework::{Handler, Native};
pub use serve::serve;

/// Returns what answers on this machine.
pub fn backend() -> std::sync::Arc<dyn Backend> {
    let unavailable = openagents_apple::availability::Facts::of_this_machine().unavailability();
    #[cfg(target_os = "macos")]
    if unavailable.is_none() {
        return std::sync::Arc::new(framework::Framework);
    }
    std::sync::Arc::new(Nothing(
        unavailable.unwrap_or(openagents_apple::availability::Unavailability::Unknown),
    ))
}
