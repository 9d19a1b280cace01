//! Finds the main clause of an English question. "When a redirect fails, how is it tried again without losing the
//! body?" asks how it is tried again; the rest is a circumstance or an exclusion.

use openagents_core::text::is_listed;
use std::ops::Range;

// Words separated by `|`.

/// First words of a question.
const QUESTION: &str = "are|can|could|did|do|does|find|how|is|should|show|what|when|where|which|who|why|will";

/// After "when", these words start a question and not a circumstance.
const AFTER_WHEN: &str = "are|can|did|do|does|has|is|should|was|will";

/// First words of a circumstance after a comma.
const BEHIND_COMMA: &str =
    "after|although|as|because|before|but|even|given|if|so|though|unless|when|while|without";

/// Words that start a circumstance or an exclusion anywhere.
const ASIDES: &str = " although | even after | even if | even though | even when | instead of | rather than | so that | unless | without ";

/// Minimum length of a part in bytes.
const SHORTEST: usize = 15;

/// Returns the byte range of the main clause, or of the whole question if there is none.
pub(super) fn part(question: &str) -> Range<usize> {
    let lower = question.to_ascii_lowercase();
    let commas = || lower.match_indices(", ").map(|(at, _)| at).filter(|at| *at >= SHORTEST);
    let start = match begins_a_question(&lower) {
        true => 0,
        false => commas().map(|at| at + 2).find(|at| begins_a_question(&lower[*at..])).unwrap_or(0),
    };
    let behind_comma = commas().filter(|at| is_listed(first_word(&lower[at + 2..]), BEHIND_COMMA));
    let elsewhere = ASIDES.split('|').flat_map(|aside| lower.match_indices(aside).map(|(at, _)| at));
    let end = behind_comma.chain(elsewhere).filter(|at| *at >= start + SHORTEST).min();
    start..end.unwrap_or(question.len())
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

fn begins_a_question(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match words.next() {
        Some("when") => words.next().is_some_and(|word| is_listed(word, AFTER_WHEN)),
        Some(word) => is_listed(word, QUESTION),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_is_told_from_the_circumstances() {
        for (question, asks) in [
            ("Where are redirects followed?", "Where are redirects followed?"),
            ("How is the body kept, even after a redirect?", "How is the body kept"),
            ("When a request fails, how often is it tried again?", "how often is it tried again?"),
            ("In the desktop window, where is the zoom level kept?", "where is the zoom level kept?"),
            ("When I open a workspace, a folder or a file, what is shown?", "what is shown?"),
            ("Where is the cache read without a lock?", "Where is the cache read"),
        ] {
            assert_eq!(&question[part(question)], asks, "{question}");
        }
        for whole in [
            "",
            "Redis, where is it used?",
            "When does it time out?",
            "When is the token refreshed, and where is it stored?",
            "Since when is the lock shared, and why?",
            "Where are the parser, the lexer and the printer defined?",
            "Where do we check that even rows are striped?",
        ] {
            assert_eq!(part(whole), 0..whole.len(), "{whole}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_part(question in "(if |how |when |[a-zé認, ]|without ){0,40}") {
            let _ = &question[part(&question)];
        }
    }
}
