//! The state of all agents.

use crate::{
    acp::{AcpAgent, AcpAgentConfig, AcpCommand, OwnTools},
    custom::{hidden, model_agent},
    doctor::{Diagnosis, Reach, Subject, login_remedy},
    known::KNOWN,
    limits::SHUTDOWN,
    local::installations::Installations,
    login::{Login, LoginCommand},
    packages::Packages,
    shell::{Environment, Found},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider, AgentSettings, AgentsSnapshot, CustomKind, LoginTerminal as _, ShellProblem},
    model::{Availability, SettingsStore},
};
use openagents_transcripts::{history::History, keep::Keeper};
use parking_lot::{Condvar, Mutex};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Configuration of [`LocalAgents`](crate::local::LocalAgents).
#[derive(Debug, Clone)]
pub struct AgentsConfig {
    /// Storage of custom agents and choices.
    pub settings: Arc<dyn SettingsStore>,
    /// For the tools of models, which have no agent loop.
    pub history: Arc<History>,
    /// Copies of the sessions that agents delete.
    pub keeper: Option<Arc<Keeper>>,
    /// The folder of installed agents, created by the first installation.
    pub packages: PathBuf,
    /// Our own MCP server for agents; absent if there is no program to start it with.
    pub own_tools: Option<OwnTools>,
    /// The address of the newest list of packages; by default that of the ACP registry.
    pub registry: Option<String>,
}

/// What an agent gets from this program.
#[derive(Debug, Clone, Default)]
pub(super) struct Provided {
    /// Our own MCP server.
    pub(super) own_tools: Option<OwnTools>,
    pub(super) keeper: Option<Arc<Keeper>>,
}

pub(super) struct Inner {
    pub(super) config: AgentsConfig,
    pub(super) packages: Packages,
    pub(super) environment: fn(&CancellationToken) -> Found,
    pub(super) table: Mutex<Table>,
    pub(super) changed: Condvar,
    pub(super) saving: Mutex<()>,
    /// Held while a login starts.
    pub(super) logging_in: Mutex<()>,
    pub(super) watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    pub(super) closing: CancellationToken,
}

impl Inner {
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let result = change(&mut self.table.lock());
        self.drop_idle();
        self.changed.notify_all();
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|on_change| on_change());
        result
    }

    /// Shuts down replaced providers without a running turn. Done outside the lock, since it takes a moment.
    pub(super) fn drop_idle(&self) {
        let idle = self.table.lock().take_idle();
        drop(idle);
    }

    /// Stops all agents in parallel, 2 s each. Checks are stopped too, so that their programs don't keep running.
    pub(super) fn shut_down(&self) {
        self.closing.cancel();
        let (running, logins) = {
            let _starting = self.logging_in.lock();
            let mut table = self.table.lock();
            table.installations.stop_all();
            (table.take_running(), table.logins.values().cloned().collect::<Vec<_>>())
        };
        std::thread::scope(|scope| {
            for agent in &running {
                scope.spawn(|| agent.shut_down());
            }
            for login in &logins {
                scope.spawn(|| login.stop());
            }
        });
        let is_busy = |table: &mut Table| table.checking || table.installations.is_running();
        self.changed.wait_while_for(&mut self.table.lock(), is_busy, SHUTDOWN);
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalAgents").field("config", &self.config).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    Version,
    /// Also starts the agent to read its capabilities.
    Introduction,
}

#[derive(Debug)]
pub(super) struct Table {
    provided: Provided,
    entries: Vec<Entry>,
    pub(super) settings: AgentSettings,
    /// The environment to search for agents; absent until the shell has answered.
    pub(super) environment: Option<Arc<Environment>>,
    pub(super) shell: Option<ShellProblem>,
    pub(super) wanted: BTreeMap<String, Depth>,
    /// Replaced or removed providers that may still run turns.
    replaced: Vec<Arc<dyn AgentProvider>>,
    pub(super) refresh_environment: bool,
    pub(super) checking: bool,
    /// Milliseconds since the epoch.
    pub(super) checked_at: Option<i64>,
    pub(super) installations: Installations,
    /// By agent. One that has ended stays, so that its last screen can be read.
    pub(super) logins: BTreeMap<String, Arc<Login>>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    /// Absent before the first check.
    diagnosis: Option<Diagnosis>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    reach: Reach,
    environment: Newest,
    provider: Result<Arc<dyn AgentProvider>, String>,
}

