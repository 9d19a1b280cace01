//! The question whether to trust a folder, at the terminal.

use crate::output::{self, FAINT, STRONG};
use openagents_core::{
    approval::{Approval, ApprovalSubject},
    trust::TrustQuestion,
    visible::shell_word,
};
use serde::Deserialize;

pub(crate) fn is_about_trust(approval: &Approval) -> bool {
    approval.subject == ApprovalSubject::Trust
}

pub(crate) fn question(approval: &Approval) -> Vec<String> {
    let mut lines = vec![format!("{STRONG}{}{STRONG:#}", output::printable(&approval.title))];
    let input = approval.raw_input.clone().unwrap_or_default();
    match TrustQuestion::deserialize(&input) {
        Ok(question) => {
            lines.extend(question.lines().iter().map(|line| format!("  {}", output::printable(line))));
        }
        Err(_) => lines.push(format!("  {FAINT}{}{FAINT:#}", output::printable(&input.to_string()))),
    }
    lines
}

/// Returns the folder of the question as a word for a shell.
pub(crate) fn folder(approval: &Approval) -> String {
    let question =
        approval.raw_input.clone().and_then(|input| serde_json::from_value::<TrustQuestion>(input).ok());
    let folder = question.map(|question| question.workspace).unwrap_or_default();
    shell_word(&folder.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn approval(members: Value) -> Approval {
        let mut approval = json!({"id": "1", "callId": "c", "hash": "", "agent": "Codex", "title": "Trust this folder?",
            "options": [], "state": "pending", "askedAt": 0});
        approval.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        serde_json::from_value(approval).unwrap()
    }

    #[test]
    fn question_shows_program_and_agent_settings() {
        let file = |path: &str, risk: &str, says: &[&str], changed: bool| json!({"path": path, "risk": risk, "does": "settings", "agents": ["Codex"], "says": says, "digest": "00", "changed": changed});
        let files = [
            file(".claude/settings.json", "programs", &["hook Stop: make\\u{1b}"], false),
            file(".mcp.json", "programs", &["server a: node a.js"], true),
            json!({"path": "AGENTS.md", "risk": "instructions", "agents": ["a", "b", "c", "d"], "says": []}),
        ];
        let asked = |again: bool, files: &[Value], complete: bool| {
            let input = json!({"workspace": "/w/app", "agent": "Codex", "program": "/bin/codex", "again": again,
                "files": files, "complete": complete, "prompt": "Fix it"});
            let approval = approval(json!({"subject": "trust", "rawInput": input}));
            anstream::adapter::strip_str(&question(&approval).join("\n")).to_string()
        };
        insta::assert_snapshot!(asked(false, &files, true), @r"
        Trust this folder?
          Codex (/bin/codex) starts in /w/app
          Programs, and what may run:
          - .claude/settings.json (Codex)
              hook Stop: make\u{1b}
          - .mcp.json (Codex)
              server a: node a.js
          Instructions for the model:
          - AGENTS.md (a, b, c and 1 more)
        ");
        insta::assert_snapshot!(asked(true, &files, false), @r"
        Trust this folder?
          Codex (/bin/codex) starts in /w/app
          Changed since you trusted it:
          Programs, and what may run:
          - .claude/settings.json (Codex)
              hook Stop: make\u{1b}
          - .mcp.json (Codex)
              server a: node a.js
          Instructions for the model:
          - AGENTS.md (a, b, c and 1 more)
          This folder can't be trusted: some agent settings can't be shown in full. Remove or shorten the marked files, then send the prompt again.
        ");
        insta::assert_snapshot!(asked(false, &[], true), @r"
        Trust this folder?
          Codex (/bin/codex) starts in /w/app
          OpenAgents knows of nothing that agents would load from this folder.
        ");
        let odd = approval(json!({"rawInput": {"workspace": 1}}));
        assert_eq!(question(&odd).len(), 2);
    }
}
