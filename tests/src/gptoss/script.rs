//! A scripted model's output, and the token-to-token rules that produce it.

use super::vocabulary::Vocabulary;
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, btree_map::Entry};
use tiktoken_rs::Rank;

/// The model's output. `<|markers|>` in the texts are special tokens.
///
/// It thinks first. Without tools in the prompt it then answers; with tools it calls one, and answers once a call is
/// in the prompt. A prompt with the word ` loop` gets an answer that never ends.
///
/// The model recognizes a token only by its predecessor: no token may have two different successors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script {
    /// Its chain of thought, if it has one.
    pub thoughts: Option<&'static str>,
    /// Its answer without tools.
    pub greeting: &'static str,
    /// The header of its call, from after `<|channel|>` to `<|message|>`.
    pub call: &'static str,
    /// The body of its call.
    pub arguments: &'static str,
    /// Its answer after a call.
    pub answer: &'static str,
}

const WEATHER: Script = Script {
    thoughts: Some("The user says hi"),
    greeting: "Hello there, friend 🦊!",
    call: "commentary to=functions.get_weather <|constrain|>json",
    arguments: r#"{"location":"Paris"}"#,
    answer: "Sunny in Paris.",
};

const EXPLORER: Script = Script {
    thoughts: Some("My secret plan: look around"),
    greeting: "Hello there, friend 🦊!",
    call: "commentary to=functions.fs_list_dir <|constrain|>json",
    arguments: r#"{"path":"."}"#,
    answer: "This folder holds a small project.",
};

impl Script {
    pub const NAMES: [&str; 8] =
        ["weather", "explorer", "reader", "finder", "glued", "in-analysis", "bare", "malformed"];

    /// Thinks "The user says hi", calls `get_weather` with `{"location":"Paris"}`, and answers "Sunny in Paris.";
    /// without tools it answers "Hello there, friend 🦊!", whose emoji is three tokens.
    pub fn weather() -> Self {
        WEATHER
    }

    /// Thinks "My secret plan: look around", calls `fs.list_dir` with `{"path":"."}`, and answers "This folder holds
    /// a small project."; without tools it answers as [`weather`](Self::weather) does.
    pub fn explorer() -> Self {
        EXPLORER
    }

    /// The explorer, but calls `content.get_span` with `{"path":"README.md"}` instead.
    pub fn reader() -> Self {
        Self {
            call: "commentary to=functions.content_get_span <|constrain|>json",
            arguments: r#"{"path":"README.md"}"#,
            ..EXPLORER
        }
    }

    /// The explorer, with the channel glued to the recipient and no space before `<|constrain|>`.
    pub fn glued() -> Self {
        Self { call: "commentaryto=functions.fs_list_dir<|constrain|>json", ..EXPLORER }
    }

    /// The explorer without any other thoughts and with its call in the channel `analysis`.
    pub fn in_analysis() -> Self {
        Self { thoughts: None, call: "analysis to=functions.fs_list_dir code", ..EXPLORER }
    }

    /// The explorer with a call that lacks its recipient.
    pub fn bare() -> Self {
        Self { call: "commentary <|constrain|>json", ..EXPLORER }
    }

    /// The explorer with a call that has neither a recipient nor JSON, however often it is repeated.
    pub fn malformed() -> Self {
        Self { arguments: "not even close", ..Self::bare() }
    }

    /// The explorer with an answer that names a source location: "It gives a bool at `src/pair.rs:3`."
    pub fn finder() -> Self {
        Self { thoughts: None, answer: "It gives a bool at `src/pair.rs:3`.", ..EXPLORER }
    }

