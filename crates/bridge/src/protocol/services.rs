//! The parts of a bridge that client calls use.

use super::{
    acp::past_sessions::PastSessions, ios::resume::Resumes, managed::Managed, privacy::PrivacyChange,
};
use crate::{
    admission::queue::SlotQueue, base::feed::Feed, connection::inspect::Inspector,
    devices::registry::Devices, network::control::Network,
};
use openagents_core::{agent::AgentCommand, model::ModelCommand};
use openagents_sessions::{SessionRegistry, TurnExecutor};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Shared by all connections.
pub(crate) struct Services {
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) turns: Arc<TurnExecutor>,
    pub(crate) inspector: Arc<Inspector>,
    /// The local models, if supported.
    pub(crate) models: Option<Arc<Managed<ModelCommand>>>,
    /// The agents of this machine, if supported.
    pub(crate) agents: Option<Arc<Managed<AgentCommand>>>,
    /// Read access of models and agents.
    pub(crate) privacy: Arc<Managed<PrivacyChange>>,
    /// Transcripts of other agents.
    pub(crate) past_sessions: Arc<PastSessions>,
    /// The trusted workspaces.
    pub(crate) trust: Arc<Feed>,
    pub(crate) devices: Arc<Devices>,
    pub(crate) network: Arc<Network>,
    /// Positions of broken iOS connections.
    pub(crate) resumes: Resumes,
    /// iOS connections that wait for approval.
    pub(crate) pending: Arc<SlotQueue>,
    /// Answers that wait for the end of a turn, awaited when the bridge stops.
    pub(crate) answers: TaskTracker,
}
