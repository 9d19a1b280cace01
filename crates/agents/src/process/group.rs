//! A child process and its descendants.

use crate::limits::{CANCEL_CHECK, STOP_GRACE, STOP_PAUSE};
use openagents_core::helper;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::{
    collections::{HashMap, HashSet},
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use sysinfo::{Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// The variable that marks the processes of a group. As one of our own variables, it is not passed on to the agents
/// of an OpenAgents that an agent starts.
const MARK: &str = "OPENAGENTS_PROCESS_GROUP";

/// A process group, which is killed when its leader exits, or stopped on request.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    /// `NAME=value` in the environment of its processes, for finding those that have lost their parent.
    mark: Option<String>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ended: Option<ExitStatus>,
    /// When SIGTERM was sent. It is sent only once: many programs treat a second one as more urgent.
    terminated: Option<Instant>,
    stopping: bool,
    /// Recorded descendants of the leader, including those in other groups.
    family: Family,
    /// Only the group is stopped: descendants in other groups keep running.
    alone: bool,
}

#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl Group {
    pub(crate) fn start(command: &mut Command) -> io::Result<(Arc<Self>, Streams)> {
        Self::start_as(None, command)
    }

    /// Same as [`Self::start`], with a mark that identifies its processes.
    pub(super) fn start_marked(command: &mut Command) -> io::Result<(Arc<Self>, Streams)> {
        let id = uuid::Uuid::new_v4().to_string();
        Self::start_as(Some(format!("{MARK}={id}")), command.env(MARK, &id))
    }

    fn start_as(mark: Option<String>, command: &mut Command) -> io::Result<(Arc<Self>, Streams)> {
        let mut child = command.process_group(0).spawn()?;
        let streams =
            Streams { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        let id = Pid::from_child(&child);
        let group = Arc::new(Self { id, mark, state: Mutex::default(), changed: Condvar::new() });
        let waiting = group.clone();
        let waiter = std::thread::Builder::new().name("child".to_owned());
        if let Err(error) = waiter.spawn(move || waiting.wait_for(child)) {
            group.kill();
            return Err(error);
        }
        Ok((group, streams))
    }

    /// Reaps the leader after the others are killed: its id is not reused until then.
    fn wait_for(&self, mut child: Child) {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(self.id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let mut state = self.state.lock();
        // Fails if no process is left.
        let _ = kill_process_group(self.id, Signal::KILL);
        std::mem::take(&mut state.family).signal(Signal::KILL);
        state.ended = Some(child.wait().unwrap_or_default());
        self.changed.notify_all();
    }

    fn signal(&self, signal: Signal) {
        self.record_family(self.mark.as_deref());
        let state = self.state.lock();
        if state.ended.is_none() {
            // Fails if the group has just exited.
            let _ = kill_process_group(self.id, signal);
            state.family.signal(signal);
        }
    }

    /// Records the leader's descendants, which can't be found once it has exited.
    pub(crate) fn record_descendants(&self) {
        self.record_family(None);
    }

    fn record_family(&self, mark: Option<&str>) {
        let is_over = |state: &State| state.ended.is_some() || state.alone;
        if is_over(&self.state.lock()) {
            return;
        }
        let family = Family::descendants_of(self.id, mark);
        let mut state = self.state.lock();
        if state.alone {
            return;
        }
        if state.ended.is_none() {
            state.family.extend(family);
        } else {
            // The leader has exited in the meantime.
            family.signal(Signal::KILL);
        }
    }

    /// Limits later stops to the group itself. Returns its descendants, including those in other groups.
    pub(super) fn let_go(&self) -> Family {
        self.record_family(self.mark.as_deref());
        let mut state = self.state.lock();
        state.alone = true;
        std::mem::take(&mut state.family)
    }

    /// Sends SIGTERM to the whole group, once. Returns when it was sent.
    fn terminate(&self) -> Instant {
        {
            let mut state = self.state.lock();
            if let Some(terminated) = state.terminated {
                return terminated;
            }
            state.terminated = Some(Instant::now());
        }
        self.signal(Signal::TERM);
        Instant::now()
    }

    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.state.lock().ended
    }

    pub(crate) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| state.ended.is_none(), limit);
        state.ended
    }

    /// Sends SIGTERM to the whole group, and SIGKILL 2 s later. Blocks for that long at most.
    pub(crate) fn stop(&self) {
        let end = self.terminate() + STOP_GRACE;
        if self.wait(end.saturating_duration_since(Instant::now())).is_none() {
            self.kill();
        }
    }

    /// Same as [`Self::stop`], in the background.
    pub(crate) fn stop_soon(self: &Arc<Self>) {
        self.stop_after(Duration::ZERO);
    }

    /// Same as [`Self::stop_soon`], but first gives the process time to exit after its input was closed.
    pub(crate) fn stop_after_a_pause(self: &Arc<Self>) {
        self.stop_after(STOP_PAUSE);
    }

    fn stop_after(self: &Arc<Self>, pause: Duration) {
        {
            let mut state = self.state.lock();
            if state.ended.is_some() || std::mem::replace(&mut state.stopping, true) {
                return;
            }
        }
        let group = self.clone();
        let waiter = std::thread::Builder::new().name("stop".to_owned());
        let stop = move || {
            if group.wait(pause).is_none() {
                group.stop();
            }
        };
        if waiter.spawn(stop).is_err() {
            self.kill();
        }
    }

    /// Stops several groups in parallel. Blocks for little more than 2 s.
    pub(crate) fn stop_all(groups: &[Arc<Self>]) {
        let wait = |limit: Duration| {
            let end = Instant::now() + limit;
            for group in groups {
                group.wait(end.saturating_duration_since(Instant::now()));
            }
            groups.iter().filter(|group| group.ended().is_none())
        };
        wait(STOP_PAUSE).for_each(|group| {
            group.terminate();
        });
        wait(STOP_GRACE).for_each(|group| group.kill());
        // Killed processes exit at once; a process that can't be killed is not waited for.
        wait(STOP_PAUSE)
            .for_each(|group| tracing::warn!(group = group.id.as_raw_nonzero(), "cannot be killed"));
    }

    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }
}

