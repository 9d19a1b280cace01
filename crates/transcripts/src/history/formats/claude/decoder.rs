//! Decodes a transcript line by line, in file order.

use crate::{
    history::{
        formats::calls,
        log::{
            action::{self, Action, Outcome},
            decoder::Decoder,
            event::{Event, EventKind, TitleRank, TouchedFile},
            json::Node,
            lines::{self, Lines},
            log_file::{dated_origin, is_uuid, millis, origin},
            title::{self, TypedText},
            tree::{self, Tree, TreePlace},
            undone::Parent,
        },
    },
    limits,
};
use openagents_core::{budget::Budget, text};
use std::path::Path;

const EDITS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

#[derive(Debug)]
pub(crate) struct ClaudeDecoder {
    /// The first line that is marked as the user's.
    marked_from: u64,
}

impl ClaudeDecoder {
    pub(crate) fn new(path: &Path, budget: &Budget) -> Self {
        Self { marked_from: first_marked(path, budget).unwrap_or(u64::MAX) }
    }

    /// Treats every line that may be the user's as the user's.
    pub(crate) fn of_single_lines() -> Self {
        Self { marked_from: u64::MAX }
    }
}

/// Finds the first line that is marked as the user's. Lines before it are from an older version.
fn first_marked(path: &Path, budget: &Budget) -> Option<u64> {
    let mut lines = Lines::new(lines::open(path).ok()?, limits::LINE, limits::CLAUDE_MARKS);
    let needle = memchr::memmem::Finder::new(b"\"origin\"");
    while let Ok(Some(line)) = lines.next(budget) {
        if needle.find(line.bytes).is_some()
            && Node::parse_object(&line.text()).is_some_and(|node| is_marked(&node))
        {
            return Some(line.number);
        }
    }
    None
}

impl Decoder for ClaudeDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let make = |kind: EventKind, text: String| Event {
            line: number,
            timestamp: millis(node.get("timestamp")),
            kind,
            text,
            files: vec![],
            action: Action::default(),
            sidechain: node.flag("isSidechain"),
            copied: false,
            undone: false,
            origin: dated_origin(node.text("uuid"), millis(node.get("timestamp"))),
        };
        let reply = |kind, text: Option<&str>| {
            let text = text.filter(|text| !text.trim().is_empty());
            text.map(|text| make(kind, text.to_owned()))
        };
        let titled =
            |key, rank| title::given(node.text(key)).map(|title| make(EventKind::Title(rank), title));
        let prompt = prompt(node, number > self.marked_from).and_then(title::prompt);
        let mut events: Vec<Event> = prompt.map(|text| make(EventKind::Prompt, text)).into_iter().collect();
        match node.text("type").unwrap_or_default() {
            "user" if node.flag("isCompactSummary") => {
                events.push(make(EventKind::Compaction, text::joined(texts(node))));
            }
            "user" => {
                for block in blocks(node).iter().filter(|b| b.text("type") == Some("tool_result")) {
                    let text = block.get("content").map(joined).unwrap_or_default();
                    let action = Action { child_session: child_session(node), ..ended(block, &text) };
                    events.push(Event {
                        files: result_file(node),
                        action,
                        ..make(EventKind::ToolResult, text)
                    });
                }
            }
            "assistant" => {
                let texts = texts(node).into_iter();
                events.extend(texts.filter_map(|text| reply(EventKind::Assistant, Some(text))));
                for block in blocks(node) {
                    match block.text("type").unwrap_or_default() {
                        "thinking" => events.extend(reply(EventKind::Thinking, block.text("thinking"))),
                        "tool_use" => {
                            let name = block.text("name").unwrap_or("tool").to_owned();
                            let input = block.get("input");
                            let text = input.map(joined).unwrap_or_default();
                            events.push(Event {
                                files: touched(&name, input),
                                action: action::from_call(&name, block.text("id"), input),
                                ..make(EventKind::ToolCall { name }, text)
                            });
                        }
                        _ => {}
                    }
                }
            }
            "custom-title" => events.extend(titled("customTitle", TitleRank::User)),
            "ai-title" => events.extend(titled("aiTitle", TitleRank::Model)),
            "summary" => events.extend(titled("summary", TitleRank::Summary)),
            _ => {}
        }
        Some(events)
    }
}

fn touched(tool: &str, input: Option<&Node<'_>>) -> Vec<TouchedFile> {
    let Some(input) = input else { return vec![] };
    let path = input.text("file_path").or(input.text("notebook_path"));
    let path = path.or(if tool == "Read" { input.text("path") } else { None });
    let path = path.filter(|path| !path.is_empty());
    let file = |path: &str| TouchedFile { path: path.to_owned(), edited: EDITS.contains(&tool) };
    path.map(file).into_iter().collect()
}

/// Returns the file named by an edit's result. A read's result names it one level deeper, but its call already has it.
fn result_file(node: &Node<'_>) -> Vec<TouchedFile> {
    let path = node.get("toolUseResult").and_then(|result| result.text("filePath"));
    path.map(|path| TouchedFile { path: path.to_owned(), edited: true }).into_iter().collect()
}

