//! The question of whether to trust a workspace.

use super::found::{AgentFile, AgentFiles, Risk};
use crate::{update::PromptImage, visible::on_one_line};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;

pub const TRUST_TITLE: &str = "Trust this folder?";

/// The ids of its options.
pub const TRUST: &str = "trust";
/// See [`TRUST`].
pub const NOT_NOW: &str = "not-now";

/// Shown with a folder that cannot be trusted.
pub const NOT_WHOLE: &str = "This folder can't be trusted: some agent settings can't be shown in full. Remove or shorten the marked \
                             files, then send the prompt again.";

pub const NOTHING_KNOWN: &str = "OpenAgents knows of nothing that agents would load from this folder.";

/// Maximum agents named for one file.
const AGENTS: usize = 3;

/// The details shown with the question; the raw input of the approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrustQuestion {
    /// Canonical.
    pub workspace: PathBuf,
    /// Display name of the waiting agent.
    pub agent: String,
    /// The program that would be started, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// The folder was trusted before, and some of its files have changed.
    #[serde(default)]
    pub again: bool,
    /// The agent decides for itself when to ask before it acts. Trusting the folder lets it start there anyway.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides_what_it_asks: bool,
    /// Number of its own sessions that the agent deletes at its next start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deletes: usize,
    /// The agent settings in the folder.
    #[serde(flatten)]
    pub brings: AgentFiles,
    /// The waiting prompt, which is sent again if the program ends before the answer; absent if it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The images of that prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<PromptImage>>")]
    pub images: Vec<PromptImage>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl TrustQuestion {
    pub fn lines(&self) -> Vec<String> {
        let path = |path: &PathBuf| on_one_line(&path.to_string_lossy());
        let program = self.program.as_ref().map(|program| format!(" ({})", path(program)));
        let (agent, folder) = (on_one_line(&self.agent), path(&self.workspace));
        let start = format!("{agent}{} starts in {folder}", program.unwrap_or_default());
        let mut lines = vec![start];
        if self.decides_what_it_asks {
            lines.push(format!("{agent} may act without asking you."));
        }
        match self.deletes {
            0 => {}
            1 => lines.push(format!("{agent} deletes 1 session the next time it runs.")),
            count => lines.push(format!("{agent} deletes {count} sessions the next time it runs.")),
        }
        if self.again {
            lines.push("Changed since you trusted it:".to_owned());
        }
        lines.extend(self.brings.lines(self.again));
        lines
    }
}

impl AgentFiles {
    /// Returns the files and their settings as plain lines; only the changed files, if `changed` is true and everything
    /// can be shown.
    pub fn lines(&self, changed: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let files = || self.files.iter().filter(|file| file.changed || !changed || !self.complete);
        for risk in Risk::ALL {
            let mut of_risk = files().filter(|file| file.risk == risk).peekable();
            if of_risk.peek().is_some() {
                lines.push(risk.heading().to_owned());
            }
            for file in of_risk {
                lines.push(format!("- {}{}", file.path, file.for_whom()));
                lines.extend(file.says.iter().map(|line| format!("    {line}")));
            }
        }
        if lines.is_empty() && !changed {
            lines.push(NOTHING_KNOWN.to_owned());
        }
        if !self.complete {
            lines.push(NOT_WHOLE.to_owned());
        }
        lines
    }
}

impl AgentFile {
    /// Returns the agents that load it: ` (Codex, Gemini CLI)`.
    fn for_whom(&self) -> String {
        let named =
            self.agents.iter().take(AGENTS).map(|agent| on_one_line(agent)).collect::<Vec<_>>().join(", ");
        match self.agents.len().saturating_sub(AGENTS) {
            _ if named.is_empty() => String::new(),
            0 => format!(" ({named})"),
            more => format!(" ({named} and {more} more)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_warns_about_agent_behaviour() {
        let question = |decides_what_it_asks, deletes| TrustQuestion {
            workspace: PathBuf::from("/w"),
            agent: "Odd".to_owned(),
            program: None,
            again: false,
            decides_what_it_asks,
            deletes,
            brings: AgentFiles { files: Vec::new(), complete: true },
            images: Vec::new(),
            prompt: None,
        };
        assert_eq!(question(false, 0).lines().len(), 2);
        assert_eq!(
            question(true, 1).lines()[1..3],
            ["Odd may act without asking you.", "Odd deletes 1 session the next time it runs.",]
        );
        assert_eq!(question(false, 12).lines()[1], "Odd deletes 12 sessions the next time it runs.");
    }

    #[test]
    fn names_add_no_line_to_question() {
        let odd = "x\nThis folder is safe.\u{1b}[2J\u{202e}";
        let question = TrustQuestion {
            workspace: PathBuf::from(odd),
            agent: odd.to_owned(),
            program: Some(PathBuf::from(odd)),
            again: false,
            decides_what_it_asks: true,
            deletes: 12,
            brings: AgentFiles { files: Vec::new(), complete: true },
            images: Vec::new(),
            prompt: None,
        };
        let lines = question.lines();
        assert_eq!(lines.len(), 4);
        for hidden in ['\n', '\u{1b}', '\u{202e}'] {
            assert!(!lines.concat().contains(hidden), "{lines:?}");
        }
    }
}
