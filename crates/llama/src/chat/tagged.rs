//! Parses answers of models whose templates have tags: `<think>…</think>` is a thought, `<tool_call>{…}</tool_call>` a
//! call (as Hermes and Qwen write it), and the rest is text.

use super::{AnswerParser, Ending, Joined, Parsed, arguments};
use openagents_core::model::{CallRequest, Reasoning, ToolSpec};
use serde_json::Value;

const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const CALL: &str = "<tool_call>";
const CALL_END: &str = "</tool_call>";

/// A call that is longer is none.
const LENGTH: usize = 1024 * 1024;

/// Special tokens whose text has another form than `<|…|>`.
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

/// See the module.
pub(super) struct TaggedParser {
    /// Calls are looked for.
    tools: bool,
    /// The markers of this vocabulary for the beginning and the end of a text.
    ends: [String; 2],
    joined: Joined,
    mode: Mode,
    /// What cannot be told yet: the beginning of a tag perhaps, or a call.
    held: String,
    spoke: bool,
    called: bool,
    broken: bool,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Text,
    Think,
    Call,
}

impl TaggedParser {
    pub(super) fn new(tools: &[ToolSpec], thinks_first: bool, ends: [&str; 2]) -> Self {
        Self {
            tools: !tools.is_empty(),
            ends: ends.map(str::to_owned),
            joined: Joined::default(),
            mode: if thinks_first { Mode::Think } else { Mode::Text },
            held: String::new(),
            spoke: false,
            called: false,
            broken: false,
            ended: false,
        }
    }

    /// Whether a token is markup of its own. Text has `<|` and `|>` in several tokens.
    fn is_marker(&self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        if [THINK, THINK_END, CALL, CALL_END].contains(&text) {
            return false;
        }
        let wrapped = |begin, end| text.len() > 4 && text.starts_with(begin) && text.ends_with(end);
        wrapped("<|", "|>")
            || wrapped("<｜", "｜>")
            || MARKERS.contains(&text)
            || !text.is_empty() && self.ends.iter().any(|end| end == text)
    }

    fn read(&mut self, text: &str, out: &mut Vec<Parsed>) {
        self.held.push_str(text);
        loop {
            let tags: &[(&str, Mode)] = match self.mode {
                Mode::Text if self.tools => {
                    &[(THINK, Mode::Think), (THINK_END, Mode::Text), (CALL, Mode::Call)]
                }
                Mode::Text => &[(THINK, Mode::Think), (THINK_END, Mode::Text)],
                Mode::Think => &[(THINK_END, Mode::Text)],
                Mode::Call => &[(CALL_END, Mode::Text)],
            };
            let found = tags.iter().filter_map(|(tag, mode)| Some((self.held.find(tag)?, *tag, *mode)));
            let Some((at, tag, mode)) = found.min_by_key(|(at, ..)| *at) else {
                let keep =
                    if self.mode == Mode::Call { self.held.len() } else { tag_begun(&self.held, tags) };
                if self.mode == Mode::Call && self.held.len() > LENGTH {
                    self.held.truncate(0);
                    self.broken = true;
                }
                if let Some(sure) = self.held.len().checked_sub(keep) {
                    let rest = self.held.split_off(sure);
                    let sure = std::mem::replace(&mut self.held, rest);
                    self.say(sure, out);
                }
                return;
            };
            let rest = self.held.split_off(at + tag.len());
            let mut before = std::mem::replace(&mut self.held, rest);
            before.truncate(at);
            match self.mode {
                Mode::Call => self.call(&before, out),
                Mode::Text | Mode::Think => self.say(before, out),
            }
            self.mode = mode;
        }
    }

    fn say(&mut self, text: String, out: &mut Vec<Parsed>) {
        match self.mode {
            Mode::Think if !text.is_empty() => out.push(Parsed::Reasoning(Reasoning::new(text))),
            Mode::Text => {
                // Blank lines between a thought and the answer belong to neither.
                let text = if self.spoke { &text } else { text.trim_start() };
                if !text.is_empty() {
                    self.spoke = true;
                    out.push(Parsed::Text(text.to_owned()));
                }
            }
            Mode::Think | Mode::Call => {}
        }
    }

    fn call(&mut self, text: &str, out: &mut Vec<Parsed>) {
        let call = arguments::parse(text).and_then(|mut call| {
            let name = call.get("name")?.as_str()?.to_owned();
            let arguments = match call.remove("arguments").or_else(|| call.remove("parameters")) {
                Some(Value::String(text)) => arguments::parse(&text)?,
                Some(Value::Object(arguments)) => arguments,
                Some(_) => return None,
                None => serde_json::Map::new(),
            };
            Some((name, Value::Object(arguments)))
        });
        let Some((name, arguments)) = call else {
            self.broken = true;
            return;
        };
        self.called = true;
        let id = uuid::Uuid::new_v4().to_string();
        out.push(Parsed::Call(CallRequest { id, name, arguments }));
    }
}

impl AnswerParser for TaggedParser {
    fn push(&mut self, _token: i32, bytes: &[u8], out: &mut Vec<Parsed>) {
        self.ended = self.is_marker(bytes);
        if !self.ended {
            let text = self.joined.push(bytes);
            self.read(&text, out);
        }
    }

    fn finish(&mut self, out: &mut Vec<Parsed>) -> Ending {
        let rest = self.joined.finish();
        self.read(&rest, out);
        let held = std::mem::take(&mut self.held);
        match self.mode {
            Mode::Call if self.ended => self.call(&held, out),
            Mode::Call => {}
            Mode::Text | Mode::Think => self.say(held, out),
        }
        match (self.ended, self.spoke || self.called) {
            (false, _) => Ending::CutOff,
            (true, true) => Ending::Whole,
            (true, false) => Ending::Malformed,
        }
    }
}

/// How many bytes at the end may be the beginning of a tag.
fn tag_begun(text: &str, tags: &[(&str, Mode)]) -> usize {
    let begun = |tag: &str| (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0);
    tags.iter().map(|(tag, _)| begun(tag)).max().unwrap_or(0)
}
