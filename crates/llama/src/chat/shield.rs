//! Hides text from templates behind unguessable placeholders, which are replaced after rendering.

use super::format::ChatError;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(super) struct Shield {
    /// Alphanumeric only, so that trimming, quoting and escaping don't change it.
    begin: String,
    slots: Mutex<Vec<Slot>>,
    messages: AtomicUsize,
}

#[derive(Debug, Clone)]
struct Slot {
    text: String,
    /// The indices of the messages. Each must occur in the prompt exactly once and in order.
    messages: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Markup(String),
    Text(String),
}

impl Piece {
    pub(super) fn as_str(&self) -> &str {
        let (Self::Markup(text) | Self::Text(text)) = self;
        text
    }
}

impl Shield {
    pub(super) fn new() -> Self {
        let begin = format!("oa{}x", uuid::Uuid::new_v4().simple());
        Self { begin, slots: Mutex::default(), messages: AtomicUsize::new(0) }
    }

    /// Returns the placeholder of a text that must be in the prompt.
    pub(super) fn message(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let message = self.messages.fetch_add(1, Ordering::Relaxed);
        self.add(text.to_owned(), vec![message])
    }

    /// Returns the placeholder of a text that may be omitted or repeated.
    pub(super) fn optional(&self, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.add(text.to_owned(), Vec::new()) }
    }

    /// Replaces the strings of a value that could be markup; names and numbers are kept for the template.
    pub(super) fn value(&self, value: &Value) -> Value {
        with_texts(value, &mut |text| self.unless_harmless(text))
    }

    fn unless_harmless(&self, text: &str) -> String {
        let harmless = |letter: char| letter.is_ascii_alphanumeric() || "_.- ".contains(letter);
        if text.chars().all(harmless) { text.to_owned() } else { self.optional(text) }
    }

    /// Formats a value with placeholders as JSON, using `to_json`, and returns the placeholder of the result.
    pub(super) fn json(&self, value: &Value, to_json: impl FnOnce(&Value) -> String) -> String {
        let mut messages = Vec::new();
        let open = with_texts(value, &mut |text| {
            let (pieces, found) = self.split(text);
            messages.extend(found);
            pieces.iter().map(Piece::as_str).collect()
        });
        self.add(to_json(&open), messages)
    }

    /// Replaces the placeholders. Fails unless every message occurs once and in order.
    pub(super) fn open(&self, prompt: &str) -> Result<Vec<Piece>, ChatError> {
        let (pieces, found) = self.split(prompt);
        if !found.into_iter().eq(0..self.messages.load(Ordering::Relaxed)) {
            return Err(ChatError::Template("it omits or changes messages".to_owned()));
        }
        Ok(pieces)
    }

    fn add(&self, text: String, messages: Vec<usize>) -> String {
        let mut slots = self.slots.lock();
        slots.push(Slot { text, messages });
        self.placeholder(slots.len() - 1)
    }

    fn placeholder(&self, slot: usize) -> String {
        format!("{}{slot}y", self.begin)
    }

    /// Splits at the placeholders; also returns the indices of the messages found.
    fn split(&self, text: &str) -> (Vec<Piece>, Vec<usize>) {
        let (mut pieces, mut messages) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(&self.begin) {
            push_markup(&mut pieces, before);
            let slot =
                after.split_once('y').and_then(|(slot, rest)| Some((slot.parse::<usize>().ok()?, rest)));
            let slots = self.slots.lock();
            let Some((slot, after)) = slot.and_then(|(slot, rest)| Some((slots.get(slot)?, rest))) else {
                // Drops a truncated placeholder; its message then counts as missing.
                rest = after;
                continue;
            };
            pieces.push(Piece::Text(slot.text.clone()));
            messages.extend(&slot.messages);
            rest = after;
        }
        push_markup(&mut pieces, rest);
        (pieces, messages)
    }
}

fn with_texts(value: &Value, replace: &mut dyn FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(replace(text)),
        Value::Array(values) => values.iter().map(|value| with_texts(value, replace)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (replace(key), with_texts(value, replace))).collect()
        }
        other => other.clone(),
    }
}

fn push_markup(pieces: &mut Vec<Piece>, markup: &str) {
    if !markup.is_empty() {
        pieces.push(Piece::Markup(markup.to_owned()));
    }
}
