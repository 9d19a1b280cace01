//! Formats the agents for a terminal.

use crate::output::{self, columns, rows, said};
use serde_json::Value;

/// Prints every agent, or one.
pub(super) fn print(snapshot: &Value, only: Option<&str>) -> std::io::Result<()> {
    lines(snapshot, only).into_iter().try_for_each(output::line)
}

/// One line per agent, followed by its problem and remedy.
fn lines(snapshot: &Value, only: Option<&str>) -> Vec<String> {
    let cards = || rows(snapshot, "agents").iter().filter(|card| only.is_none_or(|id| card["id"] == id));
    let row = |card| vec![format!("{} {}", mark(card), said(card, "name")), version(card), reached(card)];
    let mut lines = Vec::new();
    for (card, line) in cards().zip(columns(&cards().map(row).collect::<Vec<_>>())) {
        lines.push(line);
        let facts = [said(card, "problem"), said(card, "remedy")].join(" ");
        if !facts.trim().is_empty() {
            lines.push(format!("    {}", facts.trim()));
        }
        if card["decidesWhatItAsks"] == true {
            lines.push(format!("    {} decides itself what it asks", said(card, "name")));
        }
        let supports: Vec<_> = rows(card, "supports").iter().filter_map(Value::as_str).collect();
        if !supports.is_empty() {
            lines.push(format!("    supports {}", output::printable(&supports.join(", "))));
        }
    }
    let path = said(snapshot, "path");
    if only.is_none() && !path.is_empty() {
        lines.push(format!("\nSearched {path}"));
    }
    let shell = &snapshot["shell"];
    if only.is_none() && shell.is_object() {
        lines.push(format!("\n! {} {}", said(shell, "problem"), said(shell, "remedy")));
    }
    lines
}

/// Marks agents as usable, usable with a problem, or unusable.
fn mark(card: &Value) -> char {
    match (card["usable"] == true, card["problem"].is_null()) {
        (true, true) => '✓',
        (true, false) => '!',
        (false, _) => '✗',
    }
}

fn version(card: &Value) -> String {
    let version = said(card, "version");
    if version.is_empty() { "–".to_owned() } else { version }
}

fn reached(card: &Value) -> String {
    let adapter = said(card, "adapter");
    match card["transport"].as_str() {
        Some("acp") if adapter.is_empty() => "ACP".to_owned(),
        Some("acp") => format!("ACP through {adapter}"),
        Some("cli") => "its command line".to_owned(),
        Some("openai") if card["local"] == true => "a model on this computer".to_owned(),
        Some("openai") => "a model behind an address".to_owned(),
        Some(other) => output::printable(other),
        None if said(card, "program").is_empty() && adapter.is_empty() => "not found".to_owned(),
        None => "found, not usable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_agent_has_a_line_and_what_to_do_below_it() {
        let shell = json!({"problem": "The login shell /bin/bash did not answer within 5 s.", "remedy": "Start it\u{1b}."});
        let snapshot = json!({"path": "/usr/bin:/bin", "shell": shell, "agents": [
            {"id": "codex", "name": "Codex", "usable": true, "transport": "acp", "version": "0.169.0",
             "adapter": "@agentclientprotocol/codex-acp 2.6.0", "supports": ["session/load", "image"], "problem": null},
            {"id": "claude-code", "name": "Claude Code", "usable": true, "transport": "cli", "version": "2.1.330",
             "problem": "The ACP adapter claude-agent-acp is not installed.", "remedy": "Run `npm`."},
            {"id": "gemini", "name": "Gemini CLI", "usable": false, "problem": "It is not installed.", "remedy": "Run `npm`."},
            {"id": "goose", "name": "goose", "usable": false, "program": "/bin/goose", "problem": "Bad\u{1b}[2J.", "remedy": null},
            {"id": "custom:a", "name": "a", "usable": true, "transport": "openai", "local": true, "problem": null},
            {"id": "custom:b", "name": "b", "usable": true, "transport": "acp", "decidesWhatItAsks": true, "problem": null},
        ]});
        insta::assert_snapshot!(lines(&snapshot, None).join("\n"), @"
        ✓ Codex        0.169.0  ACP through @agentclientprotocol/codex-acp 2.6.0
            supports session/load, image
        ! Claude Code  2.1.330  its command line
            The ACP adapter claude-agent-acp is not installed. Run `npm`.
        ✗ Gemini CLI   –        not found
            It is not installed. Run `npm`.
        ✗ goose        –        found, not usable
            Bad\\u{1b}[2J.
        ✓ a            –        a model on this computer
        ✓ b            –        ACP
            b decides itself what it asks

        Searched /usr/bin:/bin

        ! The login shell /bin/bash did not answer within 5 s. Start it\\u{1b}.
        ");
        assert_eq!(lines(&snapshot, Some("custom:a")), ["✓ a  –  a model on this computer"]);
    }
}
