//! Parses answers of models whose templates use tags: `<think>…</think>` and similar tags are reasoning,
//! `<tool_call>{…}</tool_call>` is a call (as written by Hermes and Qwen), and the rest is text.
//!
//! An answer may also mention tags: reasoning only comes before all text, and an invalid call is text.

use super::{
    arguments,
    format::{AnswerParser, Ending},
};
use crate::limits::{CALL_BYTES, UNDECIDED_BYTES};
use openagents_core::{
    model::{CallRequest, ModelEvent, Reasoning, THOUGHT_TAGS, ToolSpec, tag_begun},
    text::Utf8Pieces,
};
use serde_json::Value;

const CALL: &str = "<tool_call>";
const CALL_END: &str = "</tool_call>";

/// Special tokens that don't look like `<|…|>`.
const MARKERS: [&str; 12] = [
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "<EOT>",
    "<|>",
];

pub(super) struct TaggedParser {
    tools: bool,
    /// The vocabulary's markers for the beginning and the end of a text.
    ends: [String; 2],
    /// Closing tags of reasoning that was opened in the prompt or not at all.
    closings: Vec<&'static str>,
    joined: Utf8Pieces,
    mode: Mode,
    held: String,
    /// Whether a closing tag may still follow without an opening one.
    undecided: bool,
    spoke: bool,
    called: bool,
    /// Invalid calls before any text: shown if text follows, otherwise dropped.
    unread: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Begin,
    /// Possibly reasoning, depending on its end.
    Undecided,
    /// Reasoning up to this closing tag.
    Think(&'static str),
    Text,
    Call,
}

impl TaggedParser {
    pub(super) fn new(tools: &[ToolSpec], thoughts: &Thoughts, ends: [&str; 2]) -> Self {
        Self {
            tools: !tools.is_empty(),
            ends: ends.map(str::to_owned),
            closings: thoughts.closings.clone(),
            joined: Utf8Pieces::default(),
            mode: thoughts.begun.map_or(Mode::Begin, Mode::Think),
            held: String::new(),
            undecided: !thoughts.closings.is_empty(),
            spoke: false,
            called: false,
            unread: String::new(),
        }
    }

    /// Returns whether a token is markup. In text, `<|` and `|>` are separate tokens.
    fn is_marker(&self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        if is_tag(text) {
            return false;
        }
        let wrapped = |begin, end| text.len() > 4 && text.starts_with(begin) && text.ends_with(end);
        wrapped("<|", "|>")
            || wrapped("<｜", "｜>")
            || MARKERS.contains(&text)
            || !text.is_empty() && self.ends.iter().any(|end| end == text)
    }

    fn push_text(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        self.held.push_str(text);
        while self.step(out) {}
    }

    /// Processes input up to the next tag; returns whether there may be more.
    fn step(&mut self, out: &mut Vec<ModelEvent>) -> bool {
        match self.mode {
            Mode::Begin => self.begin(),
            Mode::Undecided => self.decide(out),
            Mode::Think(end) => {
                let found = self.emit_until(end, out);
                if found {
                    self.end_thought(end);
                }
                found
            }
            Mode::Text => {
                let found = self.emit_until(if self.tools { CALL } else { "" }, out);
                if found {
                    self.mode = Mode::Call;
                }
                found
            }
            Mode::Call => self.read_call(out),
        }
    }

    fn begin(&mut self) -> bool {
        let text = self.held.trim_start();
        if text.is_empty() {
            self.held.clear();
            return false;
        }
        let begun = THOUGHT_TAGS.into_iter().find(|(opening, _)| text.starts_with(opening));
        let ended = self.closings.iter().find(|closing| text.starts_with(**closing));
        let (tag, mode) = match (begun, ended) {
            (Some((opening, closing)), _) => (opening, Mode::Think(closing)),
            (None, Some(closing)) => (*closing, Mode::Begin),
            (None, None) => {
                let openings = THOUGHT_TAGS.iter().map(|(opening, _)| opening);
                if openings.chain(&self.closings).any(|tag| tag.starts_with(text)) {
                    return false;
                }
                ("", if self.undecided { Mode::Undecided } else { Mode::Text })
            }
        };
        self.held = text[tag.len()..].to_owned();
        self.mode = mode;
        true
    }

    fn decide(&mut self, out: &mut Vec<ModelEvent>) -> bool {
        let found = self.closings.iter().filter_map(|closing| Some((self.held.find(closing)?, *closing)));
        let found = found.min().filter(|(at, _)| *at <= UNDECIDED_BYTES);
        if let Some((at, closing)) = found {
            self.mode = Mode::Think(closing);
            let thought = self.cut(at, closing);
            self.emit(thought, out);
            self.end_thought(closing);
            return true;
        }
        let longest = self.closings.iter().map(|closing| closing.len()).max().unwrap_or_default();
        let long = self.held.len() > UNDECIDED_BYTES + longest;
        if long {
            self.mode = Mode::Text;
        }
        long
    }

    fn end_thought(&mut self, closing: &'static str) {
        self.undecided = false;
        self.closings.push(closing);
        self.mode = Mode::Begin;
    }

