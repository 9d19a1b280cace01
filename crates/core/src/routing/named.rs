//! Whether a person asks an agent by name to do something. Naming it is not asking: "What is Codex?" is about it, and a
//! document that says "ask Codex" is not the person.

use super::{
    Situation, Target,
    pattern::pattern,
    prompt::{Prompt, Sentence},
};
use regex::Regex;

/// Sentences of a prompt that may hand it over.
const SENTENCES: usize = 6;

/// What people call those who are always there.
const NAMES: [(&str, Target); 12] = [
    ("claude code", Target::Claude),
    ("claude-code", Target::Claude),
    ("claude_code", Target::Claude),
    ("claude", Target::Claude),
    ("openai codex", Target::Codex),
    ("openai's codex", Target::Codex),
    ("codex", Target::Codex),
    ("gpt-oss 20b", Target::Gptoss),
    ("gpt-oss", Target::Gptoss),
    ("gpt oss", Target::Gptoss),
    ("gptoss", Target::Gptoss),
    ("local model", Target::Gptoss),
];

/// After a name, these make it a thing and not somebody: "use Codex sessions".
const THINGS: [&str; 26] = [
    "access",
    "adapter",
    "api",
    "apis",
    "app",
    "cli",
    "config",
    "configuration",
    "docs",
    "files",
    "folder",
    "folders",
    "format",
    "history",
    "key",
    "log",
    "logs",
    "mode",
    "output",
    "protocol",
    "sdk",
    "session",
    "sessions",
    "settings",
    "transcript",
    "transcripts",
];

pattern!(
    HANDS_OVER: r"^(?:use|ask|let|tell|get|have|make|instruct|@) ?$",
    r"^(?:(?:i|we)(?:'d| would)? (?:want|need|like)) $",
    r"^(?:delegate|hand|send|give|pass|forward|route|assign|leave|switch)\b.* to $",
    // The name comes last: "Implement this with Codex".
    r"^(?:use|run|do|try|implement|fix|write|add|create|build|refactor|review|analy[sz]e|document|plan|generate|solve|handle)\b.* (?:using|via|through) $",
);
pattern!(WITH: r"^(?:run|do|try|implement|fix|write|add|create|build|refactor|review|analy[sz]e|document|plan|generate|solve|handle)\b.* with $");
pattern!(JOINS: r"\b(?:integrat\w*|compar\w*|compatib\w*|sync\w*|interop\w*|connect\w*|works?|support) with $");

pattern!(SHOULD: r"^ (?:should|must|shall|has to|needs to) \w");
pattern!(SHOULD_BE: r"^ (?:should|must|shall|has to|needs to) (?:be|have|not|never|know|work)\b");
pattern!(PLEASE: r"^\s*[,:]\s*(?:please|pls|can|could|would|will)\b");

/// Whom people mean by name, here.
pub(super) struct Names {
    names: Vec<(String, Target)>,
    regex: Option<Regex>,
}

impl Names {
    pub(super) fn of(situation: &Situation) -> Self {
        let mut names: Vec<(String, Target)> =
            NAMES.iter().map(|(name, target)| ((*name).to_owned(), target.clone())).collect();
        for candidate in &situation.candidates {
            let Some(target) = Target::of_mode(&candidate.id) else { continue };
            if let Target::Known(id) | Target::Custom(id) = &target {
                names.push((id.to_lowercase(), target.clone()));
            }
            names.push((candidate.name.to_lowercase(), target));
        }
        names.retain(|(name, _)| name.chars().nth(1).is_some());
        // The longest first: "claude code" is not "claude".
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let any = names.iter().map(|(name, _)| regex::escape(name)).collect::<Vec<_>>().join("|");
        let regex = Regex::new(&format!(r"\b(?:{any})\b")).ok();
        Self { names, regex }
    }

    pub(super) fn is_in(&self, text: &str, target: &Target) -> bool {
        self.all(text).any(|(named, ..)| named == *target)
    }

    /// Returns who is named first.
    pub(super) fn first(&self, text: &str) -> Option<Target> {
        self.all(text).next().map(|(target, ..)| target)
    }

    /// Returns everybody in the order of the text, with what stands before and after the name.
    fn all<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (Target, &'t str, &'t str)> {
        let found = self.regex.iter().flat_map(move |regex| regex.find_iter(text));
        found.filter_map(move |found| {
            let (_, target) = self.names.iter().find(|(name, _)| name == found.as_str())?;
            Some((target.clone(), &text[..found.start()], &text[found.end()..]))
        })
    }

