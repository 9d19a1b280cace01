//! The user's commands: add, remove, change settings.

use super::table::{Depth, Inner};
use crate::{
    custom::{Saved, check, check_tools, restored},
    doctor::{Doctor, Subject},
    known::KNOWN,
    limits::{ADDED_AGENTS, CHECKS_AT_ONCE},
    login::{Login, LoginCommand},
    shell::{Environment, Found},
};
use openagents_core::{
    agent::{
        AgentCommand, AgentSettings, AgentsError, CustomAgent, LoginTerminal as _, UnaskedAgent,
        WorkspaceAgent, WorkspaceTools,
    },
    agent_ids::CUSTOM_PREFIX,
};
use parking_lot::Mutex;
use std::{sync::Arc, thread};

impl Inner {
    pub(super) fn command(self: &Arc<Self>, command: AgentCommand) -> Result<(), AgentsError> {
        if self.closing.is_cancelled() {
            return Err(AgentsError::Refused("OpenAgents is shutting down".to_owned()));
        }
        match command {
            AgentCommand::Check => {
                self.reload();
                self.check_all(Depth::Introduction);
                Ok(())
            }
            AgentCommand::Add { agent } => self.add(agent),
            AgentCommand::Remove { id } => self.save(|settings| {
                // Accepts the given id or the provider id.
                let id = id.strip_prefix(CUSTOM_PREFIX).unwrap_or(&id);
                let before = settings.custom.len();
                settings.unasked.remove(&format!("{CUSTOM_PREFIX}{id}"));
                settings.custom.retain(|agent| agent.id != id);
                let found = settings.custom.len() < before;
                found.then_some(()).ok_or_else(|| AgentsError::Unknown(id.to_owned()))
            }),
            AgentCommand::Configure { settings: change } => self.save(|settings| {
                settings.choose = change.choose.unwrap_or(settings.choose);
                settings.allow_external_llms =
                    change.allow_external_llms.unwrap_or(settings.allow_external_llms);
                match change.workspace_agent {
                    Some(WorkspaceAgent { workspace, agent: Some(agent) }) => {
                        settings.workspace_agents.insert(workspace, agent);
                    }
                    Some(WorkspaceAgent { workspace, agent: None }) => {
                        settings.workspace_agents.remove(&workspace);
                    }
                    None => {}
                }
                if let Some(WorkspaceTools { workspace, servers }) = change.tools {
                    check_tools(&workspace, &servers).map_err(AgentsError::Refused)?;
                    match servers.is_empty() {
                        true => settings.tools.remove(&workspace),
                        false => settings.tools.insert(workspace, servers),
                    };
                }
                for UnaskedAgent { agent, folder } in change.unasked {
                    settings.unasked.entry(agent).or_default().insert(folder);
                }
                Ok(())
            }),
            AgentCommand::Install { id, package } => self.install(&id, &package),
            AgentCommand::StopInstall { id } => {
                self.table.lock().installations.stop(&id);
                Ok(())
            }
            AgentCommand::RollBack { id } => self.roll_back(&id),
            AgentCommand::Uninstall { id } => self.uninstall(&id),
            AgentCommand::CheckForUpdates => self.check_for_updates(),
            AgentCommand::LogIn { id } => self.log_in(&id),
            AgentCommand::LoginType { id, text } => {
                let login = self.login(&id).ok_or(AgentsError::Unknown(id))?;
                login.type_text(&text).map_err(AgentsError::Refused)
            }
            AgentCommand::StopLogin { id } => {
                self.login(&id).iter().for_each(|login| login.stop());
                Ok(())
            }
        }
    }

    pub(super) fn login(&self, agent: &str) -> Option<Arc<Login>> {
        self.table.lock().logins.get(agent).cloned()
    }

