//! `openagents models`: the models on this computer.
//!
//! Commands go to the bridge, so that every client sees the result.

mod progress;
mod table;

use crate::{
    args,
    endpoint::{Endpoint, MODELS},
    models::progress::{card, cards, name},
    output::{self, ask},
};
use anyhow::Context;
use openagents_core::model::ModelCommand;
use progress::End;
use serde_json::Value;
use std::{path::Path, process::ExitCode};

const DEFAULT: &str = "gpt-oss-20b";

pub(crate) fn run(command: &args::Models) -> anyhow::Result<ExitCode> {
    let endpoint = &mut Endpoint::open(MODELS)?;
    match command {
        args::Models::List { json } => {
            let snapshot = endpoint.snapshot()?;
            if *json { output::json_pretty(&snapshot)? } else { table::print(&snapshot)? }
        }
        args::Models::Add { file } => add(endpoint, file)?,
        args::Models::Download { id, accept_licence } => {
            return download(endpoint, id.as_deref(), *accept_licence);
        }
        args::Models::Verify { id } => return verify(endpoint, id.as_deref()),
        args::Models::Remove { id, yes } => return remove(endpoint, id, *yes),
        args::Models::Use { id } => {
            let snapshot = endpoint.command(ModelCommand::Use { id: id.clone() })?;
            output::line(format_args!("{} is now in use", name(&card(&snapshot, id)?)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn add(endpoint: &mut Endpoint, file: &Path) -> anyhow::Result<()> {
    // The bridge resolves paths in its own directory.
    let path = std::fs::canonicalize(file).with_context(|| file.display().to_string())?;
    anyhow::ensure!(path.to_str().is_some(), "{}: give the file a name in UTF-8 first", path.display());
    let snapshot = endpoint.command(ModelCommand::Add { path: path.clone() })?;
    let added = cards(&snapshot).iter().find(|card| card["path"].as_str().map(Path::new) == Some(&path));
    let added = added.context("the file was not added")?;
    let id = added["id"].as_str().unwrap_or_default();
    output::line(format_args!("{} added as {id}", name(added)))?;
    if added["inUse"] == true {
        output::line(format_args!("{} is now in use", name(added)))?;
    } else {
        output::line(format_args!("To use it: `openagents models use {id}`"))?;
    }
    Ok(())
}

fn download(endpoint: &mut Endpoint, id: Option<&str>, accept: bool) -> anyhow::Result<ExitCode> {
    let id = id.unwrap_or(DEFAULT);
    let model = card(&endpoint.snapshot()?, id)?;
    let offer = &model["offer"];
    let accepted = accept || offer["licenceAccepted"] == true;
    if !offer.is_null() && !accepted && !ask_licence(&model)? {
        output::warn("nothing was downloaded");
        return Ok(ExitCode::FAILURE);
    }
    endpoint.command(ModelCommand::Download { id: id.to_owned(), accept_licence: true })?;
    match progress::follow(endpoint, id, true)? {
        End::Done(card) => {
            let path = card["path"].as_str().unwrap_or_default();
            output::line(format_args!("{} is ready: {}", name(&card), output::printable(path)))?;
            Ok(ExitCode::SUCCESS)
        }
        End::Stopped => {
            let paused = pause(endpoint, id)?;
            let goes_on = "`openagents models download` goes on from there";
            output::warn(&format!("{} is {}; {goes_on}", name(&model), table::status(&paused["status"])));
            Ok(ExitCode::from(130))
        }
    }
}

/// Pauses a running download; returns the card afterwards.
fn pause(endpoint: &mut Endpoint, id: &str) -> anyhow::Result<Value> {
    let model = card(&endpoint.snapshot()?, id)?;
    match model["status"]["state"].as_str() {
        Some("downloading" | "verifying") => {
            card(&endpoint.command(ModelCommand::Pause { id: id.to_owned() })?, id)
        }
        _ => Ok(model),
    }
}

fn verify(endpoint: &mut Endpoint, id: Option<&str>) -> anyhow::Result<ExitCode> {
    let id = id.unwrap_or(DEFAULT);
    endpoint.command(ModelCommand::Verify { id: id.to_owned() })?;
    match progress::follow(endpoint, id, false)? {
        End::Done(card) => {
            output::line(format_args!("{} verified: its SHA-256 matches", name(&card)))?;
            Ok(ExitCode::SUCCESS)
        }
        End::Stopped => Ok(ExitCode::from(130)),
    }
}

fn remove(endpoint: &mut Endpoint, id: &str, yes: bool) -> anyhow::Result<ExitCode> {
    let model = card(&endpoint.snapshot()?, id)?;
    if !yes {
        let path = output::printable(model["path"].as_str().unwrap_or("what was downloaded of it"));
        let question = format!("Remove {} ({path})?", name(&model));
        if !ask(&question, "--yes removes it without a question")? {
            return Ok(ExitCode::FAILURE);
        }
    }
    endpoint.command(ModelCommand::Remove { id: id.to_owned() })?;
    output::line(format_args!("{} removed", name(&model)))?;
    Ok(ExitCode::SUCCESS)
}

fn ask_licence(model: &Value) -> anyhow::Result<bool> {
    let offer = &model["offer"];
    let said = |key: &str| offer[key].as_str().unwrap_or_default();
    output::warn(&format!(
        "{} ({}) comes from {} and is licensed under {}: {}",
        name(model),
        table::size(model["sizeBytes"].as_u64()),
        said("source"),
        said("licence"),
        said("licenceUrl"),
    ));
    ask("Do you accept the licence?", "--accept-licence accepts it without asking")
}
