//! The parts of a bridge that the endpoint uses.

use crate::resume::Resumes;
use openagents_connection::{admission::queue::SlotQueue, inspect::Inspector};
use openagents_remote::{devices::registry::Devices, network::state::Network};
use openagents_sessions::{SessionRegistry, TurnExecutor};
use std::sync::Arc;

/// Maximum number of waiting and refused connections, in total and per address. Even if every address with a pending
/// request fills its slots, some are left for others.
const SLOTS: usize = 96;
const SLOTS_PER_ADDRESS: usize = 5;

/// Shared by all connections of the endpoint.
pub struct Services {
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) turns: Arc<TurnExecutor>,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) devices: Arc<Devices>,
    pub(crate) network: Arc<Network>,
    /// Positions of broken connections.
    pub(crate) resumes: Resumes,
    /// Connections that wait for approval or were refused.
    pub(crate) pending: Arc<SlotQueue>,
}

impl Services {
    /// Creates the services of a bridge's iOS endpoint.
    pub fn new(
        sessions: Arc<SessionRegistry>,
        turns: Arc<TurnExecutor>,
        inspector: Arc<Inspector>,
        devices: Arc<Devices>,
        network: Arc<Network>,
    ) -> Arc<Self> {
        let (resumes, pending) = (Resumes::default(), SlotQueue::new(SLOTS_PER_ADDRESS, SLOTS));
        Arc::new(Self { sessions, turns, inspector, devices, network, resumes, pending })
    }
}
