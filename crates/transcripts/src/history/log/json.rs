//! A JSON value that borrows from its line. Foreign formats change often, so nothing is typed: a field of the wrong
//! type reads as absent. Secrets and images are dropped while parsing.

use crate::limits;
use openagents_core::{json_text::with_whole_characters, text::joined};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use std::{borrow::Cow, fmt};

/// Keys whose values are dropped: ciphertext, signatures, and duplicated text (the vendors' own prompts, compaction's
/// replacement history, whole files before an edit).
const DROPPED: [&str; 13] = [
    "encrypted_content",
    "signature",
    "instructions",
    "base_instructions",
    "replacement_history",
    "originalFile",
    "structuredPatch",
    "dynamic_tools",
    "originalContent",
    "newContent",
    "encryptedContent",
    "reasoningOpaque",
    "~debug",
];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    /// `null` or a dropped value.
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    /// An object in source order.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// Parses a JSON text. Skips bytes that do not belong to it: a byte order mark, NUL bytes at either end (left by a
    /// crash), lone surrogates, and control characters in strings.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_matches(['\u{feff}', '\0']);
        serde_json::from_str(text).ok().or_else(|| {
            let whole = with_whole_characters(text);
            let has_controls = whole.bytes().any(|byte| byte < b' ');
            let repaired = if has_controls { Cow::Owned(without_controls(&whole)) } else { whole };
            if matches!(repaired, Cow::Borrowed(_)) {
                return None;
            }
            serde_json::from_str::<Node<'_>>(&repaired).ok().map(Node::into_owned)
        })
    }

    fn into_owned<'b>(self) -> Node<'b> {
        match self {
            Self::Null => Node::Null,
            Self::Bool(value) => Node::Bool(value),
            Self::Number(value) => Node::Number(value),
            Self::Text(text) => Node::Text(Cow::Owned(text.into_owned())),
            Self::List(items) => Node::List(items.into_iter().map(Node::into_owned).collect()),
            Self::Object(fields) => Node::Object(
                fields
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            ),
        }
    }

    /// Parses one line that must be an object, as in every known log.
    pub(crate) fn parse_object(line: &'a str) -> Option<Self> {
        Self::parse(line).filter(|node| matches!(node, Self::Object(_)))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node<'a>> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::as_str)
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Self::Bool(true)))
    }

    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        match self.get(key) {
            // Exact up to 2^53, more tokens than any session has.
            Some(Self::Number(value)) if *value >= 0.0 => Some(*value as u64),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list; empty for other nodes.
    pub(crate) fn items(&self) -> &[Node<'a>] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the fields of an object; empty for other nodes.
    pub(crate) fn fields(&self) -> &[(Cow<'a, str>, Node<'a>)] {
        match self {
            Self::Object(fields) => fields,
            _ => &[],
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            // JSON writes whole numbers without a decimal point.
            Self::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => Value::from(*value as i64),
            Self::Number(value) => Value::from(*value),
            Self::Text(text) => Value::from(text.as_ref()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(fields) => {
                fields.iter().map(|(key, value)| (key.to_string(), value.to_value())).collect()
            }
        }
    }

    /// Joins every nested text by line breaks, depth first.
    pub(crate) fn flattened(&self) -> String {
        let mut texts = Vec::new();
        self.collect_texts(&mut texts);
        joined(texts)
    }

    fn collect_texts<'b>(&'b self, texts: &mut Vec<&'b str>) {
        match self {
            Self::Text(text) => texts.push(text),
            Self::List(items) => items.iter().for_each(|item| item.collect_texts(texts)),
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.collect_texts(texts)),
            _ => {}
        }
    }
}

/// Replaces control characters, which JSON allows only between values (tabs and line ends) or not at all.
fn without_controls(json: &str) -> String {
    let replace = |letter| match letter {
        '\t' | '\n' | '\r' => ' ',
        letter if letter < ' ' => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    json.chars().map(replace).collect()
}

/// Returns whether a text is binary data such as an image or a key.
pub(crate) fn is_blob(text: &str) -> bool {
    if text.starts_with("data:") && text.as_bytes().iter().take(128).any(|byte| *byte == b',') {
        return text.contains(";base64,");
    }
    let bytes = text.as_bytes();
    bytes.len() > limits::BLOB
        && bytes[..limits::BLOB]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
}

/// Replaces escapes in JSON with the line breaks and quotes that they encode. Returns other texts unchanged.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.starts_with(['{', '[']) || !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        read.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let (letter, length) = match escape.as_bytes().first() {
            Some(b'n') => (Some('\n'), 1),
            Some(b't') => (Some('\t'), 1),
            Some(b'r' | b'b' | b'f') => (None, 1),
            Some(b'"') => (Some('"'), 1),
            Some(b'\\') => (Some('\\'), 1),
            Some(b'/') => (Some('/'), 1),
            Some(b'u') => escaped_char(escape),
            _ => (Some('\\'), 0),
        };
        read.extend(letter);
        rest = &escape[length..];
    }
    read.push_str(rest);
    Cow::Owned(read)
}

