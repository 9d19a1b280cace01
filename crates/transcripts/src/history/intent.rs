//! Derives the user's intent in one sentence from their prompts. Pure functions on text.

use crate::limits;
use openagents_core::{
    terms::Language,
    text::{cut_at_word, is_listed},
};
use std::collections::BTreeSet;

/// Polite beginnings, removed because `User intends to please fix it` is not English.
const POLITE: &str = "please |can you |could you |would you |i want you to |i want to |i would like to |i'd like to |\
    i need to |we need to |we should |let's |help me ";

/// Words without information about a session's subject, in addition to general stop words.
const STOP: &str = "\
    ask|back|check|continue|doing|first|fix|going|good|hello|help|intends|keep|next|okay|only|same|see|\
    test|thank|thanks|try|user|yes";

/// Returns a path from a prompt or a log relative to the workspace; `None` if it is outside.
pub type Relative<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the sentence of a prompt that says what the user wants.
pub fn sentence(text: &str, relative: Relative<'_>) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let list_at = lines.iter().position(|line| bullet(line).is_some());
    let whole = match list_at {
        Some(at) if at <= 1 => {
            let items = lines[at..].iter().map_while(|line| bullet(line));
            let items: Vec<String> =
                items.take(limits::SENTENCE_ITEMS).map(|item| with_relative_paths(item, relative)).collect();
            let heading = (at == 1).then(|| lines[0]);
            from_list(heading.map(|line| with_relative_paths(line, relative)).as_deref(), &items)
        }
        _ => {
            let joined = lines.iter().map(|line| bullet(line).unwrap_or(line));
            joined.map(|line| with_relative_paths(line, relative)).collect::<Vec<_>>().join(" ")
        }
    };
    cut_at_word(whole.trim().trim_end_matches(':'), limits::SENTENCE)
}

fn from_list(heading: Option<&str>, items: &[String]) -> String {
    match heading.map(|heading| (heading, heading.strip_suffix(':'))) {
        Some((_, Some(label))) => format!("User intends to {} {}.", wish(label), enumerated(items)),
        Some((heading, None)) => format!("{heading}: {}", enumerated(items)),
        None => {
            let wishes: Vec<String> = items.iter().map(|item| wish(item)).collect();
            format!("User intends to {}.", enumerated(&wishes))
        }
    }
}

fn bullet(line: &str) -> Option<&str> {
    let after_sign = line.strip_prefix(['-', '*', '•']).filter(|rest| rest.starts_with([' ', '\t']));
    let item = after_sign.or_else(|| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let rest = line[digits..].strip_prefix(['.', ')'])?;
        (digits > 0 && rest.starts_with([' ', '\t'])).then_some(rest)
    })?;
    let item = item.trim();
    let item = item.strip_prefix("[ ]").or(item.strip_prefix("[x]")).unwrap_or(item).trim();
    (!item.is_empty()).then_some(item)
}

/// Joins items: `a`, `a and b`, `a, b, and c`.
fn enumerated(items: &[String]) -> String {
    let bare: Vec<&str> = items.iter().map(|item| item.trim_end_matches(['.', ',', ';'])).collect();
    match bare.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}

/// Turns `Please fix the API` into `fix the API`.
fn wish(text: &str) -> String {
    let text = text.trim();
    let lower = text.to_lowercase();
    let polite =
        POLITE.split('|').find(|words| lower.starts_with(words) && text.is_char_boundary(words.len()));
    let text = polite.map_or(text, |words| &text[words.len()..]);
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        // `README.md` and `API` keep their capitals.
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_owned(),
    }
}

