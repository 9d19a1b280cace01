//! Words of a question and their occurrences in texts. Texts are searched unstemmed: stemming every prompt would take
//! longer than reading it.

use super::limits;
use openagents_core::{
    terms::{Language, is_han, is_kana, is_unspaced, translations, translations_within, without_accents},
    text::is_listed,
};

/// A word that a session should contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Prefixes shared by the forms of the word and of its translations, lower case; any of them matches.
    stems: Vec<String>,
    /// Number of stems that are not translations.
    own: usize,
}

/// Words without information about a session's subject, in addition to general stop words.
const STOP: &str = "\
    actually|anything|arbeit|archivo|archivos|datei|dateien|eigentlich|files|fichier|fichiers|gemacht|\
    hice|hicimos|hizo|la|left|projekt|proyecto|projet|thing|tell|trabajo|travail|work|zeig|zeige";

/// Japanese and Chinese syllables and characters without information, longest first.
const STOP_CJK: &str = "プロジェクト|について|ファイル|ましたか|でしたか|していた|ところ|ですか|ますか|どこ|どれ|どの|どう|なに|\
    それ|これ|ここ|こと|もの|した|する|して|いる|作業|工作|我们|我們|什么|哪个|哪些|怎么|那个|这个|文件|项目|誰|何|\
    的|了|在|是|把|被|和|吗|呢|过|里|上|中";

/// Endings that may follow a stem.
const ENDINGS: &[&str] = &[
    "s", "e", "es", "ed", "er", "ers", "ing", "ings", "ion", "ions", "or", "ors", "al", "ly", "y", "ies",
    "able", "ment", "ation", "ations", "n", "en", "ern", "ung", "ungen", "t", "te", "o", "a", "os", "as",
    "ar", "ado", "ción", "ciones",
];
/// Returns the distinct significant words of a lower-case text.
pub(super) fn significant_words(text: &str, language: Language) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut add = |word: Word| {
        if !words.iter().any(|known| known.stems[0] == word.stems[0]) {
            words.push(word);
        }
    };
    let mut text = text.to_owned();
    for stop in STOP_CJK.split('|') {
        text = text.replace(stop, " ");
    }
    if language.is_unspaced() {
        for (word, english) in translations_within(&text, language) {
            text = text.replace(&word, " ");
            let stems =
                std::iter::once(word.clone()).chain(english.iter().map(|word| stem(word, Language::English)));
            add(Word { stems: stems.collect(), text: word, own: 1 });
        }
    }
    for run in runs(&text) {
        let first = run.chars().next().unwrap_or_default();
        if !is_unspaced(first) {
            let plain = run.trim_matches('_');
            if is_telling(plain, language) {
                add(Word::new(plain, language));
            }
            continue;
        }
        let characters: Vec<char> = run.chars().collect();
        let literal = |text: String| Word { stems: vec![text.clone()], text, own: 1 };
        // Katakana spell one foreign word; ideographs form words of two.
        if is_katakana(first) && characters.len() > 1 {
            add(literal(run.to_owned()));
        } else if is_han(first) {
            characters.windows(2).for_each(|pair| add(literal(pair.iter().collect())));
        }
    }
    words
}

fn is_telling(word: &str, language: Language) -> bool {
    let stop = [language, Language::English].iter().any(|language| language.is_stop_word(word));
    let stop = stop || is_listed(word, STOP);
    word.chars().count() > 1 && !stop && !word.bytes().all(|byte| byte.is_ascii_digit())
}

impl Word {
    fn new(word: &str, language: Language) -> Self {
        let mut stems = vec![stem(word, language)];
        let plain = without_accents(word);
        if plain != word {
            stems.push(stem(&plain, language));
        }
        let own = stems.len();
        let english = translations(word, language).into_iter().flat_map(|(_, english)| english);
        stems.extend(english.map(|word| stem(word, Language::English)));
        Self { text: word.to_owned(), stems, own }
    }

