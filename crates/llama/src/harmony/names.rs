//! Tool names on the wire. Ours have dots (`fs.list_dir`), which TypeScript identifiers can't have.

use openagents_core::model::ToolSpec;
use std::collections::BTreeMap;

/// The namespace of the tools.
const NAMESPACE: &str = "functions.";

/// Words that models append to a recipient, sometimes without a space.
const GLUED: [&str; 5] = ["<|constrain|>", "commentary", "analysis", "json", "code"];

/// Maps the tool names of one request in both directions.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Our names by wire name.
    ours: BTreeMap<String, String>,
    /// Wire names by our name.
    wire: BTreeMap<String, String>,
}

impl Names {
    pub(super) fn of(tools: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        // Valid identifiers are kept, whatever their position in the list.
        let (plain, others): (Vec<_>, Vec<_>) =
            tools.iter().map(|tool| tool.name.as_str()).partition(|name| identifier(name) == *name);
        for name in plain.into_iter().chain(others) {
            names.add(name);
        }
        names
    }

    fn add(&mut self, name: &str) {
        if self.wire.contains_key(name) {
            return;
        }
        let plain = identifier(name);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|wire| !self.ours.contains_key(wire));
        let wire = free.unwrap_or(plain);
        self.ours.insert(wire.clone(), name.to_owned());
        self.wire.insert(name.to_owned(), wire);
    }

    /// Returns the wire name of a tool. The history may contain tools that are no longer offered.
    pub(super) fn wire(&self, name: &str) -> String {
        self.wire.get(name).cloned().unwrap_or_else(|| identifier(name))
    }

    /// Returns our name of a recipient if it is an offered tool, or else the written name without its namespace.
    pub(super) fn ours(&self, recipient: &str) -> String {
        let bare = recipient.strip_prefix(NAMESPACE).unwrap_or(recipient);
        let known = |name: &str| {
            self.ours.get(name).cloned().or_else(|| self.wire.contains_key(name).then(|| name.to_owned()))
        };
        let unglued = || GLUED.iter().find_map(|end| known(bare.strip_suffix(end)?));
        known(bare).or_else(unglued).unwrap_or_else(|| bare.to_owned())
    }

    /// Returns our name, if the tool is offered.
    pub(super) fn known(&self, recipient: &str) -> Option<String> {
        let ours = self.ours(recipient);
        self.wire.contains_key(&ours).then_some(ours)
    }
}

/// Converts a name into an identifier.
fn identifier(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut identifier: String = name.chars().map(letter).collect();
    if identifier.starts_with(|first: char| first.is_ascii_digit()) || identifier.is_empty() {
        identifier.insert(0, '_');
    }
    identifier
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
    fn recipients_of_models_are_recognized() {
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
