//! The bridge: its endpoints, the ACP dialect, and the page.
//!
//! `server` authenticates and upgrades, `openagents_connection` reads frames in order, and a dialect (`acp`, or
//! `openagents_ios`) turns each frame into a call.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `error` | errors that keep a bridge from starting |
//! | 1 | `usage` | the report of tokens and costs, in words |
//! | 2 | `markdown` | Markdown as HTML, for clients |
//! | 2 | `instance` | one bridge per data folder, and its address |
//! | 3 | `acp` | the ACP dialect, and the services that its calls use |
//! | 4 | `server` | listeners, routes, origin and token checks, the page |
//! | 5 | `bridge` | starting and stopping |
//! | 5 | `client` | the client of a bridge, for the command line and the window |

pub mod acp;
mod bridge;
pub mod client;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod instance;
mod markdown;
mod server;
mod usage;

pub use bridge::{Bridge, BridgeConfig, Surroundings};
pub use error::BridgeError;
pub use instance::{ADDRESS_FILE, Announcement, Claim, announced, ask_to_hand_over, running};
pub use openagents_remote::{
    devices::tables::open_store,
    network::{state::NetworkState, switches::NetworkConfig},
    settings::{Settings, StoredSettings},
    token::Challenge,
};
pub use openagents_sessions::{Explore, Providers, store};
pub use openagents_wire::{IosAccess, Listener, OpenListener};
pub use usage::{UsageReportError, usage_report};
