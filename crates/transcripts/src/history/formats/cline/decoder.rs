//! Decodes one message.

use super::{
    super::{
        blocks,
        calls::{self, FileTools},
    },
    discover, prompt, result,
};
use crate::history::{
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind, TitleRank},
    json::Node,
    log_file::millis,
    title,
};
use std::path::{Path, PathBuf};

const TOOLS: FileTools = FileTools { reads: &["read_file"], edits: &result::EDITS };

/// Precedes the workspace in the description of the environment.
const CWD: &str = "# Current Working Directory (";

pub(super) struct ClineDecoder {
    facts: SessionFacts,
    /// The log is from the CLI, not from the editor.
    of_command: bool,
}

impl ClineDecoder {
    /// Decodes the log at `path`. The id of a task is its creation time, or a ULID in later versions.
    pub(super) fn new(path: &Path) -> Self {
        let id = path.parent().and_then(|folder| folder.file_name()?.to_str()?.parse().ok());
        let created_at = millis(id.map(Node::Number).as_ref());
        let facts = SessionFacts { created_at, ..SessionFacts::default() };
        Self { facts, of_command: discover::is_of_command(path) }
    }

    /// Reads the record about a CLI session.
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
                    if self.of_command {
                        typed.push(prompt::of_command(text));
                    } else {
                        self.facts.cwd = cwd(text).or_else(|| self.facts.cwd.take());
                        typed.extend(prompt::in_text(text));
                    }
                }
                "tool_use" => events.extend(blocks::part(&TOOLS, number, at, block)),
                "tool_result" => {
                    let (tool, output) = (block.text("name"), block.text("content").unwrap_or_default());
                    let tool = tool.unwrap_or_default();
                    let id = block.text("tool_use_id");
                    events.push(if self.of_command || block.flag("is_error") {
                        calls::result(number, at, id, output.to_owned(), Some(!block.flag("is_error")))
                    } else {
                        calls::ended(number, at, id, output.to_owned(), result::outcome(tool, output))
                    });
                    if !self.of_command {
                        typed.extend(prompt::in_result(tool, output));
                    }
                }
                _ => {}
            }
        }
        let of_tools = blocks.iter().any(|block| block.text("type") == Some("tool_result"));
        // An image next to a result belongs to the tool.
        let prompt = if of_tools { title::prompt(typed) } else { blocks::prompt(typed, content) };
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
        Some(blocks::answer(&TOOLS, number, at, node.get("content")))
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
