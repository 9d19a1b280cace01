//! Hides the secrets of many texts: one that is found once is hidden wherever it occurs, encoded or not.

use super::find::find;
use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::Range,
};

/// Minimum bytes of a secret that is hidden without what shows that it is one: shorter ones occur as words.
const ALONE: usize = 8;
/// Minimum bytes of a secret that is looked for in Base64.
const ENCODED: usize = 12;

/// A secret, and where it was first found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// The name of the rule, such as `github-pat`.
    pub rule: &'static str,
    /// The line of the session's log.
    pub line: u64,
    value: String,
}

impl FoundSecret {
    /// Returns the first three characters, by which the user recognizes it.
    pub fn beginning(&self) -> &str {
        let end = self.value.char_indices().nth(3).map_or(self.value.len(), |(end, _)| end);
        &self.value[..end]
    }
}

/// Collects the secrets of many texts.
#[derive(Debug, Default)]
pub struct SecretSearch {
    found: Vec<FoundSecret>,
    /// By value, its place in `found`.
    known: HashMap<String, usize>,
    /// Matches with their secrets, for those that are too short to be hidden alone.
    places: HashSet<(String, Range<usize>, usize)>,
}

impl SecretSearch {
    pub fn look(&mut self, text: &str, line: u64) {
        for secret in find(text) {
            let value = &text[secret.secret.clone()];
            let at = *self.known.entry(value.to_owned()).or_insert_with(|| {
                self.found.push(FoundSecret { rule: secret.rule, line, value: value.to_owned() });
                self.found.len() - 1
            });
            if value.len() < ALONE {
                let range = secret.secret.start - secret.whole.start..secret.secret.end - secret.whole.start;
                self.places.insert((text[secret.whole].to_owned(), range, at));
            }
        }
    }

