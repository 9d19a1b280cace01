//! The processes of agents on this computer, as the system shows them without privileges.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod others;
mod process;

#[cfg(target_os = "linux")]
pub use linux::System;
#[cfg(not(target_os = "linux"))]
pub use others::System;
pub use process::{Pane, ProcessFact, ProcessId};
