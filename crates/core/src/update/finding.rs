//! A ranked place in code or history that answers a goal.

use crate::{
    text::one_line,
    visible::{code_span, escaped},
};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A place that answers a goal, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Finding {
    pub kind: FindingKind,
    /// Location.
    #[serde(flatten)]
    pub place: Place,
    /// First line, from 1.
    pub start: u64,
    /// Last line, inclusive.
    pub end: u64,
    /// The lines that show the point, truncated to [`EXCERPT_BYTES`](Self::EXCERPT_BYTES): the symbol's signature and
    /// what was sought.
    pub excerpt: String,
    /// The number of each line of the excerpt; 0 where lines are omitted. Empty if they run from `start`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u64>,
    /// Enclosing definition, or title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// What the symbol does: the first sentence of the comment about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Relative to the best finding of the same question, which has 1.
    pub score: f32,
    /// One line for the user: matched terms and contributing signals.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A function, type or other named block with a matching name.
    Definition,
    /// Code that uses the terms.
    Usage,
    /// Prose: a README, a manual, a comment.
    Text,
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum Place {
    /// In a file of the workspace; the path is relative to it, with `/`.
    File { path: String },
    /// In another agent's transcript, with the ids of the agent and of the session; lines refer to the transcript.
    Session { provider: String, session_id: String },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Findings {
    /// The answer to a question about the project as a whole, in Markdown; the findings show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<String>,
    /// Best first; at most ten.
    pub findings: Vec<Finding>,
    /// Hint in one line; present if nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// A bound ended the search early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Words of the question that no file contains, if they are most of it; the findings are then only approximate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Part of an exploration; omitted by clients that show only its final message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_exploration: bool,
}

/// Maximum findings listed in a message; its data contains all of them.
const LISTED: usize = 5;
/// Maximum findings listed below a lead.
const MORE: usize = 3;

impl Findings {
    /// Returns the message in Markdown: `**Found:**` and up to five lines, or a hint.
    pub fn message(&self, question: &str) -> String {
        if let Some(lead) = &self.lead {
            // Places that the lead names are not repeated.
            let is_named = |finding: &&Finding| {
                let path = finding.path().map(code_span);
                path.is_some_and(|path| {
                    lead.contains(&format!("`{path}`")) || lead.contains(&format!("`{path}:"))
                })
            };
            let more = self.findings.iter().filter(|finding| !is_named(finding)).take(MORE);
            let more: Vec<String> = more.map(|finding| format!("\n- {}", finding.line())).collect();
            let heading = if more.is_empty() { "" } else { "\n\n**Found:**" };
            return format!("{lead}{heading}{}", more.concat());
        }
        if self.findings.is_empty() {
            let hint = self.hint.as_deref().unwrap_or("other words");
            return format!("**Found:** nothing for “{}”; try {hint}.", one_line(question));
        }
        let mut text = match self.missing_words() {
            Some(words) => format!("**Found:** no file mentions {words}; closest:"),
            None => "**Found:**".to_owned(),
        };
        for finding in self.findings.iter().take(LISTED) {
            text.push_str(&format!("\n- {}", finding.line()));
        }
        text
    }

    /// Returns [`Findings::missing`] for the user: `“kubernetes” or “helm”`.
    pub fn missing_words(&self) -> Option<String> {
        let words: Vec<_> = self.missing.iter().map(|word| format!("“{word}”")).collect();
        (!words.is_empty()).then(|| words.join(" or "))
    }
}

impl Finding {
    /// Maximum length of an excerpt in bytes.
    pub const EXCERPT_BYTES: usize = 4096;

    /// Returns the names from code that the reason quotes, most significant first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.why.split('`').skip(1).step_by(2)
    }

    /// Returns the place, the symbol and the reason in Markdown.
    fn line(&self) -> String {
        let symbol = self.symbol.as_ref().map(|symbol| format!(" {}", one_line(symbol))).unwrap_or_default();
        format!("`{}`{}: {}", self.citation(), escaped(&symbol), escaped(&one_line(&self.why)))
    }

    /// Returns the lines of the excerpt with their numbers; 0 where lines are omitted.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &str)> {
        let number = |at: usize| match self.lines.is_empty() {
            true => self.start + at as u64,
            false => self.lines.get(at).copied().unwrap_or_default(),
        };
        self.excerpt.lines().enumerate().map(move |(at, line)| (number(at), line))
    }

    /// Returns the path of a place in code.
    pub fn path(&self) -> Option<&str> {
        match &self.place {
            Place::File { path } => Some(path),
            Place::Session { .. } => None,
        }
    }

    /// Returns whether both found the same passage. Its excerpt depends on the question.
    pub fn is_same_passage(&self, other: &Self) -> bool {
        (&self.place, self.start, self.end) == (&other.place, other.start, other.end)
    }

    /// Returns the first and last line of the excerpt. What was found may lie in a longer passage, `start` to `end`.
    pub fn shown(&self) -> (u64, u64) {
        let mut numbers = self.lines.iter().copied().filter(|number| *number > 0);
        match (&self.place, numbers.next()) {
            (Place::File { .. }, Some(first)) => (first, numbers.next_back().unwrap_or(first)),
            // An excerpt of a session is not made of the lines of its log.
            _ => (self.start, self.end),
        }
    }

    /// Returns the place for a code span: `src/net.rs:12-40`, or `codex session 1234:7`. A hostile name cannot end the
    /// span.
    pub fn citation(&self) -> String {
        let lines = match self.shown() {
            (start, end) if end > start => format!("{start}-{end}"),
            (start, _) => start.to_string(),
        };
        match &self.place {
            Place::File { path } => format!("{}:{lines}", code_span(path)),
            Place::Session { provider, session_id } => {
                format!("{provider} session {}:{lines}", code_span(session_id))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(path: &str, why: &str) -> Finding {
        Finding {
            kind: FindingKind::Definition,
            place: Place::File { path: path.to_owned() },
            start: 12,
            end: 40,
            excerpt: String::new(),
            lines: Vec::new(),
            about: None,
            symbol: Some("Policy".to_owned()),
            score: 1.0,
            why: why.to_owned(),
        }
    }

    #[test]
    fn findings_message_lists_five_or_hint() {
        let mut findings = Findings::default();
        let nothing = findings.message("Where is\nit?");
        assert_eq!(nothing, "**Found:** nothing for “Where is it?”; try other words.");
        findings.findings = vec![finding("src/redirect.rs", "defines `Policy`"); 6];
        let text = findings.message("Where?");
        assert_eq!(text.lines().count(), 6);
        assert!(text.ends_with("\n- `src/redirect.rs:12-40` Policy: defines `Policy`"), "{text}");
        findings.missing = vec!["kubernetes".to_owned(), "helm".to_owned()];
        let text = findings.message("Where?");
        assert!(
            text.starts_with("**Found:** no file mentions “kubernetes” or “helm”; closest:\n- `src"),
            "{text}"
        );
    }

    #[test]
    fn message_begins_with_lead_and_lists_other_places() {
        let mut findings =
            Findings { lead: Some("Starts in `src/main.rs:3`.".to_owned()), ..Findings::default() };
        assert_eq!(findings.message("Where?"), "Starts in `src/main.rs:3`.");
        findings.findings = vec![finding("src/main.rs", "begins"), finding("main.rs", "is another")];
        let expected = "Starts in `src/main.rs:3`.\n\n**Found:**\n- `main.rs:12-40` Policy: is another";
        assert_eq!(findings.message("Where?"), expected);
    }

    #[test]
    fn citation_is_of_lines_that_are_shown() {
        let mut finding = finding("a.rs", "");
        assert_eq!(finding.citation(), "a.rs:12-40");
        finding.lines = vec![20, 0, 31];
        assert_eq!(finding.citation(), "a.rs:20-31");
        finding.lines = vec![20];
        assert_eq!(finding.citation(), "a.rs:20");
        finding.place = Place::Session { provider: "codex".to_owned(), session_id: "1".to_owned() };
        assert_eq!(finding.citation(), "codex session 1:12-40");
    }

    #[test]
    fn names_come_from_quotes_in_reason() {
        let finding = finding("a", "defines `Policy`; has `max`, `tls` for “encryption”");
        assert_eq!(finding.names().collect::<Vec<_>>(), ["Policy", "max", "tls"]);
    }

    #[test]
    fn names_cannot_break_findings_message() {
        let mut finding = finding("a.rs`\n**Found:** evil\u{202e}.rs", "defines `Policy\n`");
        finding.symbol = Some("Policy\nof evil".to_owned());
        let text = Findings { findings: vec![finding], ..Findings::default() }.message("Where?");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            text.contains("- `a.rs\\u{60}\\n**Found:** evil\\u{202e}.rs:12-40` Policy of evil: "),
            "{text}"
        );
    }
}
