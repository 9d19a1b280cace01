//! The agent that the bridge hosts.

use crate::turn::Turn;
use openagents_core::{
    CancellationToken,
    agent::{
        AgentCommand, AgentHost, AgentProvider, AgentRequest, Agents, AgentsError, AgentsSnapshot,
        OwnSession, PromptOutcome, SteerRequest,
    },
    agent_ids::CODEX,
    model::Availability,
    update::{OptionValue, RunState, SessionOption},
};
use openagents_e2e::chaos::ledger::Writer;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Range of numbers for one life of the bridge; the next life begins after it.
const NUMBERS: u64 = 1_000_000_000;

/// Answers every prompt with many updates.
#[derive(Debug)]
pub(crate) struct Busy {
    pub(crate) ledger: Arc<Writer>,
    next: AtomicU64,
}

impl Busy {
    pub(crate) fn new(ledger: Arc<Writer>, life: u64) -> Arc<Self> {
        Arc::new(Self { ledger, next: AtomicU64::new(life * NUMBERS + 1) })
    }

    /// Returns a unique number.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl AgentProvider for Busy {
    /// One of the ids that the phone can choose.
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

    fn set_option(&self, _: &str, _: &str, _: &OptionValue) -> Result<Option<Vec<SessionOption>>, String> {
        Ok(None)
    }

    fn steer(&self, _: &SteerRequest) -> bool {
        false
    }

    fn own_sessions(&self, _: &Path, _: &CancellationToken) -> Result<Vec<OwnSession>, String> {
        Ok(Vec::new())
    }
    fn delete_own_session(&self, _: &Path, _: &str, _: &CancellationToken) -> Result<(), String> {
        Err("it keeps no sessions".to_owned())
    }
    fn stop_subagent(&self, _: &str, _: &str) -> bool {
        false
    }
    fn ask_before_edits(&self, _: &str) {}

    fn close(&self, _session_id: &str) {}
}

/// The only agent of this machine.
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
