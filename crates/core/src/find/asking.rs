//! Which part of an English question asks. "How are redirects followed without losing the body, when …?" asks about
//! redirects; the rest is a circumstance, or says what is not meant.

use std::ops::Range;

/// Begin a part that sets the scene; the question follows its comma.
const SCENES: [&str; 7] = ["after ", "because ", "before ", "if ", "since ", "when ", "while "];

/// End the part that asks.
const ASIDES: [&str; 8] =
    [", ", " although ", " even ", " instead of ", " rather than ", " so that ", " unless ", " without "];

/// Letters of the shortest part that asks.
const SHORTEST: usize = 15;

/// Returns the bytes of a question that ask; all of them where nothing sets a part off.
pub(super) fn part(question: &str) -> Range<usize> {
    let lower = question.to_ascii_lowercase();
    let has_scene = SCENES.iter().any(|word| lower.starts_with(word));
    let start = lower.find(", ").filter(|_| has_scene).map_or(0, |comma| comma + 2);
    let asks = &lower[start..];
    let ends = ASIDES
        .iter()
        .filter_map(|aside| asks.match_indices(aside).map(|(at, _)| at).find(|at| *at > SHORTEST));
    start..ends.min().map_or(question.len(), |end| start + end)
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
            ("Where is the cache read without a lock?", "Where is the cache read"),
            ("Redis, where is it used?", "Redis, where is it used?"),
            ("When does it time out?", "When does it time out?"),
            ("", ""),
        ] {
            assert_eq!(&question[part(question)], asks, "{question}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_part(question in "(if |[a-zé認, ]|without ){0,40}") {
            let _ = &question[part(&question)];
        }
    }
}
