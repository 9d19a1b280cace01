//! Tool names on the wire. Ours have dots (`fs.list_dir`), which most protocols do not allow.

use super::request::ToolSpec;
use std::collections::BTreeMap;

/// The namespace of tools in prompts of gpt-oss.
const NAMESPACE: &str = "functions.";

/// Words of a header that models append to a name without a space.
const GLUED: [&str; 4] = ["commentary", "analysis", "json", "code"];

/// Maps the tool names of one request in both directions.
#[derive(Debug)]
pub struct WireNames {
    valid: fn(&str) -> String,
    ours: BTreeMap<String, String>,
    wire: BTreeMap<String, String>,
}

impl WireNames {
    /// Assigns wire names to `tools`. `valid` turns a name into a wire name of at most `length` ASCII characters.
    pub fn new(tools: &[ToolSpec], valid: fn(&str) -> String, length: usize) -> Self {
        let mut names = Self { valid, ours: BTreeMap::new(), wire: BTreeMap::new() };
        // Valid names are kept, whatever their position in the list.
        let (plain, others): (Vec<_>, Vec<_>) =
            tools.iter().map(|tool| tool.name.as_str()).partition(|name| valid(name) == *name);
        for name in plain.into_iter().chain(others) {
            names.add(name, length);
        }
        names
    }

    fn add(&mut self, name: &str, length: usize) {
        if self.wire.contains_key(name) {
            return;
        }
        let plain = (self.valid)(name);
        let numbered = (2..).map(|number| {
            let number = format!("_{number}");
            format!("{}{number}", &plain[..plain.len().min(length - number.len())])
        });
        let free = std::iter::once(plain.clone()).chain(numbered).find(|wire| !self.ours.contains_key(wire));
        let wire = free.unwrap_or(plain);
        self.ours.insert(wire.clone(), name.to_owned());
        self.wire.insert(name.to_owned(), wire);
    }

    /// Returns whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.wire.is_empty()
    }

    /// Returns the wire name of a tool. The history may contain tools that are no longer offered.
    pub fn wire(&self, name: &str) -> String {
        self.wire.get(name).cloned().unwrap_or_else(|| (self.valid)(name))
    }

    pub fn ours(&self, name: &str) -> Option<String> {
        self.ours.get(name).cloned().or_else(|| self.wire.contains_key(name).then(|| name.to_owned()))
    }

    /// Returns our name of an offered tool from the name that a model wrote. It may have other punctuation; gpt-oss may
    /// also add its namespace, or glue a marker or a word of the header to it. Otherwise, fails with the name as
    /// written, without these.
    pub fn recognize(&self, written: &str) -> Result<String, String> {
        let bare = written.split("<|").next().unwrap_or(written).trim();
        let bare = bare.strip_prefix(NAMESPACE).unwrap_or(bare);
        let known = |name: &str| self.ours(name).or_else(|| self.ours(&(self.valid)(name)));
        let unglued = || GLUED.iter().find_map(|end| known(bare.strip_suffix(end)?));
        known(bare).or_else(unglued).ok_or_else(|| bare.to_owned())
    }
}