/// `exit code 3`, `SIGKILL`.
pub(crate) fn exit_in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => signal_name(signal),
        (None, None) => "an unknown status".to_owned(),
    }
}

pub(crate) fn signal_name(number: i32) -> String {
    helper::signal_name(number).map_or_else(|| format!("signal {number}"), str::to_owned)
}

/// The process groups of an owner. Once stopped, no more can be started.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    groups: Vec<Weak<Group>>,
    left: Family,
    ended: bool,
}

impl Groups {
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<(Arc<Group>, Streams)> {
        // Held until the group is in the list: otherwise a process started in the meantime would not be stopped.
        let mut running = self.running.lock();
        if running.ended {
            return Err(io::Error::other("OpenAgents is shutting down"));
        }
        let (group, streams) = Group::start_marked(command)?;
        running.groups.retain(|group| group.upgrade().is_some_and(|group| group.ended().is_none()));
        running.groups.push(Arc::downgrade(&group));
        Ok((group, streams))
    }

    /// Detaches processes that a group started in other sessions, such as a server. They keep running when the group
    /// stops, until [`Self::end`].
    pub(crate) fn let_go(&self, group: &Group) {
        let left = group.let_go();
        self.running.lock().left.extend(left);
    }

    /// Stops all groups, including those already stopping, and detached processes. Blocks for little more than 2 s.
    pub(crate) fn end(&self) {
        let (groups, left) = {
            let mut running = self.running.lock();
            running.ended = true;
            let groups: Vec<_> = running.groups.drain(..).filter_map(|group| group.upgrade()).collect();
            (groups, std::mem::take(&mut running.left))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                left.signal(Signal::TERM);
                left.wait(STOP_GRACE);
                left.signal(Signal::KILL);
            });
            Group::stop_all(&groups);
        });
    }
}

/// The descendants of a process in any group, by process id and start, since process ids are reused. Shells give each
/// command its own process session.
///
/// A descendant that has lost its parent, as after a double fork, is recognized by a variable in its environment.
/// macOS does not show the environment of the system's own programs.
#[derive(Debug, Default)]
pub(super) struct Family {
    members: HashMap<u32, u64>,
}

impl Family {
    /// Lists the current descendants: by parent, and with `mark` also processes with this
    /// `NAME=value` in their environment.
    pub(super) fn descendants_of(leader: Pid, mark: Option<&str>) -> Self {
        let Ok(leader) = u32::try_from(leader.as_raw_nonzero().get()) else { return Self::default() };
        let processes = list_processes(ProcessesToUpdate::All, mark.is_some());
        let mut family = Self::find(&processes, leader, mark);
        if mark.is_some() && processes.processes().values().any(may_be_starting) {
            std::thread::sleep(CANCEL_CHECK);
            family.extend(Self::find(&list_processes(ProcessesToUpdate::All, true), leader, mark));
        }
        family
    }

