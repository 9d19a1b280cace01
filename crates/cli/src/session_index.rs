//! `openagents sessions index`: how much of other agents' sessions is indexed.

use crate::{args::IndexCommand, output, surroundings};
use anyhow::Context;
use openagents_core::CancellationToken;
use openagents_sessions::{HistoryIndex, IndexProgress};
use serde_json::json;
use std::process::ExitCode;

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
            true
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