    /// Emits the text before a tag and removes both. Without the tag, emits what can't be its beginning.
    fn emit_until(&mut self, tag: &str, out: &mut Vec<ModelEvent>) -> bool {
        let found = self.held.find(tag).filter(|_| !tag.is_empty());
        let sure = match found {
            Some(at) => self.cut(at, tag),
            None => self.cut(self.held.len() - tag_begun(&self.held, &[tag]), ""),
        };
        self.emit(sure, out);
        found.is_some()
    }

    /// Removes the held input up to `at` and the tag after it; returns it without the tag.
    fn cut(&mut self, at: usize, tag: &str) -> String {
        let rest = self.held.split_off(at + tag.len());
        let mut before = std::mem::replace(&mut self.held, rest);
        before.truncate(at);
        before
    }

    fn read_call(&mut self, out: &mut Vec<ModelEvent>) -> bool {
        // Text that only mentions a call.
        if self.spoke && !may_be_call(&self.held) {
            self.mode = Mode::Text;
            self.emit(CALL.to_owned(), out);
            return true;
        }
        let end = self.held.find(CALL_END);
        if end.is_none() && self.held.len() <= CALL_BYTES {
            return false;
        }
        let (at, tag) = end.map_or((self.held.len(), ""), |at| (at, CALL_END));
        let call = self.cut(at, tag);
        self.emit_call(&call, tag, out);
        true
    }

    fn emit(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        if let Mode::Think(_) = self.mode {
            out.push(ModelEvent::Reasoning(Reasoning::new(text)));
            return;
        }
        if !self.spoke && text.trim().is_empty() {
            // Drops blank lines between reasoning and text.
            if !self.unread.is_empty() {
                self.unread.push_str(&text);
            }
            return;
        }
        let text = match std::mem::take(&mut self.unread) {
            unread if !unread.is_empty() => unread + &text,
            _ if self.spoke => text,
            _ => text.trim_start().to_owned(),
        };
        self.spoke = true;
        out.push(ModelEvent::Text(text));
    }

    fn emit_call(&mut self, text: &str, tag: &str, out: &mut Vec<ModelEvent>) {
        self.mode = Mode::Text;
        let Some((name, arguments)) = parse_call(text) else {
            let unread = format!("{CALL}{text}{tag}");
            if self.spoke {
                self.emit(unread, out);
            } else {
                self.unread.push_str(&unread);
            }
            return;
        };
        self.called = true;
        let id = uuid::Uuid::new_v4().to_string();
        out.push(ModelEvent::ToolCall(CallRequest { id, name, arguments }));
    }
}

impl AnswerParser for TaggedParser {
    fn push(&mut self, _token: i32, bytes: &[u8], out: &mut Vec<ModelEvent>) {
        if !self.is_marker(bytes) {
            let text = self.joined.push(bytes);
            self.push_text(&text, out);
        }
    }

    fn finish(&mut self, end: Option<i32>, out: &mut Vec<ModelEvent>) -> Ending {
        let rest = self.joined.finish();
        self.push_text(&rest, out);
        if matches!(self.mode, Mode::Begin | Mode::Undecided) {
            self.mode = Mode::Text;
            self.push_text("", out);
        }
        let held = std::mem::take(&mut self.held);
        match (self.mode, end) {
            (Mode::Call, Some(_)) => self.emit_call(&held, "", out),
            (Mode::Call, None) if may_be_call(&held) => {}
            (Mode::Call, None) => {
                self.mode = Mode::Text;
                self.emit(format!("{CALL}{held}"), out);
            }
            _ => self.emit(held, out),
        }
        match (end, self.spoke || self.called) {
            (None, _) => Ending::CutOff,
            (Some(_), true) => Ending::Whole,
            (Some(_), false) => Ending::Malformed,
        }
    }
}

/// Returns whether the text after `<tool_call>` may become a call.
fn may_be_call(text: &str) -> bool {
    let text = text.trim_start();
    ["{", "```", "json"].iter().any(|begin| text.starts_with(begin) || begin.starts_with(text))
}

fn parse_call(text: &str) -> Option<(String, Value)> {
    let mut call = arguments::parse(text)?;
    let name = call.get("name")?.as_str()?.to_owned();
    let arguments = match call.remove("arguments").or_else(|| call.remove("parameters")) {
        Some(Value::String(text)) => arguments::parse(&text)?,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return None,
        None => serde_json::Map::new(),
    };
    Some((name, Value::Object(arguments)))
}

/// Reasoning tags of a model, known before it answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Thoughts {
    /// The closing tag, if prompts end within reasoning and the answer continues it.
    pub(super) begun: Option<&'static str>,
    /// Closing tags that may follow without an opening one.
    pub(super) closings: Vec<&'static str>,
}

impl Thoughts {
    pub(super) fn detect(template: &str, prompt: &str) -> Self {
        let prompt = prompt.trim_end();
        let begun = THOUGHT_TAGS.into_iter().find(|(opening, _)| prompt.ends_with(opening));
        // If the prompt already contains the reasoning, the answer is text.
        let over = THOUGHT_TAGS.iter().any(|(_, closing)| prompt.ends_with(closing));
        let closings = THOUGHT_TAGS.into_iter().map(|(_, closing)| closing);
        let closings = closings.filter(|closing| begun.is_none() && !over && template.contains(closing));
        Self { begun: begun.map(|(_, closing)| closing), closings: closings.collect() }
    }
}

pub(super) fn is_tag(text: &str) -> bool {
    THOUGHT_TAGS.iter().any(|(opening, closing)| [*opening, *closing].contains(&text))
}
