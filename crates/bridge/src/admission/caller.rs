//! The origin of a request.

use super::unauthenticated::Unauthenticated;
use crate::base::listener::Listener;
use std::net::IpAddr;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) listener: Listener,
    /// The peer's address, or the one given by its proxy.
    pub(crate) address: IpAddr,
    /// The address of ours that it connects to.
    pub(crate) at: IpAddr,
    pub(crate) unauthenticated: Unauthenticated,
    /// Cancelled when the listener closes; its sockets close.
    pub(crate) closing: CancellationToken,
    /// Cancelled to close an event stream whose reader is stuck.
    pub(crate) cut: CancellationToken,
}
