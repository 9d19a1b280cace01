//! Configuration of a bridge.

use openagents_transcripts::history::HistoryRoots;
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
    /// Whether to serve the page and ACP on the network, encrypted. `None`: as set by the user.
    pub lan: Option<bool>,
    /// Port of the encrypted listener; 0 picks one.
    pub port: u16,
    /// Addresses to serve. `None`: those of this machine, followed as they change.
    pub addresses: Option<Vec<IpAddr>>,
    /// Whether to announce the listeners over mDNS.
    pub announce: bool,
}

impl Default for NetworkConfig {
    /// Access as set by the user, on port 9443.
    fn default() -> Self {
        Self { lan: None, port: 9443, addresses: None, announce: true }
    }
}

/// Configuration of a bridge.
#[derive(Debug, Clone)]
pub struct BridgeConfig {
    /// The data folder, which holds the database, the token and the address.
    pub home: PathBuf,
    /// Loopback port; 0 picks one.
    pub port: u16,
    /// The server's own workspace: always admitted, shown to the iOS app, and the fallback of the iOS endpoint.
    pub root: PathBuf,
    /// Access to the iOS endpoint. `None`: as set by the user.
    pub ios: Option<IosAccess>,
    /// Network settings.
    pub network: NetworkConfig,
    /// Folders in which other agents keep their transcripts.
    pub history: HistoryRoots,
    /// Whether the bridge only serves a command and hands the data folder over to a permanent bridge.
    pub temporary: bool,
}
