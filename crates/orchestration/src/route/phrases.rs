//! `phrases.tsv`: phrases of requests and small talk in six languages, as data.

/// `use`, then phrases, separated by `|`, that match at the beginning; `…x` at the end, `…x…` anywhere.
const TABLE: &str = include_str!("phrases.tsv");

#[derive(Debug)]
pub(super) struct Phrases {
    starts: Vec<&'static str>,
    ends: Vec<&'static str>,
    parts: Vec<&'static str>,
}

impl Phrases {
    pub(super) fn from_table(wanted: &str) -> Self {
        let mut phrases = Self { starts: Vec::new(), ends: Vec::new(), parts: Vec::new() };
        let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
        let rows = rows.filter_map(|line| line.split_once('\t')).filter(|(name, _)| *name == wanted);
        for phrase in rows.flat_map(|(_, phrases)| phrases.split('|')).map(str::trim) {
            match phrase.strip_prefix('…') {
                None => phrases.starts.push(phrase),
                Some(end) => match end.strip_suffix('…') {
                    None => phrases.ends.push(end),
                    Some(part) => phrases.parts.push(part),
                },
            }
        }
        phrases
    }

    /// Returns the text after the longest phrase at the beginning.
    pub(super) fn strip_start<'t>(&self, text: &'t str) -> Option<&'t str> {
        let rests = self.starts.iter().filter_map(|phrase| text.strip_prefix(phrase));
        rests.filter(|rest| ends_word(text, rest)).min_by_key(|rest| rest.len())
    }

    /// Returns whether a text starts or ends with a phrase, or contains one that may be anywhere.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.strip_start(text).is_some()
            || self.parts.iter().any(|part| text.contains(part))
            || self.ends.iter().any(|end| {
                let before = text.strip_suffix(end);
                before.is_some_and(|before| {
                    before.ends_with(|c: char| is_wide(c) || !c.is_alphanumeric()) || end.starts_with(is_wide)
                })
            })
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.starts.contains(&text)
    }
}

/// Returns whether a character belongs to a script without spaces, such as Chinese and Japanese.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

fn ends_word(text: &str, rest: &str) -> bool {
    let last = text[..text.len() - rest.len()].chars().next_back();
    last.is_some_and(is_wide) || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\'')
}
