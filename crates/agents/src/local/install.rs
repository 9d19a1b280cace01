//! Installs, updates and removes agents in the background.

use super::{installations::Running, table::Inner};
use crate::{
    known::{KNOWN, KnownAgent},
    packages::{InstallError, List, Npm, REGISTRY, Release, Wanted},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentCard, AgentsError, InstallProgress, LoginTerminal as _, PackageOffer},
};
use std::{path::Path, sync::Arc, thread};

impl Inner {
    /// Starts an installation. Fails if the user saw another package than the one on offer.
    pub(super) fn install(self: &Arc<Self>, agent: &str, package: &str) -> Result<(), AgentsError> {
        let known = known(agent)?;
        let card = self.card(agent)?;
        let offer = card.package.and_then(|package| package.offer).filter(|offer| offer.package == package);
        let Some(offer) = offer else {
            return Err(AgentsError::Refused(format!(
                "{package} is not on offer for {}; check for updates, then try again",
                known.name
            )));
        };
        let cancel = self.closing.child_token();
        let begun = self.change(|table| {
            let installations = &mut table.installations;
            let is_new = !installations.running.contains_key(agent);
            if is_new {
                let progress = InstallProgress { step: "Starting".to_owned(), ..InstallProgress::default() };
                let running = Running { progress, cancel: cancel.clone() };
                installations.running.insert(agent.to_owned(), running);
                installations.problems.remove(agent);
            }
            is_new
        });
        if !begun {
            return Err(AgentsError::Refused(format!("{} is already being installed", known.name)));
        }
        let inner = self.clone();
        let run = move || {
            let result = inner.run_installation(known, &offer, &cancel);
            let problem = match result {
                // The user knows.
                Ok(()) | Err(InstallError::Stopped) => None,
                Err(error) => Some(error.to_string()),
            };
            // In this order, so that no client sees the agent as missing in between.
            inner.locate(known);
            inner.check_one(known.id.to_owned());
            inner.change(|table| {
                table.installations.running.remove(known.id);
                table.installations.problems.extend(problem.map(|problem| (known.id.to_owned(), problem)));
            });
        };
        thread::Builder::new().name("agent-install".to_owned()).spawn(run).map_err(|error| {
            self.change(|table| table.installations.running.remove(agent));
            AgentsError::Refused(format!("{} cannot be installed now ({error}); try again", known.name))
        })?;
        Ok(())
    }

    fn run_installation(
        &self,
        known: &'static KnownAgent,
        offer: &PackageOffer,
        cancel: &CancellationToken,
    ) -> Result<(), InstallError> {
        let environment = self.current_environment();
        let exclusive = self.packages.lock(known.id)?;
        let previous = self.packages.installed(known.id).and_then(|installed| installed.previous);
        if previous.is_some_and(|previous| previous.version == offer.version) {
            // It is still there, and may be at work.
            return exclusive.roll_back();
        }
        let folder = exclusive.new_folder()?;
        let prepare = || {
            let npm = Npm { environment: &environment, cancel };
            let package = offer.package.strip_suffix(&format!("@{}", offer.version)).unwrap_or_default();
            let wanted =
                Wanted { package, version: &offer.version, program: known.speaker().0, bytes: offer.bytes };
            self.step(known, "Downloading", 0, offer.bytes);
            let releases =
                npm.install(&wanted, &folder, &|bytes, total| self.step(known, "Downloading", bytes, total))?;
            self.step(known, "Starting it once", offer.bytes, offer.bytes);
            self.first_working(known, &folder, releases, cancel)
        };
        let activate = |release| match cancel.is_cancelled() {
            true => Err(InstallError::Stopped),
            false => exclusive.activate(&folder, release),
        };
        prepare().and_then(activate).inspect_err(|_| exclusive.clean())
    }

    fn first_working(
        &self,
        known: &KnownAgent,
        folder: &Path,
        releases: Vec<Release>,
        cancel: &CancellationToken,
    ) -> Result<Release, InstallError> {
        let environment = self.current_environment();
        let doctor = crate::doctor::Doctor { cancel, ..self.doctor(&environment) };
        let mut why = String::new();
        for release in releases {
            match doctor.try_release(known, folder, &release) {
                Ok(()) => return Ok(release),
                Err(_) if cancel.is_cancelled() => return Err(InstallError::Stopped),
                Err(reason) => why = reason,
            }
        }
        Err(InstallError::Silent(why))
    }