/// Reads `u0041`, or `ud83d\ude00`; returns the character and the length of its escape.
fn escaped_char(escape: &str) -> (Option<char>, usize) {
    let unit = |at: usize| escape.get(at..at + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let Some(first) = unit(1) else { return (Some('\\'), 0) };
    let second = if escape.get(5..7) == Some("\\u") { unit(7) } else { None };
    match (char::decode_utf16([first]).next(), second) {
        (Some(Ok(letter)), _) => (Some(letter), 5),
        (_, Some(second)) => match char::decode_utf16([first, second]).next() {
            Some(Ok(letter)) => (Some(letter), 11),
            _ => (Some(char::REPLACEMENT_CHARACTER), 5),
        },
        _ => (Some(char::REPLACEMENT_CHARACTER), 5),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor).map(|node: Node<'de>| node)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Node::Number(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(if is_blob(text) { Node::Null } else { Node::Text(Cow::Borrowed(text)) })
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(if is_blob(text) { Node::Null } else { Node::Text(Cow::Owned(text.to_owned())) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            if DROPPED.contains(&key.as_ref()) {
                map.next_value::<IgnoredAny>()?;
            } else {
                fields.push((key, map.next_value()?));
            }
        }
        Ok(Node::Object(fields))
    }
}

/// A key that borrows if possible; `Cow` itself always copies.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_keeps_known_values() {
        let line = r#"{"a":{"b":"x\ny","n":3},"ok":true,"list":["p",1,null]}"#;
        let node = Node::parse_object(line).unwrap();
        assert_eq!(node.get("a").unwrap().text("b"), Some("x\ny"));
        assert_eq!(node.get("a").unwrap().count("n"), Some(3));
        assert_eq!(node.text("a"), None);
        assert!(node.flag("ok"));
        assert_eq!(node.get("list").unwrap().items().len(), 3);
    }

    #[test]
    fn parse_drops_ciphertext_and_images() {
        let picture = "A".repeat(600);
        let line =
            format!(r#"{{"encrypted_content":"c2VjcmV0","p":"{picture}","u":"data:image/png;base64,AAAA"}}"#);
        let node = Node::parse_object(&line).unwrap();
        assert_eq!(node.fields().len(), 2);
        assert!(node.fields().iter().all(|(_, value)| *value == Node::Null));
    }

    #[test]
    fn parse_skips_stray_bytes() {
        for (json, expected) in [
            ("\u{feff}{\"a\":\"x\"}", Some("x")),
            ("\0\0{\"a\":\"x\"}\0\0", Some("x")),
            (r#"{"a":"x \ud83d"}"#, Some("x \u{fffd}")),
            ("{\"a\":\"x\0y\"}", Some("x\u{fffd}y")),
            ("{\"a\":\"x\ty\"}", Some("x y")),
            ("{\"a\":\"x\0y\\ude00\"}", Some("x\u{fffd}y\u{fffd}")),
            ("{\"a\"\0:\"x\"}", None),
            ("{\"a\":\"x\"", None),
        ] {
            let node = Node::parse_object(json);
            assert_eq!(node.as_ref().and_then(|node| node.text("a")), expected, "{json:?}");
        }
    }

    #[test]
    fn unescaped_decodes_escapes() {
        for (text, expected) in [
            (
                r#"{"cmd":"cd C:\\Users\n\"a\" \u00e9\ud83c\udf89\ud83c"}"#,
                "{\"cmd\":\"cd C:\\Users\n\"a\" é🎉\u{fffd}\"}",
            ),
            (r#"plain \n text"#, r#"plain \n text"#),
            (r#"{"cut":"\"#, r#"{"cut":"\"#),
            (r#"{"cut":"\u00"#, r#"{"cut":"\u00"#),
            (r#"{"odd":"\q"}"#, r#"{"odd":"\q"}"#),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn unescaped_restores_any_text(text in proptest::prelude::any::<String>()) {
            let text = text.replace(['\r', '\u{8}', '\u{c}'], "");
            // Control characters are escaped too.
            let json = serde_json::to_string(&[&text]).unwrap();
            proptest::prop_assert_eq!(unescaped(&json).into_owned(), format!("[\"{text}\"]"));
        }

        #[test]
        fn unescaped_accepts_any_text(text in "[\\[{][\\\\ud0-9n\"é🎉]{0,20}") {
            unescaped(&text);
        }
    }

    #[test]
    fn parse_rejects_deep_nesting() {
        let line = "[".repeat(5000);
        assert_eq!(Node::parse(&line), None);
    }
}
