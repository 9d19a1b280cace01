//! The state of the server.

use super::{back_off::BackOff, origin::Hosts, remotes::Remotes};
use crate::{
    admission::Limits,
    base::{pass::Pass, token::Token},
    devices::lease::ConnectionLease,
    protocol::services::Services,
};
use std::{net::IpAddr, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Shared by all listeners.
pub(crate) struct Server {
    pub(crate) services: Arc<Services>,
    pub(crate) token: Token,
    pub(crate) back_off: BackOff,
    pub(crate) limits: Limits,
    /// Connections of the remote transport.
    pub(crate) remotes: Remotes,
    /// Cancelled when the bridge stops, after the last turn has ended.
    pub(crate) closing: CancellationToken,
    pub(crate) connections: TaskTracker,
}

impl Server {
    pub(crate) fn hosts(&self) -> Hosts {
        Hosts(self.services.network.state())
    }

    /// Takes a slot for an authenticated connection from `address`. Returns `None` if there are too many.
    pub(crate) fn lease(&self, pass: Arc<Pass>, address: IpAddr) -> Option<Arc<ConnectionLease>> {
        let slot = self.limits.slot(&pass.who)?;
        Some(ConnectionLease::begin(self.services.devices.clone(), pass, address, slot))
    }
}
