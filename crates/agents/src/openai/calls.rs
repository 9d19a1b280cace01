//! Assembles calls from their deltas.

use crate::limits::{ANSWER_CALLS, CALL_BYTES, NAME_CHARS};
use openagents_core::{
    json_text,
    model::{CallRequest, ToolSpec, WireNames},
    text::prefix,
};
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct PartialCalls {
    calls: Vec<Call>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl PartialCalls {
    pub(super) fn push(&mut self, piece: &Value) {
        let function = &piece["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let id = piece["id"].as_str().unwrap_or_default();
        let place = self.find_or_add(piece["index"].as_u64(), id, name);
        let Some(call) = self.calls.get_mut(place) else { return };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        let room = CALL_BYTES - self.bytes;
        let before = call.arguments.len();
        match &function["arguments"] {
            // Some servers send the whole call again with the finish reason.
            Value::String(text) if text.starts_with('{') && call.is_whole() => {}
            Value::String(text) => call.arguments.push_str(prefix(text, room)),
            Value::Null => {}
            // Some servers send an object instead of a string.
            whole => {
                let text = whole.to_string();
                prefix(&text, room).clone_into(&mut call.arguments);
            }
        }
        self.bytes += call.arguments.len().saturating_sub(before).min(room);
    }

    /// Finds or creates the call of a delta. Indices may have gaps or all be 0; ids may come once, never, or always.
    fn find_or_add(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let known_id = |call: &Call| !id.is_empty() && call.id == id;
        let known = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.iter().rposition(known_id).or_else(|| self.calls.len().checked_sub(1)),
        };
        let continues = |call: &Call| {
            let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            // A repeated name means that the server sends it with every delta, or that another call begins.
            let begins = !name.is_empty() && !call.name.is_empty() && !known_id(call);
            !other_id && !(begins && (call.name != name || call.is_whole()))
        };
        match known.filter(|at| self.calls.get(*at).is_some_and(continues)) {
            Some(at) => at,
            // Over the limit: returns an index without a call.
            None if self.calls.len() == ANSWER_CALLS => ANSWER_CALLS,
            None => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn are_whole(&self) -> bool {
        self.calls.iter().all(|call| call.arguments.trim().is_empty() || call.is_whole())
    }

    /// Returns the calls in the order of their first delta, with unique ids.
    pub(super) fn finish(self, names: &Names) -> Vec<CallRequest> {
        let mut requests: Vec<CallRequest> = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            if call.name.is_empty() && call.arguments.trim().is_empty() {
                continue;
            }
            let is_taken = call.id.is_empty() || requests.iter().any(|earlier| earlier.id == call.id);
            let id = if is_taken { uuid::Uuid::new_v4().to_string() } else { call.id };
            let arguments = parse_arguments(&call.arguments);
            requests.push(CallRequest { id, name: names.ours(&call.name), arguments });
        }
        requests
    }
}

impl Call {
    fn is_whole(&self) -> bool {
        json_text::from_str::<Value>(&self.arguments).is_ok()
    }
}

/// Parses arguments. Anything but an object is kept as text, which the loop reports as the tool's error.
fn parse_arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match json_text::from_str(text) {
        Ok(Value::Object(members)) => Value::Object(members),
        Ok(Value::Null) => Value::Object(Map::new()),
        // Double-encoded.
        Ok(Value::String(inner)) => match json_text::from_str(&inner) {
            Ok(Value::Object(members)) => Value::Object(members),
            _ => Value::String(text.to_owned()),
        },
        _ => Value::String(text.to_owned()),
    }
}

/// Tool names on the wire. Ours have dots (`fs.list_dir`); OpenAI accepts `^[a-zA-Z0-9_-]{1,64}$`.
#[derive(Debug)]
pub(super) struct Names(WireNames);

impl Names {
    pub(super) fn for_tools(tools: &[ToolSpec]) -> Self {
        Self(WireNames::new(tools, function_name, NAME_CHARS))
    }

    pub(super) fn wire(&self, name: &str) -> String {
        self.0.wire(name)
    }

    pub(super) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns our name for an offered tool; an unknown name is returned unchanged.
    pub(super) fn ours(&self, written: &str) -> String {
        self.0.recognize(written).unwrap_or_else(|written| written)
    }
}

fn function_name(name: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '_',
    };
    let function: String = name.chars().map(letter).take(NAME_CHARS).collect();
    if function.is_empty() { "_".to_owned() } else { function }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assembled(pieces: &[Value]) -> Vec<(String, String, Value)> {
        let mut calls = PartialCalls::default();
        pieces.iter().for_each(|piece| calls.push(piece));
        let calls = calls.finish(&Names::for_tools(&[]));
        calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
        json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
    }

    #[test]
    fn calls_are_assembled_from_all_delta_styles() {
        let (zero, two) = (Some(0), Some(2));
        type Row = (&'static str, Vec<Value>, Vec<(&'static str, Value)>);
        let rows: [Row; 14] = [
            (
                "in pieces",
                vec![
                    piece(zero, Some("1"), Some("a"), ""),
                    piece(zero, None, None, "{\"x\""),
                    piece(zero, None, None, ":1}"),
                ],
                vec![("a", json!({"x": 1}))],
            ),
            (
                "two, by turns, with a gap",
                vec![
                    piece(zero, Some("1"), Some("a"), "{"),
                    piece(two, Some("2"), Some("b"), "{"),
                    piece(zero, None, None, "}"),
                    piece(two, None, None, "\"y\":2}"),
                ],
                vec![("a", json!({})), ("b", json!({"y": 2}))],
            ),
            (
                "id and name with every piece",
                vec![piece(zero, Some("1"), Some("a"), "{\"x\""), piece(zero, Some("1"), Some("a"), ":1}")],
                vec![("a", json!({"x": 1}))],
            ),
            (
                "the name with every piece, no ids",
                vec![piece(zero, None, Some("a"), "{\"x\""), piece(zero, None, Some("a"), ":1}")],
                vec![("a", json!({"x": 1}))],
            ),
            (
                "every index is 0, ids differ",
                vec![piece(zero, Some("1"), Some("a"), "{}"), piece(zero, Some("2"), Some("a"), "{\"x\":1}")],
                vec![("a", json!({})), ("a", json!({"x": 1}))],
            ),
            (
                "every index is 0, no ids",
                vec![piece(zero, None, Some("a"), "{}"), piece(zero, Some(""), Some("a"), "{\"x\":1}")],
                vec![("a", json!({})), ("a", json!({"x": 1}))],
            ),
            (
                "no index",
                vec![
                    piece(None, Some("1"), Some("a"), "{\"x\":"),
                    piece(None, None, None, "1}"),
                    piece(None, Some("2"), Some("b"), "{}"),
                ],
                vec![("a", json!({"x": 1})), ("b", json!({}))],
            ),
            (
                "nothing at all but whole calls",
                vec![piece(None, None, Some("a"), "{}"), piece(None, None, Some("b"), "{}")],
                vec![("a", json!({})), ("b", json!({}))],
            ),
            (
                "an object",
                vec![json!({"function": {"name": "a", "arguments": {"x": 1}}})],
                vec![("a", json!({"x": 1}))],
            ),
            (
                "encoded twice",
                vec![piece(zero, None, Some("a"), r#""{\"x\":1}""#)],
                vec![("a", json!({"x": 1}))],
            ),
            (
                "broken",
                vec![piece(zero, None, Some("a"), "{\"x\": "), piece(zero, None, None, "oops")],
                vec![("a", json!("{\"x\": oops"))],
            ),
            (
                "whole, twice",
                vec![
                    piece(zero, Some("1"), Some("a"), "{\"x\":1}"),
                    piece(zero, Some("1"), None, "{\"x\":1}"),
                ],
                vec![("a", json!({"x": 1}))],
            ),
            (
                "half a character",
                vec![piece(zero, None, Some("a"), r#"{"x":"cut \ud83d"}"#)],
                vec![("a", json!({"x": "cut \u{fffd}"}))],
            ),
            (
                "no arguments, no name",
                vec![piece(zero, None, Some("a"), ""), json!({"index": 1})],
                vec![("a", json!({}))],
            ),
        ];
        for (what, pieces, expected) in rows {
            let read: Vec<_> =
                assembled(&pieces).into_iter().map(|(_, name, arguments)| (name, arguments)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
            assert_eq!(read, expected, "{what}");
        }
    }

    #[test]
    fn finish_makes_call_ids_unique() {
        let read = assembled(&[
            piece(Some(0), Some("same"), Some("a"), "{}"),
            piece(Some(1), Some("same"), Some("b"), "{}"),
            piece(Some(2), None, Some("c"), "{}"),
        ]);
        assert_eq!(read[0].0, "same");
        assert!(read[1].0 != "same" && !read[2].0.is_empty() && read[1].0 != read[2].0, "{read:?}");
    }

    #[test]
    fn push_cuts_oversized_arguments() {
        let mut calls = PartialCalls::default();
        for _ in 0..40 {
            calls.push(&piece(Some(0), None, Some("a"), &format!("[{}", "é".repeat(20_000))));
        }
        assert!(!calls.are_whole() && calls.bytes <= CALL_BYTES);
        assert!(calls.finish(&Names::for_tools(&[]))[0].arguments.as_str().unwrap().len() <= CALL_BYTES);
    }

    fn names(tools: &[&str]) -> Names {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: serde_json::Value::Null,
        };
        Names::for_tools(&tools.iter().map(spec).collect::<Vec<_>>())
    }

    #[test]
    fn names_round_trip_over_the_wire() {
        let (long, longer) = ("x.".repeat(50), "x.".repeat(51));
        let tools = ["fs.list_dir", "a-b", "a.b", "a_b", "a_b_2", "", "fs.list_dir", "grüße", &long, &longer];
        let names = names(&tools);
        let wire: Vec<_> = tools.iter().map(|tool| names.wire(tool)).collect();
        assert_eq!(wire[..8], ["fs_list_dir", "a-b", "a_b_3", "a_b", "a_b_2", "_", "fs_list_dir", "gr__e"]);
        for (tool, wire) in tools.iter().zip(&wire) {
            assert_eq!(names.ours(wire), *tool);
            assert!(wire.len() <= 64, "{wire}");
        }
    }

    #[test]
    fn names_recognize_spellings_of_models() {
        let names = names(&["fs.list_dir"]);
        let rows = [
            ("fs_list_dir", "fs.list_dir"),
            ("fs.list_dir", "fs.list_dir"),
            ("functions.fs_list_dir", "fs.list_dir"),
            ("fs_list_dir<|channel|>commentary", "fs.list_dir"),
            ("functions.fs_list_dirjson", "fs.list_dir"),
            ("fs.list.dir", "fs.list_dir"),
            (" fs_list_dir ", "fs.list_dir"),
            ("rm", "rm"),
        ];
        for (written, ours) in rows {
            assert_eq!(names.ours(written), ours, "{written}");
        }
        assert_eq!(names.wire("gone.tool"), "gone_tool");
    }
}
