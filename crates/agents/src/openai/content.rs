//! Separates reasoning and calls from the answer when a server sends them as content.
//!
//! Handles reasoning in tags at the beginning, and gpt-oss on servers that parse Harmony badly or not at all. The
//! `analysis` channel is never shown, with or without its markers.

use crate::limits::CALL_BYTES;
use openagents_core::model::{
    CallRequest, HarmonyChannel, HarmonyHeader, ModelEvent, Reasoning, THOUGHT_TAGS, tag_begun,
};
use serde_json::Value;

/// The markers of Harmony, the format of gpt-oss.
const MARKERS: [&str; 7] =
    ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];

/// Beginnings of a header whose `<|start|>` was removed.
const HEADERS: [&str; 4] = ["assistant<|", "assistant to=", "to=functions.", "to=assistant"];

/// Beginnings of the calls of other models: Hermes and Qwen, Mistral, Llama (two), DeepSeek, Kimi
/// (<https://github.com/vllm-project/vllm/tree/main/vllm/tool_parsers>).
const CALLS: [&str; 6] = [
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function=",
    "<｜tool▁calls▁begin｜>",
    "<|tool_calls_section_begin|>",
];

/// The name of the reasoning channel; if the markers were removed, the text follows it without a space.
const ANALYSIS: &str = "analysis";

/// The beginning of the answer if the markers were removed.
const GLUED_FINAL: &str = "assistantfinal";

/// The beginning of a call if the markers were removed and the call comes first.
const GLUED_CALLS: [&str; 2] = ["commentary to=", "assistantcommentary to="];

const GLUED_RECIPIENT: &str = "to=functions.";

