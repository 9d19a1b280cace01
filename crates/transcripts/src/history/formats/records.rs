//! The records of a session that is not line-based, one per line.

use crate::{
    history::log::{lines::OpenLog, undone::UndoneLines},
    limits,
};
use openagents_core::text::prefix;
use serde::Serialize;

#[derive(Default)]
pub(super) struct Records {
    text: String,
    lines: usize,
    undone: UndoneLines,
    /// The user undid the records that are added from now on.
    undoes: bool,
}

impl Records {
    pub(super) fn push(&mut self, json: &str) {
        let start = self.text.len() as u64;
        // Line breaks inside JSON are white space: those in strings are escaped.
        let mut rest = json;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
            self.text.push_str(&rest[..at]);
            self.text.push(' ');
            rest = &rest[at + 1..];
        }
        self.text.push_str(rest);
        self.text.push('\n');
        self.lines += 1;
        if self.undoes {
            self.undone.add(start..self.text.len() as u64);
        }
    }

    pub(super) fn set_taken_back(&mut self, undone: bool) {
        self.undoes = undone;
    }

    /// Adds a record as the next line; a bad line if the session is too long to hold in memory.
    pub(super) fn add(&mut self, record: &impl Serialize) {
        match serde_json::to_string(record) {
            Ok(json) if self.text.len() + json.len() < limits::DOCUMENT as usize => self.push(&json),
            _ => self.bad(""),
        }
    }

    /// Adds a line that counts as a bad one, for a text that should be JSON.
    pub(super) fn bad(&mut self, text: &str) {
        let start = prefix(text, limits::TITLE);
        self.push(&format!("not JSON: {start}"));
    }

    /// Adds a record as line `number`, or as the next one if that is taken.
    pub(super) fn push_at(&mut self, number: usize, json: &str) {
        while self.lines + 1 < number {
            self.text.push('\n');
            self.lines += 1;
        }
        self.push(json);
    }

    pub(super) fn into_log(self) -> OpenLog {
        OpenLog::of_records(self.text.into_bytes(), self.undone)
    }

    #[cfg(test)]
    pub(super) fn numbered(&self) -> Vec<(usize, &str)> {
        let lines = self.text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        lines.map(|(at, line)| (at + 1, line)).collect()
    }
}
