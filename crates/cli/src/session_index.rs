//! `openagents sessions index` and `sessions stats`: what of other agents' sessions was found, read and indexed.

use crate::{args::IndexCommand, output, surroundings};
use anyhow::Context;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    history::{Listing, Provider, Query},
};
use openagents_sessions::{HistoryIndex, IndexProgress};
use serde_json::json;
use std::{process::ExitCode, time::Duration};

/// Time for a first list over many gigabytes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn index(command: &IndexCommand) -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    let index = HistoryIndex::open(&home)
        .with_context(|| format!("the index in {} cannot be opened", home.display()))?;
    let failed = || format!("the index in {} failed", home.display());
    if command.clear || command.rebuild {
        index.clear().with_context(failed)?;
    }
    if command.wait || command.rebuild {
        let history = surroundings::history();
        let mut shown = 0;
        let mut progress = |IndexProgress { done, total }: IndexProgress| {
            // A line per twentieth of the work.
            let part = (done * 20).checked_div(total).unwrap_or(20);
            if part > shown && !command.json {
                shown = part;
                output::warn(&format!("indexed {done} of {total} sessions"));
            }
        };
        index.update(&history, &CancellationToken::new(), &mut progress).with_context(failed)?;
    }
    let status = index.status().with_context(failed)?;
    if command.json {
        let (sessions, cut, bytes) = (status.sessions, status.cut, status.bytes);
        output::json_pretty(&json!({"sessions": sessions, "cut": cut, "bytes": bytes}))?;
    } else {
        let megabytes = status.bytes as f64 / 1e6;
        output::line(format_args!("{} sessions indexed, {megabytes:.1} MB", status.sessions))?;
        if status.cut > 0 {
            output::line(format_args!("{} of them up to the first 256 KiB of their text", status.cut))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn stats(as_json: bool) -> anyhow::Result<ExitCode> {
    let budget = Budget::within(PATIENCE, &CancellationToken::new());
    let Listing { rows, unread, .. } =
        surroundings::history().list(&Query { all: true, ..Query::default() }, &budget);
    let now = output::now_ms();
    let mut table = Vec::new();
    for provider in Provider::ALL {
        let own: Vec<_> = rows.iter().filter(|row| row.provider == provider).collect();
        let hidden = own.iter().filter(|row| row.hidden || row.subagent).count();
        let bad_lines: u64 = own.iter().map(|row| row.bad_lines).sum();
        let newest = own.iter().map(|row| row.updated_at).max();
        if as_json {
            table.push(json!({"provider": provider, "sessions": own.len(), "hidden": hidden,
                "badLines": bad_lines, "newest": newest}));
        } else if let Some(newest) = newest {
            output::line(format_args!(
                "{:<19} {:>6} sessions, {hidden} hidden, {bad_lines} lines not understood, newest {}",
                provider.display_name(),
                own.len(),
                output::age(newest, now)
            ))?;
        }
    }
    if as_json {
        output::json_pretty(&table)?;
    } else if rows.is_empty() {
        let names = Provider::ALL.map(Provider::display_name).join(", ");
        output::line(format_args!("No sessions of {names} were found."))?;
    }
    if unread > 0 {
        output::warn(&format!("{unread} sessions were not read in time; run it again"));
    }
    Ok(ExitCode::SUCCESS)
}
