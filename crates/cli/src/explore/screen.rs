//! The live view in a terminal: one line per step, which turns into its result, then the summary. Without a terminal,
//! each line is printed when its step is over.

use super::outcome::Outcome;
use crate::{
    output::{self, BAD, FAINT, OK, STRONG, rows, said},
    words,
};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
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

    pub(crate) fn show(&mut self, params: &Value) -> anyhow::Result<()> {
        let update = &params["update"];
        let id = update["toolCallId"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("plan") if self.rows.is_empty() => self.lay_out(update)?,
            Some("tool_call") => self.begin(id, params),
            Some("tool_call_update") => self.news(id, params)?,
            _ => {}
        }
        Ok(())
    }

    /// Draws the plan with all steps pending.
    fn lay_out(&mut self, plan: &Value) -> anyhow::Result<()> {
        for (number, entry) in (1..).zip(rows(plan, "entries")) {
            let meta = &entry["_meta"]["openagents"];
            let text = format!("{number}. {}", said(entry, "content"));
            let row = Row::new(self.bars.as_ref(), text, meta["tool"].as_str().unwrap_or_default());
            row.bar.set_style(ProgressStyle::with_template("{msg}")?);
            row.bar.set_message(format!("{FAINT}○ {}{FAINT:#}", row.text));
            self.rows.insert(meta["opId"].as_str().unwrap_or_default().to_owned(), row);
        }
        Ok(())
    }

    fn begin(&mut self, id: &str, params: &Value) {
        let tool = params["update"]["title"].as_str().unwrap_or_default();
        let new = || Row::new(self.bars.as_ref(), tool.to_owned(), tool);
        let row = self.rows.entry(id.to_owned()).or_insert_with(new);
        row.begun = ts(params);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            row.bar.set_style(style.tick_chars("◐◓◑◒✓"));
        }
        row.bar.set_message(row.text.clone());
        row.bar.enable_steady_tick(Duration::from_millis(100));
    }

    fn news(&mut self, id: &str, params: &Value) -> anyhow::Result<()> {
        let Some(row) = self.rows.get(id) else { return Ok(()) };
        let update = &params["update"];
        let meta = &update["_meta"]["openagents"];
        let (mark, said) = match update["status"].as_str() {
            Some("completed") => {
                let cut = match (meta["timedOut"] == true, meta["truncated"] == true) {
                    (true, _) => ", timed out",
                    (_, true) => ", truncated",
                    _ => "",
                };
                let said = words::result(&row.tool, &update["rawOutput"]);
                (format!("{OK}✓{OK:#}"), format!("{FAINT}{}{cut}{FAINT:#}", output::printable(&said)))
            }
            Some("failed") => {
                let error = output::printable(meta["error"].as_str().unwrap_or("failed"));
                (format!("{BAD}✗{BAD:#}"), format!("{BAD}{error}{BAD:#}"))
            }
            _ => {
                if let Some(note) = meta["note"].as_str() {
                    row.bar.set_message(format!("{} {FAINT}{note}{FAINT:#}", row.text));
                }
                return Ok(());
            }
        };
        let took = (ts(params) - row.begun).max(0);
        let line = format!("{mark} {}  {said}  {FAINT}{took} ms{FAINT:#}", row.text);
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
        let summary = outcome.summary();
        if !summary.is_object() {
            let message = outcome.message().unwrap_or("❌ The exploration ended without an answer");
            return Ok(output::line(output::printable(message))?);
        }
        for line in outcome.message().unwrap_or_default().lines() {
            let line = output::printable(line);
            let bold = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
            match bold {
                Some((head, rest)) => output::line(format_args!("{STRONG}{head}{STRONG:#}{rest}"))?,
                None => output::line(line)?,
            }
        }
        if summary["intent"].is_null() {
            output::line(format_args!(
                "{FAINT}No clear intent found in {}.{FAINT:#}",
                said(summary, "repository")
            ))?;
        }
        self.section("Found", summary, "findings", |item| {
            let lines = format!("{}-{}", item["start"], item["end"]);
            format!("{}:{lines}  {}  {}", place(item), said(item, "symbol"), said(item, "why"))
        })?;
        self.section("Evidence", summary, "evidence", |item| {
            format!("{}:{}  {}", place(item), item["line"], said(item, "text"))
        })?;
        let now = output::now_ms();
        self.section("Recent work", summary, "recent_work", |item| {
            let age = output::age(item["updated_at"].as_i64().unwrap_or_default(), now);
            format!("{} ({}, {age})", said(item, "title"), said(item, "provider"))
        })?;
        self.section("Most edited in past sessions", summary, "top_files", |item| {
            item.as_str().unwrap_or_default().to_owned()
        })?;
        self.section("Ask next", summary, "followups", |item| item.as_str().unwrap_or_default().to_owned())
    }

    fn section(
        &self,
        heading: &str,
        summary: &Value,
        key: &str,
        show: impl Fn(&Value) -> String,
    ) -> anyhow::Result<()> {
        let items = rows(summary, key);
        if items.is_empty() {
            return Ok(());
        }
        output::line(format_args!("\n{FAINT}{heading}{FAINT:#}"))?;
        for item in items {
            output::line(format_args!("  {}", output::printable(&show(item))))?;
        }
        Ok(())
    }
}

/// Returns the file of a finding or of evidence, or the agent and the beginning of its session's id.
fn place(item: &Value) -> String {
    match item["path"].as_str() {
        Some(path) => path.to_owned(),
        None => format!("{} {}", said(item, "provider"), output::short(&said(item, "session_id"))),
    }
}

fn ts(params: &Value) -> i64 {
    params["_meta"]["openagents"]["ts"].as_i64().unwrap_or_default()
}