/// Returns the session of the sub-agent that a call started; the sub-agent's log is named after it.
fn child_session(node: &Node<'_>) -> Option<String> {
    node.get("toolUseResult")?.text("agentId").map(|id| format!("agent-{id}"))
}

/// Reads the outcome of a call. Claude Code writes an exit code only if it is not 0.
fn ended(block: &Node<'_>, text: &str) -> Action {
    let outcome = match action::exit_code(text) {
        Some(code) if block.flag("is_error") => Some(Outcome::Exit(code)),
        _ if block.flag("is_error") => Some(Outcome::NotRun),
        _ if text.starts_with("Command running in background") => None,
        _ => Some(Outcome::Exit(0)),
    };
    Action { call: block.text("tool_use_id").map(str::to_owned), outcome, ..Action::default() }
}

fn joined(node: &Node<'_>) -> String {
    let blocks = node.items();
    if blocks.iter().any(|block| block.get("type").is_some()) {
        text::joined(blocks.iter().filter_map(|block| block.text("text")))
    } else {
        node.flattened()
    }
}

pub(crate) const TREE: Tree = Tree { id: "\"uuid\"", parent: "\"parentUuid\"", place, is_prompt };

fn place(line: &Node<'_>) -> Option<TreePlace> {
    // Sub-agents of 1.0 have their own trees in the same log.
    let id = line.text("uuid").filter(|_| !line.flag("isSidechain"))?;
    let is_boundary = line.text("subtype") == Some("compact_boundary") || line.flag("isCompactSummary");
    let parent = match tree::parent(line, "parentUuid") {
        // Summarised turns were not undone, although the conversation does not continue from them.
        Parent::None if is_boundary => {
            match line.get("compactMetadata").and_then(|it| it.get("messagesSummarized")) {
                Some(_) => Parent::Previous,
                None => tree::parent(line, "logicalParentUuid"),
            }
        }
        Parent::None if line.text("type") == Some("assistant") => Parent::Missing,
        Parent::None if !is_prompt(line) => Parent::Previous,
        parent => parent,
    };
    let parent = if is_boundary && parent == Parent::None { Parent::Previous } else { parent };
    Some(TreePlace { id: origin(id), parent })
}

fn is_prompt(line: &Node<'_>) -> bool {
    line.text("type") == Some("user")
        && is_by_user(line) != Some(false)
        && is_message(line)
        && texts(line).iter().any(|text| matches!(title::typed_text(text), TypedText::Prompt(_)))
}

fn content<'a>(line: &'a Node<'a>) -> Option<&'a Node<'a>> {
    line.get("message")?.get("content")
}

/// Returns the text blocks of a message; a plain text is one block.
pub(super) fn texts<'a>(line: &'a Node<'a>) -> Vec<&'a str> {
    calls::texts(content(line))
}

pub(super) fn blocks<'a>(line: &'a Node<'a>) -> &'a [Node<'a>] {
    content(line).map_or(&[], Node::items)
}

/// Returns the text blocks of a prompt that the user typed: in a `user` line, or in an attachment if it was sent during
/// a turn. `None` for every other line. Since about 2.1.200 the user's lines are `marked`, and all other lines are not
/// the user's.
pub(super) fn prompt<'a>(line: &'a Node<'a>, marked: bool) -> Option<Vec<&'a str>> {
    match line.text("type")? {
        "user" => (is_by_user(line).unwrap_or(!marked) && is_message(line)).then(|| texts(line)),
        "attachment" => {
            let queued = line.get("attachment").filter(|it| it.text("type") == Some("queued_command"))?;
            let prompted = queued.text("commandMode") == Some("prompt") && is_by_user(queued).unwrap_or(true);
            queued.get("prompt").filter(|_| prompted).map(|text| calls::texts(Some(text)))
        }
        _ => None,
    }
}

/// Returns the session that a line of session `own` was copied from: a branch names it, a copy made with
/// `--fork-session` keeps its id in another field, and a resumed session of 1.x keeps it in the same field. The field
/// `session_id` does not help: new lines after `/clear` have the id of the previous session.
pub(super) fn original(line: &Node<'_>, own: &str) -> Option<String> {
    // A name that `/clear` carries over is not a copy of any message.
    line.text("uuid")?;
    let branch = line.get("forkedFrom").and_then(|it| it.text("sessionId"));
    let others = ["requestSessionId", "sessionId"].into_iter().filter_map(|key| line.text(key));
    branch.into_iter().chain(others).find(|id| *id != own && is_uuid(id)).map(str::to_owned)
}

pub(super) fn is_marked(line: &Node<'_>) -> bool {
    is_by_user(line) == Some(true)
}

/// Returns whether the user wrote a line or an attachment, rather than the agent; `None` if it does not say.
fn is_by_user(node: &Node<'_>) -> Option<bool> {
    node.get("origin")?.text("kind").map(|kind| kind == "human")
}

/// Returns whether a `user` line is neither a tool result nor text generated by Claude Code.
fn is_message(line: &Node<'_>) -> bool {
    let written_by_agent = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"];
    !written_by_agent.iter().any(|flag| line.flag(flag))
        && !blocks(line).iter().any(|block| block.text("type") == Some("tool_result"))
}
