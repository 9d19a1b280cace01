//! An agent as a session has it: always the same object by name, whatever a check finds out meanwhile.

use super::{Inner, lock};
use crate::{custom::model_agent, doctor::Subject, shell::Environment};
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

    /// Returns a model that nobody has looked for yet: its address is all that it takes.
    fn unseen_model(&self) -> Option<Arc<dyn LanguageModel>> {
        let (subject, environment) = {
            let table = self.inner.table();
            (table.entry(&self.id)?.subject.clone(), table.environment.clone())
        };
        let Subject::Custom(agent) = subject else { return None };
        let environment = environment.unwrap_or_else(|| Arc::new(Environment::of_this_process()));
        model_agent(&agent, &environment).ok()?.model()
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
            // It is there, or the shell has not told yet where to look: a prompt waits for what there is to know.
            None => Availability::Ready,
        }
    }

    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        if !self.is_model {
            return None;
        }
        match self.provider() {
            Some(provider) => provider.ok()?.model(),
            None => self.unseen_model(),
        }
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        match self.wait(cancel) {
            Some(Ok(provider)) => {
                let outcome = provider.prompt(request, host, cancel);
                drop(provider);
                // Another one may have taken its place.
                self.inner.drop_idle();
                outcome
            }
            Some(Err(reason)) => end(&*host, RunState::Failed, format!("❌ {reason}")),
            None => end(&*host, RunState::Cancelled, CANCELLED.to_owned()),
        }
    }

    fn close(&self, session_id: &str) {
        let running = self.inner.table().running(&self.id);
        running.iter().for_each(|provider| provider.close(session_id));
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
