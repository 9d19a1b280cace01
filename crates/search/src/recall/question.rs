//! Parses a question about the history: agent, time, files, facts and words.

use super::{
    cues::{self, AGENTS, CUES, Cue},
    scope::Scope,
    when::{self, Window},
    words::{self, Word},
};
use jiff::Zoned;
use openagents_core::terms::Language;
use openagents_transcripts::history::Provider;
use regex::Regex;
use std::{collections::BTreeSet, ops::Range, sync::LazyLock};

/// A parsed question. Parsing never fails: text that is not understood becomes a search word.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) agent: Option<Provider>,
    pub(super) window: Option<Window>,
    /// Files named by the question.
    pub(super) scopes: Vec<Scope>,
    /// Kinds of facts to rank first.
    pub(super) cues: BTreeSet<Cue>,
    /// Whether it asks for history: 0 code is possible, 1 likely, 2 certain.
    pub(super) certainty: u8,
    /// Words that a session should contain.
    pub(super) words: Vec<Word>,
    /// Bit set of the words written like names: a session without any of them is irrelevant.
    pub(super) names: u64,
}

impl Question {
    /// Parses a question; `now` includes the time zone.
    pub(super) fn new(text: &str, now: &Zoned) -> Self {
        let mut scopes = Vec::new();
        let mut left = text.to_owned();
        for found in path_like(text) {
            if let Some(scope) = Scope::new(&text[found.clone()]) {
                blank(&mut left, &found);
                scopes.push(scope);
            }
        }
        let mut left = normal(&left);
        let window = when::find(&left, now);
        if let Some(window) = &window {
            blank(&mut left, &window.named);
        }
        let agent = AGENTS.iter().find_map(|(agent, names)| {
            names.iter().find_map(|name| Some((*agent, when::whole(&left, name)?)))
        });
        let found = cues(&left);
        let mut certainty = found.iter().map(|(_, certainty, _)| *certainty).max().unwrap_or_default();
        let likely: BTreeSet<Cue> =
            found.iter().filter(|(_, sure, _)| *sure > cues::OPEN).map(|(cue, ..)| *cue).collect();
        if window.is_some() || likely.len() > 1 || (agent.is_some() && certainty > cues::OPEN) {
            certainty = cues::CERTAIN;
        }
        let historical = certainty > cues::OPEN;
        let mut cues: BTreeSet<Cue> = found.iter().map(|(cue, ..)| *cue).collect();
        if historical {
            if let Some((_, named)) = &agent {
                blank(&mut left, named);
            }
            let acts = cues.contains(&Cue::Failed) || cues.contains(&Cue::Ran);
            for (cue, _, range) in &found {
                // A question about runs or failures finds builds and tests by their command; in other questions the
                // word is a regular one.
                if acts || !matches!(cue, Cue::Build | Cue::Test) {
                    blank(&mut left, range);
                }
            }
            if !acts {
                cues.retain(|cue| !matches!(cue, Cue::Build | Cue::Test));
            }
        } else {
            // Only the reason for code can be in a session; other questions about code cannot be answered from history.
            cues.retain(|cue| *cue == Cue::Why);
        }
        let words = words::significant_words(&left, Language::detect(text));
        let agent = agent.map(|(agent, _)| agent);
        Self {
            // The name of an agent in a question about code is a regular word.
            agent: agent.filter(|_| historical),
            window,
            scopes,
            cues,
            certainty,
            names: names(text, &words),
            words,
        }
    }

    pub(super) fn asks(&self, cue: Cue) -> bool {
        self.cues.contains(&cue)
    }

    /// Returns texts at least one of which is in every relevant transcript; empty if any transcript may be relevant. A
    /// trailing space ends a word.
    pub(super) fn literals(&self) -> Vec<String> {
        let subjects = [(Cue::Build, cues::BUILDS), (Cue::Test, cues::TESTS)];
        let commands = subjects.into_iter().filter(|(cue, _)| self.asks(*cue) && self.asks(Cue::Failed));
        if self.is_general() {
            return commands.flat_map(|(_, commands)| commands.split('|')).map(str::to_owned).collect();
        }
        let files: Option<Vec<&str>> = self.scopes.iter().map(Scope::literal).collect();
        let Some(files) = files else { return Vec::new() };
        self.words.iter().flat_map(Word::literals).chain(files.into_iter().map(str::to_owned)).collect()
    }

    /// Returns whether it contains neither words nor files.
    pub(super) fn is_general(&self) -> bool {
        self.words.is_empty() && self.scopes.is_empty()
    }
}

/// Finds cues; the longest of overlapping ones wins, so that `did we last` is not also `last`.
fn cues(text: &str) -> Vec<(Cue, u8, Range<usize>)> {
    let mut found: Vec<(Cue, u8, Range<usize>)> = CUES
        .iter()
        .flat_map(|(cue, certainty, forms)| forms.split('|').map(move |form| (*cue, *certainty, form)))
        .filter_map(|(cue, certainty, form)| Some((cue, certainty, matched(text, form)?)))
        .collect();
    found
        .sort_by_key(|(_, certainty, range)| (std::cmp::Reverse(range.len()), std::cmp::Reverse(*certainty)));
    let mut kept: Vec<(Cue, u8, Range<usize>)> = Vec::new();
    for candidate in found {
        let range = &candidate.2;
        if !kept.iter().any(|(.., other)| range.start < other.end && other.start < range.end) {
            kept.push(candidate);
        }
    }
    kept
}

