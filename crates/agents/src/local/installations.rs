//! What is on offer and what is being installed.

use crate::{
    known::KnownAgent,
    packages::{List, Packages},
    version::parse_version,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentPackage, InstallProgress, PackageList, PackageOffer},
};
use std::collections::BTreeMap;

/// What is on offer and what is being installed.
#[derive(Debug, Default)]
pub(super) struct Installations {
    pub(super) list: List,
    pub(super) fetching: bool,
    /// Why the last fetch of the list failed.
    pub(super) problem: Option<String>,
    /// By agent.
    pub(super) running: BTreeMap<String, Running>,
    /// Why the last installation failed, by agent.
    pub(super) problems: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Running {
    pub(super) progress: InstallProgress,
    pub(super) cancel: CancellationToken,
}

impl Installations {
    pub(super) fn load(packages: &Packages) -> Self {
        Self { list: List::load(packages.saved_list().as_deref()), ..Self::default() }
    }

    pub(super) fn list(&self) -> PackageList {
        let (date, fetching, problem) = (self.list.date.clone(), self.fetching, self.problem.clone());
        PackageList { date, fetching, problem }
    }

    /// The package of an agent. `found` says what is installed. What does not work can be installed again.
    pub(super) fn package(
        &self,
        known: &KnownAgent,
        found: Option<AgentPackage>,
        is_usable: bool,
    ) -> Option<AgentPackage> {
        let (registry, bytes) = known.package()?;
        let package = found.unwrap_or_default();
        let is_newer = |offer: &PackageOffer| match &package.installed {
            Some(installed) => !is_usable || parse_version(&offer.version) > parse_version(installed),
            None => true,
        };
        Some(AgentPackage {
            offer: self.list.offer(registry, bytes).filter(is_newer),
            progress: self.running.get(known.id).map(|running| running.progress.clone()),
            problem: self.problems.get(known.id).cloned(),
            ..package
        })
    }

    pub(super) fn stop(&self, agent: &str) {
        if let Some(running) = self.running.get(agent) {
            running.cancel.cancel();
        }
    }

    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    pub(super) fn stop_all(&self) {
        self.running.values().for_each(|running| running.cancel.cancel());
    }
}
