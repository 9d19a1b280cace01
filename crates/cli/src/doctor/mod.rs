//! `openagents doctor` and `openagents agents`: the agents of this computer.
//!
//! What there is to do is done by the bridge that runs, so that every client sees it; without one, by this process.

mod managed;
mod mcp;
mod table;

use crate::{args, door, output};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget};
use managed::OurAgents;
use openagents_core::agent::{AgentCommand, CustomAgent, CustomKind};
use serde_json::Value;
use std::{path::Path, process::ExitCode, time::Duration};

type Door = door::Door<OurAgents>;

/// Between two looks at a check.
const LOOK: Duration = Duration::from_millis(100);

/// A check ends by itself, each of its steps after seconds.
const GIVE_UP: Duration = Duration::from_secs(180);

/// `openagents doctor`.
pub(crate) fn run(arguments: &args::Doctor) -> anyhow::Result<ExitCode> {
    let mut door = Door::open()?;
    let checked = door.command(AgentCommand::Check).and_then(|_| follow(&mut door));
    door.close();
    let Some(mut snapshot) = checked? else { return Ok(ExitCode::from(130)) };
    let commands = mcp::commands(&snapshot);
    if arguments.json {
        snapshot["mcp"] = serde_json::to_value(commands)?;
        output::json_pretty(&snapshot)?;
    } else {
        table::print(&snapshot, None)?;
        mcp::print(&commands)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `openagents agents …`.
pub(crate) fn agents(command: &args::Agents) -> anyhow::Result<ExitCode> {
    // What was typed wrong needs no bridge.
    let added = match command {
        args::Agents::Add(add) => Some(custom(add)?),
        args::Agents::List { .. } | args::Agents::Remove { .. } => None,
    };
    let mut door = Door::open()?;
    let outcome = act(&mut door, command, added);
    door.close();
    outcome
}

fn act(door: &mut Door, command: &args::Agents, added: Option<CustomAgent>) -> anyhow::Result<ExitCode> {
    match (command, added) {
        (args::Agents::Remove { id }, _) => {
            door.command(AgentCommand::Remove { id: id.clone() })?;
            output::line(format_args!("Removed  {}", output::printable(id)))?;
            Ok(ExitCode::SUCCESS)
        }
        (args::Agents::List { json }, _) => show(follow(door)?, *json),
        (args::Agents::Add(_), None) => Ok(ExitCode::SUCCESS),
        (args::Agents::Add(_), Some(agent)) => {
            let id = format!("{}{}", openagents_core::agent_ids::CUSTOM_PREFIX, agent.id);
            door.command(AgentCommand::Add(agent))?;
            let Some(snapshot) = follow(door)? else { return Ok(ExitCode::from(130)) };
            output::line(format_args!("Added    {id}"))?;
            table::print(&snapshot, Some(&id))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn show(snapshot: Option<Value>, json: bool) -> anyhow::Result<ExitCode> {
    let Some(snapshot) = snapshot else { return Ok(ExitCode::from(130)) };
    if json {
        output::json_pretty(&snapshot)?
    } else {
        table::print(&snapshot, None)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end of a check; `None` when a person has pressed Ctrl-C.
fn follow(door: &mut Door) -> anyhow::Result<Option<Value>> {
    let mut signals = door.signals()?;
    // Where stderr is no terminal nothing is drawn.
    let wheel = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    wheel.set_message("Looking for agents; each that is there is started once");
    let mut waited = Duration::ZERO;
    let ended = loop {
        let snapshot = door.snapshot()?;
        if snapshot["checking"] == false {
            break Some(snapshot);
        }
        if waited > GIVE_UP {
            anyhow::bail!("the check has not ended within {} s; try again", GIVE_UP.as_secs());
        }
        wheel.tick();
        if door.wait(&mut signals, LOOK) {
            break None;
        }
        waited += LOOK;
    };
    wheel.finish_and_clear();
    Ok(ended)
}

/// Reads what was typed. What it may be, those who keep it know.
fn custom(add: &args::AddAgent) -> anyhow::Result<CustomAgent> {
    if let Some(file) = &add.registry {
        let entry = read_entry(file)?;
        let mut agent = openagents_agents::from_registry(&entry)
            .with_context(|| format!("cannot add {}", file.display()))?;
        agent.id.clone_from(&add.id);
        agent.name = add.name.clone().or(agent.name);
        return Ok(agent);
    }
    let pairs = |texts: &[(String, String)]| texts.iter().cloned().collect();
    let kind = match (&add.openai, &add.model, add.command.split_first()) {
        (Some(base_url), Some(model), None) => CustomKind::Openai {
            base_url: base_url.clone(),
            model: model.clone(),
            key_variable: add.key_variable.clone(),
            headers: pairs(&add.headers),
        },
        (None, None, Some((command, args))) => CustomKind::Acp {
            command: command.clone(),
            args: args.to_vec(),
            env: pairs(&add.variables),
            cwd: add.cwd.clone(),
        },
        _ => {
            let usage =
                "say how it answers: `-- COMMAND ARGS…`, `--openai URL --model NAME` or `--registry FILE`";
            return Err(output::Usage(usage.to_owned()).into());
        }
    };
    Ok(CustomAgent { id: add.id.clone(), name: add.name.clone(), kind })
}

fn read_entry(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}
