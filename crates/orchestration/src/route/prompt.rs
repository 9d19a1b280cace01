//! The sentences of a prompt: lower case, without politeness, pasted code and quotations.

use super::phrases::Phrases;
use std::sync::LazyLock;

/// Characters of a prompt that are read; the request is at the beginning.
const READ: usize = 4_000;

/// Maximum number of sentences.
const SENTENCES: usize = 8;

pub(super) struct Prompt {
    pub(super) sentences: Vec<Sentence>,
    pub(super) words: usize,
}

pub(super) struct Sentence {
    /// As written, in lower case, without punctuation at its ends.
    pub(super) whole: String,
    /// Without "could you please" and the like.
    pub(super) request: String,
    pub(super) asks: bool,
}

/// Polite words before a request: `please`, `could you`, `bitte`.
static POLITE: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("polite"));

impl Prompt {
    pub(super) fn parse(prompt: &str) -> Self {
        let head: String = prompt.trim().chars().take(READ).collect();
        let typed = without_quotations(&head.to_lowercase().replace(['’', '‘'], "'"));
        let texts = typed.lines().flat_map(split).take(SENTENCES);
        Self { sentences: texts.map(Sentence::parse).collect(), words: typed.split_whitespace().count() }
    }
}

impl Sentence {
    fn parse(text: String) -> Self {
        let marks = |c: char| c.is_whitespace() || "?!.¿¡。？！".contains(c);
        let asks = text.trim_end().ends_with(['?', '？']);
        let whole = text.trim_matches(marks).to_owned();
        let mut request = whole.as_str();
        let strip =
            |request| POLITE.strip_start(request).map(|rest| rest.trim_start_matches([' ', ',', ':', '，']));
        // Each round removes at least one word.
        while let Some(rest) = strip(request).filter(|rest| !rest.is_empty()) {
            request = rest;
        }
        Self { request: request.to_owned(), asks, whole }
    }
}

/// Removes fenced code and quoted lines.
fn without_quotations(text: &str) -> String {
    let (mut kept, mut inside) = (String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside && !line.trim_start().starts_with('>') {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Splits a line after a full stop, question or exclamation mark at the end of a word, and at ` - ` and `;`.
fn split(line: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut characters = line.trim().chars().peekable();
    while let Some(c) = characters.next() {
        let Some(sentence) = sentences.last_mut() else { break };
        let ends_word = characters.peek().is_none_or(|next| next.is_whitespace());
        let is_dash = matches!(c, '-' | '–' | '—') && sentence.ends_with(' ') && ends_word;
        if !(is_dash || c == ';') {
            sentence.push(c);
        }
        if is_dash || "。？！".contains(c) || ".!?;".contains(c) && ends_word {
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
    fn prompt_is_split_without_politeness() {
        let rows: [(&str, &[&str]); 8] = [
            ("Could you please fix src/main.rs? Thanks!", &["fix src/main.rs", "thanks"]),
            ("Ok, so let's plan v0.4 - what is open?", &["plan v0.4", "what is open"]),
            ("¿Quién eres?", &["quién eres"]),
            ("```\nask codex to leave\n```\n> ask claude\nWhy?", &["why"]),
            ("I’d like to rename it; then test", &["rename it", "test"]),
            ("Könntest du bitte den Test reparieren?", &["den test reparieren"]),
            ("按钮点了没反应。请修复一下", &["按钮点了没反应", "修复一下"]),
            ("… !", &[]),
        ];
        for (prompt, expected) in rows {
            let read = Prompt::parse(prompt);
            let requests: Vec<_> = read.sentences.iter().map(|sentence| sentence.request.as_str()).collect();
            assert_eq!(requests, expected, "{prompt}");
        }
    }
}
