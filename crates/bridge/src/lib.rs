//! The wire: endpoints, devices, the iOS and ACP dialects, and the page.
//!
//! **Architecture invariant:** this is the only crate that knows the wire formats of the bridge's clients.
//!
//! Inbound: `server` authenticates and upgrades, `connection` reads frames in order, and a dialect (`protocol`) turns
//! each frame into a call. Outbound: a turn appends updates to the log, the session publishes them once they are on
//! disk, and each connection's outbox sends them from its own position.
//!
//! # Layers
//!
//! A module uses only modules of lower layers: `tests/layers.rs` reads this table and checks every file against it.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `base` | scopes, passes, tokens, errors, configuration, JSON-RPC frames, feeds |
//! | 2 | `admission` | limits on the connections of an address and of a device |
//! | 2 | `instance` | one bridge per data folder, and its address |
//! | 2 | `tls` | certificates: our authority, the leaf, the profile for phones |
//! | 3 | `connection` | one connection: transports, reading frames, the outbox, the inspector |
//! | 3 | `network` | switches, addresses, names and mDNS |
//! | 4 | `devices` | devices, pairing, access requests, audit; their tables |
//! | 5 | `protocol` | the dialects ACP and iOS, and the services that they call |
//! | 6 | `server` | listeners, routes, origin and token checks, the page |
//! | 7 | `bridge` | starting and stopping |
//! | 7 | `client` | the client of a bridge, for the command line and the window |

mod admission;
mod base;
mod bridge;
pub mod client;
mod connection;
mod devices;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod instance;
mod network;
mod protocol;
mod server;
mod tls;

pub use crate::base::token::Challenge;
pub use base::{
    config::{BridgeConfig, NetworkConfig},
    error::BridgeError,
};
pub use bridge::{Bridge, Surroundings};
pub use devices::{
    settings::{Settings, StoredSettings},
    tables::open_store,
};
pub use instance::{ADDRESS_FILE, Announcement, Claim, announced, ask_to_hand_over, running};
pub use network::state::NetworkState;
pub use openagents_sessions::{Explore, Providers, store};
pub use openagents_wire::{IosAccess, Listener, OpenListener};
pub use protocol::acp;
