//! What every connection of a bridge shares.

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

/// Everything behind the doors.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) turns: Arc<TurnExecutor>,
    pub(crate) inspector: Arc<Inspector>,
    /// The local models, where there are any.
    pub(crate) models: Option<Arc<SharedModels>>,
    /// The agents of this machine, where they are looked for.
    pub(crate) agents: Option<Arc<SharedAgents>>,
    /// Who may come in.
    pub(crate) devices: Arc<Devices>,
    /// What this machine is called.
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) token: Token,
    pub(crate) back_off: BackOff,
    pub(crate) limits: Limits,
    /// The bound loopback port.
    pub(crate) port: u16,
    /// What is served to other devices.
    pub(crate) network: Arc<Network>,
    /// Where iOS connections were when they broke.
    pub(crate) resumes: Resumes,
    /// Connections of the remote transport.
    pub(crate) remotes: Remotes,
    /// Where those wait that nobody has allowed yet.
    pub(crate) pending: PendingConnections,
    /// Cancelled when the bridge goes down, once the last turn has ended.
    pub(crate) closing: CancellationToken,
    pub(crate) connections: TaskTracker,
}

impl Shared {
    /// Takes a place for a connection of somebody who authenticated at `address`. `None` when there are too many.
    pub(crate) fn enter(&self, pass: Arc<Pass>, address: IpAddr) -> Option<Arc<ConnectionLease>> {
        let place = self.limits.acp(&pass.who)?;
        self.devices.enter(pass, address, place)
    }
}
