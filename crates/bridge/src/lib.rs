//! The wire: WebSocket, JSON-RPC, the iOS and ACP dialects, the event store, the page.
//!
//! **Architecture invariant:** this is the only crate that knows what a client sees.
//!
//! Inbound: `http` authenticates and upgrades, `connection` reads frames in order, and a dialect (`acp`, `ios`) turns
//! each into a call. Outbound: a turn appends updates to the `store`, the session (`sessions`) publishes them once they
//! are on disk, and each connection's `outbox` sends them from its own position.

mod access;
mod address;
mod agents;
mod auth;
mod bridge;
mod connection;
mod error;
mod feed;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod http;
mod inspect;
mod ios;
mod limits;
mod machine;
mod markdown;
mod models;
mod network;
mod outbox;
mod page;
mod rpc;
mod settings;
mod shared;
mod tables;
mod transport;

pub mod acp;

pub use address::{ADDRESS_FILE, running};
pub use auth::TOKEN_FILE;
pub use bridge::{Bridge, Surroundings};
pub use error::BridgeError;
pub use http::Listener;
pub use network::{NetworkState, OpenListener};
pub use openagents_sessions::{Explore, Providers, store};
pub use settings::Settings;
pub use tables::open_store;

use openagents_core::history::HistoryRoots;
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, path::PathBuf};

/// Access to the endpoint of the OpenAgents iOS app, which has no token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IosAccess {
    /// Closed.
    #[default]
    Off,
    /// Each app has to be approved, on this machine and on the network.
    Ask,
    /// Every app on this machine, without approval (loopback only).
    Allow,
}

/// Network settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Serves the page and ACP on the network, encrypted. `None`: as set by the user.
    pub lan: Option<bool>,
    /// Port of the encrypted listener; 0 picks one.
    pub port: u16,
    /// Addresses to serve. `None`: those of this machine, followed as they change.
    pub addresses: Option<Vec<IpAddr>>,
    /// Announces the listeners by mDNS.
    pub announce: bool,
}

impl Default for NetworkConfig {
    /// As set by the user, on port 9443.
    fn default() -> Self {
        Self { lan: None, port: 9443, addresses: None, announce: true }
    }
}

/// Configuration of a bridge.
#[derive(Debug, Clone)]
pub struct BridgeConfig {
    /// The data folder: database, token, address.
    pub home: PathBuf,
    /// Loopback port; 0 picks one.
    pub port: u16,
    /// The server's own workspace: always admitted, shown to the iOS app, and the fallback of its endpoint.
    pub root: PathBuf,
    /// Access to the iOS endpoint. `None`: as set by the user.
    pub ios: Option<IosAccess>,
    /// Network settings.
    pub network: NetworkConfig,
    /// Folders in which other agents keep their transcripts.
    pub history: HistoryRoots,
}
