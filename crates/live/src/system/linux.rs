//! Processes by `/proc`.

use super::process::{Pane, ProcessFact, ProcessId, agent_of, config_variable};
use crate::{processes::Terminal, state::Millis};
use openagents_core::clock::now_ms;
use openagents_transcripts::history::Provider;
use procfs::process::{FDTarget, Process, Stat};
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

/// Open files of a process that are looked at.
const FILES: usize = 500;

/// What is read once for each process.
#[derive(Debug, Clone, Default)]
struct Fixed {
    agent: Option<Provider>,
    command: Vec<String>,
    folder: Option<PathBuf>,
    pane: Option<Pane>,
    config: Option<PathBuf>,
    /// It had a terminal when it was first seen.
    had_terminal: bool,
}

/// The table of processes, and what is known of each.
#[derive(Debug)]
pub struct System {
    /// With the name, which changes when a process starts another program.
    known: HashMap<ProcessId, (String, Fixed)>,
    user: u32,
}

impl System {
    pub fn new() -> Self {
        Self { known: HashMap::new(), user: rustix::process::getuid().as_raw() }
    }

    /// Returns the agents' processes and all that these have started. Blocks.
    pub fn scan(&mut self) -> Vec<ProcessFact> {
        let Ok(processes) = procfs::process::all_processes() else { return Vec::new() };
        let mut stats: HashMap<u32, (ProcessId, Stat)> = HashMap::new();
        for process in processes.flatten().filter(|process| process.uid().is_ok_and(|uid| uid == self.user)) {
            let Ok(stat) = process.stat() else { continue };
            // One that has ended stays in the table until its parent looks.
            let Some(pid) = u32::try_from(stat.pid).ok().filter(|_| !matches!(stat.state, 'Z' | 'X')) else {
                continue;
            };
            let id = ProcessId { pid, start: stat.starttime };
            let known = self.known.get(&id).is_some_and(|(name, _)| *name == stat.comm);
            if !known {
                self.known.insert(id, (stat.comm.clone(), fixed(&process, &stat)));
            }
            stats.insert(pid, (id, stat));
        }
        let alive: HashSet<ProcessId> = stats.values().map(|(id, _)| *id).collect();
        self.known.retain(|id, _| alive.contains(id));
        let is_agent = |id: &ProcessId| self.known.get(id).is_some_and(|(_, fixed)| fixed.agent.is_some());
        let is_below = |stat: &Stat, what: &dyn Fn(&ProcessId) -> bool| {
            let mut parent = u32::try_from(stat.ppid).ok();
            // No line of ancestors is longer than the table.
            for _ in 0..stats.len() {
                let Some((id, above)) = parent.and_then(|parent| stats.get(&parent)) else { return false };
                if what(id) {
                    return true;
                }
                parent = u32::try_from(above.ppid).ok();
            }
            false
        };
        // The agents that we have started are known exactly.
        let own = std::process::id();
        let is_wanted = |id: &ProcessId, stat: &Stat| {
            (is_agent(id) || is_below(stat, &is_agent)) && !is_below(stat, &|above| above.pid == own)
        };
        let wanted = stats.values().filter(|(id, stat)| is_wanted(id, stat));
        let boot = boot();
        let mut facts: Vec<_> = wanted.map(|(id, stat)| self.fact(*id, stat, boot)).collect();
        facts.sort_by_key(|fact| fact.id);
        facts
    }

