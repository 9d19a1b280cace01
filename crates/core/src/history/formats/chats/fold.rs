//! Folds a session's file into its messages, a line each, followed by the lines about the whole session.

use crate::{
    history::{file, lines::OpenLog},
    limits::history as limits,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Cursor},
    path::Path,
};

/// A line of a JSONL file, or a whole JSON file.
#[derive(Deserialize)]
struct Entry<'a> {
    /// Of a message.
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    /// All messages, in a JSON file.
    #[serde(default, borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow, rename = "$set")]
    set: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "$rewindTo")]
    rewind_to: Option<Cow<'a, str>>,
}

/// Messages in the order in which each was first written.
#[derive(Default)]
struct Folded<'a> {
    messages: Vec<(Cow<'a, str>, &'a str)>,
    places: HashMap<Cow<'a, str>, usize>,
    /// Lines that are not messages.
    others: Vec<&'a str>,
}

pub(crate) fn open(path: &Path) -> io::Result<OpenLog> {
    let bytes = file::read_document(path, limits::DOCUMENT)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut folded = Folded::default();
    match serde_json::from_str::<Entry<'_>>(&text) {
        Ok(document) => folded.entry(&text, document),
        Err(_) => {
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                match serde_json::from_str(line) {
                    Ok(entry) => folded.entry(line, entry),
                    Err(_) => folded.others.push(line),
                }
            }
        }
    }
    Ok(OpenLog::Records(Cursor::new(folded.lines().into_bytes())))
}

impl<'a> Folded<'a> {
    fn entry(&mut self, text: &'a str, entry: Entry<'a>) {
        if let Some(messages) = entry.messages {
            self.replace(messages);
            self.others.push(text);
        } else if let Some(set) = entry.set {
            if let Ok(Entry { messages: Some(messages), .. }) = serde_json::from_str(set.get()) {
                self.replace(messages);
            }
            self.others.push(text);
        } else if let Some(id) = entry.rewind_to {
            // An unknown message means that none is left.
            let kept = self.places.get(&id).copied().unwrap_or(0);
            self.messages.truncate(kept);
            self.places.retain(|_, place| *place < kept);
        } else if let Some(id) = entry.id {
            self.message(id, text);
        } else {
            self.others.push(text);
        }
    }

    fn replace(&mut self, messages: Vec<&'a RawValue>) {
        self.messages.clear();
        self.places.clear();
        for message in messages {
            if let Ok(Entry { id: Some(id), .. }) = serde_json::from_str(message.get()) {
                self.message(id, message.get());
            }
        }
    }

    /// The last form of a message counts, at the place of the first.
    fn message(&mut self, id: Cow<'a, str>, text: &'a str) {
        match self.places.get(&id) {
            Some(place) => self.messages[*place].1 = text,
            None => {
                self.places.insert(id.clone(), self.messages.len());
                self.messages.push((id, text));
            }
        }
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        let messages = self.messages.iter().map(|(_, text)| *text);
        for text in messages.chain(self.others.iter().copied()) {
            // Line breaks inside of JSON are white space: those of texts are escaped.
            lines.extend(text.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
            lines.push('\n');
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn folded(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-1.jsonl");
        std::fs::write(&path, text).unwrap();
        let mut lines = String::new();
        open(&path).unwrap().read_to_string(&mut lines).unwrap();
        lines
    }

    #[test]
    fn messages_are_folded() {
        let first = r#"{"id":"1","v":1}"#;
        let again = r#"{"id":"1","v":2}"#;
        let second = r#"{"id":"2"}"#;
        let set = r#"{"$set":{"messages":[{"id":"9"}]}}"#;
        let rewind = |id: &str| format!(r#"{{"$rewindTo":"{id}"}}"#);
        let rows: [(&[&str], &str); 6] = [
            (&[first, second, again], "{\"id\":\"1\",\"v\":2}\n{\"id\":\"2\"}\n"),
            (&[first, second, &rewind("2")], "{\"id\":\"1\",\"v\":1}\n"),
            (&[first, second, &rewind("7")], ""),
            (&[first, set], &format!("{{\"id\":\"9\"}}\n{set}\n")),
            (&["{\"sessionId\":\"s\"}", first], "{\"id\":\"1\",\"v\":1}\n{\"sessionId\":\"s\"}\n"),
            (&["{", first], "{\"id\":\"1\",\"v\":1}\n{\n"),
        ];
        for (lines, expected) in rows {
            assert_eq!(folded(&lines.join("\n")), expected, "{lines:?}");
        }
        let document = "{\n \"sessionId\": \"s\",\n \"messages\": [{\n \"id\": \"1\"}]}";
        assert_eq!(folded(document).lines().next(), Some("{  \"id\": \"1\"}"));
    }
}