    fn step(&self, known: &KnownAgent, step: &str, bytes: u64, total_bytes: u64) {
        // An estimate: npm says nothing, and another version has another size.
        let progress = InstallProgress { step: step.to_owned(), bytes: bytes.min(total_bytes), total_bytes };
        let is_same = self
            .table
            .lock()
            .installations
            .running
            .get(known.id)
            .is_none_or(|running| running.progress == progress);
        if !is_same {
            self.change(|table| {
                if let Some(running) = table.installations.running.get_mut(known.id) {
                    running.progress = progress;
                }
            });
        }
    }

    pub(super) fn roll_back(self: &Arc<Self>, agent: &str) -> Result<(), AgentsError> {
        let known = known(agent)?;
        let exclusive = self.packages.lock(known.id).map_err(refused)?;
        exclusive.roll_back().map_err(refused)?;
        drop(exclusive);
        self.locate(known);
        self.check_one(agent.to_owned());
        Ok(())
    }

    /// Removes an installed agent, unless it is at work: programs load their files while they run.
    pub(super) fn uninstall(self: &Arc<Self>, agent: &str) -> Result<(), AgentsError> {
        let known = known(agent)?;
        if self.table.lock().is_working(agent) {
            return Err(AgentsError::Refused(format!("{} is working; stop its turn first", known.name)));
        }
        let exclusive = self.packages.lock(known.id).map_err(refused)?;
        exclusive.forget().map_err(refused)?;
        if let Some(login) = self.login(agent) {
            login.stop();
        }
        // Replaces the provider, which ends its processes.
        self.locate(known);
        // A turn that has started meanwhile keeps its files until the next installation.
        if !self.table.lock().is_working(agent) {
            exclusive.clean();
        }
        drop(exclusive);
        self.check_one(agent.to_owned());
        Ok(())
    }

    pub(super) fn check_for_updates(self: &Arc<Self>) -> Result<(), AgentsError> {
        let begun = self.change(|table| !std::mem::replace(&mut table.installations.fetching, true));
        if !begun {
            return Ok(());
        }
        let inner = self.clone();
        let run = move || {
            let fetched = inner.fetch_list();
            inner.change(|table| {
                table.installations.fetching = false;
                table.installations.problem = fetched.as_ref().err().cloned();
                if let Ok(list) = fetched {
                    table.installations.list = list;
                }
            });
        };
        thread::Builder::new().name("agent-list".to_owned()).spawn(run).map_err(|error| {
            self.change(|table| table.installations.fetching = false);
            AgentsError::Refused(format!("can't check for updates now ({error}); try again"))
        })?;
        Ok(())
    }

    fn fetch_list(&self) -> Result<List, String> {
        let address = self.config.registry.as_deref().unwrap_or(REGISTRY);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| format!("The list of agents cannot be fetched now ({error}). Try again."))?;
        let (list, saved) = runtime.block_on(List::fetch(address)).map_err(|error| error.to_string())?;
        if let Err(error) = self.packages.save_list(&saved) {
            tracing::warn!("the list of agents was not saved: {error}");
        }
        Ok(list)
    }

    /// Looks where an agent is now, and lets its next prompt start it there.
    pub(super) fn locate(&self, known: &KnownAgent) {
        let environment = self.current_environment();
        let subject = self.table.lock().entry(known.id).map(|entry| entry.subject.clone());
        if let Some(subject) = subject {
            let diagnosis = self.doctor(&environment).locate(&subject);
            self.change(|table| table.found(&subject, diagnosis, &environment));
        }
    }

    fn card(&self, agent: &str) -> Result<AgentCard, AgentsError> {
        let agents = self.table.lock().snapshot().agents;
        agents.into_iter().find(|card| card.id == agent).ok_or_else(|| AgentsError::Unknown(agent.to_owned()))
    }
}

fn known(agent: &str) -> Result<&'static KnownAgent, AgentsError> {
    let known = KNOWN.iter().find(|known| known.id == agent && known.package().is_some());
    known.ok_or_else(|| {
        AgentsError::Refused(format!("OpenAgents has no package for {agent}; install it by hand"))
    })
}

fn refused(error: InstallError) -> AgentsError {
    AgentsError::Refused(error.to_string())
}
