//! Tool names on the wire. Ours have dots (`fs.list_dir`), which TypeScript identifiers can't have.

use crate::chat::{ChatError, Vocabulary};
use openagents_core::model::{ToolSpec, WireNames};

#[derive(Debug)]
pub(super) struct Names(WireNames);

impl Names {
    pub(super) fn for_tools(tools: &[ToolSpec]) -> Self {
        Self(WireNames::new(tools, identifier, usize::MAX))
    }

    pub(super) fn wire(&self, name: &str) -> String {
        self.0.wire(name)
    }

    /// Returns our name for a recipient if it is an offered tool, or else the written name without its namespace.
    pub(super) fn ours(&self, recipient: &str) -> String {
        self.0.recognize(recipient).unwrap_or_else(|written| written)
    }

    pub(super) fn known(&self, recipient: &str) -> Option<String> {
        self.0.recognize(recipient).ok()
    }
}

fn identifier(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut identifier: String = name.chars().map(letter).collect();
    if identifier.starts_with(|first: char| first.is_ascii_digit()) || identifier.is_empty() {
        identifier.insert(0, '_');
    }
    identifier
}

pub(super) const END_OF_TEXT: i32 = 199_999;
pub(super) const RETURN: i32 = 200_002;
pub(super) const CONSTRAIN: i32 = 200_003;
pub(super) const CHANNEL: i32 = 200_005;
pub(super) const START: i32 = 200_006;
pub(super) const END: i32 = 200_007;
pub(super) const MESSAGE: i32 = 200_008;
pub(super) const CALL: i32 = 200_012;

/// Number of text tokens. They come first, followed by special and reserved tokens.
pub(super) const TEXT_TOKENS: i32 = 199_998;

pub(super) const MARKERS: [(&str, i32); 8] = [
    ("<|endoftext|>", END_OF_TEXT),
    ("<|return|>", RETURN),
    ("<|constrain|>", CONSTRAIN),
    ("<|channel|>", CHANNEL),
    ("<|start|>", START),
    ("<|end|>", END),
    ("<|message|>", MESSAGE),
    ("<|call|>", CALL),
];

/// Fails if the vocabulary has other ids for the special tokens.
pub(super) fn check_vocabulary(vocabulary: &dyn Vocabulary) -> Result<(), ChatError> {
    for (marker, id) in MARKERS.into_iter().filter(|(_, id)| *id != END_OF_TEXT) {
        if vocabulary.special(marker) != Some(id) {
            return Err(ChatError::Vocabulary(marker.to_owned(), "Harmony"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str]) -> Names {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: serde_json::Value::Null,
        };
        Names::for_tools(&tools.iter().map(spec).collect::<Vec<_>>())
    }

    #[test]
    fn names_round_trip_over_the_wire() {
        let tools = ["fs.list_dir", "a-b", "a.b", "a_b", "a_b_2", "2d", "", "fs.list_dir", "grüße"];
        let names = names(&tools);
        let wire: Vec<_> = tools.iter().map(|tool| names.wire(tool)).collect();
        assert_eq!(
            wire,
            ["fs_list_dir", "a_b_3", "a_b_4", "a_b", "a_b_2", "_2d", "_", "fs_list_dir", "gr__e"]
        );
        for (tool, wire) in tools.iter().zip(wire) {
            assert_eq!(names.ours(&format!("functions.{wire}")), *tool);
        }
    }

    #[test]
    fn recipients_written_by_models_are_recognized() {
        let names = names(&["fs.list_dir", "read_json"]);
        let rows = [
            ("functions.fs_list_dir", "fs.list_dir"),
            ("functions.fs.list_dir", "fs.list_dir"),
            ("fs_list_dir", "fs.list_dir"),
            ("functions.fs_list_dircommentary", "fs.list_dir"),
            ("functions.fs_list_dirjson", "fs.list_dir"),
            ("functions.read_json", "read_json"),
            ("functions.unknown.tool", "unknown.tool"),
            ("python", "python"),
        ];
        for (recipient, ours) in rows {
            assert_eq!(names.ours(recipient), ours, "{recipient}");
        }
        assert_eq!(names.known("python"), None);
    }
}
