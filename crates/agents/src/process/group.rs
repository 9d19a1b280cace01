//! A child process and everything that it started.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What is asked to end gets so long before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// A process group. It ends with its leader, or when it is told to.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    ended: Mutex<Option<ExitStatus>>,
    changed: Condvar,
}

/// The streams that were asked for.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl Group {
    /// Starts a command as the leader of a new group.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Arc<Self>, Streams)> {
        let mut child = command.process_group(0).spawn()?;
        let streams =
            Streams { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        let id = Pid::from_child(&child);
        let group = Arc::new(Self { id, ended: Mutex::new(None), changed: Condvar::new() });
        let waiting = group.clone();
        let waiter = std::thread::Builder::new().name("child".to_owned());
        if let Err(error) = waiter.spawn(move || waiting.wait_for(child)) {
            group.signal(Signal::KILL);
            return Err(error);
        }
        Ok((group, streams))
    }

    fn lock(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The leader is not reaped before the others are killed: until then its number is nobody else's.
    fn wait_for(&self, mut child: Child) {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(self.id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let mut ended = self.lock();
        // Fails when nobody is left, which is what is wanted.
        let _ = kill_process_group(self.id, Signal::KILL);
        *ended = Some(child.wait().unwrap_or_default());
        self.changed.notify_all();
    }

    fn signal(&self, signal: Signal) {
        let ended = self.lock();
        if ended.is_none() {
            // Fails when it has just ended.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Returns how the leader ended.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        *self.lock()
    }

    /// Waits for the leader's end.
    pub(crate) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        let mut ended = self.lock();
        while ended.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            ended = self.changed.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *ended
    }

    /// Asks the whole group to end, and kills what has not ended 2 s later. Blocks so long at most.
    pub(crate) fn stop(&self) {
        self.signal(Signal::TERM);
        if self.wait(GRACE).is_none() {
            self.kill();
        }
    }

    /// The same without waiting for it.
    pub(crate) fn stop_soon(self: &Arc<Self>) {
        self.signal(Signal::TERM);
        let group = self.clone();
        let waiter = std::thread::Builder::new().name("stop".to_owned());
        if waiter.spawn(move || group.stop()).is_err() {
            self.kill();
        }
    }

    /// Ends several at once. Blocks for little more than 2 s at most.
    pub(crate) fn stop_all(groups: &[Arc<Self>]) {
        let end = Instant::now() + GRACE;
        groups.iter().for_each(|group| group.signal(Signal::TERM));
        for group in groups {
            if group.wait(end.saturating_duration_since(Instant::now())).is_none() {
                group.kill();
            }
        }
        // Killed processes are gone at once; what cannot be killed is waited for no longer.
        let end = Instant::now() + GRACE / 10;
        for group in groups {
            group.wait(end.saturating_duration_since(Instant::now()));
        }
    }

    /// Kills the whole group.
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

/// Returns the name of a signal: `SIGKILL`.
pub(crate) fn signal_name(number: i32) -> String {
    const NAMES: [(Signal, &str); 12] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
    ];
    let known = NAMES.iter().find(|(signal, _)| signal.as_raw() == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
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
    fn what_the_leader_left_ends_with_it() {
        let (group, pid) = start("sleep 300 & echo $!; exit 3");
        let status = group.wait(Duration::from_secs(60)).unwrap();
        assert_eq!(exit_in_words(status), "exit code 3");
        assert!(ends(pid));
    }

    #[test]
    fn who_does_not_heed_is_killed() {
        let (group, pid) = start("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done'");
        group.stop();
        assert_eq!(exit_in_words(group.wait(Duration::from_secs(60)).unwrap()), "SIGKILL");
        assert!(ends(pid));
    }
}