    fn find(processes: &System, leader: u32, mark: Option<&str>) -> Self {
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        let (mut members, mut open) = (HashMap::new(), vec![leader]);
        let mut add = |process: &Process, open: &mut Vec<u32>| {
            // A process that has just exited has no start.
            members.extend(process_start(process).map(|started| (process.pid().as_u32(), started)));
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

    fn still_running(&self) -> HashSet<u32> {
        if self.members.is_empty() {
            return HashSet::new();
        }
        let ids: Vec<_> = self.members.keys().map(|id| sysinfo::Pid::from_u32(*id)).collect();
        let there = list_processes(ProcessesToUpdate::Some(&ids), false);
        let is_it = |(id, start): (&u32, &u64)| {
            let now = there.process(sysinfo::Pid::from_u32(*id))?;
            (process_start(now) == Some(*start) && now.status() != ProcessStatus::Zombie).then_some(*id)
        };
        self.members.iter().filter_map(is_it).collect()
    }

    pub(super) fn wait(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while Instant::now() < until && !self.still_running().is_empty() {
            std::thread::sleep(CANCEL_CHECK);
        }
    }

    /// Signals each descendant that is still running, along with the group it leads.
    pub(super) fn signal(&self, signal: Signal) {
        for id in self.still_running() {
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
fn process_start(process: &Process) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{}/stat", process.pid())).ok()?;
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    let name_end = memchr::memrchr(b')', &stat)?;
    str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Returns the start of a process in seconds since the epoch, as the system recorded it at the time.
#[cfg(not(target_os = "linux"))]
fn process_start(process: &Process) -> Option<u64> {
    Some(process.start_time())
}

fn list_processes(which: ProcessesToUpdate<'_>, with_environment: bool) -> System {
    let mut what = ProcessRefreshKind::nothing().without_tasks();
    if with_environment {
        what = what.with_environ(UpdateKind::Always);
    }
    let mut system = System::new();
    system.refresh_processes_specifics(which, true, what);
    system
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::BufRead as _, process::Stdio};

    fn start(script: &str) -> (Arc<Group>, u32) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let (group, streams) = Group::start(&mut command).unwrap();
        let mut line = String::new();
        std::io::BufReader::new(streams.stdout.unwrap()).read_line(&mut line).unwrap();
        (group, line.trim().parse().unwrap())
    }

    fn is_alive(pid: u32) -> bool {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let is_zombie = state.is_ok_and(|state| state.contains(") Z "));
        rustix::process::test_kill_process(pid).is_ok() && !is_zombie
    }

    fn ends(pid: u32) -> bool {
        (0..6_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !is_alive(pid)
        })
    }

    #[test]
    fn group_kills_processes_left_by_leader() {
        let (group, pid) = start("sleep 300 & echo $!; exit 3");
        let status = group.wait(Duration::from_secs(60)).unwrap();
        assert_eq!(exit_in_words(status), "exit code 3");
        assert!(ends(pid));
    }

    #[test]
    fn stop_kills_process_ignoring_sigterm() {
        let (group, pid) = start("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done'");
        group.stop();
        assert_eq!(exit_in_words(group.wait(Duration::from_secs(60)).unwrap()), "SIGKILL");
        assert!(ends(pid));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn stop_reaches_other_process_sessions() {
        for stop in [Group::stop, Group::kill] {
            let (group, pid) = start("setsid sleep 300 & echo $!; wait");
            // If `setsid` has not run yet, the process is still in the group.
            stop(&group);
            assert!(group.wait(Duration::from_secs(60)).is_some());
            assert!(ends(pid));
        }
    }

    /// Regression: a process that had left its group and lost its parent was not found.
    #[cfg(target_os = "linux")]
    #[test]
    fn stop_reaches_orphans() {
        for stop in [Group::stop, Group::kill] {
            let mut command = Command::new("/bin/sh");
            let script = "setsid sh -c 'sleep 300 >/dev/null & echo $!'; echo; while :; do sleep 1; done";
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
            let (group, streams) = Group::start_marked(&mut command).unwrap();
            let mut lines = std::io::BufReader::new(streams.stdout.unwrap()).lines();
            let pid = lines.next().unwrap().unwrap().parse().unwrap();
            // Its parent has exited.
            lines.next().unwrap().unwrap();
            stop(&group);
            assert!(group.wait(Duration::from_secs(60)).is_some());
            assert!(ends(pid));
        }
    }

    #[test]
    fn sigterm_is_sent_once() {
        let script = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.1; done";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let (group, streams) = Group::start(&mut command).unwrap();
        let mut lines = std::io::BufReader::new(streams.stdout.unwrap()).lines();
        lines.next().unwrap().unwrap();
        (0..3).for_each(|_| group.stop_soon());
        Group::stop_all(std::slice::from_ref(&group));
        assert_eq!(lines.map_while(Result::ok).collect::<Vec<_>>(), ["asked"]);
    }

    /// Regression: the start was recorded in clock time, so no descendant was recognized after the clock was set.
    #[cfg(target_os = "linux")]
    #[test]
    fn process_start_does_not_depend_on_clock() {
        // A name with a parenthesis and spaces.
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a) b (c");
        std::os::unix::fs::symlink("/bin/sleep", &name).unwrap();
        let mut child = Command::new(&name).arg("300").stdout(Stdio::null()).spawn().unwrap();
        let own = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
        let known = Family::descendants_of(own, None).members.get(&child.id()).copied();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let ticks = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap();
        assert_eq!(known.unwrap().to_string(), ticks);
    }

    #[test]
    fn end_waits_for_groups_and_prevents_new_ones() {
        let groups = Groups::default();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; echo; while :; do sleep 1; done"]);
        let (group, streams) = groups.start(command.stdout(Stdio::piped())).unwrap();
        io::Read::read_exact(&mut streams.stdout.unwrap(), &mut [0]).unwrap();
        group.stop_soon();
        let watched = Arc::downgrade(&group);
        drop(group);
        groups.end();
        // Another thread waiting for the group may not have returned yet.
        let status = watched.upgrade().map(|group| group.wait(Duration::ZERO));
        assert_ne!(status, Some(None));
        assert!(groups.start(&mut command).is_err());
    }
}
