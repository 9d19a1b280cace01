//! The descendants of a process, in whatever group: shells give each command its own session.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::{HashMap, HashSet};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Descendants, by process id and start time (seconds), since ids are reused.
#[derive(Debug, Default)]
pub(super) struct Family {
    members: HashMap<u32, u64>,
}

impl Family {
    /// Lists the current descendants. Processes that have lost their parent are not found.
    pub(super) fn of(leader: Pid) -> Self {
        let Ok(leader) = u32::try_from(leader.as_raw_nonzero().get()) else { return Self::default() };
        let mut children: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        for (id, process) in look(ProcessesToUpdate::All).processes() {
            if let Some(parent) = process.parent() {
                children.entry(parent.as_u32()).or_default().push((id.as_u32(), process.start_time()));
            }
        }
        let mut members = HashMap::new();
        let mut open = vec![leader];
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

    /// Signals each of them that still runs, along with the group it leads.
    pub(super) fn signal(&self, signal: Signal) {
        if self.members.is_empty() {
            return;
        }
        let ids: Vec<_> = self.members.keys().map(|id| sysinfo::Pid::from_u32(*id)).collect();
        let there = look(ProcessesToUpdate::Some(&ids));
        let is_it = |(id, started): (&u32, &u64)| {
            let now = there.process(sysinfo::Pid::from_u32(*id))?;
            (now.start_time() == *started).then_some(*id)
        };
        let ids: HashSet<_> = self.members.iter().filter_map(is_it).collect();
        for id in ids {
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

fn look(which: ProcessesToUpdate<'_>) -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(which, true, ProcessRefreshKind::nothing().without_tasks());
    system
}
