//! An agent as seen by a session: a stable object, whatever later checks report.

use super::table::Inner;
use crate::{
    custom::model_agent,
    doctor::Subject,
    limits::{CANCEL_CHECK, FIRST_CHECK},
    shell::Environment,
};
use openagents_core::{
    CancellationToken,
    agent::{
        AgentHost, AgentProvider, AgentRequest, CANCELLED, OwnSession, PromptOutcome, SteerRequest, end_turn,
    },
    model::{Availability, LanguageModel},
    update::{OptionValue, RunState, SessionOption},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

#[derive(Debug)]
pub(super) struct Listed {
    inner: Arc<Inner>,
    id: String,
    name: String,
    is_local: bool,
    is_model: bool,
    decides_what_it_asks: bool,
}

impl Listed {
    pub(super) fn new(inner: &Arc<Inner>, subject: &Subject) -> Arc<Self> {
        let (id, name, is_local) = (subject.id(), subject.name(), subject.is_local());
        Arc::new(Self {
            inner: inner.clone(),
            id,
            name,
            is_local,
            is_model: subject.is_model(),
            decides_what_it_asks: subject.decides_what_it_asks(),
        })
    }

    fn provider(&self) -> Option<Result<Arc<dyn AgentProvider>, String>> {
        match self.inner.table.lock().entry(&self.id) {
            Some(entry) => entry.provider(),
            None => Some(Err(format!("the agent {} has been removed; choose another one", self.name))),
        }
    }

    /// Returns a model that has not been checked yet: its address is enough.
    fn unseen_model(&self) -> Option<Arc<dyn LanguageModel>> {
        let (subject, environment) = {
            let table = self.inner.table.lock();
            (table.entry(&self.id)?.subject.clone(), table.environment.clone())
        };
        let Subject::Custom(agent) = subject else { return None };
        let environment = environment.unwrap_or_else(|| Arc::new(Environment::of_this_process()));
        model_agent(&agent, &environment).ok()?.model()
    }

    /// Returns the provider, and those that it replaced, which may be at work in a session.
    fn running(&self) -> Vec<Arc<dyn AgentProvider>> {
        self.inner.table.lock().running(&self.id)
    }

    /// Waits for the first check; `None` after a cancel.
    fn wait(&self, cancel: &CancellationToken) -> Option<Result<Arc<dyn AgentProvider>, String>> {
        let until = Instant::now() + FIRST_CHECK;
        while !cancel.is_cancelled() {
            if let Some(provider) = self.provider() {
                return Some(provider);
            }
            if Instant::now() > until {
                return Some(Err(format!("{} has not been found yet; try again", self.name)));
            }
            self.inner.changed.wait_for(&mut self.inner.table.lock(), CANCEL_CHECK);
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

    fn decides_what_it_asks(&self) -> bool {
        self.decides_what_it_asks
    }

    fn deletes_next(&self, workspace: &Path, cancel: &CancellationToken) -> usize {
        let provider = self.wait(cancel).and_then(Result::ok);
        provider.map_or(0, |provider| provider.deletes_next(workspace, cancel))
    }

    fn program(&self, cancel: &CancellationToken) -> Option<PathBuf> {
        self.wait(cancel)?.ok()?.program(cancel)
    }

    fn folder(&self, cancel: &CancellationToken) -> Option<PathBuf> {
        self.wait(cancel)?.ok()?.folder(cancel)
    }

    fn availability(&self) -> Availability {
        match self.provider() {
            Some(Ok(provider)) => provider.availability(),
            Some(Err(reason)) => Availability::Unavailable(reason),
            // An unchecked agent counts as ready: a prompt waits for the check.
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
                // The provider may have been replaced during the turn.
                self.inner.drop_idle();
                outcome
            }
            Some(Err(reason)) => {
                end_turn(&|event| host.emit(event), RunState::Failed, format!("❌ {reason}"))
            }
            None => end_turn(&|event| host.emit(event), RunState::Cancelled, CANCELLED.to_owned()),
        }
    }

    fn set_option(
        &self,
        session_id: &str,
        option: &str,
        value: &OptionValue,
    ) -> Result<Option<Vec<SessionOption>>, String> {
        for provider in self.running() {
            if let Some(options) = provider.set_option(session_id, option, value)? {
                return Ok(Some(options));
            }
        }
        Ok(None)
    }

    fn steer(&self, request: &SteerRequest) -> bool {
        self.running().iter().any(|provider| provider.steer(request))
    }

    fn own_sessions(&self, workspace: &Path, cancel: &CancellationToken) -> Result<Vec<OwnSession>, String> {
        self.wait(cancel).unwrap_or_else(|| Err("cancelled".to_owned()))?.own_sessions(workspace, cancel)
    }

    fn delete_own_session(
        &self,
        workspace: &Path,
        id: &str,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let provider = self.wait(cancel).unwrap_or_else(|| Err("cancelled".to_owned()))?;
        provider.delete_own_session(workspace, id, cancel)
    }

    fn stop_subagent(&self, session_id: &str, subagent: &str) -> bool {
        self.running().iter().any(|provider| provider.stop_subagent(session_id, subagent))
    }

    fn ask_before_edits(&self, session_id: &str) {
        self.running().iter().for_each(|provider| provider.ask_before_edits(session_id));
    }

    fn close(&self, session_id: &str) {
        self.running().iter().for_each(|provider| provider.close(session_id));
    }
}
