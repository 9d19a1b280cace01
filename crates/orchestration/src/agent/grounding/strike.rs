//! Removes a citation from a line, with surrounding marks that are no longer needed.

use regex::Regex;
use std::{ops::Range, sync::LazyLock};

/// `[label](target)`.
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)").ok()
});

/// An opening bracket followed by nothing but a word that introduced the citation.
static POINTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)[(\[（]\s*(?:see(?: also)?|cf\.?|in|at|from|e\.g\.|siehe|vgl\.|voir|véase|ver|参照)?[\s:,;]*$",
    )
    .ok()
});

/// Returns the line without the citations at `struck`, in order of position; `None` if nothing is left.
pub(super) fn strike(line: &str, struck: &[Range<usize>]) -> Option<String> {
    let mut text = line.to_owned();
    for range in struck.iter().rev() {
        // A previous link may have removed this one.
        if range.end <= text.len() && line.get(..range.end) == text.get(..range.end) {
            remove(&mut text, range.clone());
        }
    }
    let is_fence = text.trim_start().starts_with("```") || text.trim_start().starts_with("~~~");
    let has_words = text.contains(char::is_alphanumeric) && !is_marker(&text);
    (has_words || is_fence || struck.is_empty()).then_some(text)
}

fn remove(text: &mut String, range: Range<usize>) {
    if let Some((link, label)) = link_around(text, &range) {
        if label.start <= range.start && range.end <= label.end {
            let inner = unwrapped(text, range.start..range.end);
            if inner == label {
                return cut(text, unwrapped(text, link));
            }
            // The label is more useful than the citation.
            text.replace_range(label.end..link.end, "");
            cut(text, unwrapped(text, range));
            text.replace_range(link.start..label.start, "");
        } else {
            let label = text[label].to_owned();
            // A label that is itself a citation is struck with its link.
            if super::citation::may_cite(&label) {
                return cut(text, unwrapped(text, link));
            }
            text.replace_range(link, &label);
        }
        return;
    }
    let range = unwrapped(text, range);
    cut(text, range);
}

fn link_around(text: &str, range: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let mut links = LINK.as_ref()?.captures_iter(text);
    links.find_map(|captures| {
        let (whole, label) = (captures.get(0)?, captures.get(1)?);
        let holds = whole.start() <= range.start && range.end <= whole.end();
        holds.then(|| (whole.range(), label.range()))
    })
}

/// Extends a range by the paired marks around it: quotes, brackets, emphasis.
fn unwrapped(text: &str, mut range: Range<usize>) -> Range<usize> {
    // A citation may begin before the quote of its id.
    if text[range.clone()].matches('`').count() == 1 && text[range.end..].starts_with('`') {
        range.end += 1;
    }
    loop {
        let (before, behind) = (text[..range.start].chars().next_back(), text[range.end..].chars().next());
        let (Some(open), Some(close)) = (before, behind) else { return range };
        let is_pair = "`*_\"'".contains(open) && open == close
            || ["()", "[]", "{}", "<>", "（）", "【】", "「」", "“”", "„“", "«»"]
                .iter()
                .any(|pair| pair.chars().eq([open, close]));
        if !is_pair {
            return range;
        }
        range = range.start - open.len_utf8()..range.end + close.len_utf8();
    }
}

/// Removes a range and its connectors: a separator, a space, the surrounding brackets.
fn cut(text: &mut String, mut range: Range<usize>) {
    let opened =
        POINTER.as_ref().and_then(|pointer| pointer.find(&text[..range.start])).map(|found| found.start());
    let behind = text[range.end..].trim_start();
    if let (Some(start), Some(')' | ']' | '）')) = (opened, behind.chars().next()) {
        let close = text.len() - behind.len();
        range = start..close + behind.chars().next().map_or(0, char::len_utf8);
    }
    let separators = |c: char| ",;、".contains(c);
    let before = text[..range.start].trim_end();
    let behind = text[range.end..].trim_start();
    if is_marker(before) || before.ends_with(['(', '[', '（']) {
        let joined = |c: char| c.is_whitespace() || ":–—,;".contains(c);
        let joined_dash = behind.strip_prefix("- ").unwrap_or(behind);
        range.end = text.len() - joined_dash.trim_start_matches(joined).len();
    } else if before.ends_with(separators)
        && behind.chars().next().is_none_or(|c| separators(c) || ").]）.!?。".contains(c))
    {
        range.start = before.trim_end_matches(separators).trim_end().len();
    } else if !before.ends_with('|') && !before.is_empty() {
        // The preceding space is removed unless that joins two words.
        let joins = text[range.end..].starts_with(char::is_alphanumeric);
        if !joins {
            range.start = before.len();
        }
    }
    text.replace_range(range, "");
}

/// Returns whether a text is only the marker of a list item, a heading or a quote.
fn is_marker(text: &str) -> bool {
    let text = text.trim();
    let number = text.trim_end_matches(['.', ')']);
    text.is_empty()
        || text.chars().all(|c| "-*+#>•".contains(c) || c.is_whitespace())
        || number.len() < text.len() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::grounding::citation;

    /// Strikes every citation of a file whose name begins with `x`.
    fn struck(line: &str) -> Option<String> {
        let is_struck = |citation: &citation::Citation| line[citation.range.clone()].starts_with('x');
        let ranges: Vec<_> = citation::citations(line, &[], &|_| false)
            .into_iter()
            .filter(is_struck)
            .map(|citation| citation.range)
            .collect();
        strike(line, &ranges)
    }

    #[test]
    fn the_citation_goes_and_the_sentence_stays() {
        let rows = [
            ("It follows them (`x.rs:1`).", "It follows them."),
            ("It follows them `x.rs:1`, twice.", "It follows them, twice."),
            ("It is x.rs:1 that follows.", "It is that follows."),
            ("It follows (see x.rs:1) them.", "It follows them."),
            ("It follows (`a.rs:1`, `x.rs:2`).", "It follows (`a.rs:1`)."),
            ("It follows (`x.rs:1`, `a.rs:2`).", "It follows (`a.rs:2`)."),
            ("It follows (`x.rs:1`, `x.rs:2`).", "It follows."),
            ("It follows a.rs:1, x.rs:2, a.rs:3.", "It follows a.rs:1, a.rs:3."),
            ("It follows [x.rs:1].", "It follows."),
            ("It follows 【x.rs:1】。", "It follows。"),
            ("- `x.rs:1`: follows", "- follows"),
            ("- **`x.rs:1`** - follows", "- follows"),
            ("1. x.rs:1 follows", "1. follows"),
            ("| `x.rs:1` | follows |", "|  | follows |"),
            ("See [`x.rs:1`](x.rs#L1), it follows.", "See, it follows."),
            ("See [the policy](x.rs#L1).", "See the policy."),
            ("```rust x.rs:1", "```rust"),
            ("x.rs:1 follows", "follows"),
            ("Stays a.rs:1", "Stays a.rs:1"),
        ];
        for (line, expected) in rows {
            assert_eq!(struck(line).as_deref(), Some(expected), "{line}");
        }
        for line in ["- `x.rs:1`", "x.rs:1", "  2. (x.rs:1)", "> x.rs:1, x.rs:2"] {
            assert_eq!(struck(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_keeps_what_was_struck(line in "([ab ,.:`()\\[\\]*é-]|x\\.rs:1|see ){0,40}") {
            let left = struck(&line).unwrap_or_default();
            let again = citation::citations(&left, &[], &|_| false);
            proptest::prop_assert!(!again.iter().any(|c| left[c.range.clone()].starts_with("x.rs:1")), "{line:?} {left:?}");
        }
    }
}
