//! Configuration of a bridge.

use openagents_remote::network::switches::NetworkConfig;
use openagents_transcripts::history::HistoryRoots;
use openagents_wire::IosAccess;
use std::path::PathBuf;

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
    pub network: NetworkConfig,
    /// Folders in which other agents keep their transcripts.
    pub history: HistoryRoots,
    /// Whether the bridge only serves a command and hands the data folder over to a permanent bridge.
    pub temporary: bool,
}
