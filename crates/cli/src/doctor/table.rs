//! Formats the agents for a terminal.

use crate::output::{self, columns, printable};
use openagents_core::agent::{AgentCard, AgentsSnapshot};

pub(super) fn print(snapshot: &AgentsSnapshot, only: Option<&str>) -> std::io::Result<()> {
    lines(snapshot, only).into_iter().try_for_each(output::line)
}

/// One line per agent, followed by its problem and remedy.
fn lines(snapshot: &AgentsSnapshot, only: Option<&str>) -> Vec<String> {
    let cards = || snapshot.agents.iter().filter(|card| only.is_none_or(|id| card.id == id));
    let row = |card: &AgentCard| {
        let version = card.version.as_deref().map_or_else(|| "–".to_owned(), printable);
        vec![format!("{} {}", mark(card), printable(&card.name)), version, transport(card)]
    };
    let mut lines = Vec::new();
    for (card, line) in cards().zip(columns(&cards().map(row).collect::<Vec<_>>())) {
        lines.push(line);
        let facts: Vec<_> = card.problem.iter().chain(&card.remedy).map(|fact| printable(fact)).collect();
        if !facts.is_empty() {
            lines.push(format!("    {}", facts.join(" ")));
        }
        if card.decides_what_it_asks {
            lines.push(format!("    {} may act without asking you", printable(&card.name)));
        }
        if !card.supports.is_empty() {
            lines.push(format!("    supports {}", printable(&card.supports.join(", "))));
        }
    }
    if only.is_none() && !snapshot.path.is_empty() {
        lines.push(format!("\nSearched {}", printable(&snapshot.path)));
    }
    if let Some(shell) = snapshot.shell.as_ref().filter(|_| only.is_none()) {
        lines.push(format!("\n! {} {}", printable(&shell.problem), printable(&shell.remedy)));
    }
    lines
}

/// Marks agents as usable, usable with a problem, or unusable.
fn mark(card: &AgentCard) -> char {
    match (card.usable, &card.problem) {
        (true, None) => '✓',
        (true, Some(_)) => '!',
        (false, _) => '✗',
    }
}

fn transport(card: &AgentCard) -> String {
    match (card.transport.as_deref(), &card.adapter) {
        (Some("acp"), None) => "ACP".to_owned(),
        (Some("acp"), Some(adapter)) => format!("ACP through {}", printable(adapter)),
        (Some("openai"), _) if card.local => "a model on this computer".to_owned(),
        (Some("openai"), _) => "a model behind an address".to_owned(),
        (Some(other), _) => printable(other),
        (None, None) if card.program.is_none() => "not found".to_owned(),
        (None, _) => "found, not usable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn doctor_shows_remedy_below_each_agent() {
        let shell = json!({"problem": "The login shell /bin/bash did not answer within 5 s.", "remedy": "Start it\u{1b}."});
        let snapshot = serde_json::from_value(json!({"path": "/usr/bin:/bin", "shell": shell, "agents": [
            {"id": "codex", "name": "Codex", "usable": true, "transport": "acp", "version": "0.169.0",
             "adapter": "@agentclientprotocol/codex-acp 2.6.0", "supports": ["session/load", "image"], "problem": null},
            {"id": "claude-code", "name": "Claude Code", "usable": true, "transport": "acp", "version": "2.1.330",
             "problem": "It says that it is not logged in.", "remedy": "Run `claude`."},
            {"id": "gemini", "name": "Gemini CLI", "usable": false, "problem": "It is not installed.", "remedy": "Run `npm`."},
            {"id": "goose", "name": "goose", "usable": false, "program": "/bin/goose", "problem": "Bad\u{1b}[2J.", "remedy": null},
            {"id": "custom:a", "name": "a", "usable": true, "transport": "openai", "local": true, "problem": null},
            {"id": "custom:b", "name": "b", "usable": true, "transport": "acp", "decidesWhatItAsks": true, "problem": null},
        ]}))
        .unwrap();
        insta::assert_snapshot!(lines(&snapshot, None).join("\n"), @"
        ✓ Codex        0.169.0  ACP through @agentclientprotocol/codex-acp 2.6.0
            supports session/load, image
        ! Claude Code  2.1.330  ACP
            It says that it is not logged in. Run `claude`.
        ✗ Gemini CLI   –        not found
            It is not installed. Run `npm`.
        ✗ goose        –        found, not usable
            Bad\\u{1b}[2J.
        ✓ a            –        a model on this computer
        ✓ b            –        ACP
            b may act without asking you

        Searched /usr/bin:/bin

        ! The login shell /bin/bash did not answer within 5 s. Start it\\u{1b}.
        ");
        assert_eq!(lines(&snapshot, Some("custom:a")), ["✓ a  –  a model on this computer"]);
    }
}
