//! What is known of the agents.

use super::{
    checks::Depth,
    lock,
    reach::{self, Newest, Provider},
};
use crate::{
    custom::hidden,
    doctor::{Diagnosis, Reach, Subject},
    known::KNOWN,
    shell::Environment,
};
use openagents_core::{
    agent::{AgentProvider, AgentSettings, AgentsSnapshot},
    model::Availability,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// The agents and what goes on with them.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    pub(super) settings: AgentSettings,
    /// Where agents are looked for; absent until the shell has told.
    pub(super) environment: Option<Arc<Environment>>,
    /// Who is to be checked, and how thoroughly.
    pub(super) wanted: BTreeMap<String, Depth>,
    /// What answered before it was changed or removed, or reached in another way: turns of it go on.
    replaced: Vec<Provider>,
    /// The shell is asked again before the next check.
    pub(super) look_afresh: bool,
    /// A check is under way.
    pub(super) checking: bool,
    /// Milliseconds since the epoch.
    pub(super) checked_at: Option<i64>,
}

/// One agent.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    /// Absent until somebody has looked for it.
    diagnosis: Option<Diagnosis>,
    /// What answers its prompts, and how that was made.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    reach: Reach,
    environment: Newest,
    provider: Result<Provider, String>,
}

impl Table {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.subject.id() == id)
    }

    /// Returns where it is in the snapshot.
    pub(super) fn position(&self, subject: &Subject) -> Option<usize> {
        self.entries.iter().position(|entry| entry.subject == *subject)
    }

    /// Returns those that nobody has looked for yet.
    pub(super) fn unknown(&self) -> Vec<Subject> {
        let unknown = self.entries.iter().filter(|entry| entry.diagnosis.is_none());
        unknown.map(|entry| entry.subject.clone()).collect()
    }

    /// Returns whether nobody has looked for it yet.
    pub(super) fn is_unknown(&self, subject: &Subject) -> bool {
        self.entries.iter().any(|entry| entry.subject == *subject && entry.diagnosis.is_none())
    }

    /// Takes over the settings. What is known of an agent that has not changed stays.
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

    /// Takes over what was found out, unless the agent has been changed or removed meanwhile.
    pub(super) fn found(&mut self, subject: &Subject, diagnosis: Diagnosis, environment: &Arc<Environment>) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.subject == *subject) else { return };
        let replaced = entry.run(&diagnosis, environment);
        entry.diagnosis = Some(diagnosis);
        self.replaced.extend(replaced);
    }

    /// Returns what answers or still answers for an agent.
    pub(super) fn running(&self, id: &str) -> Vec<Arc<dyn AgentProvider>> {
        let now = self.entry(id).and_then(|entry| entry.running.as_ref()?.provider.clone().ok());
        let all = self.replaced.iter().cloned().chain(now).map(Provider::shared);
        all.filter(|provider| provider.id() == id).collect()
    }

    /// Returns what was replaced and has no turn any more; its end is whoever drops it.
    pub(super) fn take_idle(&mut self) -> Vec<Provider> {
        self.replaced.extract_if(.., |provider| provider.is_idle()).collect()
    }

    /// Forgets everything that runs, and returns what has to be ended.
    pub(super) fn take_running(&mut self) -> Vec<Provider> {
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
            checking: self.checking,
            checked_at: self.checked_at,
        }
    }
}

impl Entry {
    /// Returns whether a person can choose it. Those that are not there would only be in the way, but for the two that
    /// everybody knows.
    pub(super) fn is_offered(&self) -> bool {
        let is_there = self.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.card.program.is_some());
        match &self.subject {
            Subject::Known(known) => known.is_always_offered() || is_there,
            Subject::Custom(_) => true,
        }
    }

    /// Returns what answers its prompts, and otherwise why nothing does; `None` until somebody has looked.
    pub(super) fn provider(&self) -> Option<Result<Arc<dyn AgentProvider>, String>> {
        let diagnosis = self.diagnosis.as_ref()?;
        Some(match (&self.running, diagnosis.availability()) {
            (Some(running), Availability::Ready) => running.provider.clone().map(Provider::shared),
            (_, Availability::Unavailable(reason)) => Err(reason),
            (None, Availability::Ready) => Err(format!("{} was ended", self.subject.name())),
        })
    }

    /// What runs goes on as long as it would be started in the same way. Returns what does not.
    fn run(&mut self, diagnosis: &Diagnosis, environment: &Arc<Environment>) -> Option<Provider> {
        if let Some(running) = &self.running {
            let mut newest = lock(&running.environment);
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
