//! Folds a session's file into its messages, one per line, followed by the lines about the whole session.

use super::super::records::Records;
use crate::{
    history::{decoder::records, json::Node, lines::OpenLog, transcript::SessionFiles},
    limits,
};
use openagents_core::file;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    io,
};

/// A line of a JSONL file, or a whole JSON file.
#[derive(Deserialize)]
struct Entry<'a> {
    /// Id of a message.
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

/// The messages of a session, in the order in which each was first written.
#[derive(Default)]
struct Folded {
    messages: Vec<Message>,
    places: HashMap<String, usize>,
    /// Lines that are not messages.
    others: Vec<String>,
}

struct Message {
    id: String,
    /// JSON.
    text: String,
    /// Comes after a message to which the user rewound.
    taken_back: bool,
}

/// Opens a session. `gemini --resume` starts another file, which stays empty or repeats the whole session: messages are
/// joined by their ids.
pub(crate) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    let mut session = Folded::default();
    let mut failed = None;
    for path in files.oldest_first() {
        match file::read_document(path, limits::DOCUMENT) {
            Ok(bytes) => session.join(Folded::of(&file::text(&bytes))),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if session.messages.is_empty() && session.others.is_empty() => Err(error),
        _ => Ok(session.into_log()),
    }
}

impl Folded {
    fn of(text: &str) -> Self {
        let mut folded = Self::default();
        let text = text.trim_matches(['\u{feff}', '\0']);
        match serde_json::from_str::<Entry<'_>>(text) {
            Ok(document) => folded.entry(text, document),
            Err(_) => {
                for line in text.lines().map(|line| line.trim_matches(['\u{feff}', '\0'])) {
                    match serde_json::from_str(line) {
                        Ok(entry) => folded.entry(line, entry),
                        Err(_) if line.trim().is_empty() => {}
                        Err(_) => {
                            let (records, is_broken) = records(line);
                            for record in &records {
                                if let Ok(entry) = serde_json::from_str(record) {
                                    folded.entry(record, entry);
                                }
                            }
                            // The rest counts as a bad line.
                            folded.others.extend(is_broken.then(|| line.to_owned()));
                        }
                    }
                }
            }
        }
        folded
    }

    fn entry(&mut self, text: &str, entry: Entry<'_>) {
        if let Some(messages) = entry.messages {
            self.checkpoint(&messages);
            self.others.push(text.to_owned());
        } else if let Some(set) = entry.set {
            if let Ok(Entry { messages: Some(messages), .. }) = serde_json::from_str(set.get()) {
                self.checkpoint(&messages);
            }
            self.others.push(text.to_owned());
        } else if let Some(id) = entry.rewind_to {
            // Rewinding to an unknown message undoes all of them.
            let kept = self.places.get(id.as_ref()).copied().unwrap_or(0);
            self.messages[kept..].iter_mut().for_each(|message| message.taken_back = true);
        } else if let Some(id) = entry.id {
            self.message(&id, text);
        } else {
            self.others.push(text.to_owned());
        }
    }

    /// Adds all messages that the agent has now. Messages that it left out were compressed, but they did happen.
    fn checkpoint(&mut self, messages: &[&RawValue]) {
        let parsed: Vec<(String, &str)> = messages
            .iter()
            .filter_map(|message| match serde_json::from_str(message.get()) {
                Ok(Entry { id: Some(id), .. }) => Some((id.into_owned(), message.get())),
                _ => None,
            })
            .collect();
        let is_known = |folded: &Self, id: &str| folded.places.contains_key(id);
        if !self.messages.is_empty() && parsed.iter().any(|(id, _)| !is_known(self, id)) {
            // A resumed session may use other ids.
            let kept: HashSet<&str> = parsed.iter().map(|(id, _)| id.as_str()).collect();
            let mut same: HashMap<(String, String), VecDeque<usize>> = HashMap::new();
            for (place, message) in self.messages.iter().enumerate().filter(|(_, it)| !it.taken_back) {
                if !kept.contains(message.id.as_str()) {
                    same.entry(content(&message.text)).or_default().push_back(place);
                }
            }
            for (id, text) in &parsed {
                if is_known(self, id) {
                    continue;
                }
                let content = content(text);
                if content.1.is_empty() {
                    continue;
                }
                if let Some(place) = same.get_mut(&content).and_then(VecDeque::pop_front) {
                    self.places.insert(id.clone(), place);
                }
            }
        }
        for (id, text) in parsed {
            self.message(&id, text);
        }
    }

    /// Keeps the last version of a message, in the position of the first.
    fn message(&mut self, id: &str, text: &str) {
        let text = text.to_owned();
        match self.places.get(id) {
            Some(place) => {
                let id = std::mem::take(&mut self.messages[*place].id);
                self.messages[*place] = Message { id, text, taken_back: false };
            }
            None => {
                self.places.insert(id.to_owned(), self.messages.len());
                self.messages.push(Message { id: id.to_owned(), text, taken_back: false });
            }
        }
    }

    /// Adds the content of a later file.
    fn join(&mut self, later: Self) {
        for Message { id, text, taken_back } in later.messages {
            self.message(&id, &text);
            if let Some(message) = self.places.get(&id).and_then(|place| self.messages.get_mut(*place)) {
                message.taken_back = taken_back;
            }
        }
        self.others.extend(later.others);
    }

    fn into_log(self) -> OpenLog {
        let mut records = Records::default();
        for message in &self.messages {
            records.set_taken_back(message.taken_back);
            records.push(&message.text);
        }
        records.set_taken_back(false);
        self.others.iter().for_each(|line| records.push(line));
        records.into_log()
    }
}

