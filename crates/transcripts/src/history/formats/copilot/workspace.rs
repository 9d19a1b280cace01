//! The description of a session, `workspace.yaml` next to its events: flat keys, whose values may be quoted or span
//! several lines.

use crate::{
    history::{decoder::SessionFacts, title},
    limits,
};
use openagents_core::file;
use std::path::{Path, PathBuf};

/// Introduce a value of several lines.
const BLOCKS: [&str; 6] = ["|", "|-", "|+", ">", ">-", ">+"];

/// Returns the path of the description of a session.
pub(super) fn of(log: &Path) -> PathBuf {
    log.with_file_name("workspace.yaml")
}

/// Returns the facts in a session's description. Its times lag minutes behind those of the events.
pub(super) fn facts(log: &Path) -> SessionFacts {
    let bytes = file::read_bounded(&of(log), limits::SUMMARY_END).unwrap_or_default();
    let text = file::text(&bytes);
    let values = values(&text);
    let value = |key| {
        let raw = values.iter().find(|(name, _)| *name == key)?.1.as_str();
        scalar(raw).filter(|value| !value.is_empty())
    };
    SessionFacts {
        title: title::given(value("name").or_else(|| value("summary")).as_deref()),
        cwd: value("cwd").map(PathBuf::from),
        branch: value("branch"),
        ..SessionFacts::default()
    }
}

/// Returns the raw values by key, with their lines joined.
fn values(text: &str) -> Vec<(&str, String)> {
    let mut values: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        if !line.starts_with([' ', '\t']) {
            if let Some((key, value)) = line.split_once(':') {
                values.push((key, value.trim().to_owned()));
            }
        } else if let Some((_, value)) = values.last_mut() {
            value.push(' ');
            value.push_str(line.trim());
        }
    }
    values
}

fn scalar(raw: &str) -> Option<String> {
    let raw = match raw.split_once(' ') {
        Some((mark, block)) if BLOCKS.contains(&mark) => block.trim(),
        _ => raw.trim(),
    };
    match raw.as_bytes().first()? {
        // Most escapes are those of JSON.
        b'"' => serde_json::from_str(raw).ok().or_else(|| Some(raw.trim_matches('"').to_owned())),
        b'\'' => Some(raw.trim_matches('\'').replace("''", "'")),
        _ if matches!(raw, "null" | "~") => None,
        _ => Some(raw.split(" #").next().unwrap_or(raw).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_value() {
        let rows = [
            ("name: Add a test", Some("Add a test")),
            ("name: Add a test # once", Some("Add a test")),
            ("name: \"Say \\\"hi\\\": twice\"", Some("Say \"hi\": twice")),
            ("name: \"a \\x41\"", Some("a \\x41")),
            ("name: 'It''s done'", Some("It's done")),
            ("name: A title that\n  goes on\ncwd: /w", Some("A title that goes on")),
            ("name: \"A title that\n  goes on\"", Some("A title that goes on")),
            ("name: |-\n  One\n  two\nid: x", Some("One two")),
            ("name:\n  On the next line", Some("On the next line")),
            ("name: C:\\proj", Some("C:\\proj")),
            ("name: null", None),
            ("name: \"\"", None),
            ("name:", None),
            ("renamed: x", None),
            ("summary: Old\r\n", Some("Old")),
            ("summary: Old\nname: New", Some("New")),
            ("  name: nested", None),
            ("", None),
        ];
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("events.jsonl");
        for (text, expected) in rows {
            std::fs::write(of(&log), text).unwrap();
            assert_eq!(facts(&log).title.as_deref(), expected, "{text:?}");
        }
    }
}
