//! The descendants of a process, in whatever group: shells give each command its own session.
//!
//! One that has lost its parent, as after a double fork, is known by a variable in its environment. macOS does not show
//! the environment of the system's own programs.

use crate::limits::CANCEL_CHECK;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};
use sysinfo::{ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// Descendants, by process id and start time (seconds), since ids are reused.
#[derive(Debug, Default)]
pub(super) struct Family {
    members: HashMap<u32, u64>,
}

impl Family {
    /// Lists the current descendants: by parent, and with `mark` also those with this `NAME=value` in their environment.
    pub(super) fn of(leader: Pid, mark: Option<&str>) -> Self {
        let Ok(leader) = u32::try_from(leader.as_raw_nonzero().get()) else { return Self::default() };
        let mut children: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        let (mut members, mut open) = (HashMap::new(), vec![leader]);
        for (id, process) in look(ProcessesToUpdate::All, mark.is_some()).processes() {
            let (id, started) = (id.as_u32(), process.start_time());
            if let Some(parent) = process.parent() {
                children.entry(parent.as_u32()).or_default().push((id, started));
            }
            let is_marked = || mark.is_some_and(|mark| process.environ().iter().any(|known| known == mark));
            if id != leader && is_marked() {
                members.insert(id, started);
                open.push(id);
            }
        }
        while let Some(parent) = open.pop() {
            for (child, started) in children.remove(&parent).unwrap_or_default() {
                members.insert(child, started);
                open.push(child);
            }
        }
        Self { members }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.members.extend(other.members);
    }

    /// Returns those that still run.
    fn there(&self) -> HashSet<u32> {
        if self.members.is_empty() {
            return HashSet::new();
        }
        let ids: Vec<_> = self.members.keys().map(|id| sysinfo::Pid::from_u32(*id)).collect();
        let there = look(ProcessesToUpdate::Some(&ids), false);
        let is_it = |(id, started): (&u32, &u64)| {
            let now = there.process(sysinfo::Pid::from_u32(*id))?;
            (now.start_time() == *started && now.status() != ProcessStatus::Zombie).then_some(*id)
        };
        self.members.iter().filter_map(is_it).collect()
    }

    /// Waits until none of them runs. Blocks for `limit` at most.
    pub(super) fn wait(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while Instant::now() < until && !self.there().is_empty() {
            std::thread::sleep(CANCEL_CHECK);
        }
    }

    /// Signals each of them that still runs, along with the group it leads.
    pub(super) fn signal(&self, signal: Signal) {
        for id in self.there() {
            let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else { continue };
            // Both fail if there is nothing left to signal.
            if rustix::process::getpgid(Some(id)) == Ok(id) {
                let _ = kill_process_group(id, signal);
            } else {
                let _ = kill_process(id, signal);
            }
        }
    }
}

fn look(which: ProcessesToUpdate<'_>, with_environment: bool) -> System {
    let mut what = ProcessRefreshKind::nothing().without_tasks();
    if with_environment {
        what = what.with_environ(UpdateKind::Always);
    }
    let mut system = System::new();
    system.refresh_processes_specifics(which, true, what);
    system
}
