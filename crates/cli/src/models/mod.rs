//! `openagents models`: the models on this computer.
//!
//! Commands go to the bridge, so that every client sees the result.

mod progress;
mod table;

use crate::{
    args,
    endpoint::Endpoint,
    output::{self, ask, printable},
};
use anyhow::Context;
use openagents_core::model::{DownloadOffer, ModelCard, ModelCommand, ModelStatus};
use openagents_wire::methods;
use progress::End;
use std::{path::Path, process::ExitCode};
use table::card;

const DEFAULT: &str = "gpt-oss-20b";

pub(crate) fn run(command: &args::Models) -> anyhow::Result<ExitCode> {
    let endpoint = &mut Endpoint::open()?;
    match command {
        args::Models::List { json } => {
            let snapshot = endpoint.list::<methods::ModelsList>()?;
            if *json { output::json_pretty(&snapshot)? } else { table::print(&snapshot)? }
        }
        args::Models::Add { file } => add(endpoint, file)?,
        args::Models::Download { id, accept_licence } => {
            return download(endpoint, id.as_deref(), *accept_licence);
        }
        args::Models::Verify { id } => return verify(endpoint, id.as_deref()),
        args::Models::Remove { id, yes } => return remove(endpoint, id, *yes),
        args::Models::Use { id } => {
            let snapshot = endpoint.command(&ModelCommand::Use { id: id.clone() })?;
            output::line(format_args!("{} is now in use", printable(&card(&snapshot, id)?.name)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn add(endpoint: &mut Endpoint, file: &Path) -> anyhow::Result<()> {
    // The bridge resolves paths in its own directory.
    let path = std::fs::canonicalize(file).with_context(|| file.display().to_string())?;
    anyhow::ensure!(path.to_str().is_some(), "{}: give the file a name in UTF-8 first", path.display());
    let snapshot = endpoint.command(&ModelCommand::Add { path: path.clone() })?;
    let added = snapshot.models.iter().find(|card| card.path.as_ref() == Some(&path));
    let added = added.context("the file was not added")?;
    let (id, name) = (&added.id, printable(&added.name));
    output::line(format_args!("{name} added as {id}"))?;
    if added.in_use {
        output::line(format_args!("{name} is now in use"))?;
    } else {
        output::line(format_args!("To use it: `openagents models use {id}`"))?;
    }
    Ok(())
}

fn download(endpoint: &mut Endpoint, id: Option<&str>, accept: bool) -> anyhow::Result<ExitCode> {
    let id = id.unwrap_or(DEFAULT);
    let model = card(&endpoint.list::<methods::ModelsList>()?, id)?;
    if let Some(offer) = &model.offer
        && !accept
        && !offer.licence_accepted
        && !ask_licence(&model, offer)?
    {
        output::warn("nothing was downloaded");
        return Ok(ExitCode::FAILURE);
    }
    endpoint.command(&ModelCommand::Download { id: id.to_owned(), accept_licence: true })?;
    match progress::follow(endpoint, id, true)? {
        End::Done(card) => {
            let path = card.path.unwrap_or_default();
            let path = printable(&path.to_string_lossy());
            output::line(format_args!("{} is ready: {path}", printable(&card.name)))?;
            Ok(ExitCode::SUCCESS)
        }
        End::Stopped => {
            let paused = pause(endpoint, id)?;
            let status = table::status(&paused.status);
            output::warn(&format!(
                "{} is {status}; `openagents models download` continues it",
                printable(&model.name)
            ));
            Ok(ExitCode::from(130))
        }
    }
}

/// Pauses a running download; returns the card afterwards.
fn pause(endpoint: &mut Endpoint, id: &str) -> anyhow::Result<ModelCard> {
    let model = card(&endpoint.list::<methods::ModelsList>()?, id)?;
    match model.status {
        ModelStatus::Downloading { .. } | ModelStatus::Verifying { .. } => {
            card(&endpoint.command(&ModelCommand::Pause { id: id.to_owned() })?, id)
        }
        _ => Ok(model),
    }
}

fn verify(endpoint: &mut Endpoint, id: Option<&str>) -> anyhow::Result<ExitCode> {
    let id = id.unwrap_or(DEFAULT);
    endpoint.command(&ModelCommand::Verify { id: id.to_owned() })?;
    match progress::follow(endpoint, id, false)? {
        End::Done(card) => {
            output::line(format_args!("{} verified: its SHA-256 matches", printable(&card.name)))?;
            Ok(ExitCode::SUCCESS)
        }
        End::Stopped => Ok(ExitCode::from(130)),
    }
}

fn remove(endpoint: &mut Endpoint, id: &str, yes: bool) -> anyhow::Result<ExitCode> {
    let model = card(&endpoint.list::<methods::ModelsList>()?, id)?;
    if !yes {
        let path = model.path.as_ref().map(|path| path.to_string_lossy());
        let path = printable(path.as_deref().unwrap_or("what was downloaded of it"));
        let question = format!("Remove {} ({path})?", printable(&model.name));
        if !ask(&question, "--yes removes it without a question")? {
            return Ok(ExitCode::FAILURE);
        }
    }
    endpoint.command(&ModelCommand::Remove { id: id.to_owned() })?;
    output::line(format_args!("{} removed", printable(&model.name)))?;
    Ok(ExitCode::SUCCESS)
}

fn ask_licence(model: &ModelCard, offer: &DownloadOffer) -> anyhow::Result<bool> {
    output::warn(&format!(
        "{} ({}) comes from {} and is licensed under {}: {}",
        printable(&model.name),
        table::size(model.size_bytes),
        offer.source,
        offer.licence,
        offer.licence_url,
    ));
    ask("Do you accept the licence?", "--accept-licence accepts it without asking")
}