    /// Returns the script with a name from [`NAMES`](Self::NAMES).
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "weather" => Some(Self::weather()),
            "explorer" => Some(Self::explorer()),
            "reader" => Some(Self::reader()),
            "finder" => Some(Self::finder()),
            "glued" => Some(Self::glued()),
            "in-analysis" => Some(Self::in_analysis()),
            "bare" => Some(Self::bare()),
            "malformed" => Some(Self::malformed()),
            _ => None,
        }
    }

    /// Creates the rules. The next token is the one with the highest sum of weights.
    pub(super) fn rules(&self, vocabulary: &Vocabulary) -> Result<Vec<Rule>> {
        let mut rules = Rules { vocabulary, followers: BTreeMap::new(), rules: Vec::new() };
        let channel = Sight::Token(vocabulary.token("<|channel|>")?);
        let message = Sight::Token(vocabulary.token("<|message|>")?);
        let thought = Sight::Seen(vocabulary.token("analysis")?);
        let tools = Sight::Seen(vocabulary.token(" functions")?);
        let called = Sight::Seen(vocabulary.token("<|call|>")?);
        let endless = Sight::Seen(vocabulary.token(" loop")?);
        let final_before = Sight::Previous(vocabulary.token("final")?);

        rules.chain("assistant<|channel|>")?;
        rules.start("final<|message|>", &[(channel, 9.0), (thought, 4.0)])?;
        if let Some(thoughts) = self.thoughts {
            let analysis_before = Sight::Previous(vocabulary.token("analysis")?);
            rules.start("analysis<|message|>", &[(channel, 12.0)])?;
            let thoughts = format!("{thoughts}<|end|><|start|>assistant");
            rules.start(&thoughts, &[(message, 8.0), (analysis_before, 4.0)])?;
        }
        let when = [(channel, 8.0), (thought, 4.0), (tools, 2.0), (called, -4.0), (endless, -4.0)];
        let header = rules.start(&format!("{}<|message|>", self.call), &when)?;
        let call_before = Sight::Previous(header[header.len() - 2]);
        let arguments = format!("{}<|call|>", self.arguments);
        rules.start(&arguments, &[(message, 8.0), (call_before, 4.0)])?;
        let greeting = format!("{}<|return|>", self.greeting);
        rules.start(&greeting, &[(message, 8.0), (final_before, 4.0)])?;
        let answer = format!("{}<|return|>", self.answer);
        rules.start(&answer, &[(message, 7.0), (final_before, 4.0), (called, 2.0)])?;
        rules.start(" tick tick", &[(message, 7.0), (final_before, 4.0), (endless, 4.0)])?;
        Ok(rules.rules)
    }
}

/// A condition on the context when the model chooses the next token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// The newest token is this one.
    Token(Rank),
    /// The token before the newest one is this one.
    Previous(Rank),
    /// This token is anywhere in the context.
    Seen(Rank),
}

/// Raises the score of a next token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The token to generate.
    pub(super) next: Rank,
    /// The condition.
    pub(super) sight: Sight,
    /// The score added if the condition holds.
    pub(super) weight: f32,
}

struct Rules<'a> {
    vocabulary: &'a Vocabulary,
    followers: BTreeMap<Rank, Rank>,
    rules: Vec<Rule>,
}

impl Rules<'_> {
    /// Makes every token of the text follow the one before it.
    fn chain(&mut self, text: &str) -> Result<Vec<Rank>> {
        let tokens = self.vocabulary.encode(text);
        for pair in tokens.windows(2) {
            match self.followers.entry(pair[0]) {
                Entry::Occupied(known) => {
                    let [token, first, second] =
                        [pair[0], *known.get(), pair[1]].map(|token| self.vocabulary.show(token));
                    ensure!(
                        first == second,
                        "the script has {first:?} and {second:?} after {token:?}; use another word"
                    );
                }
                Entry::Vacant(place) => {
                    place.insert(pair[1]);
                    self.rules.push(Rule { next: pair[1], sight: Sight::Token(pair[0]), weight: 10.0 });
                }
            }
        }
        Ok(tokens)
    }

    /// Same as [`chain`](Self::chain), and also generates the first token under these conditions.
    fn start(&mut self, text: &str, when: &[(Sight, f32)]) -> Result<Vec<Rank>> {
        let tokens = self.chain(text)?;
        ensure!(tokens.len() > 1, "{text:?} is too short for a script");
        self.rules.extend(when.iter().map(|&(sight, weight)| Rule { next: tokens[0], sight, weight }));
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_rules() {
        let vocabulary = Vocabulary::new().unwrap();
        for name in Script::NAMES {
            Script::named(name).unwrap().rules(&vocabulary).unwrap();
        }
    }

    #[test]
    fn token_with_two_successors_is_refused() {
        let script = Script { answer: "in the sun in the rain", ..Script::weather() };
        let error = script.rules(&Vocabulary::new().unwrap()).unwrap_err().to_string();
        assert_eq!(error, r#"the script has " sun" and " rain" after " the"; use another word"#);
    }
}
