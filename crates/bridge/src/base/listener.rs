//! The listeners of a bridge.

use serde::Serialize;

/// The listener that accepted a connection. It determines the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Listener {
    /// Loopback: all routes.
    Loopback,
    /// The network, encrypted: the page and ACP.
    Web,
    /// The network, unencrypted: the iOS app only.
    App,
}
