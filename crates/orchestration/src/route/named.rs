//! Agents by name. A leading `@codex` chooses the agent; "use Codex" only proposes it.

use super::{phrases::Phrases, prompt::Sentence, situation::Situation};
use openagents_core::update::Target;
use regex::Regex;
use std::sync::LazyLock;

/// Names of the built-in agents.
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

static ASKS: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("asks"));
static ASKED: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("asked"));
static NOT: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("not"));

/// The names of a situation's agents.
pub(super) struct Names {
    names: Vec<(String, Target)>,
    regex: Option<Regex>,
}

impl Names {
    pub(super) fn for_situation(situation: &Situation) -> Self {
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
        // Longest first: "claude code" is not "claude".
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let any = names.iter().map(|(name, _)| regex::escape(name)).collect::<Vec<_>>().join("|");
        // No `\b`: Chinese and Japanese have no spaces around a name.
        let regex = Regex::new(&format!("(?:{any})")).ok();
        Self { names, regex }
    }

    /// Returns the agent chosen by a leading `@name`, and the rest of the prompt.
    pub(super) fn mention<'t>(&self, prompt: &'t str) -> Option<(Target, &'t str)> {
        let rest = prompt.trim_start().strip_prefix('@')?;
        let named = |name: &str| rest.get(..name.len()).is_some_and(|head| head.to_lowercase() == name);
        let (name, target) = self.names.iter().find(|(name, _)| named(name))?;
        let after = rest.get(name.len()..)?;
        let task = after.trim_start_matches([',', ':', ' ', '\n', '\t']);
        (after != task && !task.is_empty()).then(|| (target.clone(), task))
    }

    /// Returns the agent that is named first.
    pub(super) fn first(&self, text: &str) -> Option<Target> {
        self.all(text).next().map(|(target, ..)| target)
    }

    /// Returns whether a text is only a name.
    pub(super) fn is_one(&self, text: &str) -> bool {
        self.names.iter().any(|(name, _)| name == text)
    }

    /// Returns the agent that a request proposes.
    pub(super) fn proposed(&self, sentence: &Sentence) -> Option<Target> {
        let asks = |(before, after): (&str, &str)| {
            let is_refused = before.split_whitespace().rev().take(3).any(|word| NOT.is(word));
            let is_handed_over = before.is_empty() && ASKED.strip_start(after.trim_start()).is_some();
            let before = before.trim_end().trim_end_matches(" the");
            !is_refused && (is_handed_over || ASKS.are_in(&format!(" {before}")))
        };
        let mut named = self.all(&sentence.request);
        named.find(|(_, before, after)| asks((before, after))).map(|(target, ..)| target)
    }

    /// Returns all names with the text before and after each, except inside a word, a path or quotation marks.
    fn all<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (Target, &'t str, &'t str)> {
        let found = self.regex.iter().flat_map(move |regex| regex.find_iter(text));
        found.filter_map(move |found| {
            let (before, after) = (&text[..found.start()], &text[found.end()..]);
            let inside = |c: char| c.is_ascii_alphanumeric() || "_-/\\`\"'“”「」„«».~".contains(c);
            let ends = after.strip_prefix("'s").unwrap_or(after);
            let is_apart = !before.ends_with(inside)
                && !(ends.starts_with(|c: char| c.is_ascii_alphanumeric() || "_-/\\`\"“”「」".contains(c)));
            let (_, target) = self.names.iter().find(|(name, _)| name == found.as_str())?;
            is_apart.then(|| (target.clone(), before, after))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Candidate, prompt::Prompt};
    use openagents_core::model::Availability;

    fn names() -> Names {
        let candidate = |id: &str, name: &str| Candidate {
            id: id.to_owned(),
            name: name.to_owned(),
            local: false,
            availability: Availability::Ready,
        };
        let candidates = vec![candidate("gemini", "Gemini CLI"), candidate("custom:gem", "My Gem")];
        Names::for_situation(&Situation { candidates, ..Situation::default() })
    }

    #[test]
    fn leading_mention_chooses_agent() {
        let rows = [
            ("@codex fix the build", Some(("codex", "fix the build"))),
            ("@Claude-Code: review my diff", Some(("claude", "review my diff"))),
            ("@gemini\nfix it", Some(("gemini", "fix it"))),
            ("@gem fix it", Some(("custom:gem", "fix it"))),
            ("@codex", None),
            ("@codexes are many", None),
            ("fix it @codex", None),
            ("@somebody fix it", None),
            ("codex fix it", None),
        ];
        for (prompt, expected) in rows {
            let found = names().mention(prompt).map(|(target, rest)| (String::from(target), rest));
            assert_eq!(found.as_ref().map(|(id, rest)| (id.as_str(), *rest)), expected, "{prompt}");
        }
    }

    #[test]
    fn agent_name_is_proposed_on_request() {
        let rows = [
            ("Use Codex to implement this feature", Some("codex")),
            ("Could you ask Claude Code to fix it?", Some("claude")),
            ("hand this over to codex", Some("codex")),
            ("refactor it using claude-code", Some("claude")),
            ("ask the local model to write a haiku", Some("gptoss")),
            ("Gemini should fix it", Some("gemini")),
            ("Codex, could you fix it?", Some("codex")),
            ("ask my gem to fix it", Some("custom:gem")),
            ("让 Claude 把测试修一下", Some("claude")),
            ("codexでスクリプトを書き換えて", Some("codex")),
            ("Que Claude arregle la prueba", Some("claude")),
            ("Lass Claude den Test reparieren", Some("claude")),
            ("Don't use Codex for this", None),
            ("Fix the parser in src/history/codex/mod.rs", None),
            ("Read ~/.claude/settings.json", None),
            ("Fix the Codex reader", None),
            ("Quita \"codex\" del texto", None),
        ];
        for (prompt, expected) in rows {
            let read = Prompt::parse(prompt);
            let proposed = read.sentences.iter().find_map(|sentence| names().proposed(sentence));
            assert_eq!(proposed.map(String::from).as_deref(), expected, "{prompt}");
        }
    }
}
