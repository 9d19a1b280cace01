//! Decodes the lines of a transcript into events.

use super::{event::Event, json::Node, known::LogSurvey, lines::LogLine, undone::UndoneLines};
use crate::limits;
use serde::de::IgnoredAny;
use serde_json::Deserializer;
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

/// Decodes one session. May keep state between lines.
pub(crate) trait Decoder {
    /// Called before each line with the byte offset at which it begins in the log.
    fn line_begins(&mut self, _offset: u64) {}

    /// Returns the events of the record in a line; `None` if it is not in this format.
    fn record(&mut self, record: &Node<'_>, number: u64) -> Option<Vec<Event>>;

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

/// Facts about a session, taken from its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionFacts {
    /// Set if it differs from the id in the file's name.
    pub(crate) id: Option<String>,
    /// Stored outside the lines.
    pub(crate) title: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) branch: Option<String>,
    /// The last one used.
    pub(crate) model: Option<String>,
    /// Milliseconds since the epoch; the first event's time if absent.
    pub(crate) created_at: Option<i64>,
    /// Milliseconds since the epoch; the last event's time if absent.
    pub(crate) updated_at: Option<i64>,
    /// Counted in the lines so far.
    pub(crate) tokens: Option<u64>,
    /// Total for the whole session, as last counted by the agent.
    pub(crate) total_tokens: Option<u64>,
    /// Started by another session.
    pub(crate) subagent: bool,
    /// Hidden in the agent's own list.
    pub(crate) hidden: bool,
    pub(crate) archived: bool,
    /// Id of the session that it was forked, branched or copied from.
    pub(crate) continues: Option<String>,
}

/// Decodes the lines of one log: repairs lines damaged by a crash, and marks events that the user has undone.
pub(crate) struct LogDecoder {
    pub(crate) decoder: Box<dyn Decoder>,
    survey: Option<LogSurvey>,
    undone: UndoneLines,
    /// Origins of the lines of the session that this one was copied from; `None` if that session is gone, so that no
    /// other session has its lines.
    copied: Option<HashSet<u64>>,
    seen: HashMap<u64, u64>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct DecodedLine {
    pub(crate) events: Vec<Event>,
    /// Part of it is not in this format.
    pub(crate) is_broken: bool,
}

impl DecodedLine {
    /// Returns the events of turns that were not undone, with or without those copied from another session.
    pub(crate) fn counted(mut self, with_copies: bool) -> Vec<Event> {
        self.events.retain(|event| !event.undone && (with_copies || !event.copied));
        self.events
    }
}

impl LogDecoder {
    pub(crate) fn new(decoder: Box<dyn Decoder>, undone: UndoneLines) -> Self {
        Self { decoder, survey: None, undone, copied: Some(HashSet::new()), seen: HashMap::new() }
    }

    /// Marks events whose origins are also in the original as copied; marks none if the original is gone.
    pub(crate) fn with_copies_of(self, copied: Option<HashSet<u64>>) -> Self {
        Self { copied, ..self }
    }

    pub(crate) fn surveying(self, survey: LogSurvey) -> Self {
        Self { survey: Some(survey), ..self }
    }

    pub(crate) fn survey(&self) -> Option<&LogSurvey> {
        self.survey.as_ref()
    }

    pub(crate) fn line(&mut self, line: &LogLine<'_>) -> DecodedLine {
        let mut decoded = self.undamaged(line);
        let undone = self.undone.contains(line.offset);
        decoded.events.retain_mut(|event| {
            event.undone = undone;
            let is_copy = |copied: &HashSet<u64>| event.origin.is_some_and(|origin| copied.contains(&origin));
            event.copied = self.copied.as_ref().is_some_and(|copied| event.copied || is_copy(copied));
            // A branch of Claude Code may hold each record twice.
            let first = event.origin.map(|origin| *self.seen.entry(origin).or_insert(line.offset));
            first.is_none_or(|first| first == line.offset)
        });
        decoded
    }

