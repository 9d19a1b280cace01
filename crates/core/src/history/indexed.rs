//! The words of a text as a full-text index keeps them: identifiers whole and in parts, Chinese, Japanese and Korean in
//! pairs of characters, because they have no spaces.

use crate::terms::subwords;

/// Returns the words of a text for an index that splits at spaces, in lower case.
pub fn index_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() * 5 / 4);
    each_word(text, true, &mut |word| {
        words.push_str(word);
        words.push(' ');
    });
    words
}

/// Returns the words that a passage must have to answer a query: of identifiers the parts, so that the beginning of one
/// finds it.
pub fn query_words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    each_word(query, false, &mut |word| words.push(word.to_owned()));
    words.dedup();
    words
}

fn each_word(text: &str, whole: bool, add: &mut dyn FnMut(&str)) {
    for token in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let mut rest = token;
        while let Some(first) = rest.chars().next() {
            let is_cjk = is_without_spaces(first);
            let end = rest.find(|letter| is_without_spaces(letter) != is_cjk).unwrap_or(rest.len());
            if is_cjk {
                pairs(&rest[..end], add)
            } else {
                identifier(&rest[..end], whole, add)
            }
            rest = &rest[end..];
        }
    }
}

fn identifier(word: &str, whole: bool, add: &mut dyn FnMut(&str)) {
    let parts = subwords(word);
    if whole && parts.len() > 1 {
        add(&word.to_lowercase());
    }
    parts.iter().for_each(|part| add(part));
}

fn pairs(run: &str, add: &mut dyn FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if starts.len() == 2 {
        add(run);
    }
    starts.windows(3).for_each(|pair| add(&run[pair[0]..pair[2]]));
}

fn is_without_spaces(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row() {
        let rows = [
            ("Follow the redirects!", "follow the redirects "),
            ("followRedirects", "followredirects follow redirects "),
            ("max_redirects=5", "max_redirects max redirects 5 "),
            ("Größe", "größe "),
            ("認証を直す", "認証 証を を直 直す "),
            ("認", "認 "),
            ("v2認証", "v2 v 2 認証 "),
            (" … ", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(index_words(text), expected, "{text}");
        }
        assert_eq!(query_words("followRedirects 認証を"), ["follow", "redirects", "認証", "証を"]);
    }
}
