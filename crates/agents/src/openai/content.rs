//! Tells thoughts from the answer where a server puts both into the content.
//!
//! Two kinds: a thought in tags at the beginning, and gpt-oss whose server takes its markup apart badly or not at all.
//! What is called `analysis` there reaches nobody, in its markers or without them.

/// What begins a thought and what ends it. Only before the answer: an answer can speak of tags.
const TAGS: [(&str, &str); 7] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
];

/// The markers of Harmony, gpt-oss's format.
const MARKERS: [&str; 7] =
    ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];

/// The name of the channel of thoughts; where markers were taken out it is glued to what follows.
const ANALYSIS: &str = "analysis";

/// What is left of the beginning of the answer where markers were taken out.
const GLUED_FINAL: &str = "assistantfinal";

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Of the answer.
    Text(String),
    /// Of what comes before a call.
    Preamble(String),
    /// Of the chain of thought.
    Thought(String),
}

/// Reads content as it comes.
#[derive(Debug)]
pub(super) struct Content {
    /// Markers may come anywhere, and may have been taken out.
    gpt_oss: bool,
    mode: Mode,
    /// What cannot be told yet.
    held: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Mode {
    /// Before the answer.
    Begin,
    Text,
    /// A thought that ends with this.
    Tagged(&'static str),
    /// A thought whose markers were taken out.
    Glued,
    /// The header of a Harmony message, as far as it came.
    Header(String),
    /// The body of one.
    Body(Channel),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Channel {
    Final,
    Commentary,
    /// Thoughts, and calls that the server should have read.
    Hidden,
}

impl Content {
    pub(super) fn new(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let gpt_oss = model.contains("gpt-oss") || model.contains("gpt_oss") || model.contains("gptoss");
        Self { gpt_oss, mode: Mode::Begin, held: String::new() }
    }

    /// Takes what came and gives what is certain.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        let mut out = Vec::new();
        while self.step(&mut out) {}
        out
    }

    /// Gives the rest.
    pub(super) fn finish(&mut self) -> Vec<Piece> {
        let mut out = Vec::new();
        if self.mode == Mode::Begin {
            self.held = self.held.trim_start().to_owned();
            self.mode = Mode::Text;
        }
        let rest = std::mem::take(&mut self.held);
        self.say(rest, &mut out);
        out
    }

    /// Goes on as far as what is next in question; returns whether there may be more.
    fn step(&mut self, out: &mut Vec<Piece>) -> bool {
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
        let tag = TAGS.into_iter().find(|(opening, _)| text.starts_with(opening));
        let glued = self.gpt_oss && text.starts_with(ANALYSIS);
        let (length, mode) = if let Some((opening, closing)) = tag {
            (opening.len(), Mode::Tagged(closing))
        } else if MARKERS.iter().any(|marker| text.starts_with(marker)) {
            // Whoever begins like this writes on like this, whatever the model is called.
            self.gpt_oss = true;
            (0, Mode::Text)
        } else if glued && text[ANALYSIS.len()..].starts_with(char::is_alphanumeric) {
            (ANALYSIS.len(), Mode::Glued)
        } else if self.gpt_oss && text.starts_with(GLUED_FINAL) {
            (GLUED_FINAL.len(), Mode::Begin)
        } else {
            let openings = TAGS.iter().map(|(opening, _)| *opening).chain(MARKERS);
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

    /// A marker of Harmony came.
    fn mark(&mut self, marker: &str) -> bool {
        self.mode = match (marker, &self.mode) {
            ("<|message|>", Mode::Header(header)) => Mode::Body(Channel::of(header)),
            ("<|message|>", _) => Mode::Body(Channel::Final),
            ("<|channel|>" | "<|constrain|>", Mode::Header(header)) => Mode::Header(format!("{header} ")),
            // llama-server leaves thoughts with their markers there and takes those of the answer away.
            ("<|end|>", _) => Mode::Begin,
            // After the end there is nothing to say.
            _ => Mode::Header(String::new()),
        };
        true
    }

    /// Says what stands before the first of these and takes both away; without one, all that cannot be its beginning.
    fn until(&mut self, ends: &[&'static str], out: &mut Vec<Piece>) -> Option<&'static str> {
        let found = ends.iter().filter_map(|end| Some((self.held.find(end)?, *end))).min();
        let at = found.map_or_else(|| self.held.len() - begun(&self.held, ends), |(at, _)| at);
        let rest = self.held.split_off(at);
        let said = std::mem::replace(&mut self.held, rest);
        self.say(said, out);
        let (_, end) = found?;
        self.held.drain(..end.len());
        Some(end)
    }

    fn say(&mut self, text: String, out: &mut Vec<Piece>) {
        if let Mode::Header(header) = &mut self.mode {
            header.push_str(&text);
        } else if !text.is_empty() {
            out.push(match self.mode {
                Mode::Tagged(_) | Mode::Glued | Mode::Body(Channel::Hidden) => Piece::Thought(text),
                Mode::Body(Channel::Commentary) => Piece::Preamble(text),
                _ => Piece::Text(text),
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

/// How many bytes at the end may be the beginning of one of these.
fn begun(text: &str, ends: &[&str]) -> usize {
    let longest = |end: &&str| {
        (1..end.len()).rev().find(|length| text.as_bytes().ends_with(&end.as_bytes()[..*length])).unwrap_or(0)
    };
    ends.iter().map(longest).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read<'a>(model: &str, pieces: impl IntoIterator<Item = &'a str>) -> [String; 3] {
        let mut content = Content::new(model);
        let mut out: Vec<Piece> = pieces.into_iter().flat_map(|piece| content.push(piece)).collect();
        out.extend(content.finish());
        let mut said = [String::new(), String::new(), String::new()];
        for piece in out {
            match piece {
                Piece::Text(text) => said[0].push_str(&text),
                Piece::Preamble(text) => said[1].push_str(&text),
                Piece::Thought(text) => said[2].push_str(&text),
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
        fn where_it_is_cut_does_not_matter(parts in prop::collection::vec(
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
