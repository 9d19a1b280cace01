//! `openagents sessions stats`: counts of other agents' sessions that were found and read.

use crate::{output, surroundings, usage, words};
use openagents_transcripts::{
    history::{Listing, Provider, Query, Transcript, Unknown},
    usage::{By, ReportQuery, Sum},
};
use serde_json::json;
use std::{collections::BTreeMap, process::ExitCode};

pub(super) fn run(only: Option<Provider>, tokens: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let history = surroundings::history();
    let query = Query { provider: only, all: true, ..Query::default() };
    let Listing { rows, unread, .. } = history.list(&query, &surroundings::patience());
    let counted = if tokens {
        let (store, unread) = usage::up_to_date(&history)?;
        Some((store.report(&ReportQuery { by: By::Agent, ..ReportQuery::default() })?, unread))
    } else {
        None
    };
    let mut agents = Vec::new();
    for provider in Provider::ALL.into_iter().filter(|provider| only.is_none_or(|only| only == *provider)) {
        let own: Vec<_> = rows.iter().filter(|row| row.provider == provider).collect();
        let usage = counted.as_ref().and_then(|(report, _)| {
            report.rows.iter().find(|row| row.name == provider.as_str()).map(|row| row.sum)
        });
        let files = if own.is_empty() {
            BTreeMap::new()
        } else {
            history.unknown_files(provider, &surroundings::patience())
        };
        agents.push(Agent { unknown_files: files, ..Agent::new(provider, &own, usage) });
    }
    if as_json {
        output::json_pretty(&agents.iter().map(Agent::json).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        let names = Provider::ALL.map(Provider::display_name).join(", ");
        output::line(format_args!("No sessions of {names} were found."))?;
    } else {
        for agent in &agents {
            agent.print(tokens)?;
        }
    }
    if unread > 0 {
        output::warn(&format!("{unread} sessions were not read in time; run it again"));
    }
    if let Some((_, logs)) = counted.filter(|(_, logs)| *logs > 0) {
        output::warn(&format!("the tokens of {logs} logs are missing: they could not be read"));
    }
    Ok(ExitCode::SUCCESS)
}

struct Agent {
    provider: Provider,
    sessions: usize,
    hidden: usize,
    bad_lines: u64,
    newest: Option<i64>,
    usage: Option<Sum>,
    /// Sessions that may be incomplete.
    incomplete: usize,
    /// Data unknown to the agent's reader, by the agent's version.
    versions: BTreeMap<String, OfVersion>,
    /// The number of unknown files of each kind among its sessions.
    unknown_files: BTreeMap<String, u64>,
}

/// Data unknown to the reader, in the sessions of one version of an agent.
#[derive(Default)]
struct OfVersion {
    sessions: usize,
    unknown: Unknown,
}

impl Agent {
    fn new(provider: Provider, own: &[&Transcript], usage: Option<Sum>) -> Self {
        let mut versions: BTreeMap<String, OfVersion> = BTreeMap::new();
        for row in own.iter().filter(|row| !row.unknown.is_empty()) {
            let of_version = versions.entry(row.version.clone().unwrap_or_default()).or_default();
            of_version.sessions += 1;
            of_version.unknown.add(&row.unknown);
        }
        Self {
            incomplete: own.iter().filter(|row| row.why_incomplete().is_some()).count(),
            versions,
            unknown_files: BTreeMap::new(),
            provider,
            sessions: own.len(),
            hidden: own.iter().filter(|row| row.hidden || row.subagent).count(),
            bad_lines: own.iter().map(|row| row.bad_lines).sum(),
            newest: own.iter().map(|row| row.updated_at).max(),
            usage,
        }
    }

    fn json(&self) -> serde_json::Value {
        let mut row = json!({"provider": self.provider, "sessions": self.sessions, "hidden": self.hidden,
            "badLines": self.bad_lines, "newest": self.newest, "incomplete": self.incomplete});
        let unknown = self.versions.iter().map(|(version, OfVersion { sessions, unknown })| {
            json!({"version": version, "sessions": sessions, "records": unknown.records, "fields": unknown.fields})
        });
        row["unknown"] = unknown.collect();
        row["unknownFiles"] = json!(self.unknown_files);
        if let Some(usage) = &self.usage {
            row["tokens"] = json!(usage.tokens);
        }
        row
    }

    fn print(&self, with_tokens: bool) -> anyhow::Result<()> {
        let Some(newest) = self.newest else { return Ok(()) };
        let tokens = match &self.usage {
            Some(usage) => format!(", {} tokens", usage.tokens.total()),
            None if with_tokens => ", this agent records no token counts".to_owned(),
            None => String::new(),
        };
        output::line(format_args!(
            "{:<19} {:>6} sessions, {} hidden, {} lines not understood, newest {}{tokens}",
            self.provider.display_name(),
            self.sessions,
            self.hidden,
            self.bad_lines,
            output::age(newest, output::now_ms())
        ))?;
        for line in self.notes() {
            output::line(format_args!("    {}", output::printable(&line)))?;
        }
        Ok(())
    }

    /// Describes the data unknown to the reader.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.incomplete > 0 {
            notes.push(format!("{} may be incomplete", words::count(self.incomplete as u64, "session")));
        }
        for (version, OfVersion { sessions: count, unknown }) in &self.versions {
            let version = if version.is_empty() { "of an unknown version" } else { version };
            notes.push(format!(
                "not known to OpenAgents, in {} {version}:",
                words::count(*count as u64, "session")
            ));
            let records = unknown.records.iter().map(|(kind, count)| format!("  record {kind}, {count}×"));
            let fields = unknown.fields.iter().map(|(field, count)| format!("  field {field}, {count}×"));
            notes.extend(records.chain(fields));
        }
        if !self.unknown_files.is_empty() {
            let kinds = self.unknown_files.iter().map(|(kind, count)| format!("{kind} ({count})"));
            notes.push(format!("unknown files: {}", kinds.collect::<Vec<_>>().join(", ")));
        }
        notes
    }
}
