//! The descendants of a process, in any group: shells give each command its own process session.
//!
//! A descendant that has lost its parent, as after a double fork, is recognized by a variable in its environment.
//! macOS does not show the environment of the system's own programs.

use crate::limits::CANCEL_CHECK;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};
use sysinfo::{Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// Descendants, by process id and start (see [`started`]), since process ids are reused.
#[derive(Debug, Default)]
pub(super) struct Family {
    members: HashMap<u32, u64>,
}

impl Family {
    /// Lists the current descendants: by parent, and with `mark` also processes with this
    /// `NAME=value` in their environment.
    pub(super) fn of(leader: Pid, mark: Option<&str>) -> Self {
        let Ok(leader) = u32::try_from(leader.as_raw_nonzero().get()) else { return Self::default() };
        let processes = look(ProcessesToUpdate::All, mark.is_some());
        let mut family = Self::among(&processes, leader, mark);
        if mark.is_some() && processes.processes().values().any(may_be_starting) {
            std::thread::sleep(CANCEL_CHECK);
            family.extend(Self::among(&look(ProcessesToUpdate::All, true), leader, mark));
        }
        family
    }

    fn among(processes: &System, leader: u32, mark: Option<&str>) -> Self {
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        let (mut members, mut open) = (HashMap::new(), vec![leader]);
        let mut add = |process: &Process, open: &mut Vec<u32>| {
            // A process that has just exited has no start.
            members.extend(started(process).map(|started| (process.pid().as_u32(), started)));
            open.push(process.pid().as_u32());
        };
        for (id, process) in processes.processes() {
            if let Some(parent) = process.parent() {
                children.entry(parent.as_u32()).or_default().push(process);
            }
            let is_marked = || mark.is_some_and(|mark| process.environ().iter().any(|known| known == mark));
            if id.as_u32() != leader && is_marked() {
                add(process, &mut open);
            }
        }
        while let Some(parent) = open.pop() {
            for child in children.remove(&parent).unwrap_or_default() {
                add(child, &mut open);
            }
        }
        Self { members }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.members.extend(other.members);
    }

    /// Returns the descendants that are still running.
    fn there(&self) -> HashSet<u32> {
        if self.members.is_empty() {
            return HashSet::new();
        }
        let ids: Vec<_> = self.members.keys().map(|id| sysinfo::Pid::from_u32(*id)).collect();
        let there = look(ProcessesToUpdate::Some(&ids), false);
        let is_it = |(id, start): (&u32, &u64)| {
            let now = there.process(sysinfo::Pid::from_u32(*id))?;
            (started(now) == Some(*start) && now.status() != ProcessStatus::Zombie).then_some(*id)
        };
        self.members.iter().filter_map(is_it).collect()
    }

    /// Waits until none of them is running. Blocks for `limit` at most.
    pub(super) fn wait(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while Instant::now() < until && !self.there().is_empty() {
            std::thread::sleep(CANCEL_CHECK);
        }
    }

    /// Signals each descendant that is still running, along with the group it leads.
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

/// Returns whether a process may be starting another program: until that has begun, its environment is empty on Linux.
/// Kernel threads, the children of process 2, never have one.
fn may_be_starting(process: &Process) -> bool {
    let kernel = sysinfo::Pid::from_u32(2);
    process.environ().is_empty() && process.pid() != kernel && process.parent() != Some(kernel)
}

/// Returns the start of a process in clock ticks since boot: field 22 of proc_pid_stat(5). The start time of `sysinfo`
/// moves when the clock is set, because it adds the boot time by the current clock.
#[cfg(target_os = "linux")]
fn started(process: &Process) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{}/stat", process.pid())).ok()?;
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    let name_end = memchr::memrchr(b')', &stat)?;
    str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Returns the start of a process in seconds since the epoch, as the system recorded it at the time.
#[cfg(not(target_os = "linux"))]
fn started(process: &Process) -> Option<u64> {
    Some(process.start_time())
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Regression: the start was recorded in clock time, so no descendant was recognized after the clock was set.
    #[test]
    fn start_of_a_descendant_does_not_depend_on_the_clock() {
        // A name with a parenthesis and spaces.
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a) b (c");
        std::os::unix::fs::symlink("/bin/sleep", &name).unwrap();
        let mut child = Command::new(&name).arg("300").stdout(Stdio::null()).spawn().unwrap();
        let own = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
        let known = Family::of(own, None).members.get(&child.id()).copied();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let ticks = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap();
        assert_eq!(known.unwrap().to_string(), ticks);
    }
}
