//! The records and fields that readers know, and a survey of those that they don't: agents change their logs without
//! notice.
//!
//! The folder `known` has a table for each agent. Its names come from the fixtures, from the versions that
//! `scripts/check-formats` runs, and from the sources that each format cites; the events of Copilot CLI come from the
//! schema in its package (1.0.102). Before a new name is added with `make check-formats LEARN=yes`, check whether the
//! reader needs it.

use super::json::Node;
use crate::history::transcript::{Provider, Unknown};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::LazyLock,
};

/// Fields whose objects are records themselves: envelopes, messages and their blocks.
const NESTED: [&str; 12] = [
    "message",
    "payload",
    "data",
    "item",
    "content",
    "parts",
    "part",
    "attachment",
    "toolCalls",
    "thoughts",
    "systemPayload",
    "$set",
];

/// Fields with the version of the agent.
const VERSIONS: [&str; 3] = ["version", "cli_version", "copilotVersion"];

/// Maximum number of names kept per session, and of characters of each: a log may contain anything.
const NAMES: usize = 100;
const NAME: usize = 80;

/// Matches every field and everything below it.
const ANY: &str = "*";

/// Counts the names beyond [`NAMES`].
const OTHERS: &str = "…";

/// The known parts of an agent's logs.
#[derive(Debug, Default, Deserialize)]
struct Known {
    /// The fields of each kind of record. Kinds that the reader does not show at all may have [`ANY`].
    records: HashMap<String, HashSet<String>>,
    /// The files next to its sessions, as globs below the agent's folder.
    files: Vec<String>,
}

static KNOWN: LazyLock<HashMap<Provider, Known>> = LazyLock::new(|| {
    Provider::ALL.into_iter().filter_map(|provider| Some((provider, parse(provider)?))).collect()
});

fn parse(provider: Provider) -> Option<Known> {
    serde_json::from_str(table(provider)).ok()
}

fn table(provider: Provider) -> &'static str {
    match provider {
        Provider::Codex => include_str!("known/codex.json"),
        Provider::ClaudeCode => include_str!("known/claude-code.json"),
        Provider::Gemini => include_str!("known/gemini.json"),
        Provider::Qwen => include_str!("known/qwen.json"),
        Provider::Copilot => include_str!("known/copilot.json"),
        Provider::Pi => include_str!("known/pi.json"),
        Provider::OpenClaw => include_str!("known/openclaw.json"),
        Provider::Cursor => include_str!("known/cursor.json"),
        Provider::Amp => include_str!("known/amp.json"),
        Provider::Cline => include_str!("known/cline.json"),
        Provider::Droid => include_str!("known/droid.json"),
        Provider::Opencode => include_str!("known/opencode.json"),
        Provider::Goose => include_str!("known/goose.json"),
    }
}

pub(crate) fn files_beside(provider: Provider) -> &'static [String] {
    KNOWN.get(&provider).map_or(&[], |known| &known.files)
}

#[derive(Debug, Clone)]
pub(crate) struct LogSurvey {
    provider: Provider,
    /// Version of the agent, from the last record that names one.
    pub(crate) version: Option<String>,
    pub(crate) unknown: Unknown,
}

impl LogSurvey {
    pub(crate) fn new(provider: Provider) -> Self {
        Self { provider, version: None, unknown: Unknown::default() }
    }

    /// Checks a record. `of` is the kind of the record that contains it, and empty for a line.
    pub(crate) fn check(&mut self, of: &str, record: &Node<'_>) {
        if let Some(known) = KNOWN.get(&self.provider) {
            self.check_parts(known, kind(of, "", record), record, false);
        }
    }

    /// Checks a record and its parts; `is_counted` if it is part of something unknown whose words were already counted.
    fn check_parts(&mut self, known: &Known, kind: String, record: &Node<'_>, is_counted: bool) {
        let fields = known.records.get(&kind);
        if fields.is_none() {
            count(&mut self.unknown.records, &kind);
            self.unknown.with_words += u64::from(!is_counted && has_words(record));
        }
        let is_counted = is_counted || fields.is_none();
        for (name, value) in record.fields() {
            let is_named = fields.is_some_and(|fields| fields.contains(name.as_ref()));
            let is_known = is_named || fields.is_some_and(|fields| fields.contains(ANY));
            if !is_known {
                count(&mut self.unknown.fields, &format!("{kind}.{name}"));
                self.unknown.with_words += u64::from(!is_counted && has_words(value));
            }
            if VERSIONS.contains(&name.as_ref()) {
                self.version = value.as_str().map(shortened).or(self.version.take());
            } else if NESTED.contains(&name.as_ref()) && (is_named || !is_known) {
                let items = value.items().iter().chain([value]);
                for part in items.filter(|part| matches!(part, Node::Object(_))) {
                    let kind = self::kind(&kind, name, part);
                    self.check_parts(known, kind, part, is_counted || !is_known);
                }
            }
        }
    }
}

