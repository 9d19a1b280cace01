//! `openagents find`: the places that answer a question, without a model.

use crate::{
    args,
    output::{self, FAINT, STRONG},
    surroundings,
};
use anyhow::Context;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    update::{Finding, Findings},
    workspace::Workspace,
};
use openagents_search::find;
use std::process::ExitCode;

/// Maximum number of lines shown of an excerpt.
const LINES: usize = 8;

pub(crate) fn run(arguments: &args::Find) -> anyhow::Result<ExitCode> {
    let question = arguments.question.trim();
    if question.is_empty() {
        return Err(output::Usage("enter a question".to_owned()).into());
    }
    let workspace = Workspace::open(&arguments.path).with_context(|| arguments.path.display().to_string())?;
    let budget = Budget::within(find::TIME, &CancellationToken::new());
    let history = (!arguments.code).then(surroundings::history);
    let sources = find::Sources { workspace: &workspace, history: history.as_ref() };
    let findings = find::find(&sources, question, &budget);
    if arguments.json {
        output::json_pretty(&findings)?;
    } else {
        show(&findings, question)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(findings: &Findings, question: &str) -> anyhow::Result<()> {
    if let Some(words) = findings.missing_words().filter(|_| !findings.findings.is_empty()) {
        output::line(format_args!("No file mentions {}. Closest:\n", output::printable(&words)))?;
    }
    if let Some(lead) = &findings.lead {
        for line in lead.lines() {
            output::line(output::printable(line))?;
        }
        output::line("")?;
    }
    for finding in &findings.findings {
        show_one(finding)?;
    }
    if let Some(hint) = &findings.hint {
        output::line(format_args!("Nothing found for “{}”.", output::printable(question)))?;
        output::line(format_args!("Try {}.", output::printable(hint)))?;
    }
    if findings.truncated {
        output::warn("the search stopped at its limit: some files or past sessions were not read");
    }
    Ok(())
}

fn show_one(finding: &Finding) -> std::io::Result<()> {
    let symbol = finding.symbol.as_deref().map(|symbol| format!("  {symbol}")).unwrap_or_default();
    let place = output::printable(&finding.citation());
    output::line(format_args!("{STRONG}{place}{STRONG:#}{}", output::printable(&symbol)))?;
    output::line(format_args!("  {FAINT}{}{FAINT:#}", output::printable(&finding.why)))?;
    for (number, text) in finding.numbered().take(LINES) {
        let number = if number == 0 { String::new() } else { number.to_string() };
        output::line(format_args!("  {FAINT}{number:>5}{FAINT:#}  {}", output::printable(text)))?;
    }
    output::line("")
}
