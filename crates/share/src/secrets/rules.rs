//! The rules by which secrets are found: those of Gitleaks, and our own.

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;
use std::sync::{LazyLock, OnceLock};

/// The rules of Gitleaks 8.30.1 (MIT, see `rules/LICENSE-gitleaks`), in the syntax of the `regex` crate: `\w`, `\d`,
/// `\s` and `\b` are those of ASCII, as in Go.
const GITLEAKS: &str = include_str!("../../rules/gitleaks.json");
/// Our own rules, in the same form.
const OWN: &str = include_str!("../../rules/own.json");
/// Rules that Gitleaks applies to the files of certain programs only: in a session, the file is often unknown.
const OF_FILES: [&str; 4] =
    ["freemius-secret-key", "hashicorp-tf-password", "kubernetes-secret-yaml", "nuget-config-password"];
/// Maximum bytes of a compiled pattern.
const COMPILED: usize = 32 << 20;

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(Rules::load);

#[derive(Debug)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// The keywords of all rules, in any case of their letters.
    keywords: Option<AhoCorasick>,
    /// By keyword, the rules that have it.
    of_keyword: Vec<Vec<usize>>,
}

#[derive(Debug, Default, Deserialize)]
struct RuleFile {
    not_secret: Exception,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Rule {
    pub(super) id: String,
    pattern: String,
    /// In lower case; a text without any of them has no match.
    keywords: Vec<String>,
    /// Minimum Shannon entropy of a secret, in bits per byte.
    entropy: f64,
    /// The group with the secret; 0 for the first one that matched, or the whole match.
    #[serde(default)]
    group: usize,
    #[serde(default)]
    not_secret: Vec<Exception>,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

/// What looks like a secret but isn't one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Exception {
    /// Every condition must hold, rather than one.
    all: bool,
    r#in: Where,
    patterns: Vec<String>,
    /// In lower case; they occur in the secret.
    words: Vec<String>,
    #[serde(skip)]
    compiled: OnceLock<Vec<Regex>>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Where {
    #[default]
    Secret,
    Match,
    Line,
}

/// Where a pattern matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matched<'a> {
    pub(super) secret: &'a str,
    /// With the name before it, for example.
    pub(super) whole: &'a str,
    pub(super) line: &'a str,
}

impl Rules {
    fn load() -> Self {
        let mut rules: Vec<Rule> = Vec::new();
        for file in [GITLEAKS, OWN] {
            // A test reads both files.
            let RuleFile { not_secret, rules: read } = serde_json::from_str(file).unwrap_or_default();
            rules.extend(read.into_iter().map(|mut rule| {
                rule.not_secret.push(not_secret.clone());
                rule
            }));
        }
        // A name that says more wins: rules for certain files come after the others, and the general one comes last.
        rules.sort_by_key(|rule| (rule.is_general(), OF_FILES.contains(&rule.id.as_str())));
        let mut keywords: Vec<&str> =
            rules.iter().flat_map(|rule| &rule.keywords).map(String::as_str).collect();
        keywords.sort_unstable();
        keywords.dedup();
        let of_keyword = |keyword: &&str| {
            let has_it = |rule: &Rule| rule.keywords.iter().any(|other| other == keyword);
            (0..rules.len()).filter(|at| has_it(&rules[*at])).collect()
        };
        let of_keyword = keywords.iter().map(of_keyword).collect();
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(&keywords).ok();
        Self { rules, keywords, of_keyword }
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the rules whose keywords occur in a text, in the order of the list.
    pub(super) fn of<'a>(&'a self, text: &str) -> impl Iterator<Item = &'a Rule> {
        let mut wanted = vec![false; self.rules.len()];
        let mut missing = vec![true; self.of_keyword.len()];
        for keyword in self.keywords.iter().flat_map(|keywords| keywords.find_overlapping_iter(text)) {
            let keyword = keyword.pattern().as_usize();
            if std::mem::take(&mut missing[keyword]) {
                self.of_keyword[keyword].iter().for_each(|rule| wanted[*rule] = true);
            }
        }
        self.rules.iter().zip(wanted).filter_map(|(rule, wanted)| wanted.then_some(rule))
    }
}

impl Rule {
    /// It matches anything that is assigned to a name like `key`.
    pub(super) fn is_general(&self) -> bool {
        self.id == "generic-api-key"
    }

    #[cfg(test)]
    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the compiled pattern; `None` if it cannot be compiled, which a test excludes.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.pattern)).as_ref()
    }

    /// Returns the part of a match that is secret.
    pub(super) fn secret<'a>(&self, found: &regex::Captures<'a>) -> Option<regex::Match<'a>> {
        let first = || found.iter().skip(1).flatten().find(|group| !group.is_empty());
        found.get(self.group).filter(|_| self.group > 0).or_else(first).or_else(|| found.get(0))
    }

    pub(super) fn accepts(&self, matched: Matched<'_>) -> bool {
        entropy(matched.secret) >= self.entropy
            && !self.not_secret.iter().any(|exception| exception.holds(matched))
    }
}

impl Exception {
    fn holds(&self, Matched { secret, whole, line }: Matched<'_>) -> bool {
        let text = match self.r#in {
            Where::Secret => secret,
            Where::Match => whole,
            Where::Line => line,
        };
        let compiled = || self.patterns.iter().filter_map(|pattern| compile(pattern)).collect();
        let pattern = || self.compiled.get_or_init(compiled).iter().any(|pattern| pattern.is_match(text));
        let word = || {
            let secret = secret.to_ascii_lowercase();
            self.words.iter().any(|word| secret.contains(word.as_str()))
        };
        let has_pattern = !self.patterns.is_empty();
        let has_words = !self.words.is_empty();
        match self.all {
            true => (has_pattern || has_words) && (!has_pattern || pattern()) && (!has_words || word()),
            false => has_pattern && pattern() || has_words && word(),
        }
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    regex::RegexBuilder::new(pattern).size_limit(COMPILED).build().ok()
}

/// Returns the Shannon entropy in bits per byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let total = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|p| -p * p.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        assert_eq!(RULES.rules.len(), 221 + 13);
        for rule in &RULES.rules {
            assert!(rule.regex().is_some(), "{}", rule.id);
            assert!(!rule.keywords.is_empty(), "{}", rule.id);
            assert!(rule.keywords.iter().all(|word| *word == word.to_lowercase()), "{}", rule.id);
            for exception in &rule.not_secret {
                assert!(exception.patterns.iter().all(|pattern| compile(pattern).is_some()), "{}", rule.id);
            }
        }
    }

    #[test]
    fn entropy_is_in_bits_per_byte() {
        assert_eq!((entropy("aaaa"), entropy("abab"), entropy("abcd")), (0.0, 1.0, 2.0));
        assert_eq!(entropy(""), 0.0);
    }
}
