//! State shared by all connections of a bridge.

use crate::{
    access::{ConnectionLease, Devices, Pass},
    agents::SharedAgents,
    auth::{BackOff, Token},
    guard::Hosts,
    inspect::Inspector,
    ios::{PendingConnections, Resumes},
    limits::Limits,
    models::SharedModels,
    network::Network,
    transport::Remotes,
};
use openagents_sessions::{SessionRegistry, TurnExecutor};
use std::{net::IpAddr, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// State shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) turns: Arc<TurnExecutor>,
    pub(crate) inspector: Arc<Inspector>,
    /// The local models, if supported.
    pub(crate) models: Option<Arc<SharedModels>>,
    /// The agents of this machine, if supported.
    pub(crate) agents: Option<Arc<SharedAgents>>,
    pub(crate) devices: Arc<Devices>,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) token: Token,
    pub(crate) back_off: BackOff,
    pub(crate) limits: Limits,
    /// The bound loopback port.
    pub(crate) port: u16,
    pub(crate) network: Arc<Network>,
    /// Positions of broken iOS connections.
    pub(crate) resumes: Resumes,
    /// Connections of the remote transport.
    pub(crate) remotes: Remotes,
    /// iOS connections that wait for approval.
    pub(crate) pending: PendingConnections,
    /// Cancelled when the bridge stops, after the last turn has ended.
    pub(crate) closing: CancellationToken,
    pub(crate) connections: TaskTracker,
}

impl Shared {
    /// Takes a slot for an authenticated connection from `address`. `None` when there are too many.
    pub(crate) fn lease(&self, pass: Arc<Pass>, address: IpAddr) -> Option<Arc<ConnectionLease>> {
        let slot = self.limits.acp(&pass.who)?;
        self.devices.lease(pass, address, slot)
    }
}