impl Table {
    pub(super) fn new(packages: &Packages, provided: Provided) -> Self {
        Self {
            installations: Installations::load(packages),
            provided,
            entries: Vec::new(),
            settings: AgentSettings::default(),
            environment: None,
            shell: None,
            wanted: BTreeMap::new(),
            replaced: Vec::new(),
            refresh_environment: false,
            checking: false,
            checked_at: None,
            logins: BTreeMap::new(),
        }
    }

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
        let replaced = entry.run(&diagnosis, environment, &self.provided);
        entry.diagnosis = Some(diagnosis);
        self.replaced.extend(replaced);
    }

    /// Replaces the agent's provider, so that its next prompt starts a new process.
    pub(super) fn restart(&mut self, id: &str) {
        let entry = self.entries.iter_mut().find(|entry| entry.subject.id() == id);
        self.replaced.extend(entry.and_then(|entry| entry.running.take()?.provider.ok()));
    }

    /// Returns whether a turn of this agent is running: it holds a reference to the provider.
    pub(super) fn is_working(&self, id: &str) -> bool {
        let now = self.entry(id).and_then(|entry| entry.running.as_ref()?.provider.as_ref().ok());
        let all = self.replaced.iter().filter(|provider| provider.id() == id).chain(now);
        all.into_iter().any(|provider| Arc::strong_count(provider) > 1)
    }

    pub(super) fn running(&self, id: &str) -> Vec<Arc<dyn AgentProvider>> {
        let now = self.entry(id).and_then(|entry| entry.running.as_ref()?.provider.clone().ok());
        let all = self.replaced.iter().cloned().chain(now);
        all.filter(|provider| provider.id() == id).collect()
    }

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
        let card = |entry: &Entry| {
            let mut card = match &entry.diagnosis {
                Some(diagnosis) => diagnosis.card.clone(),
                None => entry.subject.card(),
            };
            // Before the first check it is not known what is installed.
            if let (Some(known), Some(_)) = (entry.subject.known(), &entry.diagnosis) {
                card.package = self.installations.package(known, card.package.take(), card.usable);
            }
            card
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
            packages: self.installations.list(),
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
        provided: &Provided,
    ) -> Option<Arc<dyn AgentProvider>> {
        if let Some(running) = &self.running {
            let mut newest = running.environment.lock();
            if Some(&running.reach) == diagnosis.reach.as_ref()
                && can_keep(&running.reach, &newest, environment)
            {
                newest.clone_from(environment);
                return None;
            }
        }
        let running = diagnosis.reach.clone().map(|reach| {
            let environment = Arc::new(Mutex::new(environment.clone()));
            let provider = provider(&self.subject, &reach, &environment, diagnosis.login.as_ref(), provided);
            Running { provider, environment, reach }
        });
        std::mem::replace(&mut self.running, running)?.provider.ok()
    }
}

/// The latest environment. A running program keeps the one it was started with.
pub(super) type Newest = Arc<Mutex<Arc<Environment>>>;

/// Returns whether a provider can be kept: compares only the variables that matter, as many shells set some to a new
/// value each time.
pub(super) fn can_keep(reach: &Reach, before: &Environment, now: &Environment) -> bool {
    match reach {
        Reach::Acp { .. } => before.path() == now.path(),
        Reach::Model(agent) => match &agent.kind {
            CustomKind::Openai { key_variable: Some(name), .. } => before.get(name) == now.get(name),
            _ => true,
        },
    }
}

/// Creates the provider; starts nothing. Fails with a clause.
pub(super) fn provider(
    subject: &Subject,
    reach: &Reach,
    newest: &Newest,
    login: Option<&LoginCommand>,
    provided: &Provided,
) -> Result<Arc<dyn AgentProvider>, String> {
    let environment = || newest.lock().clone();
    match reach {
        Reach::Acp { program, args, env, cwd } => {
            let (program, args, env, cwd) = (program.clone(), args.clone(), env.clone(), cwd.clone());
            let (newest, known) = (newest.clone(), subject.known());
            let command = move || {
                let environment = newest.lock().clone();
                let mut added = env.clone();
                added.extend(
                    known.iter().flat_map(|known| known.added(|name| environment.get(name).is_some())),
                );
                let (program, args, cwd) = (program.clone(), args.clone(), cwd.clone());
                AcpCommand { program, args, environment: environment.for_agents(), added, cwd }
            };
            let mut config = AcpAgentConfig::new(subject.id(), subject.name(), Arc::new(command));
            config.local = subject.is_local();
            config.own_tools.clone_from(&provided.own_tools);
            if let Some(known) = known {
                config.login = login.map(login_remedy);
                (config.asks, config.retention) = (known.asks, known.retention);
                config.keeper.clone_from(&provided.keeper);
                (config.reads_files_here, config.loads) = (known.reads_files_here, known.loads);
            }
            Ok(Arc::new(AcpAgent::new(config)))
        }
        Reach::Model(agent) => Ok(Arc::new(model_agent(agent, &environment())?)),
    }
}
