//! Decodes one message.

use crate::history::{
    formats::calls::{self, FileTools},
    log::{
        decoder::{Decoder, SessionFacts},
        event::{Event, EventKind, TitleRank},
        json::Node,
        log_file::millis,
        title,
    },
};
use std::path::{Path, PathBuf};

const TOOLS: FileTools = FileTools { reads: &["read_file"], edits: &super::EDITS };

const CWD: &str = "# Current Working Directory (";

pub(crate) struct ClineDecoder {
    facts: SessionFacts,
    is_cli: bool,
}

impl ClineDecoder {
    /// Decodes the log at `path`. The id of a task is its creation time, or a ULID in later versions.
    pub(crate) fn new(path: &Path) -> Self {
        let id = path.parent().and_then(|folder| folder.file_name()?.to_str()?.parse().ok());
        let created_at = millis(id.map(Node::Number).as_ref());
        let facts = SessionFacts { created_at, ..SessionFacts::default() };
        Self { facts, is_cli: super::is_cli_log(path) }
    }

    fn session(&mut self, node: &Node<'_>, number: u64) -> Vec<Event> {
        let facts = &mut self.facts;
        facts.cwd = node.text("cwd").map(PathBuf::from);
        facts.created_at = millis(node.get("startedAt"));
        facts.model = facts.model.take().or_else(|| node.text("model").map(str::to_owned));
        title::given(node.text("title"))
            .into_iter()
            .map(|title| Event::new(number, None, EventKind::Title(TitleRank::Model), title))
            .collect()
    }

    fn user(&mut self, node: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
        let content = node.get("content");
        let blocks = content.map_or(&[][..], Node::items);
        let (mut events, mut typed) = (Vec::new(), Vec::new());
        for block in blocks {
            match block.text("type").unwrap_or_default() {
                "text" => {
                    let text = block.text("text").unwrap_or_default();
                    if self.is_cli {
                        typed.push(typed_in_cli(text));
                    } else {
                        self.facts.cwd = cwd(text).or_else(|| self.facts.cwd.take());
                        typed.extend(typed_in_editor(text));
                    }
                }
                "tool_use" => events.extend(calls::part(&TOOLS, number, at, block)),
                "tool_result" => {
                    let (tool, output) = (block.text("name"), block.text("content").unwrap_or_default());
                    let tool = tool.unwrap_or_default();
                    let id = block.text("tool_use_id");
                    events.push(if self.is_cli || block.flag("is_error") {
                        calls::result(number, at, id, output.to_owned(), Some(!block.flag("is_error")))
                    } else {
                        calls::ended(number, at, id, output.to_owned(), super::outcome(tool, output))
                    });
                    if !self.is_cli {
                        typed.extend(answer_in_result(tool, output));
                    }
                }
                _ => {}
            }
        }
        let of_tools = blocks.iter().any(|block| block.text("type") == Some("tool_result"));
        // An image next to a result belongs to the tool.
        let prompt = if of_tools { title::prompt(typed) } else { calls::prompt(typed, content) };
        events.extend(prompt.map(|text| Event::new(number, at, EventKind::Prompt, text)));
        events
    }

    fn metrics(&mut self, metrics: &Node<'_>) {
        let count = |node: Option<&Node<'_>>, kinds: &[&str]| -> u64 {
            node.map_or(0, |node| kinds.iter().filter_map(|kind| node.count(kind)).sum())
        };
        let tokens = count(metrics.get("tokens"), &["prompt", "completion", "cached"])
            + count(Some(metrics), &["inputTokens", "outputTokens"]);
        *self.facts.tokens.get_or_insert(0) += tokens;
    }
}

impl Decoder for ClineDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        if let Some(session) = node.get("session") {
            return Some(self.session(session, number));
        }
        let role = node.text("role")?;
        let at = millis(node.get("ts"));
        self.facts.updated_at = self.facts.updated_at.max(at);
        if role == "user" {
            return Some(self.user(node, number, at));
        }
        if let Some(model) =
            node.get("modelInfo").and_then(|model| model.text("modelId").or(model.text("id")))
        {
            self.facts.model = Some(model.to_owned());
        }
        if let Some(metrics) = node.get("metrics") {
            self.metrics(metrics);
        }
        Some(calls::answer(&TOOLS, number, at, node.get("content")))
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

