//! The wire: WebSocket, JSON-RPC, the iOS and ACP dialects, the event store, the page.
//!
//! **Architecture invariant:** this is the only crate that knows what a client sees.
//!
//! A frame's way in: `http` takes the upgrade and checks who asks, `connection` reads frames in order,
//! a door (`acp`, `ios`) turns each into a call. The way out: a turn appends updates to the `store`, a session
//! (`sessions`) shows them once they are on disk, and each connection's `outbox` reads on from its own position.

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

/// Who may use the door of the OpenAgents iOS app, which has no token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IosAccess {
    /// Nobody.
    #[default]
    Off,
    /// Those whom a person allows, one by one, on this machine and on the network.
    Ask,
    /// Everybody on this machine (loopback only).
    Allow,
}

/// How the network is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Serves the page and ACP on the network, encrypted; `None` as a person has switched it.
    pub lan: Option<bool>,
    /// Port of the encrypted listener; 0 picks one.
    pub port: u16,
    /// The addresses that are served; `None` those that this machine has on its network, followed as they change.
    pub addresses: Option<Vec<IpAddr>>,
    /// Announces the listeners by mDNS.
    pub announce: bool,
}

impl Default for NetworkConfig {
    /// As a person has switched it, on port 9443.
    fn default() -> Self {
        Self { lan: None, port: 9443, addresses: None, announce: true }
    }
}

/// How a bridge is started.
#[derive(Debug, Clone)]
pub struct BridgeConfig {
    /// The data folder: database, token, address.
    pub home: PathBuf,
    /// Loopback port; 0 picks one.
    pub port: u16,
    /// The server's own workspace: known, shown to iOS, the fallback of its door.
    pub root: PathBuf,
    /// Who may use the door of the iOS app; `None` as a person has switched it.
    pub ios: Option<IosAccess>,
    /// What is served to other devices.
    pub network: NetworkConfig,
    /// Where other agents keep their logs.
    pub history: HistoryRoots,
}