/// Returns the kind of a record: the kind of the record that contains it, and its own type, or the name of its field
/// there. A top-level record may have a role or an only field instead.
fn kind(of: &str, name: &str, record: &Node<'_>) -> String {
    let only = || record.fields().first().map(|(key, _)| key.as_ref()).filter(|key| key.starts_with('$'));
    let unnamed = || record.text("role").or_else(only).unwrap_or_default();
    let own = record.text("type").unwrap_or_else(|| if name.is_empty() { unnamed() } else { name });
    let subtype = record.text("subtype").into_iter();
    let parts = [of, own].into_iter().chain(subtype).filter(|part| !part.is_empty());
    let kind = parts.collect::<Vec<_>>().join("/");
    if kind.is_empty() { "head".to_owned() } else { kind }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = shortened(name);
    let name = if counts.len() < NAMES || counts.contains_key(&name) { name } else { OTHERS.to_owned() };
    *counts.entry(name).or_default() += 1;
}

fn shortened(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(NAME).collect()
}

/// Returns whether a value has a text of several words.
fn has_words(value: &Node<'_>) -> bool {
    match value {
        Node::Text(text) => text.split_whitespace().nth(1).is_some(),
        Node::List(items) => items.iter().any(has_words),
        Node::Object(fields) => fields.iter().any(|(_, value)| has_words(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_agent_has_table() {
        for provider in Provider::ALL {
            let known = parse(provider);
            assert!(known.is_some_and(|known| !known.records.is_empty()), "{provider:?}");
        }
    }

    #[test]
    fn survey_counts_unknown_data() {
        let mut survey = LogSurvey::new(Provider::ClaudeCode);
        for line in [
            r#"{"type":"user","uuid":"u1","version":"2.1.330","message":{"role":"user","content":"Hello"}}"#,
            r#"{"type":"unheard_of","text":"It says something new"}"#,
            r#"{"type":"unheard_of","count":3}"#,
            r#"{"type":"assistant","message":{"type":"message","content":[{"type":"text","text_v2":"An answer"}]}}"#,
            r#"{"type":"assistant","message":{"type":"message","content":[{"type":"poem","lines":["a b"]}]}}"#,
        ] {
            survey.check("", &Node::parse_object(line).unwrap());
        }
        assert_eq!(survey.version.as_deref(), Some("2.1.330"));
        let counts = |counts: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
            counts.iter().map(|(name, count)| (name.clone(), *count)).collect()
        };
        assert_eq!(
            counts(&survey.unknown.records),
            [("assistant/message/poem".to_owned(), 1), ("unheard_of".to_owned(), 2)]
        );
        let fields: Vec<_> = survey.unknown.fields.keys().map(String::as_str).collect();
        assert_eq!(
            fields,
            [
                "assistant/message/poem.lines",
                "assistant/message/poem.type",
                "assistant/message/text.text_v2",
                "unheard_of.count",
                "unheard_of.text",
                "unheard_of.type",
            ]
        );
        assert_eq!(survey.unknown.with_words, 3);
    }

    proptest! {
        #[test]
        fn survey_bounds_names(kinds in prop::collection::vec(any::<String>(), 0..100)) {
            let mut survey = LogSurvey::new(Provider::Codex);
            for kind in &kinds {
                let line = serde_json::json!({"type": kind, "payload": {"type": kind, kind.as_str(): 1}}).to_string();
                survey.check("", &Node::parse_object(&line).unwrap());
            }
            let Unknown { records, fields, .. } = &survey.unknown;
            prop_assert!(records.len() <= NAMES + 1 && fields.len() <= NAMES + 1);
            prop_assert!(records.keys().chain(fields.keys()).all(|name| name.chars().count() <= NAME));
        }
    }
}