/// Returns the kind and the text of a message.
fn content(message: &str) -> (String, String) {
    let node = Node::parse_object(message);
    let text = |key| node.as_ref().and_then(|node| node.get(key)).map(Node::flattened).unwrap_or_default();
    (text("type"), text("content"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Returns the lines; a dash marks those that were undone.
    fn folded(files: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> =
            (0..files.len()).map(|at| folder.path().join(format!("session-{at}.jsonl"))).collect();
        for (path, text) in paths.iter().zip(files) {
            std::fs::write(path, text).unwrap();
        }
        let (newest, earlier) = paths.split_last().unwrap();
        let mut log = open(SessionFiles { newest, earlier }).unwrap();
        let taken_back = log.taken_back();
        let (mut text, mut lines, mut offset) = (String::new(), String::new(), 0);
        log.read_to_string(&mut text).unwrap();
        for line in text.split_inclusive('\n') {
            lines.push_str(if taken_back.contains(offset) { "-" } else { "" });
            lines.push_str(line);
            offset += line.len() as u64;
        }
        lines
    }

    #[test]
    fn messages_are_folded() {
        let first = r#"{"id":"1","v":1}"#;
        let again = r#"{"id":"1","v":2}"#;
        let second = r#"{"id":"2"}"#;
        let set = r#"{"$set":{"messages":[{"id":"9"}]}}"#;
        let rewind = |id: &str| format!(r#"{{"$rewindTo":"{id}"}}"#);
        let rows: [(&[&str], &str); 8] = [
            (&[first, second, again], "{\"id\":\"1\",\"v\":2}\n{\"id\":\"2\"}\n"),
            (&[first, second, &rewind("2")], "{\"id\":\"1\",\"v\":1}\n-{\"id\":\"2\"}\n"),
            (&[first, second, &rewind("7")], "-{\"id\":\"1\",\"v\":1}\n-{\"id\":\"2\"}\n"),
            (&[second, &rewind("2"), second], "{\"id\":\"2\"}\n"),
            // Compressed messages stay.
            (&[first, set], &format!("{{\"id\":\"1\",\"v\":1}}\n{{\"id\":\"9\"}}\n{set}\n")),
            (&["{\"sessionId\":\"s\"}", first], "{\"id\":\"1\",\"v\":1}\n{\"sessionId\":\"s\"}\n"),
            (&["{", first], "{\"id\":\"1\",\"v\":1}\n{\n"),
            (
                &[&format!("{{\"id\":\"cut{first}")],
                "{\"id\":\"1\",\"v\":1}\n{\"id\":\"cut{\"id\":\"1\",\"v\":1}\n",
            ),
        ];
        for (lines, expected) in rows {
            assert_eq!(folded(&[&lines.join("\n")]), expected, "{lines:?}");
        }
        let document = "{\n \"sessionId\": \"s\",\n \"messages\": [{\n \"id\": \"1\"}]}";
        assert_eq!(folded(&[document]).lines().next(), Some("{  \"id\": \"1\"}"));
    }

    #[test]
    fn a_session_in_several_files_is_joined_by_the_ids_of_its_messages() {
        let message = |id: &str, text: &str| format!(r#"{{"id":"{id}","type":"user","content":"{text}"}}"#);
        let (a, b, c) = (message("1", "a"), message("2", "b"), message("3", "c"));
        let head = r#"{"sessionId":"s"}"#;
        let whole = format!("{head}\n{{\"$set\":{{\"messages\":[{a},{b}]}}}}\n{c}\n");
        let ids = |files: &[&str]| {
            let lines = folded(files);
            lines
                .lines()
                .filter(|line| line.contains("content"))
                .filter(|line| !line.contains("$set"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let older = format!("{a}\n{b}\n");
        assert_eq!(ids(&[&older, head]), [a.clone(), b.clone()]);
        assert_eq!(ids(&[&older, &whole]), [a.clone(), b.clone(), c.clone()]);
        let rewound = format!("{whole}{{\"$rewindTo\":\"2\"}}\n");
        assert_eq!(ids(&[&older, &rewound]), [a.clone(), format!("-{b}"), format!("-{c}")]);
        // Other ids for the same messages.
        let (a2, b2) = (message("7", "a"), message("8", "b"));
        let renamed = format!("{older}{{\"$set\":{{\"messages\":[{a2},{b2}]}}}}\n{c}\n");
        assert_eq!(ids(&[&renamed]), [a2, b2, c]);
    }
}
