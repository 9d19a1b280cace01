//! `openagents sessions index`: the state of the full-text index of other agents' transcripts.

use crate::{args::IndexCommand, output, surroundings};
use anyhow::Context;
use openagents_core::CancellationToken;
use openagents_transcripts::{
    history::{History, Query},
    history_index::{HistoryIndex, IndexProgress, IndexStatus},
};
use serde_json::json;
use std::process::ExitCode;

pub(super) fn run(command: &IndexCommand) -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    let failed = || format!("the index in {} failed", home.display());
    let history = surroundings::history();
    if !command.changes() {
        let status = HistoryIndex::open_existing(&home).map(|index| index.status()).transpose();
        return show_session_index(
            status.with_context(failed)?.unwrap_or_default(),
            count(&history),
            command.json,
        );
    }
    let index = HistoryIndex::open(&home)
        .with_context(|| format!("the index in {} cannot be opened", home.display()))?;
    // Counts before the cache of the list is cleared too: counting fills it.
    let found = count(&history);
    if command.clear || command.rebuild {
        index.clear().with_context(failed)?;
        history.clear_cache();
    }
    if command.wait || command.rebuild {
        let mut shown = 0;
        let mut progress = |IndexProgress { done, total }: IndexProgress| {
            // The user may exclude some sessions meanwhile. If the exclusions cannot be read, the remaining ones are
            // not indexed.
            if surroundings::exclude_stored(&history, &home).is_err() {
                return false;
            }
            // One line per twentieth of the work.
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
    index.checkpoint();
    history.checkpoint();
    show_session_index(status, found, command.json)
}

fn count(history: &History) -> usize {
    history.list(&Query::default(), &surroundings::patience()).total
}

fn show_session_index(
    IndexStatus { sessions, cut, bytes }: IndexStatus,
    found: usize,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if json {
        output::json_pretty(&json!({"sessions": sessions, "found": found, "cut": cut, "bytes": bytes}))?;
    } else {
        let megabytes = bytes as f64 / 1e6;
        output::line(format_args!("{sessions} of {found} sessions indexed, {megabytes:.1} MB"))?;
        if cut > 0 {
            output::line(format_args!("{cut} of them up to the first 256 KiB of their text"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
