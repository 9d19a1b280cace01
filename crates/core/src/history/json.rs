//! A JSON value that borrows from its line. Foreign formats change often, so nothing is typed: a field of the wrong
//! type reads as absent. Secrets and images are dropped while parsing.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, fmt};

/// Keys whose values are dropped: ciphertext, signatures, and duplicated text (the vendors' own prompts, compaction's
/// replacement history, whole files before an edit).
const DROPPED: [&str; 8] = [
    "encrypted_content",
    "signature",
    "instructions",
    "base_instructions",
    "replacement_history",
    "originalFile",
    "structuredPatch",
    "dynamic_tools",
];

/// A longer run of base64 characters is data, not text; in bytes.
const BLOB_BYTES: usize = 512;

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    /// `null` or a dropped value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Node<'a>>),
    /// An object in source order.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// Parses one line; `None` if it is not JSON. Invalid UTF-8 is replaced.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        match std::str::from_utf8(line) {
            Ok(text) => serde_json::from_str(text).ok(),
            Err(_) => {
                let text = String::from_utf8_lossy(line);
                serde_json::from_str::<Node<'_>>(&text).ok().map(Node::into_owned)
            }
        }
    }

    /// Parses one line that must be an object, as in every known log.
    pub(crate) fn parse_object(line: &'a [u8]) -> Option<Self> {
        Self::parse(line).filter(|node| matches!(node, Self::Object(_)))
    }

    fn into_owned<'b>(self) -> Node<'b> {
        match self {
            Self::Null => Node::Null,
            Self::Bool(value) => Node::Bool(value),
            Self::Number(value) => Node::Number(value),
            Self::Text(text) => Node::Text(Cow::Owned(text.into_owned())),
            Self::List(items) => Node::List(items.into_iter().map(Node::into_owned).collect()),
            Self::Object(fields) => Node::Object(
                fields.into_iter().map(|(k, v)| (Cow::Owned(k.into_owned()), v.into_owned())).collect(),
            ),
        }
    }

    /// Returns a field of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Node<'a>> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns a text field of an object.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::as_str)
    }

    /// Returns whether a field of an object is `true`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Self::Bool(true)))
    }

    /// Returns an integer field.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        match self.get(key) {
            // Exact up to 2^53, more tokens than any session has.
            Some(Self::Number(value)) if *value >= 0.0 => Some(*value as u64),
            _ => None,
        }
    }

    /// Returns the string of a text node.
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

    /// Visits every nested text, depth first.
    pub(crate) fn for_each_text(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Text(text) => visit(text),
            Self::List(items) => items.iter().for_each(|item| item.for_each_text(visit)),
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.for_each_text(visit)),
            _ => {}
        }
    }
}

/// Returns whether a text is binary data such as an image or a key.
pub(crate) fn is_blob(text: &str) -> bool {
    if text.starts_with("data:") && text.as_bytes().iter().take(128).any(|byte| *byte == b',') {
        return text.contains(";base64,");
    }
    let bytes = text.as_bytes();
    bytes.len() > BLOB_BYTES
        && bytes[..BLOB_BYTES]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
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
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_there_and_nothing_else() {
        let line = br#"{"a":{"b":"x\ny","n":3},"ok":true,"list":["p",1,null]}"#;
        let node = Node::parse_object(line).unwrap();
        assert_eq!(node.get("a").unwrap().text("b"), Some("x\ny"));
        assert_eq!(node.get("a").unwrap().count("n"), Some(3));
        assert_eq!(node.text("a"), None);
        assert!(node.flag("ok"));
        assert_eq!(node.get("list").unwrap().items().len(), 3);
    }

    #[test]
    fn never_keeps_ciphertext_or_pictures() {
        let picture = "A".repeat(600);
        let line =
            format!(r#"{{"encrypted_content":"c2VjcmV0","p":"{picture}","u":"data:image/png;base64,AAAA"}}"#);
        let node = Node::parse_object(line.as_bytes()).unwrap();
        assert_eq!(node.fields().len(), 2);
        assert!(node.fields().iter().all(|(_, value)| *value == Node::Null));
    }

    #[test]
    fn replaces_bytes_that_are_no_utf8() {
        let node = Node::parse_object(b"{\"t\":\"a\xffb\"}").unwrap();
        assert_eq!(node.text("t"), Some("a\u{fffd}b"));
    }

    #[test]
    fn deep_nesting_is_a_bad_line() {
        let line = "[".repeat(5000);
        assert_eq!(Node::parse(line.as_bytes()), None);
    }
}
