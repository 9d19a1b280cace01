//! Regular expressions that are compiled once.

use regex::Regex;
use std::sync::LazyLock;

/// Matches where one of its parts does. One that does not compile matches nothing; the tests know of each.
pub(super) struct Pattern(pub(super) LazyLock<Option<Regex>>);

impl Pattern {
    pub(super) fn compile(parts: &[&str]) -> Option<Regex> {
        Regex::new(&parts.iter().map(|part| format!("(?:{part})")).collect::<Vec<_>>().join("|")).ok()
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns where the first match ends.
    pub(super) fn end_in(&self, text: &str) -> Option<usize> {
        self.0.as_ref().and_then(|regex| regex.find(text)).map(|found| found.end())
    }
}

/// `pattern!(NAME: "part", "or part")`
macro_rules! pattern {
    ($name:ident: $($part:expr),+ $(,)?) => {
        static $name: $crate::routing::pattern::Pattern =
            $crate::routing::pattern::Pattern(std::sync::LazyLock::new(|| {
                $crate::routing::pattern::Pattern::compile(&[$($part),+])
            }));
    };
}
pub(super) use pattern;
