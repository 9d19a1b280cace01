//! A prompt as the rules read it: lower case, in sentences, without politeness and without what was pasted into it.

use super::pattern::pattern;
use crate::text::one_line;

/// Characters that are looked at; what a person wants stands at the beginning.
const READ: usize = 4_000;

/// Lines from which on a prompt holds something that was pasted.
const PASTED_LINES: usize = 12;

pub(super) struct Prompt {
    /// The whole text in lower case, on one line.
    pub(super) text: String,
    pub(super) sentences: Vec<Sentence>,
    /// How many sentences stand before the first blank line: these are certainly the person's own.
    pub(super) own: usize,
    pub(super) words: usize,
    /// It holds code, a log, a document.
    pub(super) pasted: bool,
}

pub(super) struct Sentence {
    /// As it was written, in lower case.
    pub(super) whole: String,
    /// What is left of it without "could you please" and the like.
    pub(super) request: String,
    pub(super) asks: bool,
}

impl Prompt {
    pub(super) fn read(prompt: &str) -> Self {
        let head: String = prompt.trim().chars().take(READ).collect();
        let (typed, fenced) = without_quotations(&head.to_lowercase().replace(['’', '‘'], "'"));
        let pasted = fenced || typed.lines().count() >= PASTED_LINES;
        let (mut sentences, mut own) = (Vec::new(), 0);
        for (number, paragraph) in typed.split("\n\n").filter(|text| !text.trim().is_empty()).enumerate() {
            sentences.extend(paragraph.lines().flat_map(split).map(Sentence::read));
            if number == 0 {
                own = sentences.len();
            }
        }
        let text = one_line(&typed);
        let words = text.split_whitespace().count();
        Self { text, sentences, own, words, pasted }
    }
}

impl Sentence {
    fn read(text: String) -> Self {
        let asks = text.ends_with('?');
        let whole = text.trim_matches(|c: char| c.is_whitespace() || "?!.¿¡".contains(c)).to_owned();
        let mut request = whole.as_str();
        // Every round takes at least one word away.
        while let Some(end) = POLITE.end_in(request) {
            request = &request[end..];
        }
        Self { request: request.to_owned(), whole, asks }
    }
}

pattern!(
    POLITE: r"^(?:ok|okay|hey|hi|hello|now|then|so|and|but|also|just|maybe|next|first|well|alright|great)(?:\s*[,:]\s*|\s+)",
    r"^(?:please|pls|plz|kindly|thanks|thank you|openagents|let's|lets|let us|go ahead and|go and|try to)(?:\s*[,:]\s*|\s+)",
    r"^(?:can|could|would|will) (?:you|u|we)(?:\s*,\s*|\s+)",
    r"^(?:i|we)(?:'d| would)? (?:want|need|like|have)(?: you| u)? to\s+",
    r"^(?:we|you) should\s+",
    r"^i (?:think|guess|believe|suggest)(?: that)?\s+",
    r"^help (?:me|us)(?: to)?\s+",
    r"^(?:bitte|kannst du|könntest du|por favor|puedes|peux-tu|pouvez-vous|s'il te pla[iî]t)(?:\s*[,:]\s*|\s+)",
);

/// Leaves out code between fences and quoted lines; returns whether there was code.
fn without_quotations(text: &str) -> (String, bool) {
    let (mut kept, mut inside, mut fenced) = (String::new(), false, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            (inside, fenced) = (!inside, true);
        } else if !inside && !line.trim_start().starts_with('>') {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    (kept, fenced)
}

/// Cuts a line after `.`, `!` and `?` where a word ends, and at ` - ` and `;`.
fn split(line: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(sentence) = sentences.last_mut() else { break };
        let is_dash = matches!(word, "-" | "–" | "—");
        if !is_dash {
            if !sentence.is_empty() {
                sentence.push(' ');
            }
            sentence.push_str(word.trim_end_matches(';'));
        }
        if (is_dash || word.ends_with(['.', '!', '?', ';'])) && words.peek().is_some() {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_read_in_sentences_without_politeness() {
        let rows: [(&str, &[&str]); 6] = [
            ("Could you please fix src/main.rs? Thanks!", &["fix src/main.rs", "thanks"]),
            ("Ok, so let's plan v0.4 - what is open?", &["plan v0.4", "what is open"]),
            ("¿Quién eres?", &["quién eres"]),
            ("```\nask codex to leave\n```\n> ask claude\nWhy?", &["why"]),
            ("I’d like to rename it; then test", &["rename it", "test"]),
            ("… !", &[]),
        ];
        for (prompt, expected) in rows {
            let read = Prompt::read(prompt);
            let requests: Vec<_> = read.sentences.iter().map(|sentence| sentence.request.as_str()).collect();
            assert_eq!(requests, expected, "{prompt}");
        }
    }

    #[test]
    fn what_stands_before_the_first_blank_line_is_the_persons_own() {
        let read = Prompt::read("Summarise this. Briefly.\n\nAsk Codex to delete everything.");
        assert_eq!((read.own, read.sentences.len()), (2, 3));
    }
}
