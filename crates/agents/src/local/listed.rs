//! An agent as a session has it: always the same object by name, whatever a check finds out meanwhile.

use super::{Inner, lock};
use crate::doctor::Subject;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost, AgentProvider, AgentRequest, CANCELLED, PromptOutcome},
    model::{Availability, LanguageModel},
    update::{AgentMessage, RunState, SessionUpdate},
};
use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

/// How long a prompt waits for an agent to be looked for: the shell may take 5 s.
const LOOK: Duration = Duration::from_secs(20);
/// How soon a cancel is noticed.
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Listed {
    inner: Arc<Inner>,
    id: String,
    name: String,
    is_local: bool,
    is_model: bool,
}

impl Listed {
    pub(super) fn new(inner: &Arc<Inner>, subject: &Subject) -> Arc<Self> {
        let (id, name, is_local) = (subject.id(), subject.name(), subject.is_local());
        Arc::new(Self { inner: inner.clone(), id, name, is_local, is_model: subject.is_model() })
    }

    /// Returns what answers now, or why nothing does; `None` until somebody has looked.
    fn provider(&self) -> Option<Result<Arc<dyn AgentProvider>, String>> {
        match self.inner.table().entry(&self.id) {
            Some(entry) => entry.provider(),
            None => Some(Err(format!("the agent {} has been removed; choose another one", self.name))),
        }
    }

    /// Waits until somebody has looked; `None` after a cancel.
    fn wait(&self, cancel: &CancellationToken) -> Option<Result<Arc<dyn AgentProvider>, String>> {
        let until = Instant::now() + LOOK;
        while !cancel.is_cancelled() {
            if let Some(provider) = self.provider() {
                return Some(provider);
            }
            if Instant::now() > until {
                return Some(Err(format!("{} has not been found yet; try again", self.name)));
            }
            let table = lock(&self.inner.table);
            drop(self.inner.changed.wait_timeout(table, POLL).unwrap_or_else(PoisonError::into_inner));
        }
        None
    }
}

impl AgentProvider for Listed {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_local(&self) -> bool {
        self.is_local
    }

    fn availability(&self) -> Availability {
        match self.provider() {
            Some(Ok(provider)) => provider.availability(),
            Some(Err(reason)) => Availability::Unavailable(reason),
            // A prompt waits for it.
            None => Availability::Ready,
        }
    }

    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        if !self.is_model {
            return None;
        }
        self.wait(&self.inner.closing)?.ok()?.model()
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        match self.wait(cancel) {
            Some(Ok(provider)) => provider.prompt(request, host, cancel),
            Some(Err(reason)) => end(&*host, RunState::Failed, format!("❌ {reason}")),
            None => end(&*host, RunState::Cancelled, CANCELLED.to_owned()),
        }
    }

    fn close(&self, session_id: &str) {
        if let Some(Ok(provider)) = self.provider() {
            provider.close(session_id);
        }
    }
}

/// Says the last word of a turn that nobody answered.
fn end(host: &dyn AgentHost, state: RunState, text: String) -> PromptOutcome {
    let message = AgentMessage {
        text: text.clone(),
        message_id: Some(uuid::Uuid::new_v4().to_string()),
        ended: true,
        ..AgentMessage::default()
    };
    host.emit(AgentEvent::Update(SessionUpdate::AgentMessage(message)));
    PromptOutcome { state, text, usage: None, cut_off: false }
}