    /// Returns texts at least one of which is in every matching text; a trailing space ends a word.
    pub(super) fn literals(&self) -> impl Iterator<Item = String> {
        self.stems.iter().flat_map(|stem| {
            let is_whole = stem.chars().count() < limits::STEM && !stem.starts_with(is_unspaced);
            if is_whole { vec![format!("{stem} "), format!("{stem}s ")] } else { vec![stem.clone()] }
        })
    }

    /// Returns the byte offset of the first occurrence in a lower-case text, and whether it is the word itself rather
    /// than a translation.
    pub(super) fn find(&self, lower: &str) -> Option<(usize, bool)> {
        let mut stems = self.stems.iter().enumerate();
        stems.find_map(|(at, stem)| Some((find(stem, lower)?, at < self.own)))
    }
}

fn find(stem: &str, lower: &str) -> Option<usize> {
    if stem.chars().next().is_some_and(is_unspaced) {
        return lower.find(stem);
    }
    let length = stem.chars().count();
    lower.match_indices(stem).map(|(at, _)| at).find(|at| {
        let before = lower[..*at].ends_with(is_letter);
        let rest = &lower[at + stem.len()..];
        let rest = &rest[..rest.find(|c| !is_letter(c)).unwrap_or(rest.len())];
        match length {
            limits::LONG.. => rest.chars().count() <= limits::BEHIND,
            limits::STEM.. => !before && (rest.is_empty() || ENDINGS.contains(&rest)),
            _ => !before && (rest.is_empty() || rest == "s"),
        }
    })
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !is_unspaced(c)
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a0}'..='\u{30ff}')
}

/// Splits a text at the ends of words and at changes of script.
fn runs(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if is_katakana(c) => 1,
        c if is_kana(c) => 2,
        c if is_han(c) => 3,
        c if c.is_alphanumeric() || c == '_' => 4,
        _ => 0,
    };
    let mut runs = Vec::new();
    let mut start = 0;
    let mut current = 0;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if class(c) != current {
            if current != 0 {
                runs.push(&text[start..at]);
            }
            (start, current) = (at, class(c));
        }
    }
    runs
}

/// Returns the common prefix of a word and its stem, to match its forms unstemmed.
fn stem(word: &str, language: Language) -> String {
    let stem = language.stem(word);
    let shared = word.chars().zip(stem.chars()).take_while(|(a, b)| a == b).count();
    if shared < limits::STEM { word.to_owned() } else { word.chars().take(shared).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(question: &str) -> Vec<Word> {
        significant_words(&question.to_lowercase(), Language::detect(question))
    }

    fn texts(question: &str) -> Vec<String> {
        words(question).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn question_keeps_its_subject() {
        assert_eq!(texts("How does the proxy decide which host to use?"), ["proxy", "host"]);
        assert_eq!(texts("Wie funktioniert die Anmeldung?"), ["funktioniert", "anmeldung"]);
        assert_eq!(texts("Redisのキャッシュ"), ["キャッシュ", "redis"]);
        assert_eq!(texts("the a of"), Vec::<String>::new());
    }

    #[test]
    fn word_forms_match() {
        let holds = |question: &str, text: &str| words(question)[0].find(text).is_some();
        for (word, text) in [
            ("redirects", "follow_redirect policy"),
            ("redirects", "followredirects"),
            ("parsing", "parse the rollout"),
            ("history", "histories"),
            ("pairing", "pair a device"),
            ("tests", "cargo test"),
            ("認証", "認証を追加"),
            ("パーサーはどこですか", "src/parser.rs"),
            ("wo ist der Zugriff", "access is checked"),
            ("api", "an api"),
        ] {
            assert!(holds(word, text), "{word} in {text}");
        }
        for (word, text) in
            [("redis", "redirect"), ("api", "rapid"), ("web", "cobweb"), ("port", "ports abroad reportage")]
        {
            let found = words(word)[0].find(text);
            assert_eq!(found.is_some(), word == "port", "{word} in {text}");
        }
    }
}