    fn undamaged(&mut self, line: &LogLine<'_>) -> DecodedLine {
        self.decoder.line_begins(line.offset);
        let text = line.text();
        if let Some(events) = self.record(&text, line.number) {
            return DecodedLine { events, is_broken: false };
        }
        let mut decoded = DecodedLine::default();
        let (records, is_broken) = records(&text);
        decoded.is_broken = is_broken;
        for record in records {
            match self.record(record, line.number) {
                Some(events) => decoded.events.extend(events),
                None => decoded.is_broken = true,
            }
        }
        decoded
    }

    fn record(&mut self, text: &str, number: u64) -> Option<Vec<Event>> {
        let record = Node::parse_object(text)?;
        if let Some(survey) = &mut self.survey {
            survey.check("", &record);
        }
        self.decoder.record(&record, number)
    }
}

/// Finds the complete JSON objects in a line that is not a single object: after a crash, an agent appends the next
/// record to half of the last one. Also returns whether anything is left over.
pub(crate) fn records(line: &str) -> (Vec<&str>, bool) {
    let (mut records, mut is_broken) = (Vec::new(), false);
    // Control characters, which JSON forbids in strings, must not hide the end of an object. Each stays one byte.
    let spaced = line.replace(|letter| letter < ' ', " ");
    let mut at = 0;
    for _ in 0..limits::GLUED_RECORDS {
        let rest = spaced[at..].trim_start_matches(['\u{feff}', ' ']);
        at = spaced.len() - rest.len();
        if rest.is_empty() {
            return (records, is_broken);
        }
        if let Some(end) = object_end(rest) {
            records.push(&line[at..at + end]);
            at += end;
            continue;
        }
        is_broken = true;
        // Objects inside the broken record are complete too, but only the next record is followed by nothing else.
        let starts = rest.match_indices("{\"").map(|(at, _)| at).filter(|at| *at > 0);
        match starts.take(limits::GLUED_RECORDS).find(|at| is_records(&rest[*at..])) {
            Some(start) => at += start,
            None => return (records, is_broken),
        }
    }
    (records, true)
}

fn object_end(text: &str) -> Option<usize> {
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    (text.starts_with('{') && values.next()?.is_ok()).then(|| values.byte_offset())
}

fn is_records(text: &str) -> bool {
    Deserializer::from_str(text).into_iter::<IgnoredAny>().all(|value| value.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_finds_objects_in_damaged_line() {
        let rows: [(&str, &[&str], bool); 10] = [
            ("{\"a\":1}\0{\"b\":\"\0\"}", &["{\"a\":1}", "{\"b\":\"\0\"}"], false),
            (r#"{"a":1}{"b":2}"#, &[r#"{"a":1}"#, r#"{"b":2}"#], false),
            (r#"{"a":1} {"b":2}"#, &[r#"{"a":1}"#, r#"{"b":2}"#], false),
            (r#"{"a":{"c":1},"text":"cut {"b":{"d":2}}"#, &[r#"{"b":{"d":2}}"#], true),
            (r#"{"a":1}{"b":"#, &[r#"{"a":1}"#], true),
            (r#"{"a":1},{"b":2}"#, &[r#"{"a":1}"#, r#"{"b":2}"#], true),
            // The object inside half a record is complete; decoders skip it.
            (r#"{"a":{"c":1}"#, &[r#"{"c":1}"#], true),
            ("\u{feff}", &[], false),
            ("not JSON", &[], true),
            ("[1]", &[], true),
        ];
        for (line, expected, is_broken) in rows {
            assert_eq!(records(line), (expected.to_vec(), is_broken), "{line}");
        }
    }

    proptest! {
        #[test]
        fn records_accepts_any_line(line in r#"([{}":,\[\]a1é\u{feff}\\ ]|\{"a":1\}){0,40}"#) {
            for record in records(&line).0 {
                let is_object = record.starts_with('{') && record.ends_with('}');
                prop_assert!(is_object, "{}", record);
            }
        }
    }
}