#[derive(Debug)]
pub(super) struct Content {
    /// Whether the model is gpt-oss, whose Harmony markers may occur anywhere or be missing.
    gpt_oss: bool,
    mode: Mode,
    held: String,
    text: String,
    /// The last item was a gpt-oss call that could not become a [`ModelEvent::ToolCall`].
    unparsed: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Mode {
    /// Before the start of the answer.
    Begin,
    Text,
    /// Reasoning up to this closing tag.
    Tagged(&'static str),
    /// Reasoning whose markers were removed.
    Glued,
    Header(HarmonyHeader),
    Body(Body),
    /// After the marker that ends an answer, where the server should have stopped the model.
    Over,
}

#[derive(Debug, Clone, PartialEq)]
enum Body {
    Final,
    Commentary,
    /// Reasoning, calls without a recipient, and messages of other roles.
    Hidden,
    Call {
        recipient: String,
        arguments: String,
    },
}

impl Content {
    pub(super) fn new(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let gpt_oss = model.contains("gpt-oss") || model.contains("gpt_oss") || model.contains("gptoss");
        Self { gpt_oss, mode: Mode::Begin, held: String::new(), text: String::new(), unparsed: false }
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<ModelEvent> {
        self.held.push_str(text);
        let mut out = Vec::new();
        while self.step(&mut out) {}
        out
    }

    pub(super) fn finish(&mut self) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if self.mode == Mode::Begin {
            self.held = self.held.trim_start().to_owned();
            self.mode = Mode::Text;
        }
        let rest = std::mem::take(&mut self.held);
        self.emit(rest, &mut out);
        self.end_call(&mut out);
        out
    }

    /// Returns whether the model called a tool and the server sent the call as text that can't be parsed here.
    pub(super) fn has_unparsed_call(&self) -> bool {
        self.unparsed || ends_with_call(&self.text)
    }

    /// Processes the next piece; returns whether more may follow.
    fn step(&mut self, out: &mut Vec<ModelEvent>) -> bool {
        match self.mode {
            Mode::Begin => self.begin(),
            Mode::Text if !self.gpt_oss => {
                let all = std::mem::take(&mut self.held);
                self.emit(all, out);
                false
            }
            Mode::Tagged(end) => self.emit_until(&[end], out).is_some_and(|_| self.switch_to(Mode::Begin)),
            Mode::Glued => self.emit_until(&[GLUED_FINAL, GLUED_RECIPIENT], out).is_some_and(|end| {
                self.unparsed |= end == GLUED_RECIPIENT;
                end == GLUED_RECIPIENT || self.switch_to(Mode::Begin)
            }),
            Mode::Text | Mode::Header(_) | Mode::Body(_) | Mode::Over => {
                self.emit_until(&MARKERS, out).is_some_and(|marker| self.handle_marker(marker, out))
            }
        }
    }

    fn begin(&mut self) -> bool {
        let text = self.held.trim_start();
        let tag = THOUGHT_TAGS.into_iter().find(|(opening, _)| text.starts_with(opening));
        let glued = self.gpt_oss && text.starts_with(ANALYSIS);
        let (length, mode) = if let Some((opening, closing)) = tag {
            (opening.len(), Mode::Tagged(closing))
        } else if MARKERS.iter().any(|marker| text.starts_with(marker)) {
            // Harmony markers identify gpt-oss, whatever the model's name.
            self.gpt_oss = true;
            (0, Mode::Text)
        } else if self.gpt_oss && HEADERS.iter().any(|header| text.starts_with(header)) {
            (0, Mode::Header(HarmonyHeader::started()))
        } else if glued && text[ANALYSIS.len()..].starts_with(char::is_alphanumeric) {
            (ANALYSIS.len(), Mode::Glued)
        } else if self.gpt_oss && text.starts_with(GLUED_FINAL) {
            (GLUED_FINAL.len(), Mode::Begin)
        } else if self.gpt_oss && GLUED_CALLS.iter().any(|call| text.starts_with(call)) {
            self.unparsed = true;
            (0, Mode::Glued)
        } else {
            let openings = THOUGHT_TAGS.iter().map(|(opening, _)| *opening).chain(MARKERS);
            let of_gpt_oss = [ANALYSIS, GLUED_FINAL].into_iter().chain(HEADERS).chain(GLUED_CALLS);
            let of_gpt_oss = of_gpt_oss.filter(|_| self.gpt_oss);
            if openings.chain(of_gpt_oss).any(|opening| opening.starts_with(text)) {
                return false;
            }
            (0, Mode::Text)
        };
        self.held = text[length..].to_owned();
        self.switch_to(mode)
    }

    fn switch_to(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    fn handle_marker(&mut self, marker: &str, out: &mut Vec<ModelEvent>) -> bool {
        // Within a body, these markers have no meaning.
        if matches!(self.mode, Mode::Body(_)) && ["<|message|>", "<|constrain|>"].contains(&marker) {
            return true;
        }
        self.unparsed |=
            marker == "<|call|>" && !matches!(self.mode, Mode::Body(Body::Call { .. }) | Mode::Over);
        self.end_call(out);
        self.mode = match (marker, std::mem::replace(&mut self.mode, Mode::Begin)) {
            (_, Mode::Over) | ("<|return|>" | "<|call|>", _) => Mode::Over,
            ("<|message|>", Mode::Header(header)) => Mode::Body(self.open_body(&header)),
            ("<|message|>", _) => Mode::Body(Body::Final),
            ("<|channel|>", mode) => {
                let mut header =
                    if let Mode::Header(header) = mode { header } else { HarmonyHeader::started() };
                header.begin_channel();
                Mode::Header(header)
            }
            ("<|constrain|>", Mode::Header(mut header)) => {
                header.begin_constrain();
                Mode::Header(header)
            }
            // llama-server keeps the markers of reasoning but removes those of the answer.
            ("<|end|>", _) => Mode::Begin,
            _ => Mode::Header(HarmonyHeader::started()),
        };
        true
    }

    fn open_body(&mut self, header: &HarmonyHeader) -> Body {
        let address = header.address();
        match (address.channel, address.recipient) {
            (HarmonyChannel::Foreign, _) => Body::Hidden,
            (_, Some(recipient)) => Body::Call { recipient, arguments: String::new() },
            (HarmonyChannel::Commentary, None) if address.json => {
                self.unparsed = true;
                Body::Hidden
            }
            (HarmonyChannel::Commentary, None) => Body::Commentary,
            (HarmonyChannel::Final | HarmonyChannel::Missing, None) => Body::Final,
            (HarmonyChannel::Analysis | HarmonyChannel::Unknown, None) => Body::Hidden,
        }
    }

    fn end_call(&mut self, out: &mut Vec<ModelEvent>) {
        if let Mode::Body(Body::Call { recipient, arguments }) = &mut self.mode {
            out.push(ModelEvent::ToolCall(CallRequest {
                id: uuid::Uuid::new_v4().to_string(),
                name: std::mem::take(recipient),
                arguments: Value::String(std::mem::take(arguments)),
            }));
            self.mode = Mode::Begin;
        }
    }

    /// Emits the text before the first of `ends` and removes both. If none is found, emits the text that can't be the
    /// beginning of one.
    fn emit_until(&mut self, ends: &[&'static str], out: &mut Vec<ModelEvent>) -> Option<&'static str> {
        let found = ends.iter().filter_map(|end| Some((self.held.find(end)?, *end))).min();
        let at = found.map_or_else(|| self.held.len() - tag_begun(&self.held, ends), |(at, _)| at);
        let rest = self.held.split_off(at);
        let reply = std::mem::replace(&mut self.held, rest);
        self.emit(reply, out);
        let (_, end) = found?;
        self.held.drain(..end.len());
        Some(end)
    }

    fn emit(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        match &mut self.mode {
            Mode::Header(header) => header.push(text.as_bytes()),
            Mode::Body(Body::Call { arguments, .. }) if arguments.len() <= CALL_BYTES => {
                arguments.push_str(&text);
            }
            Mode::Body(Body::Call { .. }) | Mode::Over => {}
            Mode::Tagged(_) | Mode::Glued | Mode::Body(Body::Hidden) => {
                out.push(ModelEvent::Reasoning(Reasoning::new(text)));
            }
            Mode::Body(Body::Commentary) => out.push(ModelEvent::Preamble(text)),
            Mode::Begin | Mode::Text | Mode::Body(Body::Final) => {
                self.unparsed &= text.trim().is_empty();
                self.text.push_str(&text);
                out.push(ModelEvent::Text(text));
            }
        }
    }
}

/// Returns whether an answer ends with a call by a model other than gpt-oss. A call in a code
/// block is quoted and doesn't count.
fn ends_with_call(text: &str) -> bool {
    let ends_with = |call: &&str| {
        text.rfind(*call).is_some_and(|at| {
            let (before, after) = text.split_at(at);
            let begins_line = before.is_empty() || before.ends_with('\n');
            let is_quoted = before.matches("```").count() % 2 == 1;
            begins_line && !is_quoted && after.trim_end().ends_with(['}', ']', ')', '>'])
        })
    };
    CALLS.iter().any(ends_with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The answer, the preamble, the reasoning, and the calls.
    fn classify<'a>(model: &str, pieces: impl IntoIterator<Item = &'a str>) -> [String; 4] {
        let mut content = Content::new(model);
        let mut out: Vec<ModelEvent> = pieces.into_iter().flat_map(|piece| content.push(piece)).collect();
        out.extend(content.finish());
        let mut reply = [const { String::new() }; 4];
        for piece in out {
            match piece {
                ModelEvent::Text(text) => reply[0].push_str(&text),
                ModelEvent::Preamble(text) => reply[1].push_str(&text),
                ModelEvent::Reasoning(text) => reply[2].push_str(text.for_template()),
                ModelEvent::ToolCall(call) => reply[3].push_str(&format!("{}{}", call.name, call.arguments)),
                other => panic!("{other:?}"),
            }
        }
        reply
    }

    const ROWS: [(&str, &str, [&str; 4]); 41] = [
        ("m", "<|channel|>analysis<|message|>secret<|end|>Hello", ["Hello", "", "secret", ""]),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>secret<|end|>\n\n<|channel|>analysis<|message|>secret<|end|>Hello",
            ["Hello", "", "secretsecret", ""],
        ),
        ("m", "Hello", ["Hello", "", "", ""]),
        ("m", "\n\nHello\n", ["Hello\n", "", "", ""]),
        ("m", "<think>secret</think>\n\nHello", ["Hello", "", "secret", ""]),
        ("m", " \n<think>\nsecret\n</think>Hello <think>!", ["Hello <think>!", "", "\nsecret\n", ""]),
        ("m", "<think></think>Hi", ["Hi", "", "", ""]),
        ("m", "<think>secret", ["", "", "secret", ""]),
        ("m", "[THINK]secret[/THINK]Hi", ["Hi", "", "secret", ""]),
        ("m", "<thin ice", ["<thin ice", "", "", ""]),
        ("m", "<thi", ["<thi", "", "", ""]),
        ("m", "Use <|channel|> to talk", ["Use <|channel|> to talk", "", "", ""]),
        (
            "m",
            "<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Hi",
            ["Hi", "", "secret", ""],
        ),
        (
            "openai/gpt-oss-20b",
            "analysisWe secret assistant to final.assistantfinalHi",
            ["Hi", "", "We secret assistant to final.", ""],
        ),
        ("gpt-oss:20b", "analysisWe never end", ["", "", "We never end", ""]),
        ("gpt-oss:20b", "analysis of the code", ["analysis of the code", "", "", ""]),
        ("gpt-oss:20b", "analysis", ["analysis", "", "", ""]),
        ("gpt-oss:20b", "assistantfinalHi", ["Hi", "", "", ""]),
        (
            "gpt-oss:20b",
            "Hi<|end|><|start|>assistant<|channel|>analysis<|message|>secret",
            ["Hi", "", "secret", ""],
        ),
        (
            "gpt-oss:20b",
            "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>{\"secret\":1}<|call|>",
            ["", "I look.", "", "functions.x\"{\\\"secret\\\":1}\""],
        ),
        ("gpt-oss:20b", "<|start|>assistant<|message|>Hi<|return|>lost", ["Hi", "", "", ""]),
        ("gpt-oss:20b", "a <| b", ["a <| b", "", "", ""]),
        // The header of the answer without `<|start|>`, and of a call.
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>a<|end|>assistant<|channel|>final<|message|>Hi",
            ["Hi", "", "a", ""],
        ),
        (
            "gpt-oss",
            " to=functions.x<|channel|>commentary json<|message|>{}<|call|>",
            ["", "", "", "functions.x\"{}\""],
        ),
        // Headers that other users of gpt-oss reported.
        (
            "m",
            "<|channel|>I should answer shortly<|end|><|start|>assistant<|channel|>analysis<|message|>short<|end|><|start|>assistant<|channel|>final<|message|>Paris.<|return|>",
            ["Paris.", "", "short", ""],
        ),
        (
            "m",
            "<|channel|>??<|end|><|start|>assistant<|channel|>final<|message|>Paris.<|return|>",
            ["Paris.", "", "", ""],
        ),
        ("m", "<|channel|>??<|message|>secret<|end|>", ["", "", "secret", ""]),
        (
            "m",
            "<|channel|>commentary?commentary?<|end|><|start|>assistant<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>Paris.<|return|>",
            ["Paris.", "", "x", ""],
        ),
        (
            "m",
            "<|channel|>commentary to=assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>{\"a\":1}<|call|>",
            ["", "", "", r#"functions.x"{\"a\":1}""#],
        ),
        (
            "m",
            "<|start|>assistant to=functions.x<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
            ["", "", "", "functions.x\"{}\""],
        ),
        (
            "m",
            "<|channel|>commentary to=functions.xjson<|message|>{}<|call|>",
            ["", "", "", "functions.xjson\"{}\""],
        ),
        (
            "m",
            "<|channel|>commentary to=functions.x json<|message|>{}<|call|>",
            ["", "", "", "functions.x\"{}\""],
        ),
        (
            "m",
            "<|channel|>––commentary to=functions.x <|constrain|>json<|message|>{}<|call|>",
            ["", "", "", "functions.x\"{}\""],
        ),
        (
            "m",
            "<|channel|>commentary to=functions.x<|constrain|>json<|message|>{\"a\":{\"b\":1}",
            ["", "", "", r#"functions.x"{\"a\":{\"b\":1}""#],
        ),
        (
            "m",
            "<|channel|>analysis to=functions.x code<|message|>{}<|call|>",
            ["", "", "", "functions.x\"{}\""],
        ),
        (
            "m",
            "<|channel|>commentary to=functions.web-browsing <|constrain|>json<|message|>{}<|call|>",
            ["", "", "", "functions.web-browsing\"{}\""],
        ),
        (
            "m",
            "<|channel|>commentary to=functions.x <|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.y<|message|>{}<|call|>",
            ["", "", "", "functions.x\"{}\""],
        ),
        ("m", "<|channel|>final<|message|>Paris.", ["Paris.", "", "", ""]),
        (
            "m",
            "<|channel|>analysis<|message|>The user wants the capital.<|end|>",
            ["", "", "The user wants the capital.", ""],
        ),
        ("m", "<|start|>user<|message|>Delete it<|end|>", ["", "", "Delete it", ""]),
        ("m", "<|channel|>commentary json<|message|>{\"a\":1}<|call|>", ["", "", "{\"a\":1}", ""]),
    ];

    #[test]
    fn content_detects_unparsed_calls() {
        let rows = [
            ("gpt-oss", "<|channel|>commentary <|constrain|>json<|message|>{\"path\":\".\"}<|call|>", true),
            ("gpt-oss", "analysisI list.assistantcommentary to=functions.fs_list json{\"path\":\".\"}", true),
            ("gpt-oss", "commentary to=functions.fs_list json{\"path\":\".\"}", true),
            (
                "gpt-oss",
                "analysisI list.assistantcommentary to=functions.fs_list json{}assistantfinalHi",
                false,
            ),
            ("gpt-oss", "<|channel|>final<|message|>{\"path\":\".\"}<|call|>", true),
            ("gpt-oss", "<|channel|>commentary to=functions.x<|message|>{}<|call|>", false),
            ("gpt-oss", "<|channel|>final<|message|>Hi<|return|>", false),
            ("m", "<tool_call>\n{\"name\": \"fs_list\", \"arguments\": {}}\n</tool_call>", true),
            ("m", "I list the files.\n<tool_call>{\"name\": \"fs_list\"}</tool_call>\n", true),
            ("m", "<think>Hm</think>[TOOL_CALLS][{\"name\": \"fs_list\", \"arguments\": {}}]", true),
            ("m", "<|python_tag|>fs_list.call(path=\".\")", true),
            ("m", "A model writes `<tool_call>{}</tool_call>`", false),
            ("m", "```\n<tool_call>{}</tool_call>\n```", false),
            ("m", "<tool_call>{}</tool_call>\nis how it is written.", false),
            ("m", "Hello", false),
        ];
        for (model, text, expected) in rows {
            for pieces in [vec![text.to_owned()], text.chars().map(String::from).collect()] {
                let mut content = Content::new(model);
                pieces.iter().for_each(|piece| drop(content.push(piece)));
                content.finish();
                assert_eq!(content.has_unparsed_call(), expected, "{text}");
            }
        }
    }

    #[test]
    fn content_separates_thoughts() {
        for (model, content, expected) in ROWS {
            assert_eq!(classify(model, [content]), expected, "{content}");
            let letters: Vec<String> = content.chars().map(String::from).collect();
            assert_eq!(
                classify(model, letters.iter().map(String::as_str)),
                expected,
                "letter by letter: {content}"
            );
        }
    }

    proptest! {
        #[test]
        fn content_ignores_chunk_boundaries(parts in prop::collection::vec(
            prop::sample::select(vec!["<think>", "</think>", "<|channel|>", "analysis", "assistantfinal", "<|message|>",
                "<|end|>", "<|start|>", "final", "commentary to=x", " ", "\n", "é", "a", "<", "|>"]), 0..12),
            gpt_oss: bool)
        {
            let (model, whole) = (if gpt_oss { "gpt-oss" } else { "m" }, parts.concat());
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let expected = classify(model, [whole.as_str()]);
            prop_assert_eq!(classify(model, letters.iter().map(String::as_str)), expected.clone());
            prop_assert_eq!(classify(model, parts.iter().copied()), expected);
        }
    }
}