/// Finds words with a capital letter inside a sentence, or formatted as code.
fn names(text: &str, words: &[Word]) -> u64 {
    let written = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let named = written.enumerate().filter(|(at, word)| {
        let behind_first = word.chars().skip(1).any(|c| c.is_uppercase() || c == '_');
        behind_first || (*at > 0 && word.chars().next().is_some_and(char::is_uppercase))
    });
    let named: BTreeSet<String> = named.map(|(_, word)| word.to_lowercase()).collect();
    let bits = words.iter().take(u64::BITS as usize).enumerate();
    bits.filter(|(_, word)| named.contains(&word.text)).fold(0, |names, (at, _)| names | 1 << at)
}

fn matched(text: &str, form: &str) -> Option<Range<usize>> {
    let Some(stem) = form.strip_suffix('*') else { return when::whole(text, form) };
    text.match_indices(stem).find_map(|(at, _)| {
        if text[..at].ends_with(char::is_alphanumeric) {
            return None;
        }
        let end = text[at..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |end| at + end);
        Some(at..end)
    })
}

/// Returns a text in lower case with a final question mark: the last word of a Japanese question shows whether it is
/// about the past, and many questions lack the mark.
fn normal(text: &str) -> String {
    let end = |c: char| c.is_whitespace() || matches!(c, '?' | '？' | '.' | '。' | '!' | '！');
    let mut normal = text.trim_end_matches(end).to_lowercase().replace('’', "'");
    normal.push('?');
    normal
}

fn blank(text: &mut String, range: &Range<usize>) {
    text.replace_range(range.clone(), &" ".repeat(range.len()));
}

/// Finds paths, globs and file names.
fn path_like(text: &str) -> Vec<Range<usize>> {
    static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"[A-Za-z0-9_.@~*{}\[\]-]*/[A-Za-z0-9_.@~*{}\[\]/,-]*|[A-Za-z0-9_-]+\.[A-Za-z][A-Za-z0-9]{0,5}\b",
        )
        .ok()
    });
    let Some(path) = PATH.as_ref() else { return vec![] };
    path.find_iter(text)
        .map(|found| {
            let kept = found.as_str().trim_end_matches(['.', ',', '-']);
            found.start()..found.start() + kept.len()
        })
        .filter(|range| range.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        Question::new(text, &"2026-11-18T15:00:00+01:00[Europe/Berlin]".parse().unwrap())
    }

    fn words(question: &Question) -> Vec<&str> {
        question.words.iter().map(|word| word.text.as_str()).collect()
    }

    #[test]
    fn history_question_is_parsed() {
        let asked = question("What did Claude change in `packages/web` yesterday?");
        assert_eq!((asked.agent, asked.certainty), (Some(Provider::ClaudeCode), cues::CERTAIN));
        assert_eq!(
            asked.scopes.iter().map(|scope| scope.text.as_str()).collect::<Vec<_>>(),
            ["packages/web"]
        );
        assert!(asked.asks(Cue::Changed) && asked.window.is_some());
        assert_eq!(words(&asked), Vec::<&str>::new());

        let asked = question("Why did we drop the Redis cache");
        assert_eq!((asked.agent, asked.certainty), (None, cues::LIKELY));
        assert!(asked.asks(Cue::Why));
        assert_eq!(words(&asked), ["drop", "redis", "cache"]);
    }

    #[test]
    fn code_question_keeps_all_words() {
        let asked = question("Where do we parse Codex rollouts?");
        assert_eq!((asked.agent, asked.certainty), (None, cues::OPEN));
        assert_eq!(words(&asked), ["parse", "codex", "rollouts"]);
        let asked = question("How is a change of the session run?");
        assert!(asked.cues.is_empty());
        assert_eq!(words(&asked), ["change", "session", "run"]);
    }

    #[test]
    fn question_scopes_are_found() {
        for (text, expected) in [
            ("Show the open TODOs in src/net.rs.", vec!["src/net.rs"]),
            ("What about net.rs, ./ui/ and **/*.css?", vec!["net.rs", "ui", "**/*.css"]),
            ("packages/webで何を", vec!["packages/web"]),
            ("It ends here. Then and/or now e.g. this", vec![]),
        ] {
            let asked = question(text);
            assert_eq!(
                asked.scopes.iter().map(|scope| scope.text.as_str()).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn failing_tests_question_finds_session() {
        let asked = question("Which session left the tests failing?");
        assert_eq!(words(&asked), Vec::<&str>::new());
        assert_eq!(asked.window, None);
        assert!(asked.asks(Cue::Failed) && asked.asks(Cue::Test));
    }

    #[test]
    fn any_text_is_parsed_as_question() {
        for text in ["", "?", "。？！", "İstanbul ẞ ’", "[ ] *", "/", "a/b/c/{", "\u{1f642} 了"] {
            question(text);
        }
    }
}
