//! Parses the arguments of a call from a model's output.

use crate::limits::ARGUMENTS_DEPTH;
use openagents_core::json_text::{self, with_whole_characters};
use serde_json::{Map, Value};

/// Parses a text that is exactly one object.
pub(crate) fn strict(text: &str) -> Option<Map<String, Value>> {
    shallow(json_text::from_str(text).ok()?)
}

/// Parses an object and repairs unambiguous mistakes: missing arguments, a code fence or the word `json` around it, an
/// object inside a string, trailing text that is not a second object, and missing closing brackets.
pub(crate) fn parse(text: &str) -> Option<Map<String, Value>> {
    let text = &*with_whole_characters(unwrap(text));
    if text.is_empty() {
        return Some(Map::new());
    }
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(Value::String(inner)) => json_text::from_str(&inner).ok()?,
        Ok(_) => return None,
        Err(_) => first_object(text).or_else(|| closed(text))?,
    };
    shallow(object)
}

fn shallow(object: Map<String, Value>) -> Option<Map<String, Value>> {
    object.values().all(|value| fits(value, ARGUMENTS_DEPTH - 1)).then_some(object)
}

fn fits(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(values) => depth > 0 && values.iter().all(|value| fits(value, depth - 1)),
        Value::Object(object) => depth > 0 && object.values().all(|value| fits(value, depth - 1)),
        _ => true,
    }
}

fn unwrap(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")).unwrap_or(text).trim();
    text.strip_prefix("json").map_or(text, str::trim_start)
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let object = values.next()?.ok()?;
    let rest = &text[values.byte_offset()..];
    (!rest.contains('{')).then_some(object)
}

/// Parses an object without its closing brackets, unless the text ends within a string or before a value.
fn closed(text: &str) -> Option<Map<String, Value>> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' if open.pop() != Some(char::from(byte)) => return None,
            _ => {}
        }
    }
    let end = text.trim_end().chars().next_back()?;
    // A number might be missing digits, and a word letters.
    let whole = matches!(end, '"' | '}' | ']');
    if in_string || open.is_empty() || !whole {
        return None;
    }
    let whole = text.trim_end().chars().chain(open.into_iter().rev()).collect::<String>();
    serde_json::from_str(&whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parse_repairs_unambiguous_mistakes() {
        let path = json!({"path": "."});
        let rows = [
            (r#"{"path":"."}"#, Some(path.clone())),
            ("", Some(json!({}))),
            ("  \n", Some(json!({}))),
            ("```json\n{\"path\":\".\"}\n```", Some(path.clone())),
            (r#"json{"path":"."}"#, Some(path.clone())),
            (r#""{\"path\":\".\"}""#, Some(path.clone())),
            (r#"{"path":"."}}"#, Some(path.clone())),
            (r#"{"path":"."} That should do."#, Some(path.clone())),
            (r#"{"path":".""#, Some(path)),
            (r#"{"a":[{"b":"c"}"#, Some(json!({"a": [{"b": "c"}]}))),
            (r#"{"path":"cut \ud83d"} ok"#, Some(json!({"path": "cut \u{fffd}"}))),
            // Two objects, or a truncated one: ambiguous.
            (r#"{"path":"."}{"path":".."}"#, None),
            (r#"{"path":"a"#, None),
            (r#"{"path":"#, None),
            (r#"{"path""#, None),
            (r#"{"depth":1"#, None),
            (r#"{"path":".","#, None),
            (r#"{"a":["b"}"#, None),
            ("{", None),
            ("[1]", None),
            ("null", None),
            ("not even close", None),
            (r#"{'path':'.'}"#, None),
            ("\"no object\"", None),
        ];
        for (text, arguments) in rows {
            assert_eq!(parse(text).map(Value::Object), arguments, "{text}");
        }
        assert_eq!(parse(&"{\"a\":".repeat(100_000)), None);
        assert_eq!(parse(&format!("{}\"\"", "{\"a\":".repeat(100_000))), None);
    }

    #[test]
    fn parse_rejects_deep_arguments() {
        let nested = |begin: &str, end: &str, depth: usize| {
            format!("{{\"a\":{}1{}}}", begin.repeat(depth - 1), end.repeat(depth - 1))
        };
        for (begin, end) in [("[", "]"), ("{\"a\":", "}")] {
            for (depth, taken) in [(1, true), (64, true), (65, false), (120, false)] {
                let text = nested(begin, end, depth);
                let readings = [
                    strict(&text),
                    parse(&text),
                    parse(&format!("{text} there")),
                    parse(&Value::String(text.clone()).to_string()),
                ];
                for arguments in readings {
                    assert_eq!(arguments.is_some(), taken, "{depth} of {begin}");
                }
            }
        }
    }
}
