//! Separates reasoning from the answer if a server sends both as content.
//!
//! Handles reasoning in tags at the beginning, and gpt-oss behind servers that parse Harmony badly or not at all. The
//! `analysis` channel is never shown, with or without its markers.

use openagents_core::model::{ModelEvent, Reasoning, THOUGHT_TAGS, tag_begun};

/// The markers of Harmony, the format of gpt-oss.
const MARKERS: [&str; 7] =
    ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];

/// The name of the reasoning channel; without markers it is glued to the text.
const ANALYSIS: &str = "analysis";

/// The beginning of the answer if markers were removed.
const GLUED_FINAL: &str = "assistantfinal";

/// Classifies content as it arrives.
#[derive(Debug)]
pub(super) struct Content {
    /// Whether Harmony markers may occur anywhere or be missing.
    gpt_oss: bool,
    mode: Mode,
    /// Content that can't be classified yet.
    held: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Mode {
    /// Before the answer.
    Begin,
    Text,
    /// Reasoning up to this closing tag.
    Tagged(&'static str),
    /// Reasoning whose markers were removed.
    Glued,
    /// The header of a Harmony message so far.
    Header(String),
    /// The body of a Harmony message.
    Body(Channel),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Channel {
    Final,
    Commentary,
    /// Reasoning, and calls that the server failed to parse.
    Hidden,
}

impl Content {
    pub(super) fn new(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let gpt_oss = model.contains("gpt-oss") || model.contains("gpt_oss") || model.contains("gptoss");
        Self { gpt_oss, mode: Mode::Begin, held: String::new() }
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
        self.say(rest, &mut out);
        out
    }

    /// Processes the next piece; returns whether more may follow.
    fn step(&mut self, out: &mut Vec<ModelEvent>) -> bool {
        match self.mode.clone() {
            Mode::Begin => self.begin(),
            Mode::Text if !self.gpt_oss => {
                let all = std::mem::take(&mut self.held);
                self.say(all, out);
                false
            }
            Mode::Tagged(end) => self.until(&[end], out).is_some_and(|_| self.to(Mode::Begin)),
            Mode::Glued => self.until(&[GLUED_FINAL], out).is_some_and(|_| self.to(Mode::Begin)),
            Mode::Text | Mode::Header(_) | Mode::Body(_) => {
                self.until(&MARKERS, out).is_some_and(|marker| self.mark(marker))
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
        } else if glued && text[ANALYSIS.len()..].starts_with(char::is_alphanumeric) {
            (ANALYSIS.len(), Mode::Glued)
        } else if self.gpt_oss && text.starts_with(GLUED_FINAL) {
            (GLUED_FINAL.len(), Mode::Begin)
        } else {
            let openings = THOUGHT_TAGS.iter().map(|(opening, _)| *opening).chain(MARKERS);
            let glued: &[&str] = if self.gpt_oss { &[ANALYSIS, GLUED_FINAL] } else { &[] };
            if openings.chain(glued.iter().copied()).any(|opening| opening.starts_with(text)) {
                return false;
            }
            (0, Mode::Text)
        };
        self.held = text[length..].to_owned();
        self.to(mode)
    }

    fn to(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    fn mark(&mut self, marker: &str) -> bool {
        self.mode = match (marker, &self.mode) {
            ("<|message|>", Mode::Header(header)) => Mode::Body(Channel::of(header)),
            ("<|message|>", _) => Mode::Body(Channel::Final),
            ("<|channel|>" | "<|constrain|>", Mode::Header(header)) => Mode::Header(format!("{header} ")),
            // llama-server keeps the markers of reasoning but removes those of the answer.
            ("<|end|>", _) => Mode::Begin,
            // Nothing is shown after the end.
            _ => Mode::Header(String::new()),
        };
        true
    }

    /// Emits the text before the first of `ends` and removes both. Without one, emits what can't be its beginning.
    fn until(&mut self, ends: &[&'static str], out: &mut Vec<ModelEvent>) -> Option<&'static str> {
        let found = ends.iter().filter_map(|end| Some((self.held.find(end)?, *end))).min();
        let at = found.map_or_else(|| self.held.len() - tag_begun(&self.held, ends), |(at, _)| at);
        let rest = self.held.split_off(at);
        let said = std::mem::replace(&mut self.held, rest);
        self.say(said, out);
        let (_, end) = found?;
        self.held.drain(..end.len());
        Some(end)
    }

    fn say(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if let Mode::Header(header) = &mut self.mode {
            header.push_str(&text);
        } else if !text.is_empty() {
            out.push(match self.mode {
                Mode::Tagged(_) | Mode::Glued | Mode::Body(Channel::Hidden) => {
                    ModelEvent::Reasoning(Reasoning::new(text))
                }
                Mode::Body(Channel::Commentary) => ModelEvent::Preamble(text),
                _ => ModelEvent::Text(text),
            });
        }
    }
}

impl Channel {
    fn of(header: &str) -> Self {
        if header.contains(ANALYSIS) || header.contains("to=") {
            Self::Hidden
        } else if header.contains("commentary") {
            Self::Commentary
        } else {
            Self::Final
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read<'a>(model: &str, pieces: impl IntoIterator<Item = &'a str>) -> [String; 3] {
        let mut content = Content::new(model);
        let mut out: Vec<ModelEvent> = pieces.into_iter().flat_map(|piece| content.push(piece)).collect();
        out.extend(content.finish());
        let mut said = [String::new(), String::new(), String::new()];
        for piece in out {
            match piece {
                ModelEvent::Text(text) => said[0].push_str(&text),
                ModelEvent::Preamble(text) => said[1].push_str(&text),
                ModelEvent::Reasoning(text) => said[2].push_str(text.for_template()),
                other => panic!("{other:?}"),
            }
        }
        said
    }

    const ROWS: [(&str, &str, [&str; 3]); 22] = [
        ("m", "<|channel|>analysis<|message|>secret<|end|>Hello", ["Hello", "", "secret"]),
        (
            "gpt-oss",
            "<|channel|>analysis<|message|>secret<|end|>\n\n<|channel|>analysis<|message|>secret<|end|>Hello",
            ["Hello", "", "secretsecret"],
        ),
        ("m", "Hello", ["Hello", "", ""]),
        ("m", "\n\nHello\n", ["Hello\n", "", ""]),
        ("m", "<think>secret</think>\n\nHello", ["Hello", "", "secret"]),
        ("m", " \n<think>\nsecret\n</think>Hello <think>!", ["Hello <think>!", "", "\nsecret\n"]),
        ("m", "<think></think>Hi", ["Hi", "", ""]),
        ("m", "<think>secret", ["", "", "secret"]),
        ("m", "[THINK]secret[/THINK]Hi", ["Hi", "", "secret"]),
        ("m", "<thin ice", ["<thin ice", "", ""]),
        ("m", "<thi", ["<thi", "", ""]),
        ("m", "Use <|channel|> to talk", ["Use <|channel|> to talk", "", ""]),
        (
            "m",
            "<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Hi",
            ["Hi", "", "secret"],
        ),
        (
            "openai/gpt-oss-20b",
            "analysisWe secret assistant to final.assistantfinalHi",
            ["Hi", "", "We secret assistant to final."],
        ),
        ("gpt-oss:20b", "analysisWe never end", ["", "", "We never end"]),
        ("gpt-oss:20b", "analysis of the code", ["analysis of the code", "", ""]),
        ("gpt-oss:20b", "analysis", ["analysis", "", ""]),
        ("gpt-oss:20b", "assistantfinalHi", ["Hi", "", ""]),
        (
            "gpt-oss:20b",
            "Hi<|end|><|start|>assistant<|channel|>analysis<|message|>secret",
            ["Hi", "", "secret"],
        ),
        (
            "gpt-oss:20b",
            "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>{\"secret\":1}<|call|>",
            ["", "I look.", "{\"secret\":1}"],
        ),
        ("gpt-oss:20b", "<|start|>assistant<|message|>Hi<|return|>lost", ["Hi", "", ""]),
        ("gpt-oss:20b", "a <| b", ["a <| b", "", ""]),
    ];

    #[test]
    fn thoughts_are_kept_apart() {
        for (model, content, expected) in ROWS {
            assert_eq!(read(model, [content]), expected, "{content}");
            let letters: Vec<String> = content.chars().map(String::from).collect();
            assert_eq!(
                read(model, letters.iter().map(String::as_str)),
                expected,
                "letter by letter: {content}"
            );
        }
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(parts in prop::collection::vec(
            prop::sample::select(vec!["<think>", "</think>", "<|channel|>", "analysis", "assistantfinal", "<|message|>",
                "<|end|>", "<|start|>", "final", "commentary to=x", " ", "\n", "é", "a", "<", "|>"]), 0..12),
            gpt_oss: bool)
        {
            let (model, whole) = (if gpt_oss { "gpt-oss" } else { "m" }, parts.concat());
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let expected = read(model, [whole.as_str()]);
            prop_assert_eq!(read(model, letters.iter().map(String::as_str)), expected.clone());
            prop_assert_eq!(read(model, parts.iter().copied()), expected);
        }
    }
}
