//! The state of all agents.

use super::reach::{self, Newest};
use crate::{
    custom::hidden,
    doctor::{Diagnosis, Reach, Subject},
    known::KNOWN,
    shell::Environment,
};
use openagents_core::{
    agent::{AgentProvider, AgentSettings, AgentsSnapshot, ShellProblem},
    model::Availability,
};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// Presence and version.
    Version,
    /// Also starts the agent to read its capabilities.
    Introduction,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    pub(super) settings: AgentSettings,
    /// The environment to search for agents; absent until the shell has answered.
    pub(super) environment: Option<Arc<Environment>>,
    /// Why the environment lacks the variables of the login shell.
    pub(super) shell: Option<ShellProblem>,
    pub(super) wanted: BTreeMap<String, Depth>,
    /// Replaced or removed providers that may still run turns.
    replaced: Vec<Arc<dyn AgentProvider>>,
    /// Whether to ask the shell again before the next check.
    pub(super) look_afresh: bool,
    pub(super) checking: bool,
    /// Milliseconds since the epoch.
    pub(super) checked_at: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    /// Absent before the first check.
    diagnosis: Option<Diagnosis>,
    /// The provider and how it was created.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    reach: Reach,
    environment: Newest,
    provider: Result<Arc<dyn AgentProvider>, String>,
}

impl Table {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.subject.id() == id)
    }

    pub(super) fn position(&self, subject: &Subject) -> Option<usize> {
        self.entries.iter().position(|entry| entry.subject == *subject)
    }

    pub(super) fn unknown(&self) -> Vec<Subject> {
        let unknown = self.entries.iter().filter(|entry| entry.diagnosis.is_none());
        unknown.map(|entry| entry.subject.clone()).collect()
    }

    pub(super) fn is_unknown(&self, subject: &Subject) -> bool {
        self.entries.iter().any(|entry| entry.subject == *subject && entry.diagnosis.is_none())
    }

    /// Applies the settings. Diagnoses of unchanged agents are kept.
    pub(super) fn set(&mut self, settings: AgentSettings) {
        let known = KNOWN.iter().map(Subject::Known);
        let added = settings.custom.iter().cloned().map(Subject::Custom);
        let mut before = std::mem::take(&mut self.entries);
        self.entries = known
            .chain(added)
            .map(|subject| match before.iter().position(|entry| entry.subject == subject) {
                Some(at) => before.swap_remove(at),
                None => Entry { subject, diagnosis: None, running: None },
            })
            .collect();
        let gone = before.into_iter().filter_map(|entry| entry.running?.provider.ok());
        self.replaced.extend(gone);
        self.settings = settings;
    }

    /// Applies a diagnosis, unless the agent has been changed or removed in the meantime.
    pub(super) fn found(&mut self, subject: &Subject, diagnosis: Diagnosis, environment: &Arc<Environment>) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.subject == *subject) else { return };
        let replaced = entry.run(&diagnosis, environment);
        entry.diagnosis = Some(diagnosis);
        self.replaced.extend(replaced);
    }

    /// Returns the providers of an agent that may run turns.
    pub(super) fn running(&self, id: &str) -> Vec<Arc<dyn AgentProvider>> {
        let now = self.entry(id).and_then(|entry| entry.running.as_ref()?.provider.clone().ok());
        let all = self.replaced.iter().cloned().chain(now);
        all.filter(|provider| provider.id() == id).collect()
    }

    /// Returns the replaced providers without a running turn; the caller shuts them down.
    pub(super) fn take_idle(&mut self) -> Vec<Arc<dyn AgentProvider>> {
        // A running turn holds a reference to its provider.
        self.replaced.extract_if(.., |provider| Arc::strong_count(provider) == 1).collect()
    }

    pub(super) fn take_running(&mut self) -> Vec<Arc<dyn AgentProvider>> {
        self.wanted.clear();
        let running = self.entries.iter_mut().filter_map(|entry| entry.running.take());
        running.filter_map(|running| running.provider.ok()).chain(self.replaced.drain(..)).collect()
    }

    pub(super) fn snapshot(&self) -> AgentsSnapshot {
        let card = |entry: &Entry| match &entry.diagnosis {
            Some(diagnosis) => diagnosis.card.clone(),
            None => entry.subject.card(),
        };
        let custom = self.settings.custom.iter().map(hidden).collect();
        let path = self.environment.as_ref().map(|environment| environment.path().to_string_lossy());
        AgentsSnapshot {
            agents: self.entries.iter().map(card).collect(),
            settings: AgentSettings { custom, ..self.settings.clone() },
            path: path.unwrap_or_default().into_owned(),
            shell: self.shell.clone(),
            checking: self.checking,
            checked_at: self.checked_at,
        }
    }
}

impl Entry {
    /// Returns whether the user can choose the agent. Agents that are not installed are
    /// hidden, except the two best known.
    pub(super) fn is_offered(&self) -> bool {
        let is_there = self.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.card.program.is_some());
        match &self.subject {
            Subject::Known(known) => known.is_always_offered() || is_there,
            Subject::Custom(_) => true,
        }
    }

    /// Returns the provider, or the reason there isn't one; `None` before the first check.
    pub(super) fn provider(&self) -> Option<Result<Arc<dyn AgentProvider>, String>> {
        let diagnosis = self.diagnosis.as_ref()?;
        Some(match (&self.running, diagnosis.availability()) {
            (Some(running), Availability::Ready) => running.provider.clone(),
            (_, Availability::Unavailable(reason)) => Err(reason),
            (None, Availability::Ready) => Err(format!("{} was stopped", self.subject.name())),
        })
    }

    /// Keeps the provider if it would be created in the same way. Otherwise returns it.
    fn run(
        &mut self,
        diagnosis: &Diagnosis,
        environment: &Arc<Environment>,
    ) -> Option<Arc<dyn AgentProvider>> {
        if let Some(running) = &self.running {
            let mut newest = running.environment.lock();
            if Some(&running.reach) == diagnosis.reach.as_ref()
                && reach::can_go_on(&running.reach, &newest, environment)
            {
                newest.clone_from(environment);
                return None;
            }
        }
        let running = diagnosis.reach.clone().map(|reach| {
            let environment = Arc::new(Mutex::new(environment.clone()));
            Running { provider: reach::provider(&self.subject, &reach, &environment), environment, reach }
        });
        std::mem::replace(&mut self.running, running)?.provider.ok()
    }
}
