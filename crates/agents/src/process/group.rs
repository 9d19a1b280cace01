//! A child process and its descendants.

use super::family::Family;
use crate::limits::{STOP_GRACE, STOP_PAUSE};
use openagents_core::helper;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus},
    sync::Arc,
    time::{Duration, Instant},
};

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
    asked: Option<Instant>,
    /// Whether a thread is stopping the group.
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
    /// Starts a command as the leader of a new group.
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
        self.record(self.mark.as_deref());
        let state = self.state.lock();
        if state.ended.is_none() {
            // Fails if the group has just exited.
            let _ = kill_process_group(self.id, signal);
            state.family.signal(signal);
        }
    }

    /// Records the leader's descendants, which can't be found once it has exited.
    pub(crate) fn look(&self) {
        self.record(None);
    }

    fn record(&self, mark: Option<&str>) {
        let is_over = |state: &State| state.ended.is_some() || state.alone;
        if is_over(&self.state.lock()) {
            return;
        }
        let family = Family::of(self.id, mark);
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
        self.record(self.mark.as_deref());
        let mut state = self.state.lock();
        state.alone = true;
        std::mem::take(&mut state.family)
    }

    /// Sends SIGTERM to the whole group, once. Returns when it was sent.
    fn ask(&self) -> Instant {
        {
            let mut state = self.state.lock();
            if let Some(asked) = state.asked {
                return asked;
            }
            state.asked = Some(Instant::now());
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
        let end = self.ask() + STOP_GRACE;
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
            group.ask();
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
    fn processes_left_by_the_leader_are_killed() {
        let (group, pid) = start("sleep 300 & echo $!; exit 3");
        let status = group.wait(Duration::from_secs(60)).unwrap();
        assert_eq!(exit_in_words(status), "exit code 3");
        assert!(ends(pid));
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed() {
        let (group, pid) = start("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done'");
        group.stop();
        assert_eq!(exit_in_words(group.wait(Duration::from_secs(60)).unwrap()), "SIGKILL");
        assert!(ends(pid));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_in_another_session_is_stopped() {
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
    fn a_process_that_has_lost_its_parent_is_stopped() {
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
}