    /// Starts the agent's own program for a login, unless it runs.
    fn log_in(self: &Arc<Self>, agent: &str) -> Result<(), AgentsError> {
        let environment = self.current_environment();
        let _starting = self.logging_in.lock();
        if self.closing.is_cancelled() || self.login(agent).is_some_and(|login| login.is_running()) {
            return Ok(());
        }
        let known = KNOWN.iter().find(|known| known.id == agent);
        let found =
            known.and_then(|known| Some((known, LoginCommand::find(known, &environment, &self.packages)?)));
        let (known, command) = found.ok_or_else(|| {
            AgentsError::Refused(format!(
                "the login program of {agent} is not installed; install the agent first"
            ))
        })?;
        let inner = self.clone();
        // Also after a failure: some programs are ended by the user once the login is done.
        let on_end = move || {
            inner.change(|table| table.restart(known.id));
            inner.locate(known);
            inner.check_one(known.id.to_owned());
        };
        // An empty folder: some programs first ask whether to trust the one that they start in.
        let folder = self.packages.login_folder().map_err(|error| AgentsError::Refused(error.to_string()))?;
        let login = Login::start(&command, &environment, &folder, on_end);
        let login =
            login.map_err(|error| AgentsError::Refused(format!("`{command}` does not start: {error}")))?;
        self.table.lock().logins.insert(agent.to_owned(), login);
        Ok(())
    }

    fn add(self: &Arc<Self>, agent: CustomAgent) -> Result<(), AgentsError> {
        let id = format!("{CUSTOM_PREFIX}{}", agent.id);
        self.save(|settings| {
            let added = settings.custom.iter().position(|added| added.id == agent.id);
            let agent =
                restored(agent, added.map(|at| &settings.custom[at])).map_err(AgentsError::Refused)?;
            check(&agent).map_err(AgentsError::Refused)?;
            if added.is_none() && settings.custom.len() >= ADDED_AGENTS {
                return Err(AgentsError::Refused(format!(
                    "{ADDED_AGENTS} agents have been added, which is the limit; remove one first"
                )));
            }
            // A different program needs a new confirmation.
            if added.is_none_or(|at| settings.custom[at].kind != agent.kind) {
                settings.unasked.remove(&id);
            }
            match added {
                Some(at) => settings.custom[at] = agent,
                None => settings.custom.push(agent),
            }
            Ok(())
        })?;
        let environment = self.table.lock().environment.clone();
        environment.iter().for_each(|environment| self.mark_missing(environment));
        self.check_one(id);
        Ok(())
    }

    /// Applies changes one at a time and returns once they are on disk.
    fn save(
        &self,
        change: impl FnOnce(&mut AgentSettings) -> Result<(), AgentsError>,
    ) -> Result<(), AgentsError> {
        let _saving = self.saving.lock();
        let settings = Saved::change(&*self.config.settings, change)?;
        self.change(|table| table.set(settings));
        Ok(())
    }

    /// Reads changes made by other programs. Keeps the current settings on an error.
    pub(super) fn reload(&self) {
        let _saving = self.saving.lock();
        match Saved::load(&*self.config.settings) {
            Ok(saved) => self.change(|table| table.set(saved.settings)),
            Err(error) => {
                tracing::warn!("{error}");
                let settings = self.table.lock().settings.clone();
                self.change(|table| table.set(settings));
            }
        }
    }
}

impl Inner {
    pub(super) fn check_all(self: &Arc<Self>, depth: Depth) {
        let ids: Vec<_> = self.table.lock().entries().iter().map(|entry| entry.subject.id()).collect();
        self.check(ids, depth, true);
    }

    pub(super) fn check_one(self: &Arc<Self>, id: String) {
        self.check(vec![id], Depth::Introduction, false);
    }

