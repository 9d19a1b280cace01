//! The live view in a terminal: one line per step, which turns into its result, then the summary. Without a terminal,
//! each line is printed when its step is over.

use super::outcome::Outcome;
use crate::{
    output::{self, BAD, FAINT, OK, STRONG, printable},
    words,
};
use agent_client_protocol_schema::v1::{Plan, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use openagents_core::update::{Evidence, Finding, OverviewTopic, Place};
use openagents_wire::{EntryMeta, ToolMeta, UpdateParams, ours};
use serde_json::Value;
use std::{collections::HashMap, io::IsTerminal, time::Duration};

pub(crate) struct RunScreen {
    bars: Option<MultiProgress>,
    rows: HashMap<String, Row>,
}

struct Row {
    bar: ProgressBar,
    text: String,
    tool: String,
    /// In milliseconds since the epoch, from the session's log, so that a late viewer sees the real duration.
    begun: i64,
}

impl Row {
    fn new(bars: Option<&MultiProgress>, text: String, tool: &str) -> Self {
        let bar = bars.map_or_else(ProgressBar::hidden, |bars| bars.add(ProgressBar::new_spinner()));
        Self { bar, text, tool: tool.to_owned(), begun: 0 }
    }
}

impl RunScreen {
    pub(crate) fn new() -> Self {
        let bars = std::io::stdout()
            .is_terminal()
            .then(|| MultiProgress::with_draw_target(indicatif::ProgressDrawTarget::stdout()));
        Self { bars, rows: HashMap::new() }
    }

    pub(crate) fn show(&mut self, params: &UpdateParams) -> anyhow::Result<()> {
        let ts = params.ours().ts.unwrap_or_default();
        match &params.update {
            SessionUpdate::Plan(plan) if self.rows.is_empty() => self.lay_out(plan),
            SessionUpdate::ToolCall(call) => {
                self.begin(call, ts);
                Ok(())
            }
            SessionUpdate::ToolCallUpdate(update) => self.update(update, ts),
            _ => Ok(()),
        }
    }

    /// Draws the plan with all steps pending.
    fn lay_out(&mut self, plan: &Plan) -> anyhow::Result<()> {
        for (number, entry) in (1..).zip(&plan.entries) {
            let EntryMeta { op_id, tool, .. } = ours(entry.meta.as_ref());
            let text = format!("{number}. {}", printable(&entry.content));
            let row = Row::new(self.bars.as_ref(), text, &tool);
            row.bar.set_style(ProgressStyle::with_template("{msg}")?);
            row.bar.set_message(format!("{FAINT}○ {}{FAINT:#}", row.text));
            self.rows.insert(op_id, row);
        }
        Ok(())
    }

    fn begin(&mut self, call: &ToolCall, ts: i64) {
        let tool = &call.title;
        let new = || Row::new(self.bars.as_ref(), tool.clone(), tool);
        let row = self.rows.entry(call.tool_call_id.to_string()).or_insert_with(new);
        row.begun = ts;
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            row.bar.set_style(style.tick_chars("◐◓◑◒✓"));
        }
        row.bar.set_message(row.text.clone());
        row.bar.enable_steady_tick(Duration::from_millis(100));
    }

    fn update(&mut self, update: &ToolCallUpdate, ts: i64) -> anyhow::Result<()> {
        let Some(row) = self.rows.get(&*update.tool_call_id.0) else { return Ok(()) };
        let meta: ToolMeta = ours(update.meta.as_ref());
        let (mark, result) = match update.fields.status {
            Some(ToolCallStatus::Completed) => {
                let cut = match (meta.timed_out, meta.truncated) {
                    (true, _) => ", timed out",
                    (_, true) => ", truncated",
                    _ => "",
                };
                let output = update.fields.raw_output.as_ref().unwrap_or(&Value::Null);
                let result = printable(&words::result(&row.tool, output));
                (format!("{OK}✓{OK:#}"), format!("{FAINT}{result}{cut}{FAINT:#}"))
            }
            Some(ToolCallStatus::Failed) => {
                let error = printable(meta.error.as_deref().unwrap_or("failed"));
                (format!("{BAD}✗{BAD:#}"), format!("{BAD}{error}{BAD:#}"))
            }
            _ => {
                if let Some(note) = &meta.note {
                    row.bar.set_message(format!("{} {FAINT}{}{FAINT:#}", row.text, printable(note)));
                }
                return Ok(());
            }
        };
        let took = (ts - row.begun).max(0);
        let line = format!("{mark} {}  {result}  {FAINT}{took} ms{FAINT:#}", row.text);
        match &self.bars {
            Some(_) => {
                row.bar.set_style(ProgressStyle::with_template("{msg}")?);
                row.bar.finish_with_message(line);
            }
            None => output::line(line)?,
        }
        Ok(())
    }

    /// Prints a line above the drawn rows.
    pub(crate) fn above(&self, line: &str) -> std::io::Result<()> {
        match &self.bars {
            Some(bars) => bars.suspend(|| output::line(line)),
            None => output::line(line),
        }
    }

    /// Prints the summary below the rows.
    pub(crate) fn end(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        for row in self.rows.values().filter(|row| !row.bar.is_finished()) {
            row.bar.abandon();
        }
        output::line("")?;
        let message = outcome.message();
        let Some(summary) = outcome.summary() else {
            let message = message.unwrap_or("❌ The exploration ended without an answer");
            return Ok(output::line(printable(message))?);
        };
        for line in message.unwrap_or_default().lines() {
            let line = printable(line);
            let bold = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
            match bold {
                Some((head, rest)) => output::line(format_args!("{STRONG}{head}{STRONG:#}{rest}"))?,
                None => output::line(line)?,
            }
        }
        if summary.intent.is_none() {
            let repository = printable(&summary.repository);
            output::line(format_args!("{FAINT}No clear intent found in {repository}.{FAINT:#}"))?;
        }
        section("Found", &summary.findings, |finding| {
            let symbol = finding.symbol.as_deref().unwrap_or_default();
            let Finding { start, end, why, .. } = finding;
            match &finding.place {
                Place::File { path } => format!("{path}:{start}-{end}  {symbol}  {why}"),
                Place::Session { provider, session_id } => {
                    format!("{provider} {}:{start}-{end}  {symbol}  {why}", output::short(session_id))
                }
            }
        })?;
        section("Evidence", &summary.evidence, |evidence| match evidence {
            Evidence::File { path, line, text } => format!("{path}:{line}  {text}"),
            Evidence::Session { provider, session_id, line, text } => {
                format!("{provider} {}:{line}  {text}", output::short(session_id))
            }
        })?;
        for block in summary.overview.iter().flat_map(|overview| &overview.blocks) {
            section(block.topic.title(), &block.facts, |fact| fact.markdown().replace('`', ""))?;
        }
        if summary.overview.as_ref().is_some_and(|overview| overview.truncated) {
            output::line(format_args!("\n{FAINT}Some files were not read: the project is large.{FAINT:#}"))?;
        }
        let has_sessions = summary
            .overview
            .as_ref()
            .is_some_and(|overview| overview.block(OverviewTopic::Sessions).is_some());
        let now = output::now_ms();
        if !has_sessions {
            section("Recent work", &summary.recent_work, |work| {
                format!("{} ({}, {})", work.title, work.provider, output::age(work.updated_at, now))
            })?;
        }
        section("Most edited in past sessions", &summary.top_files, String::clone)?;
        section("Ask next", &summary.followups, String::clone)
    }
}

fn section<T>(heading: &str, items: &[T], show: impl Fn(&T) -> String) -> anyhow::Result<()> {
    if !items.is_empty() {
        output::line(format_args!("\n{FAINT}{heading}{FAINT:#}"))?;
    }
    Ok(items.iter().try_for_each(|item| output::line(format_args!("  {}", printable(&show(item)))))?)
}