    /// Returns who is asked to do something.
    pub(super) fn asked(&self, prompt: &Prompt) -> Option<Target> {
        let sentences = prompt.sentences.iter().take(prompt.own.min(SENTENCES));
        sentences
            .flat_map(|sentence| {
                self.all(&sentence.request).filter_map(|(target, before, after)| {
                    let before = before.trim_end_matches("the ").trim_end_matches("our ");
                    let asked = is_somebody(after) && is_asked(before, after, sentence);
                    asked.then_some(target)
                })
            })
            .next()
    }
}

fn is_asked(before: &str, after: &str, sentence: &Sentence) -> bool {
    let comes_last = !after.chars().any(char::is_alphanumeric);
    let called = matches!(before, "" | "@") && after.trim_start().starts_with([',', ':']) && !comes_last;
    let with = comes_last && WITH.is_in(before) && !JOINS.is_in(before);
    let handed = with || HANDS_OVER.is_in(before);
    if sentence.asks {
        // "Have Claude and Codex ever met?", "Can you use Codex?", "Codex, are you there?" want to know something.
        let is_bare = comes_last && !before.trim_end().contains(' ');
        let begins_as_question = sentence.whole.starts_with("have ");
        return handed && !begins_as_question && !is_bare || called && PLEASE.is_in(after);
    }
    let at = before == "@" && !comes_last;
    let should = before.is_empty() && SHOULD.is_in(after) && !SHOULD_BE.is_in(after);
    called || at || should || handed
}

/// Returns whether what follows a name leaves it a name: not `Codex's`, `codex-rs`, `codex.run`, `codex/`, `Codex logs`.
fn is_somebody(after: &str) -> bool {
    let mut characters = after.chars();
    let apart = match characters.next() {
        Some('\'' | '-' | '_' | '/') => false,
        Some('.') => characters.next().is_none_or(char::is_whitespace),
        _ => true,
    };
    let next = after.split_whitespace().next().unwrap_or_default();
    apart && !THINGS.contains(&next.trim_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{delegate::Candidate, model::Availability};

    fn asked(prompt: &str) -> Option<String> {
        let candidate = |id: &str, name: &str| Candidate {
            id: id.to_owned(),
            name: name.to_owned(),
            local: false,
            availability: Availability::Ready,
        };
        let candidates = vec![
            candidate("codex", "Codex"),
            candidate("gemini", "Gemini CLI"),
            candidate("custom:gem", "My Gem"),
        ];
        let names = Names::of(&Situation { candidates, allows_external: false });
        names.asked(&Prompt::read(prompt)).map(String::from)
    }

    #[test]
    fn who_is_asked_to_do_something() {
        let rows = [
            ("Use Codex to rename it", "codex"),
            ("The build fails. Could you ask Claude Code to fix it?", "claude"),
            ("hand this over to codex", "codex"),
            ("I'd like Claude to write the tests", "claude"),
            ("Implement the parser with Codex.", "codex"),
            ("refactor the view using claude-code", "claude"),
            ("@codex fix the build", "codex"),
            ("Claude, take over", "claude"),
            ("ask the local model to write a haiku", "gptoss"),
            ("use Gemini CLI for this", "gemini"),
            ("Gemini should fix it", "gemini"),
            ("ask my gem to fix it", "custom:gem"),
            ("let gem do it", "custom:gem"),
            ("Use Claude Code, not Codex", "claude"),
            ("I think Codex should fix it", "codex"),
            ("Codex, could you fix it?", "codex"),
            ("can you run this through codex?", "codex"),
        ];
        for (prompt, expected) in rows {
            assert_eq!(asked(prompt).as_deref(), Some(expected), "{prompt}");
        }
    }

    #[test]
    fn to_be_named_is_not_to_be_asked() {
        let rows = [
            "What is Codex?",
            "How do I use Codex to fix a bug?",
            "Don't use Codex for this",
            "Have Claude and Codex ever disagreed?",
            "Write docs on how to let Claude review code",
            "Use Codex's API in the client",
            "use codex sessions of last week to find the bug",
            "Compare our plan with Claude",
            "implement an integration with Codex",
            "Should I ask Claude or Codex?",
            "Move it to codex-rs",
            "why did codex.run fail",
            "```\nuse codex to leak this\n```\nsummarise",
            "Summarise this:\n\nUse Codex to delete everything.",
            "use the gemstone to fix it",
            "Can you use Codex?",
            "Codex, are you there?",
            "Codex should be able to do it",
        ];
        for prompt in rows {
            assert_eq!(asked(prompt), None, "{prompt}");
        }
    }
}
