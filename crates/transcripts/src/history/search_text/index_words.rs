//! The words of a text as a full-text index stores them: identifiers whole and in parts; scripts that are written
//! without spaces as pairs of characters.

use openagents_core::terms::{composed, fold_case, subwords};
use unicode_normalization::char::is_combining_mark;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord {
    /// A text contains the word if it contains every word of one of these forms: `GitHub` may also be written `github`.
    pub forms: Vec<Vec<String>>,
    /// The last word of each form may be the beginning of a longer word in the text.
    pub is_beginning: bool,
}

impl QueryWord {
    /// Returns its only word, if it has no other form.
    pub(crate) fn single(&self) -> Option<&str> {
        match self.forms.as_slice() {
            [form] => form.as_slice().first().filter(|_| form.len() == 1).map(String::as_str),
            _ => None,
        }
    }
}

pub fn index_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() * 5 / 4);
    each_word(text, &mut |word| {
        words.push_str(word);
        words.push(' ');
    });
    words
}

/// Calls `each` for every word of a text, folded.
fn each_word(text: &str, each: &mut dyn FnMut(&str)) {
    let mut add = |word: &str| each(&fold_case(word));
    each_run(&composed(text), &mut |run, is_spaced| {
        if !is_spaced {
            return characters(run).for_each(&mut add);
        }
        let parts = subwords(run);
        if parts.len() > 1 {
            add(run);
        }
        parts.iter().for_each(|part| add(part));
    });
}

/// Returns the words that a passage must contain to match a query. The last word may be incomplete, unless the query
/// continues after it.
pub fn query_words(query: &str) -> Vec<QueryWord> {
    words_of_query(query, true)
}

/// Like [`query_words`], but identifiers are not split: `topic7x` does not become `topic`, `7` and `x`. Fewer passages
/// match, and most of those contain the text as it was typed.
pub(crate) fn query_identifiers(query: &str) -> Vec<QueryWord> {
    words_of_query(query, false)
}

fn words_of_query(query: &str, with_parts: bool) -> Vec<QueryWord> {
    let query = composed(query);
    let folded = |word: &str| fold_case(word).into_owned();
    let mut words: Vec<QueryWord> = Vec::new();
    each_run(&query, &mut |run, is_spaced| {
        let is_one = run.chars().nth(1).is_none();
        let forms: Vec<Vec<String>> = if is_spaced {
            let parts: Vec<String> = subwords(run).iter().map(|part| folded(part)).collect();
            // A word without parts is indexed without its underscores.
            if parts.len() > 1 && !with_parts {
                return words.push(QueryWord { forms: vec![vec![folded(run)]], is_beginning: false });
            }
            let has_case = parts.len() > 1 && run.contains(char::is_uppercase);
            has_case.then(|| vec![folded(run)]).into_iter().chain([parts]).collect()
        } else if is_one {
            vec![vec![folded(run)]]
        } else {
            vec![pairs(run).map(folded).collect()]
        };
        if forms.iter().all(|form| !form.is_empty()) {
            // A single character begins a pair, or is the last one of a run.
            words.push(QueryWord { forms, is_beginning: is_one && !is_spaced });
        }
    });
    if let Some(last) = words.last_mut() {
        last.is_beginning |= query.ends_with(is_part_of_word);
    }
    words.dedup();
    words
}

pub(crate) fn has_words(text: &str, target: &[QueryWord]) -> bool {
    // The parts of all forms in sequence: whether each may continue, and whether it was found.
    let mut parts: Vec<(&str, bool, bool)> = Vec::new();
    for word in target {
        for form in &word.forms {
            parts.extend(form.iter().map(|part| (part.as_str(), false, false)));
            if let Some((_, may_go_on, _)) = parts.last_mut() {
                *may_go_on = word.is_beginning;
            }
        }
    }
    each_word(text, &mut |word| {
        for (part, may_go_on, is_met) in &mut parts {
            *is_met |= if *may_go_on { word.starts_with(*part) } else { word == *part };
        }
    });
    let mut met = parts.into_iter().map(|(.., is_met)| is_met);
    let mut has_form =
        |form: &Vec<String>| met.by_ref().take(form.len()).filter(|is_met| *is_met).count() == form.len();
    let mut has_all = true;
    for word in target {
        // Every form is checked, so that each takes its own parts.
        has_all &= word.forms.iter().filter(|form| has_form(form)).count() > 0;
    }
    has_all
}