    /// Like [`SecretSearch::look`], in all strings: each alone, and with its name, which may show that it is a secret.
    pub fn look_in_json(&mut self, value: &Value, line: u64) {
        match value {
            Value::String(text) => self.look(text, line),
            Value::Array(items) => items.iter().for_each(|item| self.look_in_json(item, line)),
            Value::Object(members) => {
                for (name, member) in members {
                    self.look(name, line);
                    if let Value::String(text) = member {
                        self.look(&format!("\"{name}\": \"{text}\""), line);
                    }
                    self.look_in_json(member, line);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the secrets in the order in which they were found.
    pub fn found(&self) -> &[FoundSecret] {
        &self.found
    }

    /// Returns what hides all secrets except those at the places `shown`.
    pub fn hide_except(&self, shown: &[usize]) -> HiddenSecrets {
        let mut texts = Vec::new();
        let mut hidden = Vec::new();
        let mut add = |text: String, range: Range<usize>, rule| {
            texts.push(text);
            hidden.push((range, rule));
        };
        for (at, FoundSecret { rule, value, .. }) in self.found.iter().enumerate() {
            if !shown.contains(&at) && value.len() >= ALONE {
                for form in forms(value) {
                    let range = 0..form.len();
                    add(form, range, *rule);
                }
            }
        }
        for (text, range, at) in &self.places {
            if !shown.contains(at) {
                add(text.clone(), range.clone(), self.found[*at].rule);
            }
        }
        // The kind that needs least memory: a private key is long.
        let texts = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(&texts);
        HiddenSecrets { texts, hidden }
    }
}

/// What `encodeURIComponent` leaves as it is.
const URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Minimum bytes of a line of a secret that is hidden alone.
const LINE: usize = 24;

/// Returns a value as it is and as it is written in JSON, in a URL, and in Base64 at each of three offsets.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let json = Value::from(value).to_string();
    forms.push(json[1..json.len() - 1].to_owned());
    for signs in [NON_ALPHANUMERIC, URL] {
        forms.push(utf8_percent_encode(value, signs).to_string());
    }
    // The lines of a private key, which may be indented or cut.
    forms.extend(
        value.lines().map(str::trim).filter(|line| line.len() >= LINE && *line != value).map(str::to_owned),
    );
    if value.len() >= ENCODED {
        for offset in 0..3_usize {
            let bytes = [&b"\0\0"[..offset], value.as_bytes()].concat();
            // The characters at both ends also depend on the neighbours.
            let whole = [0, 2, 3][offset]..bytes.len() * 8 / 6;
            for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
                forms.extend(encoded.get(whole.clone()).map(str::to_owned));
            }
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Replaces secrets with the names of their rules.
#[derive(Debug)]
pub struct HiddenSecrets {
    /// Fails for more texts than a session can have: then everything is hidden.
    texts: Result<AhoCorasick, BuildError>,
    /// By text, the part of it that is replaced, and the name.
    hidden: Vec<(Range<usize>, &'static str)>,
}

impl HiddenSecrets {
    /// Writes `[hidden: github-pat]` for each secret.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Ok(texts) = &self.texts else { return Cow::Borrowed("[hidden]") };
        // Also those inside of another match, which may hide a part of itself only.
        let mut ranges: Vec<(Range<usize>, &str)> = texts
            .find_overlapping_iter(text)
            .map(|found| {
                let (range, rule) = &self.hidden[found.pattern().as_usize()];
                (found.start() + range.start..found.start() + range.end, *rule)
            })
            .collect();
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        ranges.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut written = String::with_capacity(text.len());
        let mut end = 0;
        for (range, rule) in ranges {
            if range.start >= end {
                written.push_str(&text[end..range.start]);
                written.push_str("[hidden: ");
                written.push_str(rule);
                written.push(']');
            }
            end = end.max(range.end);
        }
        written.push_str(&text[end..]);
        Cow::Owned(written)
    }
}

/// Hides the secrets in all strings of a JSON value, and in the names of members.
pub fn hide_in_json(value: &mut Value) {
    let mut search = SecretSearch::default();
    search.look_in_json(value, 0);
    if search.found.is_empty() {
        return;
    }
    let hidden = search.hide_except(&[]);
    each_string(value, &mut |text| {
        if let Cow::Owned(replaced) = hidden.hide(text) {
            *text = replaced;
        }
    });
}

/// Hides the secrets of one text, which may be JSON.
pub fn hidden(text: &str) -> Cow<'_, str> {
    let mut search = SecretSearch::default();
    search.look(text, 0);
    if text.contains('\\') {
        search.look(&text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\"), 0);
    }
    match search.found.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(search.hide_except(&[]).hide(text).into_owned()),
    }
}

/// Visits all strings of a JSON value, and the names of members.
pub(crate) fn each_string(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, visit)),
        Value::Object(members) => {
            let named = std::mem::take(members).into_iter().map(|(mut name, mut member)| {
                visit(&mut name);
                each_string(&mut member, visit);
                (name, member)
            });
            *members = named.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use serde_json::json;

    const TOKEN: &str = "ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf";

    fn search(texts: &[&str]) -> SecretSearch {
        let mut search = SecretSearch::default();
        texts.iter().zip(1..).for_each(|(text, line)| search.look(text, line));
        search
    }

    #[test]
    fn secret_found_once_is_hidden_everywhere() {
        let search = search(&["nothing", &format!("token {TOKEN}")]);
        let found = &search.found()[0];
        assert_eq!((found.rule, found.line, found.beginning()), ("github-pat", 2, "ghp"));
        let hidden = search.hide_except(&[]);
        assert_eq!(hidden.hide(&format!("x{TOKEN}y {TOKEN}")), "x[hidden: github-pat]y [hidden: github-pat]");
        assert_eq!(hidden.hide("nothing"), "nothing");
        assert_eq!(search.hide_except(&[0]).hide(TOKEN), TOKEN, "shown by choice");
    }

    #[test]
    fn encoded_secret_is_hidden() {
        let value = "pa/ss w\"ö+rd-9Kq2";
        let search =
            search(&[&format!("machine a login b password {TOKEN}"), &format!("postgres://u:{}@h", "Zq8/1")]);
        let hidden = search.hide_except(&[]);
        for before in ["", "u", "us", "use", "user"] {
            let encoded = STANDARD.encode(format!("{before}:{TOKEN}:after"));
            let shown = hidden.hide(&encoded);
            assert!(shown.contains("[hidden: github-pat]"), "{before}: {shown}");
        }
        assert_eq!(
            forms(value).iter().filter(|form| form.contains("%22") || form.contains("\\\"")).count(),
            3,
            "in URLs and in JSON"
        );
    }

    #[test]
    fn short_secret_is_hidden_at_its_place_only() {
        let search = search(&["https://jo:abc1@host/x"]);
        let hidden = search.hide_except(&[]);
        assert_eq!(
            hidden.hide("abc1 is a word, https://jo:abc1@host/y"),
            "abc1 is a word, https://jo:[hidden: url-password]@host/y"
        );
    }

    #[test]
    fn secret_inside_of_another_match_is_hidden() {
        let search = search(&[TOKEN, &format!("machine {TOKEN} login jo password h9Kq")]);
        let shown =
            search.hide_except(&[]).hide(&format!("machine {TOKEN} login jo password h9Kq")).into_owned();
        assert_eq!(shown, "machine [hidden: github-pat] login jo password [hidden: netrc-password]");
    }

    #[test]
    fn value_in_url_is_hidden() {
        let search = search(&[r#"{"password": "p@ss-wd_9Kq"}"#]);
        assert_eq!(search.hide_except(&[]).hide("?p=p%40ss-wd_9Kq"), "?p=[hidden: json-secret]");
    }

    #[test]
    fn members_are_searched_with_their_names() {
        let mut value = json!({"env": {"db_password": "Tr0ub4dor-and-3"}, TOKEN: 1});
        hide_in_json(&mut value);
        assert_eq!(
            value,
            json!({"env": {"db_password": "[hidden: json-secret]"}, "[hidden: github-pat]": 1})
        );
        let escaped = r#"{"command":"cat > .env <<E\nDB_PASSWORD=Zq81kPw0\nE"}"#;
        assert!(!hidden(escaped).contains("Zq81kPw0"), "{}", hidden(escaped));
    }

    #[test]
    fn part_of_a_private_key_is_hidden() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let cut = format!("cat key\n-----BEGIN PRIVATE KEY-----\n{line}\n{line}");
        let shown = hidden(&cut).into_owned();
        assert!(!shown.contains(&line[..20]), "{shown}");
    }

    #[test]
    fn json_strings_are_hidden() {
        let mut value = json!({"a": [{"b": format!("use {TOKEN}")}], "c": TOKEN, "d": 1});
        hide_in_json(&mut value);
        assert_eq!(
            value,
            json!({"a": [{"b": "use [hidden: github-pat]"}], "c": "[hidden: github-pat]", "d": 1})
        );
    }

    proptest! {
        #[test]
        fn hiding_twice_changes_nothing(before in "(?s).{0,40}", after in "(?s).{0,40}") {
            let text = format!("{before} {TOKEN} {after}");
            let once = search(&[&text]).hide_except(&[]).hide(&text).into_owned();
            prop_assert!(!once.contains(TOKEN));
            let twice = search(&[&once]).hide_except(&[]).hide(&once).into_owned();
            prop_assert_eq!(&once, &twice);
        }
    }
}
