//! Text as it was typed into a search: all of its words in any order, with matches of the whole text first. The only
//! syntax is double quotes around several words.

use super::{
    index_words::{QueryWord, has_words, is_part_of_word, is_without_spaces, query_identifiers, query_words},
    raw_filter::RawFilter,
};
use crate::history::log::{event::Event, json::is_blob};
use openagents_core::terms::{FoldedText, composed};
use unicode_normalization::char::canonical_combining_class;

/// Text as it was typed into a search.
///
/// A text matches if it contains every word with its punctuation, or several words in double quotes, ignoring case,
/// width and Unicode normalization. Words match from their beginning, and only the last one may be incomplete: an index
/// knows no others.
#[derive(Debug)]
pub struct SearchText {
    /// The whole text, folded.
    phrase: String,
    terms: Vec<Term>,
    words: Vec<QueryWord>,
    identifiers: Vec<QueryWord>,
    exact: Vec<QueryWord>,
    raw: RawFilter,
    /// Words may match anywhere inside others.
    within_words: bool,
}

/// A word with its punctuation, or several words in quotes.
#[derive(Debug)]
struct Term {
    typed: String,
    folded: String,
}

/// How well a text matches, best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextFit {
    /// It contains the whole typed text, in one piece and not as part of longer words.
    #[default]
    Exact,
    Whole,
    /// It contains every term.
    Terms,
}

impl SearchText {
    /// Parses typed text; `None` if it is only white space.
    pub fn new(typed: &str) -> Option<Self> {
        Self::parse(typed, false)
    }

    /// Like [`SearchText::new`], but words may match anywhere inside others.
    pub(crate) fn within_words(typed: &str) -> Option<Self> {
        Self::parse(typed, true)
    }

    fn parse(typed: &str, within_words: bool) -> Option<Self> {
        let typed = composed(typed);
        let found = terms(&typed);
        let last = found.len().checked_sub(1)?;
        let (mut words, mut identifiers, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        let term = |(at, (text, is_quoted)): (usize, &(&str, bool))| {
            // A later term or a quote ends a word; otherwise the user may still be typing it.
            let is_prefix = at == last && !is_quoted && typed.ends_with(text);
            let end = if is_prefix { "" } else { " " };
            let ended = format!("{text}{end}");
            words.extend(query_words(&ended));
            identifiers.extend(query_identifiers(&ended));
            exact.extend(query_identifiers(&format!("{text} ")));
            let typed = if *is_quoted { format!("\"{text}\"") } else { ended };
            Term { typed, folded: folded(text) }
        };
        let terms: Vec<Term> = found.iter().enumerate().map(term).collect();
        let phrase = if last == 0 { terms[0].folded.clone() } else { folded(typed.trim()) };
        let raw = RawFilter::new(terms.iter().map(|term| term.folded.as_str()));
        Some(Self { phrase, terms, words, identifiers, exact, raw, within_words })
    }

    /// Returns the words that a text must contain; empty if nothing that was typed is a letter or a digit.
    pub fn words(&self) -> &[QueryWord] {
        &self.words
    }

    /// Returns its words with unsplit identifiers, if that makes a difference: most matching texts contain these.
    pub fn identifiers(&self) -> Option<&[QueryWord]> {
        (self.identifiers != self.words).then_some(&self.identifiers)
    }

    /// Returns the words that every [`TextFit::Exact`] match contains, if they differ: each as it was typed, from its
    /// beginning to its end.
    pub(crate) fn exact_words(&self) -> Option<&[QueryWord]> {
        (self.exact != self.words).then_some(&self.exact)
    }

    /// Returns whether every text that contains its words matches: it is a single word.
    pub fn is_sure(&self) -> bool {
        match (self.terms.as_slice(), self.words.as_slice()) {
            ([term], [word]) => word.single() == Some(&term.folded),
            _ => false,
        }
    }

    /// Returns its terms, each as a text to be typed; none if there is only one.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let several = self.terms.len() > 1;
        self.terms.iter().filter(move |_| several).map(|term| term.typed.as_str())
    }

    pub(crate) fn may_match(&self, line: &[u8]) -> bool {
        self.raw.may_match(line)
    }

    /// Returns how well a text matches.
    pub fn fit(&self, text: &str) -> Option<TextFit> {
        if !self.raw.may_match(text.as_bytes()) {
            return None;
        }
        self.fit_of(&[(FoldedText::new(text), text)])
    }

