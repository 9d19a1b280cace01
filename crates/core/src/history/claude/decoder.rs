//! Decodes a transcript line by line, in file order. Following the chain of parents would hide lines before a
//! compaction.

use super::{
    super::{
        action::{self, Action, Outcome},
        event::{Decoded, Event, EventKind, TitleRank, TouchedFile},
        json::Node,
        source::{Decoder, millis},
        title,
    },
    line,
};

/// Tools that change the file they name.
const EDITS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

#[derive(Debug)]
pub(super) struct ClaudeDecoder;

impl Decoder for ClaudeDecoder {
    fn line(&mut self, bytes: &[u8], number: u64, events: &mut Vec<Event>) -> Decoded {
        let Some(node) = Node::parse_object(bytes) else { return Decoded::Bad };
        let make = |kind: EventKind, text: String| Event {
            line: number,
            timestamp: millis(node.get("timestamp")),
            kind,
            text,
            files: vec![],
            action: Action::default(),
            sidechain: node.flag("isSidechain"),
            copied: false,
            origin: node.text("uuid").map(line::hash),
        };
        let titled =
            |key, rank| title::given(node.text(key)).map(|title| make(EventKind::Title(rank), title));
        match node.text("type").unwrap_or_default() {
            "user" => {
                if line::is_persons(&node) {
                    let prompt = title::prompt(line::texts(&node));
                    events.extend(prompt.map(|text| make(EventKind::Prompt, text)));
                }
                for block in line::blocks(&node).iter().filter(|b| b.text("type") == Some("tool_result")) {
                    let text = block.get("content").map(joined).unwrap_or_default();
                    let mut event = make(EventKind::ToolResult, text);
                    event.files = result_file(&node);
                    event.action = ended(block, &event.text);
                    events.push(event);
                }
            }
            "assistant" => {
                for text in line::texts(&node) {
                    if !text.trim().is_empty() {
                        events.push(make(EventKind::Assistant, text.to_owned()));
                    }
                }
                for block in line::blocks(&node) {
                    match block.text("type").unwrap_or_default() {
                        "thinking" => {
                            let text = block.text("thinking").unwrap_or_default();
                            if !text.trim().is_empty() {
                                events.push(make(EventKind::Thinking, text.to_owned()));
                            }
                        }
                        "tool_use" => {
                            let name = block.text("name").unwrap_or("tool").to_owned();
                            let input = block.get("input");
                            let files = touched(&name, input);
                            let acted = action::of_call(&name, block.text("id"), input);
                            let text = input.map(joined).unwrap_or_default();
                            let mut event = make(EventKind::ToolCall { name }, text);
                            event.files = files;
                            event.action = acted;
                            events.push(event);
                        }
                        _ => {}
                    }
                }
            }
            "custom-title" => events.extend(titled("customTitle", TitleRank::Person)),
            "ai-title" => events.extend(titled("aiTitle", TitleRank::Model)),
            "summary" => events.extend(titled("summary", TitleRank::Summary)),
            _ => {}
        }
        Decoded::Good
    }
}

fn touched(tool: &str, input: Option<&Node<'_>>) -> Vec<TouchedFile> {
    let Some(input) = input else { return vec![] };
    let path = input.text("file_path").or(input.text("notebook_path"));
    let edited = EDITS.contains(&tool);
    let path = path.or(if tool == "Read" { input.text("path") } else { None });
    path.filter(|path| !path.is_empty())
        .map(|path| TouchedFile { path: path.to_owned(), edited })
        .into_iter()
        .collect()
}

/// Returns the file named by an edit's result. A read's result names it one level deeper; its call has it already.
fn result_file(node: &Node<'_>) -> Vec<TouchedFile> {
    let path = node.get("toolUseResult").and_then(|result| result.text("filePath"));
    path.map(|path| TouchedFile { path: path.to_owned(), edited: true }).into_iter().collect()
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
    let mut joined = String::new();
    match node {
        Node::List(blocks) if blocks.iter().any(|block| block.get("type").is_some()) => {
            for text in blocks.iter().filter_map(|block| block.text("text")) {
                if !joined.is_empty() {
                    joined.push('\n');
                }
                joined.push_str(text);
            }
        }
        node => node.for_each_text(&mut |text| {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(text);
        }),
    }
    joined
}