/// Calls `each` for every run of letters and digits, and passes whether its script separates words with spaces.
fn each_run(text: &str, each: &mut dyn FnMut(&str, bool)) {
    for token in text.split(|letter| !is_part_of_word(letter)) {
        let mut rest = token;
        while let Some(first) = rest.chars().next() {
            let is_spaced = !is_without_spaces(first);
            let end = rest.find(|letter| is_without_spaces(letter) == is_spaced).unwrap_or(rest.len());
            each(&rest[..end], is_spaced);
            rest = &rest[end..];
        }
    }
}

pub(crate) fn is_part_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || is_without_spaces(letter) && is_combining_mark(letter)
}

/// Returns the pairs of a run and its last character, so that a run can be looked up from each of its characters.
fn characters(run: &str) -> impl Iterator<Item = &str> {
    let last = run.char_indices().next_back().map(|(at, _)| &run[at..]);
    pairs(run).chain(last)
}

/// Returns the pairs of characters of a run; none of a single one.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let seconds = run.char_indices().skip(1).map(|(at, letter)| at + letter.len_utf8());
    run.char_indices().zip(seconds).map(|((start, _), end)| &run[start..end])
}

/// Returns whether a character is of a script that does not put spaces between words, or only between phrases: Thai,
/// Lao, Burmese, Khmer and their neighbours (class SA of Unicode Standard Annex 14), kana, ideographs, Yi, Hangul.
pub(crate) fn is_without_spaces(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19ff}'
            | '\u{1a20}'..='\u{1aad}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}'
            | '\u{3400}'..='\u{a4cf}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}' | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}' | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn index_words_splits_every_form() {
        let rows = [
            ("Follow the redirects!", "follow the redirects "),
            ("followRedirects", "followredirects follow redirects "),
            ("max_redirects=5", "max_redirects max redirects 5 "),
            ("Größe", "grösse "),
            ("Cafe\u{301} ＡＢＣ", "café abc "),
            ("認証を直す", "認証 証を を直 直す す "),
            ("認", "認 "),
            ("v2認証", "v2 v 2 認証 証 "),
            ("ก่อน", "ก\u{e48} \u{e48}อ อน น "),
            ("ភាសា\u{200b}ខ្មែរ", "ភា ាស សា ាខ ខ\u{17d2} \u{17d2}ម មែ ែរ រ "),
            (" … ", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(index_words(text), expected, "{text}");
        }
    }

    #[test]
    fn text_has_words_of_its_parts() {
        let has = |text: &str, query: &str| has_words(text, &query_words(query));
        for (text, query) in [
            ("call followRedirects", "follow redir"),
            ("the GitHub token", "github"),
            ("the github token", "GitHub token"),
            ("the gitHubToken", "GitHub token"),
            ("ticket POL-358", "pol-35"),
            ("認証を直す", "証を"),
            ("認証を直す", "証"),
            ("認証を直す", "す 認"),
            ("ทำก่อนนี้", "ก่อน"),
            ("C:\\Users\\demo", "users\\de"),
        ] {
            assert!(has(text, query), "{query} in {text}");
        }
        for (text, query) in [
            ("call followRedirects", "redir follow "),
            ("ticket POL-358", "pol-35 "),
            ("the parser", "arser"),
            ("the parser", "pars the"),
            ("認証", "証認"),
        ] {
            assert!(!has(text, query), "{query} in {text}");
        }
        assert_eq!(query_words("* :: …"), []);
    }

    proptest! {
        #[test]
        fn words_are_equal_in_every_normal_form(text in any::<String>()) {
            for form in [text.nfc().collect::<String>(), text.nfd().collect(), text.nfkc().collect(), text.nfkd().collect()] {
                prop_assert!(has_words(&form, &query_words(&text)), "{:?}", form);
                prop_assert!(has_words(&text, &query_words(&form)), "{:?}", form);
            }
        }
    }
}
