//! The agent, as the bridge knows it.

use crate::turn::Turn;
use openagents_core::{
    CancellationToken,
    agent::{
        AgentCommand, AgentHost, AgentProvider, AgentRequest, Agents, AgentsError, AgentsSnapshot,
        PromptOutcome,
    },
    agent_ids::CODEX,
    model::Availability,
    update::RunState,
};
use openagents_e2e::chaos::ledger::Writer;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Numbers of one life; the next begins after them.
const NUMBERS: u64 = 1_000_000_000;

/// Answers every prompt with much.
#[derive(Debug)]
pub(crate) struct Busy {
    pub(crate) ledger: Arc<Writer>,
    next: AtomicU64,
}

impl Busy {
    pub(crate) fn new(ledger: Arc<Writer>, life: u64) -> Arc<Self> {
        Arc::new(Self { ledger, next: AtomicU64::new(life * NUMBERS + 1) })
    }

    /// Returns a number that nothing else has.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl AgentProvider for Busy {
    /// One of those that the phone can choose.
    fn id(&self) -> &str {
        CODEX
    }

    fn name(&self) -> String {
        "Busy".to_owned()
    }

    fn is_local(&self) -> bool {
        true
    }

    fn availability(&self) -> Availability {
        Availability::Ready
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        Turn::new(self, request, host.as_ref(), cancel).run();
        let state = if cancel.is_cancelled() { RunState::Cancelled } else { RunState::Complete };
        PromptOutcome { state, text: String::new(), usage: None, cut_off: false }
    }

    fn close(&self, _session_id: &str) {}
}

/// The one agent of this machine.
#[derive(Debug)]
pub(crate) struct BusyAgents(Arc<Busy>);

impl BusyAgents {
    pub(crate) fn new(busy: Arc<Busy>) -> Self {
        Self(busy)
    }
}

impl Agents for BusyAgents {
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>> {
        vec![self.0.clone()]
    }

    fn snapshot(&self) -> AgentsSnapshot {
        AgentsSnapshot::default()
    }

    fn watch(&self, _on_change: Arc<dyn Fn() + Send + Sync>) {}

    fn command(&self, _command: AgentCommand) -> Result<(), AgentsError> {
        Err(AgentsError::Refused("There is nothing to manage here.".to_owned()))
    }

    fn shut_down(&self) {}
}
