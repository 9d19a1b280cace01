//! `openagents doctor` and `openagents agents`: the agents on this computer.
//!
//! Commands go to the bridge, so that every client sees the result.

mod check;
mod install;
mod mcp;
mod table;

use crate::{args, endpoint::Endpoint, output};
use anyhow::Context;
use check::follow;
use mcp::McpCommand;
use openagents_core::agent::{AgentCommand, AgentsSnapshot, CustomAgent, CustomKind};
use serde::Serialize;
use std::{path::Path, process::ExitCode};

/// `openagents doctor`.
pub(crate) fn run(arguments: &args::Doctor) -> anyhow::Result<ExitCode> {
    let mut endpoint = Endpoint::open()?;
    let checked = endpoint.command(&AgentCommand::Check).and_then(|_| follow(&mut endpoint));
    let Some(snapshot) = checked? else { return Ok(ExitCode::from(130)) };
    let commands = mcp::commands(&snapshot);
    if arguments.json {
        output::json_pretty(&Report { snapshot, mcp: commands })?;
    } else {
        table::print(&snapshot, None)?;
        mcp::print(&commands)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `openagents agents …`.
pub(crate) fn agents(command: &args::Agents) -> anyhow::Result<ExitCode> {
    match command {
        args::Agents::List { json } => return show(follow(&mut Endpoint::open()?)?, *json),
        args::Agents::Remove { id } => {
            Endpoint::open()?.command(&AgentCommand::Remove { id: id.clone() })?;
            output::line(format_args!("Removed  {}", output::printable(id)))?;
        }
        args::Agents::Add(add) => {
            // Usage errors are reported without a bridge.
            let agent = custom(add)?;
            let id = format!("{}{}", openagents_core::agent_ids::CUSTOM_PREFIX, agent.id);
            let mut endpoint = Endpoint::open()?;
            endpoint.command(&AgentCommand::Add { agent })?;
            let Some(snapshot) = follow(&mut endpoint)? else { return Ok(ExitCode::from(130)) };
            output::line(format_args!("Added    {id}"))?;
            table::print(&snapshot, Some(&id))?;
        }
        args::Agents::Install { id, yes } => return install::install(id, *yes),
        args::Agents::RollBack { id } => {
            return install::change(id, AgentCommand::RollBack { id: id.clone() });
        }
        args::Agents::Uninstall { id } => {
            return install::change(id, AgentCommand::Uninstall { id: id.clone() });
        }
        args::Agents::Updates => return install::updates(),
    }
    Ok(ExitCode::SUCCESS)
}

/// What `openagents doctor --json` prints.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    snapshot: AgentsSnapshot,
    mcp: Vec<McpCommand>,
}

fn show(snapshot: Option<AgentsSnapshot>, json: bool) -> anyhow::Result<ExitCode> {
    let Some(snapshot) = snapshot else { return Ok(ExitCode::from(130)) };
    if json {
        output::json_pretty(&snapshot)?
    } else {
        table::print(&snapshot, None)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the arguments; their values are validated by the agent settings.
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
