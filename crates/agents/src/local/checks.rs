//! Checks agents in the background.

use super::{state::Inner, table::Depth};
use crate::{
    doctor::{Doctor, Subject},
    limits::CHECKS_AT_ONCE,
    shell::{Environment, Found},
};
use parking_lot::Mutex;
use std::{sync::Arc, thread};

impl Inner {
    /// Starts checking every agent, in a fresh environment.
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
            tracing::warn!("cannot check the agents: {error}");
            self.change(|table| table.checking = false);
        }
    }

    /// Runs until no check is pending.
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

    /// Returns the environment to search for agents; asks the shell if it is unknown.
    fn current_environment(&self) -> Arc<Environment> {
        let known = {
            let mut table = self.table.lock();
            let afresh = std::mem::take(&mut table.look_afresh);
            table.environment.clone().filter(|_| !afresh)
        };
        known.unwrap_or_else(|| {
            let Found { environment, problem } = (self.environment)(&self.closing);
            {
                let mut table = self.table.lock();
                table.shell = problem;
                // A check requested while the shell was asked uses this answer: a slow shell takes seconds.
                table.look_afresh = false;
            }
            let environment = Arc::new(environment);
            self.look_at_once(&environment);
            environment
        })
    }

    /// Sets the environment and marks agents that are not installed, so that prompts to them fail at once.
    pub(super) fn look_at_once(&self, environment: &Arc<Environment>) {
        let doctor = Doctor { environment, cancel: &self.closing };
        let unknown = self.table.lock().unknown();
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
