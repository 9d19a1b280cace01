//! Tool names on the wire. Ours have dots (`fs.list_dir`); OpenAI accepts `^[a-zA-Z0-9_-]{1,64}$`.

use crate::limits::NAME_CHARS;
use openagents_core::model::{ToolSpec, WireNames};

#[derive(Debug)]
pub(super) struct Names(WireNames);

impl Names {
    pub(super) fn of(tools: &[ToolSpec]) -> Self {
        Self(WireNames::new(tools, function, NAME_CHARS))
    }

    pub(super) fn wire(&self, name: &str) -> String {
        self.0.wire(name)
    }

    /// Returns whether any tool is offered.
    pub(super) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns our name for an offered tool; an unknown name is returned unchanged.
    pub(super) fn ours(&self, written: &str) -> String {
        self.0.recognize(written).unwrap_or_else(|written| written)
    }
}

/// Converts a name into an ASCII function name.
fn function(name: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '_',
    };
    let function: String = name.chars().map(letter).take(NAME_CHARS).collect();
    if function.is_empty() { "_".to_owned() } else { function }
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
        Names::of(&tools.iter().map(spec).collect::<Vec<_>>())
    }

    #[test]
    fn names_go_to_the_wire_and_back() {
        let (long, longer) = ("x.".repeat(50), "x.".repeat(51));
        let tools = ["fs.list_dir", "a-b", "a.b", "a_b", "a_b_2", "", "fs.list_dir", "grüße", &long, &longer];
        let names = names(&tools);
        let wire: Vec<_> = tools.iter().map(|tool| names.wire(tool)).collect();
        assert_eq!(wire[..8], ["fs_list_dir", "a-b", "a_b_3", "a_b", "a_b_2", "_", "fs_list_dir", "gr__e"]);
        for (tool, wire) in tools.iter().zip(&wire) {
            assert_eq!(names.ours(wire), *tool);
            assert!(wire.len() <= 64, "{wire}");
        }
    }

    #[test]
    fn names_written_by_models_are_recognized() {
        let names = names(&["fs.list_dir"]);
        let rows = [
            ("fs_list_dir", "fs.list_dir"),
            ("fs.list_dir", "fs.list_dir"),
            ("functions.fs_list_dir", "fs.list_dir"),
            ("fs_list_dir<|channel|>commentary", "fs.list_dir"),
            ("functions.fs_list_dirjson", "fs.list_dir"),
            ("fs.list.dir", "fs.list_dir"),
            (" fs_list_dir ", "fs.list_dir"),
            ("rm", "rm"),
        ];
        for (written, ours) in rows {
            assert_eq!(names.ours(written), ours, "{written}");
        }
        assert_eq!(names.wire("gone.tool"), "gone_tool");
    }
}
