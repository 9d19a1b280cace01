//! The wire: WebSocket, JSON-RPC, the iOS and ACP dialects, the event store, the page.
//!
//! **Architecture invariant:** this is the only crate that knows what a client sees.

use openagents_core::{explore::Explorer, history::HistoryRoots};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// Who may use the door of the OpenAgents iOS app, which has no token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IosDoor {
    /// Nobody.
    #[default]
    Off,
    /// Everybody on this machine (loopback only).
    Allow,
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
    /// See [`IosDoor`].
    pub ios: IosDoor,
    /// Where other agents keep their logs.
    pub history: HistoryRoots,
}

/// A running bridge.
#[derive(Debug)]
pub struct Bridge {
    address: SocketAddr,
    token: String,
    token_file: PathBuf,
}

/// Why a bridge cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// Another program listens there.
    #[error("port {0} is in use; choose another with --port, or 0 for any")]
    PortBusy(u16),
}

impl Bridge {
    /// Opens the store, binds the port and serves until [`Bridge::shutdown`].
    pub async fn start(_config: BridgeConfig) -> Result<Self, BridgeError> {
        Err(BridgeError::PortBusy(0))
    }

    /// Returns the bound loopback address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token for local use: 64 hexadecimal digits.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the 0600 file that holds the token.
    pub fn token_file(&self) -> &Path {
        &self.token_file
    }

    /// Returns the address of the page, with the token in the fragment.
    pub fn page_url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token)
    }

    /// Ends running turns, flushes the store and closes every socket.
    pub async fn shutdown(self) {}
}

#[doc(hidden)]
pub fn _explorer(_: &Explorer) {}
