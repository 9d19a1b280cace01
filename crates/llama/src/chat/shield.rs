//! Keeps what people, tools and models said out of a template's hands: it sees a word that nobody can guess, and what
//! was said is put in its place when the template has spoken.

use super::ChatError;
use serde_json::{Map, Value};
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// The words of one rendering and what they stand for.
#[derive(Debug)]
pub(super) struct Shield {
    /// Letters and digits only, so that trimming, quoting and escaping leave it alone.
    begin: String,
    slots: Mutex<Vec<Slot>>,
    messages: AtomicUsize,
}

#[derive(Debug, Clone)]
struct Slot {
    text: String,
    /// The numbers of the messages in it, in order. Each of them has to be in the prompt once, in order.
    messages: Vec<usize>,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// What the template says.
    Markup(String),
    /// What somebody else said.
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

    /// Returns the word for a text that has to be in the prompt.
    pub(super) fn message(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let message = self.messages.fetch_add(1, Ordering::Relaxed);
        self.add(text.to_owned(), vec![message])
    }

    /// Returns the word for a text that may be left out, or said again.
    pub(super) fn optional(&self, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.add(text.to_owned(), Vec::new()) }
    }

    /// Puts words in place of all that could be markup in a value; names and numbers stay, as templates look at them.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.unless_harmless(text)),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(object) => {
                let shielded =
                    object.iter().map(|(key, value)| (self.unless_harmless(key), self.value(value)));
                Value::Object(shielded.collect())
            }
            other => other.clone(),
        }
    }

    fn unless_harmless(&self, text: &str) -> String {
        let harmless = |letter: char| letter.is_ascii_alphanumeric() || "_.- ".contains(letter);
        if text.chars().all(harmless) { text.to_owned() } else { self.optional(text) }
    }

    /// Makes JSON of a value in which words stand, in the form that `to_json` gives it, and returns the word for it.
    pub(super) fn json(&self, value: &Value, to_json: impl FnOnce(&Value) -> String) -> String {
        let mut messages = Vec::new();
        let open = self.open_value(value, &mut messages);
        self.add(to_json(&open), messages)
    }

    fn open_value(&self, value: &Value, messages: &mut Vec<usize>) -> Value {
        match value {
            Value::String(text) => Value::String(self.open_text(text, messages)),
            Value::Array(values) => values.iter().map(|value| self.open_value(value, messages)).collect(),
            Value::Object(object) => {
                let mut open = Map::new();
                for (key, value) in object {
                    open.insert(self.open_text(key, messages), self.open_value(value, messages));
                }
                Value::Object(open)
            }
            other => other.clone(),
        }
    }

    fn open_text(&self, text: &str, messages: &mut Vec<usize>) -> String {
        let (pieces, found) = self.split(text);
        messages.extend(found);
        pieces.iter().map(Piece::as_str).collect()
    }

    /// Puts back what was said. Fails unless every message is there once, in order.
    pub(super) fn open(&self, prompt: &str) -> Result<Vec<Piece>, ChatError> {
        let (pieces, found) = self.split(prompt);
        if !found.into_iter().eq(0..self.messages.load(Ordering::Relaxed)) {
            return Err(ChatError::Template("it leaves out or changes what was said".to_owned()));
        }
        Ok(pieces)
    }

    fn add(&self, text: String, messages: Vec<usize>) -> String {
        let mut slots = self.slots();
        slots.push(Slot { text, messages });
        self.word(slots.len() - 1)
    }

    fn word(&self, slot: usize) -> String {
        format!("{}{slot}y", self.begin)
    }

    /// Splits at the words; returns the messages that were found as well.
    fn split(&self, text: &str) -> (Vec<Piece>, Vec<usize>) {
        let (mut pieces, mut messages) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(&self.begin) {
            push(&mut pieces, before);
            let slot =
                after.split_once('y').and_then(|(slot, rest)| Some((slot.parse::<usize>().ok()?, rest)));
            let slots = self.slots();
            let Some((slot, after)) = slot.and_then(|(slot, rest)| Some((slots.get(slot)?, rest))) else {
                // Half a word says nothing; the message that it stood for is missing then.
                rest = after;
                continue;
            };
            pieces.push(Piece::Text(slot.text.clone()));
            messages.extend(&slot.messages);
            rest = after;
        }
        push(&mut pieces, rest);
        (pieces, messages)
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn push(pieces: &mut Vec<Piece>, markup: &str) {
    if !markup.is_empty() {
        pieces.push(Piece::Markup(markup.to_owned()));
    }
}