    /// Returns the best match in the events of a line: the event, the byte offset in its text, and how well it matches.
    /// Prompts, answers and calls match separately, as they are indexed.
    pub fn find(&self, events: &[Event]) -> Option<(usize, usize, TextFit)> {
        let kind = |at: usize| std::mem::discriminant(&events[at].kind);
        let mut best: Option<(usize, usize, TextFit)> = None;
        for first in (0..events.len()).filter(|first| (0..*first).all(|before| kind(before) != kind(*first)))
        {
            let own: Vec<usize> = (first..events.len()).filter(|at| kind(*at) == kind(first)).collect();
            let text = |at: &usize| events[*at].text.as_str();
            let texts: Vec<_> = own.iter().map(|at| (FoldedText::new(text(at)), text(at))).collect();
            let is_better = |fit: &TextFit| best.is_none_or(|(.., other)| *fit < other);
            let Some(fit) = self.fit_of(&texts).filter(is_better) else { continue };
            let first = |text: &(FoldedText, &str)| match fit {
                TextFit::Exact => {
                    places(text, &self.phrase).find(|place| place.is_exact).map(|place| place.at)
                }
                TextFit::Whole => find(text, &self.phrase),
                TextFit::Terms => self.terms.iter().filter_map(|term| find(text, &term.folded)).min(),
            };
            best = own.iter().zip(&texts).find_map(|(event, text)| Some((*event, first(text)?, fit)));
        }
        best
    }

    /// Returns how well several texts match together.
    fn fit_of(&self, texts: &[(FoldedText, &str)]) -> Option<TextFit> {
        let has = |target: &str| texts.iter().any(|text| find(text, target).is_some());
        if !self.terms.iter().all(|term| has(&term.folded)) {
            return None;
        }
        if !self.within_words && !self.words.is_empty() {
            let all = texts.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
            if !has_words(&all, &self.words) {
                return None;
            }
        }
        let whole = texts.iter().flat_map(|text| places(text, &self.phrase));
        let fit = whole.map(|place| if place.is_exact { TextFit::Exact } else { TextFit::Whole }).min();
        Some(fit.unwrap_or(TextFit::Terms))
    }
}

fn terms(typed: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut rest = typed.trim_start();
    while !rest.is_empty() {
        let (term, is_quoted, behind) = match quoted(rest) {
            Some((term, behind)) => (term, true, behind),
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..end], false, &rest[end..])
            }
        };
        found.push((term, is_quoted));
        rest = behind.trim_start();
    }
    found
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    let ends = |behind: &str| behind.chars().next().is_none_or(char::is_whitespace);
    let (end, _) = inner.match_indices('"').find(|(at, quote)| ends(&inner[at + quote.len()..]))?;
    let term = inner[..end].trim();
    (!term.is_empty()).then_some((term, &inner[end + 1..]))
}

fn folded(text: &str) -> String {
    FoldedText::new(text).text().to_owned()
}

/// A match of a folded text in another one.
struct Place {
    /// Byte offset in the source.
    at: usize,
    /// No word continues before or after it.
    is_exact: bool,
}

/// Returns the places of a folded text in the source of another one, except those before a combining mark of its last
/// letter and those in binary data.
fn places<'a>((text, source): &'a (FoldedText, &str), target: &'a str) -> impl Iterator<Item = Place> {
    let is_prefix = |inside: Option<char>, outside: Option<char>| {
        let is_letter = |letter: char| is_part_of_word(letter) && !is_without_spaces(letter);
        inside.is_some_and(is_letter) && outside.is_some_and(is_letter)
    };
    text.text().match_indices(target).filter_map(move |(at, found)| {
        let end = at + found.len();
        let (before, behind) = (text.text()[..at].chars().next_back(), text.text()[end..].chars().next());
        let is_cut = behind.is_some_and(|next| canonical_combining_class(next) != 0);
        let start = text.source(at..end).start;
        let is_exact =
            !is_prefix(found.chars().next(), before) && !is_prefix(found.chars().next_back(), behind);
        (!is_cut && !is_blob(line_at(source, start))).then_some(Place { at: start, is_exact })
    })
}

fn find(text: &(FoldedText, &str), target: &str) -> Option<usize> {
    places(text, target).next().map(|place| place.at)
}

fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
    text[start..].split('\n').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::log::event::EventKind;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    fn fit(typed: &str, text: &str) -> Option<TextFit> {
        SearchText::new(typed)?.fit(text)
    }

    #[test]
    fn typed_text_matches_as_text() {
        let all = r#"open C:\Users\demo\x, foo(bar) [x] {y} don't grammar::fa "two words" * . $HOME --flag a|b ^c #4711 (100%) late-needle-77"#;
        for typed in [
            r"C:\Users\demo",
            "foo(bar)",
            "[x]",
            "{y}",
            "don't",
            "don’t",
            "grammar::fa",
            "\"two words\"",
            "two words",
            "*",
            ".",
            "$HOME",
            "--flag",
            "-flag",
            "a|b",
            "^c",
            "#4711",
            "(100%)",
            "late-needle-77",
            "needle-77",
            "\"",
            "LATE",
        ] {
            assert_eq!(fit(typed, all), Some(TextFit::Exact), "{typed}");
        }
        for typed in ["late-needle-7", "two wor", "$HO", "gramm"] {
            assert_eq!(fit(typed, all), Some(TextFit::Whole), "{typed}");
        }
        for typed in ["fa grammar", "demo needle", "\"two words\" don't", "don't two"] {
            assert_eq!(fit(typed, all), Some(TextFit::Terms), "{typed}");
        }
        for typed in [
            "",
            "  ",
            "[y]",
            "eedle",
            "late-needle-7 ",
            "\"late-needle-7\"",
            "\"words two\"",
            "C:/Users",
            "foo.bar",
            "f.*r",
        ] {
            assert_eq!(fit(typed, all), None, "{typed}");
        }
    }

    #[test]
    fn words_match_within_one_message() {
        let event = |kind, text: &str| Event::new(1, None, kind, text);
        let events = [
            event(EventKind::Prompt, "why does compose"),
            event(EventKind::Assistant, "because\nDocker is old"),
            event(EventKind::Assistant, "so compose fails, docker compose too"),
        ];
        let found = |typed: &str| SearchText::new(typed).unwrap().find(&events);
        assert_eq!(found("docker compose"), Some((2, 18, TextFit::Exact)));
        assert_eq!(found("because fails"), Some((1, 0, TextFit::Terms)));
        assert_eq!(found("why fails"), None);
        assert_eq!(found("compo"), Some((0, 9, TextFit::Whole)));
        assert_eq!(found("docker"), Some((1, 8, TextFit::Exact)));
    }

    #[test]
    fn mark_belongs_to_its_letter() {
        assert_eq!(fit("x", "x\u{302} y"), None);
        assert_eq!(fit("cafe", "café"), None);
        assert_eq!(fit("CAFE\u{301}", "café"), Some(TextFit::Exact));
    }

    #[test]
    fn exact_match_is_whole_word() {
        for (typed, text, expected) in [
            ("re_lo", "a re_lo b", TextFit::Exact),
            ("re_lo", "re_load, re_lo", TextFit::Exact),
            ("re_lo", "more re_load", TextFit::Whole),
            ("re_lo", "a.re_lo()", TextFit::Exact),
            ("lo", "re_lo", TextFit::Whole),
            ("hub", "GitHub", TextFit::Whole),
            ("認証", "の認証を", TextFit::Exact),
            ("v2", "v2認証", TextFit::Exact),
            ("(bar", "foo(bar)", TextFit::Exact),
            ("a b", "b a", TextFit::Terms),
        ] {
            assert_eq!(fit(typed, text), Some(expected), "{typed} in {text}");
        }
    }

    proptest! {
        /// The index is queried only for the words of exact matches.
        #[test]
        fn exact_matches_contain_exact_words(before in any::<String>(), typed in any::<String>(), after in any::<String>()) {
            let text = format!("{before}{typed}{after}");
            if let Some(search) = SearchText::new(&typed)
                && search.fit(&text) == Some(TextFit::Exact)
            {
                prop_assert!(has_words(&text, &search.exact), "{:?} in {:?}", typed, text);
            }
        }

        #[test]
        fn text_matches_in_every_normal_form(text in any::<String>(), before in "[ a-z]{0,3} ", quote in any::<bool>()) {
            // A quote at either end is syntax.
            prop_assume!(!text.contains('"') && SearchText::new(&text).is_some());
            let typed = if quote { format!("\"{text}\"") } else { text.clone() };
            for form in [text.nfc().collect::<String>(), text.nfd().collect(), text.nfkc().collect(), text.nfkd().collect()] {
                let reply = format!("{before}{form} end");
                prop_assert!(fit(&typed, &reply).is_some(), "{:?} in {:?}", typed, reply);
            }
        }

        #[test]
        fn search_accepts_any_text(typed in any::<String>(), text in any::<String>()) {
            if let Some(typed) = SearchText::new(&typed) {
                let events = [Event::new(1, None, EventKind::Prompt, text.as_str())];
                if let Some((event, at, _)) = typed.find(&events) {
                    let _ = &events[event].text[at..];
                }
            }
        }
    }
}