/// Returns the workspace in a description of the environment. It may change when a task is resumed.
fn cwd(text: &str) -> Option<PathBuf> {
    let (_, environment) = text.split_once("<environment_details>")?;
    let line = environment.split_once(CWD)?.1.lines().next()?;
    let path = line.rsplit_once(')')?.0;
    (!path.is_empty()).then(|| PathBuf::from(path))
}

/// Tags around typed text, in the editor.
const TYPED: [&str; 4] = ["task", "feedback", "answer", "user_message"];
/// Tools that ask the user.
const ASKING: [&str; 6] = [
    "ask_followup_question",
    "plan_mode_respond",
    "attempt_completion",
    "new_task",
    "condense",
    "report_bug",
];

pub(super) fn typed_in_editor(text: &str) -> Vec<&str> {
    let mut typed = Vec::new();
    let mut rest = title::strip(text);
    while let Some((_, inside, after)) = first(rest) {
        typed.push(inside);
        rest = after;
    }
    typed
}

/// Returns the user's answer in a result of the editor. Files may contain the same tags.
pub(super) fn answer_in_result<'a>(tool: &str, text: &'a str) -> Option<&'a str> {
    let (before, inside, _) = first(text)?;
    let is_answer = ASKING.contains(&tool) || before.trim_end().ends_with("feedback:");
    is_answer.then_some(inside)
}

pub(super) fn typed_in_cli(text: &str) -> &str {
    let text = title::strip(text);
    let Some(inside) = text.strip_prefix("<user_input").and_then(|rest| Some(rest.split_once('>')?.1)) else {
        return text;
    };
    title::strip(inside.split_once("</user_input>").map_or(inside, |(inside, _)| inside))
}

/// Returns the first text in tags, with what is before and after it.
fn first(text: &str) -> Option<(&str, &str, &str)> {
    let opened = |tag: &str| Some((text.find(&format!("<{tag}>"))?, tag.len()));
    let (at, length) = TYPED.into_iter().filter_map(opened).min()?;
    let inside = &text[at + length + 2..];
    let close = format!("</{}>", &text[at + 1..at + 1 + length]);
    let (inside, after) = inside.split_once(&close).unwrap_or((inside, ""));
    Some((&text[..at], inside, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_found_in_every_form() {
        let rows: [(&str, &[&str]); 6] = [
            ("<task>\nadd login\n</task>", &["\nadd login\n"]),
            ("<task>a</task>\n<feedback>b</feedback>", &["a", "b"]),
            ("[TASK RESUMPTION] x\n<user_message>\ngo on", &["\ngo on"]),
            ("<environment_details>\n<task>x</task>\n</environment_details>", &[]),
            ("# task_progress List", &[]),
            ("<tasks>x</tasks>", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(typed_in_editor(text), expected, "{text}");
        }
        let results = [
            ("ask_followup_question", "<answer>\nblue\n</answer>", Some("\nblue\n")),
            (
                "write_to_file",
                "The user denied it and provided the following feedback:\n<feedback>no</feedback>",
                Some("no"),
            ),
            ("read_file", "<task>x</task>", None),
            ("attempt_completion", "", None),
        ];
        for (tool, text, expected) in results {
            assert_eq!(answer_in_result(tool, text), expected, "{tool}");
        }
        let commands = [
            ("<user_input mode=\"act\">go</user_input>\n<file_content path=\"a\">x</file_content>", "go"),
            ("<user_input mode=\"act\"><mode_notice>now act</mode_notice>go</user_input>", "go"),
            ("<mode_notice>x</mode_notice><user_input mode=\"plan\">go</user_input>", "go"),
            ("plain", "plain"),
        ];
        for (text, expected) in commands {
            assert_eq!(typed_in_cli(text), expected, "{text}");
        }
    }
}
