//! `openagents agents install`, `uninstall`, `roll-back` and `updates`.

use super::{
    check::{POLL, follow},
    table,
};
use crate::{endpoint::Endpoint, output};
use anyhow::{Context, bail};
use openagents_core::agent::{AgentCard, AgentCommand, AgentPackage, PackageOffer};
use openagents_wire::methods;
use std::process::ExitCode;

/// Exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Shows what would be installed, asks, and follows the installation. Ctrl-C stops it.
pub(super) fn install(id: &str, yes: bool) -> anyhow::Result<ExitCode> {
    let mut endpoint = Endpoint::open()?;
    let Some(_) = follow(&mut endpoint)? else { return Ok(ExitCode::from(INTERRUPTED)) };
    let card = card(&mut endpoint, id)?;
    let package = card.package.with_context(|| format!("OpenAgents has no package for {}", card.name))?;
    let Some(offer) = package.offer else {
        let version = package.installed.unwrap_or_default();
        output::line(format_args!("{} {version} is installed, and no newer version is on offer", card.name))?;
        return Ok(ExitCode::SUCCESS);
    };
    for line in consent(&card.name, &offer) {
        output::line(line)?;
    }
    if !yes && !output::ask("Install it?", "add --yes")? {
        return Ok(ExitCode::FAILURE);
    }
    let mut signals = endpoint.signals()?;
    endpoint.command(&AgentCommand::Install { id: id.to_owned(), package: offer.package.clone() })?;
    let wheel = output::spinner();
    loop {
        let AgentPackage { progress, problem, .. } =
            self::card(&mut endpoint, id)?.package.unwrap_or_default();
        match (progress, problem) {
            (Some(progress), _) => wheel.set_message(format!(
                "{} {} of {} MB",
                progress.step,
                progress.bytes / 1_000_000,
                progress.total_bytes / 1_000_000
            )),
            (None, Some(problem)) => {
                wheel.finish_and_clear();
                bail!("{problem}");
            }
            (None, None) => break,
        }
        if endpoint.wait(&mut signals, POLL) {
            wheel.set_message("Stopping…");
            endpoint.command(&AgentCommand::StopInstall { id: id.to_owned() })?;
        }
    }
    wheel.finish_and_clear();
    let installed = self::card(&mut endpoint, id)?.package.and_then(|package| package.installed);
    if installed.as_ref() != Some(&offer.version) {
        output::line("Stopped. Nothing was installed.")?;
        return Ok(ExitCode::from(INTERRUPTED));
    }
    show(&mut endpoint, id)
}

/// Runs a command for one agent and shows the result.
pub(super) fn change(id: &str, command: AgentCommand) -> anyhow::Result<ExitCode> {
    let mut endpoint = Endpoint::open()?;
    endpoint.command(&command)?;
    show(&mut endpoint, id)
}

/// Fetches the newest list and prints one line per agent.
pub(super) fn updates() -> anyhow::Result<ExitCode> {
    let mut endpoint = Endpoint::open()?;
    let Some(_) = follow(&mut endpoint)? else { return Ok(ExitCode::from(INTERRUPTED)) };
    let mut signals = endpoint.signals()?;
    endpoint.command(&AgentCommand::CheckForUpdates)?;
    let wheel = output::spinner();
    wheel.set_message("Fetching the list of agents…");
    let snapshot = loop {
        let snapshot = endpoint.list::<methods::AgentsList>()?;
        if !snapshot.packages.fetching {
            break snapshot;
        }
        if endpoint.wait(&mut signals, POLL) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    wheel.finish_and_clear();
    if let Some(problem) = snapshot.packages.problem {
        bail!("{problem}");
    }
    let rows: Vec<_> = snapshot.agents.iter().filter_map(row).collect();
    output::columns(&rows).into_iter().try_for_each(output::line)?;
    Ok(ExitCode::SUCCESS)
}

fn row(card: &AgentCard) -> Option<Vec<String>> {
    let AgentPackage { offer, installed, .. } = card.package.as_ref()?;
    let installed = installed
        .as_ref()
        .map_or_else(|| "not installed".to_owned(), |version| format!("{version} installed"));
    let offer =
        offer.as_ref().map_or_else(|| "up to date".to_owned(), |offer| format!("{} on offer", offer.version));
    Some([card.id.clone(), installed, offer].map(|text| output::printable(&text)).to_vec())
}

fn consent(name: &str, offer: &PackageOffer) -> Vec<String> {
    let PackageOffer { package, publisher, license, bytes, node, node_bytes, .. } = offer;
    let text = output::printable;
    let node = node.as_ref().map(|node| {
        let megabytes = node_bytes / 1_000_000;
        format!("If the Node on this computer is too old for it: also {}, about {megabytes} MB", text(node))
    });
    let mut lines = vec![
        format!("{} from npm: {}", text(name), text(package)),
        format!(
            "Published by {}, licence: {}, about {} MB",
            text(publisher),
            text(license),
            bytes / 1_000_000
        ),
    ];
    lines.extend(node);
    lines.push("It runs with your rights and is not sandboxed.".to_owned());
    lines
}

fn card(endpoint: &mut Endpoint, id: &str) -> anyhow::Result<AgentCard> {
    let agents = endpoint.list::<methods::AgentsList>()?.agents;
    let known = agents.iter().filter(|card| card.package.is_some()).map(|card| card.id.as_str());
    let known = known.collect::<Vec<_>>().join(", ");
    agents.into_iter().find(|card| card.id == id).with_context(|| {
        format!("no such agent: {}; the ones that can be installed are {known}", output::printable(id))
    })
}

fn show(endpoint: &mut Endpoint, id: &str) -> anyhow::Result<ExitCode> {
    let Some(snapshot) = follow(endpoint)? else { return Ok(ExitCode::from(INTERRUPTED)) };
    table::print(&snapshot, Some(id))?;
    Ok(ExitCode::SUCCESS)
}
