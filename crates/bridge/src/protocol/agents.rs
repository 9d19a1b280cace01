//! The agents of this machine, services by connections.

use crate::{base::error::Fault, base::feed::Feed, base::scope::Scope};
use openagents_core::agent::{AgentCommand, Agents, AgentsError};
use openagents_sessions::run_blocking;
use serde_json::Value;
use std::sync::Arc;

/// The agents and their feed.
#[derive(Debug)]
pub(crate) struct SharedAgents {
    agents: Arc<dyn Agents>,
    feed: Arc<Feed>,
}

impl SharedAgents {
    pub(crate) fn new(agents: Arc<dyn Agents>) -> Arc<Self> {
        let source = agents.clone();
        let snapshot = move || serde_json::to_value(source.snapshot()).unwrap_or_default();
        let feed =
            Feed::new("_openagents/agents", Scope::View, snapshot, |on_change| agents.watch(on_change));
        Arc::new(Self { agents, feed })
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Runs a command and returns the resulting snapshot.
    pub(crate) async fn command(&self, command: AgentCommand) -> Result<Value, Fault> {
        let agents = self.agents.clone();
        let done = run_blocking(move || agents.command(command)).await;
        done.unwrap_or_else(|| Err(AgentsError::Refused("it was interrupted".to_owned())))?;
        Ok(self.feed.snapshot())
    }

    /// Stops all running agents. Blocks.
    pub(crate) fn shut_down(&self) {
        self.agents.shut_down();
    }
}
