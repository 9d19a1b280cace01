//! When agents delete sessions, according to their own settings.

use crate::{
    history::{ListedLog, LogFile, Provider},
    retention::{Place, Retention},
};
use openagents_core::clock::now_ms;
use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, SystemTime},
};

/// Sessions that an agent deletes soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedSoon {
    pub provider: Provider,
    /// Sessions that it deletes at its next start.
    pub now: usize,
    /// Days after which it deletes sessions.
    pub days: u64,
    /// An organization's settings say so.
    pub is_managed: bool,
}

/// When agents delete sessions, according to their settings at the start of a round.
pub(super) struct Deletions(HashMap<Provider, (Retention, Duration)>);

impl Deletions {
    pub(super) fn read() -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let place = Place { variable: &variable, workspace: Path::new(""), now: SystemTime::now() };
        let of_agent = |provider| {
            let retention = Retention::of(provider)?;
            Some((provider, (retention, retention.period(&place)?)))
        };
        Self(Provider::ALL.into_iter().filter_map(of_agent).collect())
    }

    /// Returns whether an agent deletes a log within some time.
    pub(super) fn delete(&self, provider: Provider, file: &LogFile, within: Duration) -> bool {
        self.0.get(&provider).is_some_and(|(_, period)| age(file) + within > *period)
    }

    /// Returns what agents delete.
    pub(super) fn of(&self, logs: &[ListedLog]) -> Vec<DeletedSoon> {
        let deleted = |(provider, (retention, period)): (&Provider, &(Retention, Duration))| {
            let own = || logs.iter().filter(|log| log.row.provider == *provider);
            let is_due =
                |log: &&ListedLog| !log.row.subagent && self.delete(*provider, &log.file, Duration::ZERO);
            own().next().map(|_| DeletedSoon {
                provider: *provider,
                now: own().filter(is_due).count(),
                days: period.as_secs() / (24 * 60 * 60),
                is_managed: retention.is_managed(),
            })
        };
        let mut all: Vec<_> = self.0.iter().filter_map(deleted).collect();
        all.sort_by_key(|soon| soon.provider);
        all
    }
}

pub(super) fn age(file: &LogFile) -> Duration {
    Duration::from_millis(u64::try_from(now_ms() - file.changed_at()).unwrap_or(0))
}