    fn check(self: &Arc<Self>, ids: Vec<String>, depth: Depth, afresh: bool) {
        let begin = self.change(|table| {
            for id in ids {
                let wanted = table.wanted.entry(id).or_insert(depth);
                *wanted = depth.max(*wanted);
            }
            table.refresh_environment |= afresh;
            !std::mem::replace(&mut table.checking, true)
        });
        if !begin {
            return;
        }
        let inner = self.clone();
        let started =
            thread::Builder::new().name("agents-check".to_owned()).spawn(move || inner.run_checks());
        if let Err(error) = started {
            tracing::warn!("cannot check the agents: {error}");
            self.change(|table| table.checking = false);
        }
    }

    fn run_checks(&self) {
        loop {
            let environment = self.current_environment();
            let batch = self.change(|table| {
                let wanted = std::mem::take(&mut table.wanted);
                let subject =
                    |(id, depth): (&String, &Depth)| Some((table.entry(id)?.subject.clone(), *depth));
                let mut batch: Vec<_> = wanted.iter().filter_map(subject).collect();
                // Popped from the end: agents that are always offered come first.
                batch.sort_by_key(|(subject, _)| std::cmp::Reverse(table.position(subject)));
                if batch.is_empty() {
                    table.checking = false;
                    table.checked_at = Some(jiff::Timestamp::now().as_millisecond());
                }
                batch
            });
            if batch.is_empty() {
                return;
            }
            let batch = Mutex::new(batch);
            thread::scope(|scope| {
                for _ in 0..CHECKS_AT_ONCE {
                    let work = || {
                        // Not in the loop condition, where the lock would be held during the check.
                        while let Some((subject, depth)) = { batch.lock().pop() } {
                            self.examine(&subject, depth, &environment);
                        }
                    };
                    // Falls back to the current thread.
                    let builder = thread::Builder::new().name("agent-check".to_owned());
                    if builder.spawn_scoped(scope, work).is_err() {
                        work();
                    }
                }
            });
        }
    }

    pub(super) fn current_environment(&self) -> Arc<Environment> {
        let known = {
            let mut table = self.table.lock();
            let afresh = std::mem::take(&mut table.refresh_environment);
            table.environment.clone().filter(|_| !afresh)
        };
        known.unwrap_or_else(|| {
            let Found { environment, problem } = (self.environment)(&self.closing);
            {
                let mut table = self.table.lock();
                table.shell = problem;
                // A check requested while the shell was asked uses this answer: a slow shell takes seconds.
                table.refresh_environment = false;
            }
            let environment = Arc::new(environment);
            self.mark_missing(&environment);
            environment
        })
    }

    /// Sets the environment and marks agents that are not installed, so that prompts to them fail at once.
    pub(super) fn mark_missing(&self, environment: &Arc<Environment>) {
        let doctor = self.doctor(environment);
        let unknown = self.table.lock().unknown();
        let looked = unknown.into_iter().filter_map(|subject| {
            let diagnosis = doctor.locate_missing(&subject)?;
            Some((subject, diagnosis))
        });
        let looked: Vec<_> = looked.collect();
        self.change(|table| {
            table.environment = Some(environment.clone());
            for (subject, diagnosis) in looked {
                table.found(&subject, diagnosis, environment);
            }
        });
    }

    pub(super) fn doctor<'a>(&'a self, environment: &'a Environment) -> Doctor<'a> {
        Doctor { environment, packages: &self.packages, cancel: &self.closing }
    }

    fn examine(&self, subject: &Subject, depth: Depth, environment: &Arc<Environment>) {
        if self.closing.is_cancelled() {
            return;
        }
        let doctor = self.doctor(environment);
        let mut diagnosis = doctor.locate(subject);
        // Waiting prompts can now start; earlier results stay until the check is complete.
        if self.table.lock().is_unknown(subject) {
            self.change(|table| table.found(subject, diagnosis.clone(), environment));
        }
        doctor.ask_version(subject, &mut diagnosis);
        if depth == Depth::Introduction {
            doctor.introduce(subject, &mut diagnosis);
        }
        if !self.closing.is_cancelled() {
            self.change(|table| table.found(subject, diagnosis, environment));
        }
    }
}