fn with_relative_paths(line: &str, relative: Relative<'_>) -> String {
    let words = line.split_whitespace().map(|word| {
        let is_edge = |c: char| "`'\"()[]{}<>,;:!?".contains(c);
        let inner = word.trim_start_matches(is_edge).trim_end_matches(|c| is_edge(c) || c == '.');
        let is_path =
            ["/", "./", "~/", "file://"].iter().any(|start| inner.starts_with(start)) && inner.len() > 2;
        match is_path.then(|| relative(inner)).flatten() {
            Some(path) => word.replacen(inner, &path, 1),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the significant words of a sentence as stems.
pub(crate) fn theme(sentence: &str) -> BTreeSet<String> {
    let words = sentence.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '_'));
    words
        .map(str::to_lowercase)
        .filter(|word| word.chars().count() > 2 && !Language::English.is_stop_word(word))
        .filter(|word| !is_listed(word, STOP))
        .map(|word| Language::English.stem(&word))
        .collect()
}

/// Chooses among the sentences of recent sessions, newest first: the newest one, or the most specific of those that
/// share its theme. A sentence without a theme (`continue`) is chosen only if there is no other. Returns the index of
/// the choice and of all sentences that share its theme.
pub fn choose(sentences: &[&str]) -> Option<(usize, Vec<usize>)> {
    let themes: Vec<BTreeSet<String>> = sentences.iter().map(|sentence| theme(sentence)).collect();
    let newest = themes.iter().position(|theme| !theme.is_empty());
    let Some(newest) = newest else {
        return (!sentences.is_empty()).then(|| (0, vec![0]));
    };
    let sharing: Vec<usize> = (newest..themes.len())
        .filter(|at| *at == newest || share_theme(&themes[newest], &themes[*at]))
        .collect();
    // Among equals, the newest one.
    let specificity = |at: &&usize| specificity(sentences[**at], &themes[**at]);
    let chosen = *sharing.iter().rev().max_by_key(specificity)?;
    Some((chosen, sharing))
}

fn share_theme(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let common = a.intersection(b).count();
    let shorter = a.len().min(b.len());
    common >= limits::THEME_WORDS && common as f64 >= limits::THEME_OVERLAP * shorter as f64
}

/// Each word counts once, a name from code or a path twice.
fn specificity(sentence: &str, theme: &BTreeSet<String>) -> usize {
    let is_name = |word: &&str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        inner.contains(['/', '_', '.'])
            || inner.contains("::")
            || inner.chars().skip(1).any(char::is_uppercase)
    };
    theme.len() + sentence.split_whitespace().filter(is_name).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_workspace(path: &str) -> Option<String> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        path.strip_prefix("/w/proj/").or(path.strip_prefix("./")).map(str::to_owned)
    }

    #[test]
    fn sentence_covers_every_form_of_prompt() {
        let rows = [
            ("Fix the login", "Fix the login"),
            ("  Fix\r\n\tthe   login \n", "Fix the login"),
            ("Read:\n- README.md\n- src/App.swift", "User intends to read README.md and src/App.swift."),
            ("Read:\n* README.md", "User intends to read README.md."),
            ("Look at:\n• a\n• b\n• c\n• d\n• e", "User intends to look at a, b, c, and d."),
            ("Please fix:\n1. the parser.\n2) the cli", "User intends to fix the parser and the cli."),
            ("API work:\n- [ ] login\n- [x] logout", "User intends to API work login and logout."),
            ("Do these\n- one\n- two", "Do these: one and two"),
            ("- Fix the login\n- Add tests", "User intends to fix the login and add tests."),
            ("Fix this error:\nTypeError: x\nat a.js:1", "Fix this error: TypeError: x at a.js:1"),
            ("Why:", "Why"),
            ("Open /w/proj/src/a.rs, then `/w/proj/b.rs`.", "Open src/a.rs, then `b.rs`."),
            ("Read:\n- /w/proj/README.md\n- file:///w/proj/x", "User intends to read README.md and x."),
            ("See /etc/hosts and /init", "See /etc/hosts and /init"),
            ("Explain ./src/a.rs", "Explain src/a.rs"),
            ("", ""),
            ("-", "-"),
            ("- ", "-"),
        ];
        for (text, expected) in rows {
            assert_eq!(sentence(text, &in_workspace), expected, "{text:?}");
        }
    }

    #[test]
    fn sentence_is_cut_at_word() {
        let cut = sentence(&"word ".repeat(60), &in_workspace);
        assert!(cut.ends_with("word…") && cut.chars().count() <= limits::SENTENCE, "{cut}");
        assert_eq!(sentence(&"ü".repeat(300), &in_workspace).chars().count(), limits::SENTENCE);
        let exact = "w".repeat(limits::SENTENCE);
        assert_eq!(sentence(&exact, &in_workspace), exact);
    }

    #[test]
    fn choose_groups_by_theme() {
        let rows: [(&[&str], usize, &[usize]); 6] = [
            (&["Add dark mode", "Fix the login flow"], 0, &[0]),
            (
                &[
                    "Login token refresh",
                    "Fix the login token refresh in src/auth.rs for expired sessions",
                    "Docs",
                ],
                1,
                &[0, 1],
            ),
            (&["continue", "Fix the login flow"], 1, &[1]),
            (&["yes", "ok"], 0, &[0]),
            (&["Login page", "Login tests for the payment parser"], 0, &[0]),
            (&["Refactor the parser module", "Refactored parser modules"], 0, &[0, 1]),
        ];
        for (sentences, chosen, sharing) in rows {
            assert_eq!(choose(sentences), Some((chosen, sharing.to_vec())), "{sentences:?}");
        }
        assert_eq!(choose(&[]), None);
    }
}
