//! Processes by the crate `sysinfo`, for systems without `/proc`. It does not show terminals and open files.

use super::process::{Pane, ProcessFact, ProcessId, agent_of, config_variable};
use crate::{processes::Terminal, state::Millis};
use openagents_transcripts::history::Provider;
use std::collections::HashMap;
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, UpdateKind};

/// The table of processes.
#[derive(Debug)]
pub struct System {
    system: sysinfo::System,
}

impl System {
    pub fn new() -> Self {
        Self { system: sysinfo::System::new() }
    }

    /// Returns the agents' processes and all that these have started. Blocks.
    pub fn scan(&mut self) -> Vec<ProcessFact> {
        let what = ProcessRefreshKind::nothing()
            .with_cmd(UpdateKind::OnlyIfNotSet)
            .with_cwd(UpdateKind::OnlyIfNotSet)
            .with_environ(UpdateKind::OnlyIfNotSet);
        self.system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        let processes = self.system.processes();
        let agents: HashMap<Pid, Provider> = processes
            .iter()
            .filter_map(|(pid, process)| Some((*pid, agent_of(&command(process))?)))
            .collect();
        let is_below = |process: &Process, what: &dyn Fn(Pid) -> bool| {
            let mut parent = process.parent();
            // No line of ancestors is longer than the table.
            for _ in 0..processes.len() {
                let Some(above) = parent else { return false };
                if what(above) {
                    return true;
                }
                parent = processes.get(&above).and_then(Process::parent);
            }
            false
        };
        // The agents that we have started are known exactly.
        let own = std::process::id();
        let is_agent = |pid: Pid| agents.contains_key(&pid);
        let is_wanted = |process: &&Process| {
            (is_agent(process.pid()) || is_below(process, &is_agent))
                && !is_below(process, &|above| above.as_u32() == own)
        };
        let wanted = processes.values().filter(is_wanted);
        let mut facts: Vec<_> =
            wanted.map(|process| fact(process, agents.get(&process.pid()).copied())).collect();
        facts.sort_by_key(|fact| fact.id);
        facts
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

fn command(process: &Process) -> Vec<String> {
    process.cmd().iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

fn fact(process: &Process, agent: Option<Provider>) -> ProcessFact {
    let variable = |name: &str| {
        let environment = process.environ().iter().map(|it| it.to_string_lossy());
        let mut values =
            environment.filter_map(|it| Some(it.strip_prefix(name)?.strip_prefix('=')?.to_owned()));
        values.next()
    };
    let pane = variable("TMUX").zip(variable("TMUX_PANE"));
    ProcessFact {
        id: ProcessId { pid: process.pid().as_u32(), start: process.start_time() },
        parent: process.parent().map_or(0, Pid::as_u32),
        started: Millis::try_from(process.start_time().saturating_mul(1000)).unwrap_or_default(),
        name: process.name().to_string_lossy().into_owned(),
        command: if agent.is_some() { command(process) } else { Vec::new() },
        agent,
        folder: process.cwd().filter(|_| agent.is_some()).map(Into::into),
        terminal: Terminal::None,
        is_suspended: process.status() == ProcessStatus::Stop,
        open_files: Vec::new(),
        config: agent.and_then(config_variable).and_then(variable).map(Into::into),
        pane: pane.and_then(|(tmux, pane)| Pane::from_env(&tmux, &pane)),
    }
}