    /// `boot`: when the system started.
    fn fact(&self, id: ProcessId, stat: &Stat, boot: Millis) -> ProcessFact {
        let (_, fixed) = self.known.get(&id).cloned().unwrap_or_default();
        let ticks = procfs::ticks_per_second().max(1);
        let since_boot = stat.starttime.saturating_mul(1000) / ticks;
        ProcessFact {
            id,
            parent: u32::try_from(stat.ppid).unwrap_or_default(),
            started: boot.saturating_add(Millis::try_from(since_boot).unwrap_or_default()),
            name: stat.comm.clone(),
            command: fixed.command,
            agent: fixed.agent,
            folder: fixed.folder,
            terminal: match (has_terminal(stat), fixed.had_terminal) {
                (true, _) => Terminal::Open,
                (false, true) => Terminal::Closed,
                (false, false) => Terminal::None,
            },
            is_suspended: matches!(stat.state, 'T' | 't'),
            open_files: match fixed.agent {
                Some(Provider::Codex) => open_files(id.pid),
                _ => Vec::new(),
            },
            pane: fixed.pane,
            config: fixed.config,
        }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

/// When the system started, by the clock as it is now: `/proc/stat` has whole seconds, and does not follow the clock.
fn boot() -> Millis {
    let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now_ms() - since.tv_sec * 1000 - since.tv_nsec / 1_000_000
}

/// Of the environment, only the variables of tmux and the agent's folder are looked at.
fn fixed(process: &Process, stat: &Stat) -> Fixed {
    let command = process.cmdline().unwrap_or_default();
    // One in a container has other files and numbers.
    let is_here = namespace(&stat.pid.to_string()) == namespace("self");
    let Some(agent) = agent_of(&command).filter(|_| is_here) else { return Fixed::default() };
    let variable = |name: &str| {
        let environment = process.environ().ok()?;
        Some(environment.get(std::ffi::OsStr::new(name))?.to_string_lossy().into_owned())
    };
    let pane = variable("TMUX").zip(variable("TMUX_PANE"));
    Fixed {
        agent: Some(agent),
        command,
        folder: process.cwd().ok(),
        pane: pane.and_then(|(tmux, pane)| Pane::from_env(&tmux, &pane)),
        config: config_variable(agent).and_then(variable).map(PathBuf::from),
        had_terminal: has_terminal(stat),
    }
}

fn namespace(process: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/ns/pid")).ok()
}

/// Returns whether a process has a controlling terminal, or reads from one. The file of a closed terminal is gone.
fn has_terminal(stat: &Stat) -> bool {
    let reads = || {
        let input = std::fs::read_link(format!("/proc/{}/fd/0", stat.pid));
        input.is_ok_and(|input| input.starts_with("/dev/pts") && input.exists())
    };
    stat.tty_nr != 0 || reads()
}

/// Returns the logs and locks that a process has open.
fn open_files(pid: u32) -> Vec<PathBuf> {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let Some(files) = process.and_then(|process| process.fd().ok()) else { return Vec::new() };
    let path = |target| match target {
        FDTarget::Path(path) => Some(path),
        _ => None,
    };
    let names = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl" || ending == "lock");
    files.flatten().take(FILES).filter_map(|file| path(file.target)).filter(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::symlink,
        process::{Command, Stdio},
        time::{Duration, Instant},
    };

    /// Shells that are named like an agent, with a child: one that another program has started, and one of ours.
    #[test]
    fn agent_and_its_child_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        symlink("/bin/sh", &program).unwrap();
        let line = "claude -c 'sleep 60; true' >/dev/null 2>&1 & echo $!";
        let start = || {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &line.replace("claude", &program.to_string_lossy())]).current_dir(&folder);
            command.env("TMUX", "/tmp/tmux-0/default,1,0").env("TMUX_PANE", "%7");
            command
        };
        let mut own = Command::new(&program);
        let mut own = own.args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
        let started = String::from_utf8(start().output().unwrap().stdout).unwrap();
        let agent: u32 = started.trim().parse().unwrap();
        let mut system = System::new();
        let began = Instant::now();
        let (fact, child) = loop {
            let facts = system.scan();
            assert!(
                facts.iter().all(|fact| fact.id.pid != own.id()),
                "an agent that we have started is listed"
            );
            let fact = facts.iter().find(|fact| fact.id.pid == agent && fact.agent.is_some()).cloned();
            let child = facts.iter().find(|fact| fact.parent == agent && fact.name == "sleep").cloned();
            if let Some(found) = fact.zip(child) {
                break found;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "not found: {facts:?}");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((fact.agent, fact.folder), (Some(Provider::ClaudeCode), fs::canonicalize(&folder).ok()));
        assert_eq!(fact.pane.map(|pane| pane.id), Some("%7".to_owned()));
        assert_eq!(child.agent, None);
        let age = openagents_core::clock::now_ms() - child.started;
        assert!((-2_000..60_000).contains(&age), "{age}");
        for pid in [agent, child.id.pid] {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        own.kill().unwrap();
        own.wait().unwrap();
        assert!(system.scan().iter().all(|fact| fact.id != child.id || fact.agent.is_none()));
    }
}
