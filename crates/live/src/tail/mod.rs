//! The end of a session's log: whether a turn is open, and which calls have no result.

mod claude_code;
mod codex;
mod copilot;
mod gemini_cli;
mod opencode;
mod qwen_code;

use crate::state::{Failure, Millis, Need};
use openagents_transcripts::history::Provider;
use serde_json::Value;
use std::collections::BTreeSet;

/// Tools of agents that ask the user a question.
const QUESTIONS: [&str; 5] =
    ["AskUserQuestion", "ask_user_question", "ask_user", "request_user_input", "question"];
/// Tools of agents that show a plan to the user.
const PLANS: [&str; 3] = ["ExitPlanMode", "exit_plan_mode", "plan_exit"];
/// Tools of agents that run a command or change a file, and so may need an approval.
const ACTIONS: [&str; 13] = [
    "exec_command",
    "shell",
    "local_shell",
    "apply_patch",
    "run_shell_command",
    "edit",
    "write",
    "write_file",
    "bash",
    "Bash",
    "Edit",
    "Write",
    "NotebookEdit",
];
/// Calls without a result that are remembered.
const CALLS: usize = 200;

/// Whether a tool asks the user something, and does nothing else.
pub(crate) fn is_question(tool: &str) -> bool {
    QUESTIONS.contains(&tool) || PLANS.contains(&tool)
}

pub(crate) fn is_action(tool: &str) -> bool {
    ACTIONS.contains(&tool)
}

/// Returns what the user is asked before a tool runs.
pub(crate) fn need_of(tool: Option<&str>) -> Need {
    match tool {
        Some(tool) if QUESTIONS.contains(&tool) => Need::Question,
        Some(tool) if PLANS.contains(&tool) => Need::Plan,
        _ => Need::Approval,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Turn {
    /// There was none.
    #[default]
    None,
    Open,
    Ended,
    /// An answer without calls, of an agent that logs calls after they were answered.
    MaybeEnded,
    Failed(Option<Failure>),
    Interrupted,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) at: Millis,
}

/// A question of the agent that has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) id: String,
    pub(crate) need: Need,
    pub(crate) at: Millis,
}

/// The end of one log, read record by record.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    agent: Provider,
    pub(crate) turn: Turn,
    /// The oldest first.
    pub(crate) calls: Vec<Call>,
    /// The oldest first.
    pub(crate) asks: Vec<Ask>,
    /// When the last record came.
    pub(crate) at: Millis,
    /// Nothing came after the last prompt.
    pub(crate) is_prompt_last: bool,
    /// The last turn wrote a plan.
    pub(crate) has_plan: bool,
    /// The user has refused the last call.
    is_refused: bool,
    /// The conversation is being written once more.
    is_repeating: bool,
    /// Prompts that were seen.
    prompts: BTreeSet<String>,
}

impl Tail {
    pub(crate) fn new(agent: Provider) -> Self {
        Self {
            agent,
            turn: Turn::None,
            calls: Vec::new(),
            asks: Vec::new(),
            at: 0,
            is_prompt_last: false,
            has_plan: false,
            is_refused: false,
            is_repeating: false,
            prompts: BTreeSet::new(),
        }
    }

    /// Reads a line of the log.
    pub(crate) fn line(&mut self, line: &Value, at: Millis) {
        self.at = at;
        match self.agent {
            Provider::ClaudeCode => self.claude_code(line, at),
            Provider::Codex => self.codex(line, at),
            Provider::Copilot => self.copilot(line, at),
            Provider::Gemini => self.gemini_cli(line),
            Provider::Qwen => self.qwen_code(line, at),
            _ => {}
        }
    }

    /// Reads a new or changed row of a database.
    pub(crate) fn row(&mut self, table: &str, row: &Value, at: Millis) {
        self.at = at;
        if self.agent == Provider::Opencode {
            self.opencode(table, row, at);
        }
    }

    /// The tool of the last call without a result.
    pub(crate) fn last_tool(&self) -> Option<&str> {
        self.calls.last().map(|call| call.tool.as_str())
    }

    fn start(&mut self) {
        self.is_prompt_last = true;
        self.turn = Turn::Open;
        self.calls.clear();
        self.asks.clear();
        self.has_plan = false;
    }

    fn end(&mut self, how: Turn) {
        self.turn = how;
        self.calls.clear();
        self.asks.clear();
    }

    fn called(&mut self, id: &str, tool: &str, at: Millis) {
        self.is_prompt_last = false;
        // The log is read from near its end: the turn may have begun before.
        if self.turn == Turn::None {
            self.turn = Turn::Open;
        }
        if self.calls.iter().any(|call| call.id == id) {
            return;
        }
        if self.calls.len() == CALLS {
            self.calls.remove(0);
        }
        self.calls.push(Call { id: id.to_owned(), tool: tool.to_owned(), at });
    }

    fn returned(&mut self, id: &str) {
        self.is_prompt_last = false;
        if self.turn == Turn::None {
            self.turn = Turn::Open;
        }
        self.calls.retain(|call| call.id != id);
        self.answered(id);
    }

    fn asked(&mut self, id: &str, need: Need, at: Millis) {
        if self.asks.iter().all(|ask| ask.id != id) {
            self.asks.push(Ask { id: id.to_owned(), need, at });
        }
    }

    fn answered(&mut self, id: &str) {
        self.asks.retain(|ask| ask.id != id);
    }
}

/// Returns a text of a record, or an empty one.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns the elements of an array of a record.
fn each<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}
