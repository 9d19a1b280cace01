//! Finding out how the agents stand, in the background.

use super::{Inner, lock};
use crate::doctor::{Doctor, Subject};
use crate::shell::Environment;
use std::{
    sync::{Arc, Mutex},
    thread,
};

/// Agents that are checked at a time: each may be a whole Node.
const AT_A_TIME: usize = 3;

/// How thoroughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// Is it there, and in which version.
    Version,
    /// Start it too, and hear what it supports.
    Introduction,
}

impl Inner {
    /// Begins to check every agent, in an environment that is asked for again.
    pub(super) fn check_all(self: &Arc<Self>, depth: Depth) {
        let ids: Vec<_> = self.table().entries().iter().map(|entry| entry.subject.id()).collect();
        self.check(ids, depth, true);
    }

    /// Begins to check one agent.
    pub(super) fn check_one(self: &Arc<Self>, id: String) {
        self.check(vec![id], Depth::Introduction, false);
    }

    fn check(self: &Arc<Self>, ids: Vec<String>, depth: Depth, afresh: bool) {
        let begin = self.change(|table| {
            for id in ids {
                let wanted = table.wanted.entry(id).or_insert(depth);
                *wanted = depth.max(*wanted);
            }
            table.look_afresh |= afresh;
            !std::mem::replace(&mut table.checking, true)
        });
        if !begin {
            return;
        }
        let inner = self.clone();
        let started =
            thread::Builder::new().name("agents-check".to_owned()).spawn(move || inner.run_checks());
        if let Err(error) = started {
            tracing::warn!("agents cannot be looked for: {error}");
            self.change(|table| table.checking = false);
        }
    }

    /// Checks until nobody is left to be checked.
    fn run_checks(&self) {
        loop {
            let environment = self.current_environment();
            let batch = self.change(|table| {
                let wanted = std::mem::take(&mut table.wanted);
                let subject =
                    |(id, depth): (&String, &Depth)| Some((table.entry(id)?.subject.clone(), *depth));
                let mut batch: Vec<_> = wanted.iter().filter_map(subject).collect();
                // Taken from the end: those that are always offered come first.
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
                for _ in 0..AT_A_TIME {
                    let work = || {
                        // Not in the condition of the loop, where the lock would be held during the check.
                        while let Some((subject, depth)) = { lock(&batch).pop() } {
                            self.examine(&subject, depth, &environment);
                        }
                    };
                    // Without a thread there is this one.
                    let builder = thread::Builder::new().name("agent-check".to_owned());
                    if builder.spawn_scoped(scope, work).is_err() {
                        work();
                    }
                }
            });
        }
    }

    /// Returns where agents are looked for; asks the shell where that is not known.
    fn current_environment(&self) -> Arc<Environment> {
        let known = {
            let mut table = self.table();
            let afresh = std::mem::take(&mut table.look_afresh);
            table.environment.clone().filter(|_| !afresh)
        };
        known.unwrap_or_else(|| {
            let environment = Arc::new((self.environment)(&self.closing));
            if let Some(note) = environment.note() {
                tracing::warn!("{note}");
            }
            self.look_at_once(&environment);
            environment
        })
    }

    /// Takes over where agents are looked for, and looks for those of which nothing is known, as far as that takes no
    /// process: whoever wants to send a prompt to one that is not installed hears so at once.
    pub(super) fn look_at_once(&self, environment: &Arc<Environment>) {
        let doctor = Doctor { environment, cancel: &self.closing };
        let unknown = self.table().unknown();
        let looked = unknown.into_iter().filter_map(|subject| {
            let diagnosis = doctor.look_at_once(&subject)?;
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

    fn examine(&self, subject: &Subject, depth: Depth, environment: &Arc<Environment>) {
        if self.closing.is_cancelled() {
            return;
        }
        let doctor = Doctor { environment, cancel: &self.closing };
        let mut diagnosis = doctor.look(subject);
        // Prompts that wait for it can begin; what was known of it stays until all is known again.
        if self.table().is_unknown(subject) {
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
