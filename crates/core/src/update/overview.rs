//! The overview of a workspace: facts about the project with the places that show them, and a map of its folders.

use super::finding::Place;
use crate::visible::{code_span, escaped};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use ts_rs::TS;

/// What a newcomer wants to know about a project, computed from its files, git and past sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Overview {
    /// In the order of [`OverviewTopic`]; topics without facts are left out.
    pub blocks: Vec<OverviewBlock>,
    /// Empty if there is no code in at least two folders or files.
    #[serde(default)]
    pub map: CodeMap,
    /// At most three that the workspace answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// A bound ended the reading early, so some of it is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct OverviewBlock {
    pub topic: OverviewTopic,
    pub facts: Vec<OverviewFact>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum OverviewTopic {
    /// What the project is, and its languages.
    Purpose,
    /// How it is built, run, tested and checked.
    Commands,
    /// Where execution starts, and where it is configured.
    Start,
    /// Its folders, and the files that most others import.
    Structure,
    /// Commits, and files that are not committed.
    Changes,
    /// Past sessions of agents.
    Sessions,
}

/// A statement about a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct OverviewFact {
    /// One line of Markdown.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FactPlace>,
}

/// Lines that show a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FactPlace {
    #[serde(flatten)]
    pub place: Place,
    /// First and last line, from 1; 0 if the whole is meant.
    pub start: u64,
    pub end: u64,
}

/// The folders of the code, without tests and examples, and the imports between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct CodeMap {
    /// Each is followed by its children.
    pub nodes: Vec<MapNode>,
    /// Between nodes with the same parent, most imports first.
    pub edges: Vec<MapEdge>,
    /// Number of smaller files and folders that are not shown.
    #[serde(default)]
    pub omitted: u32,
}

/// A folder or file of the map.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MapNode {
    /// Relative to the workspace; a folder ends with `/`.
    pub path: String,
    /// One line; may be empty.
    #[serde(default)]
    pub description: String,
    pub files: u32,
    pub lines: u32,
    /// From the top, 0; imports lead to larger numbers, except one in each circle.
    pub layer: u32,
    /// Index of the node that contains this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

/// Imports from one node to another, by index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MapEdge {
    pub from: u32,
    pub to: u32,
    /// Number of files that import.
    pub imports: u32,
    /// Both nodes import each other, directly or through others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_circular: bool,
    /// Other nodes lead there as well, so the arrow may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_implied: bool,
}

impl OverviewTopic {
    pub fn title(self) -> &'static str {
        match self {
            Self::Purpose => "What it is",
            Self::Commands => "Build, run, test",
            Self::Start => "Where it starts",
            Self::Structure => "How it is organised",
            Self::Changes => "Recent changes",
            Self::Sessions => "Past sessions",
        }
    }
}

impl Overview {
    /// Returns the overview in Markdown: for each block a heading and a list.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{gap}**{}**", block.topic.title());
            for fact in &block.facts {
                let _ = write!(text, "\n- {}", fact.markdown());
            }
        }
        if self.truncated {
            text.push_str("\n\nSome files were not read: the project is large.");
        }
        text
    }

    /// Replaces the one line on a node of the map, which its fact repeats.
    pub fn describe(&mut self, path: &str, line: &str) {
        let Some(node) = self.map.nodes.iter_mut().find(|node| node.path == path) else { return };
        let before = std::mem::replace(&mut node.description, line.to_owned());
        let name = format!("`{}`", code_span(path));
        let before = if before.is_empty() { format!("{name} (") } else { format!("{name}: {before} (") };
        let structure = self.blocks.iter_mut().filter(|block| block.topic == OverviewTopic::Structure);
        for fact in structure.flat_map(|block| &mut block.facts) {
            if let Some(size) = fact.text.strip_prefix(&before) {
                fact.text = format!("{name}: {line} ({size}");
            }
        }
    }

    pub fn block(&self, topic: OverviewTopic) -> Option<&OverviewBlock> {
        self.blocks.iter().find(|block| block.topic == topic)
    }
}

impl CodeMap {
    /// Returns the nodes that no other contains.
    pub fn roots(&self) -> impl Iterator<Item = &MapNode> {
        self.nodes.iter().filter(|node| node.parent.is_none())
    }
}

impl OverviewFact {
    /// Returns the statement and its place in Markdown. A path that the statement contains is not repeated.
    pub fn markdown(&self) -> String {
        let text = escaped(&self.text);
        match self.place.as_ref().and_then(FactPlace::citation) {
            Some((path, _)) if text.contains(&format!("`{}`", code_span(path))) => text.into_owned(),
            Some((path, lines)) => format!("{text} (`{}{lines}`)", code_span(path)),
            None => text.into_owned(),
        }
    }
}

impl FactPlace {
    /// Returns the path of a file and its lines: `:3-5`, or nothing if the whole file is meant.
    pub fn citation(&self) -> Option<(&str, String)> {
        let Place::File { path } = &self.place else { return None };
        let lines = match (self.start, self.end) {
            (0, _) => String::new(),
            (start, end) if end > start => format!(":{start}-{end}"),
            (start, _) => format!(":{start}"),
        };
        Some((path, lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(text: &str, path: &str, start: u64, end: u64) -> OverviewFact {
        let place = Place::File { path: path.to_owned() };
        OverviewFact { text: text.to_owned(), place: Some(FactPlace { place, start, end }) }
    }

    #[test]
    fn overview_is_a_heading_and_a_list_per_block() {
        let overview = Overview {
            blocks: vec![
                OverviewBlock {
                    topic: OverviewTopic::Purpose,
                    facts: vec![fact("A parser.", "README.md", 3, 5)],
                },
                OverviewBlock {
                    topic: OverviewTopic::Structure,
                    facts: vec![fact("`src/`: the parser", "src/", 0, 0), fact("rests on", "src/a.rs", 7, 7)],
                },
            ],
            truncated: true,
            ..Overview::default()
        };
        let expected = "**What it is**\n\n- A parser. (`README.md:3-5`)\n\n**How it is organised**\n\n- `src/`: the parser\n\
            - rests on (`src/a.rs:7`)\n\nSome files were not read: the project is large.";
        assert_eq!(overview.markdown(), expected);
    }

    #[test]
    fn description_is_replaced_in_map_and_fact() {
        let other = "`src/`: imported by 9 of 40 files (most)";
        let (path, description) = ("src/".to_owned(), "a, b (and c)".to_owned());
        let node = MapNode { path, description, ..MapNode::default() };
        let mut overview = Overview {
            blocks: vec![OverviewBlock {
                topic: OverviewTopic::Structure,
                facts: vec![
                    fact(other, "src/a.rs", 0, 0),
                    fact("`src/`: a, b (and c) (3 files, 40 lines)", "src/", 0, 0),
                ],
            }],
            map: CodeMap { nodes: vec![node], ..CodeMap::default() },
            ..Overview::default()
        };
        overview.describe("src/", "the parser");
        overview.describe("lib/", "nothing");
        assert_eq!(overview.map.nodes[0].description, "the parser");
        let facts = overview.blocks[0].facts.iter().map(|fact| fact.text.as_str());
        assert_eq!(facts.collect::<Vec<_>>(), [other, "`src/`: the parser (3 files, 40 lines)"]);
    }
}
