//! Parses an answer, token by token, and repairs unambiguous mistakes.
//!
//! When in doubt, a message is reasoning, which is not shown; an answer with nothing to show or run is malformed.

use super::names::{CALL, CHANNEL, CONSTRAIN, END, END_OF_TEXT, MESSAGE, Names, RETURN, START, TEXT_TOKENS};
use crate::{
    chat::{AnswerParser, Ending, arguments},
    limits::{BROKEN_CALL_BYTES, CALL_BYTES},
};
use openagents_core::{
    model::{CallRequest, HarmonyAddress, HarmonyChannel, HarmonyHeader, ModelEvent, Reasoning, ToolSpec},
    text::Utf8Pieces,
};
use serde_json::{Map, Value};

pub(super) struct Parser {
    tools: Vec<ToolSpec>,
    names: Names,
    state: State,
    joined: Utf8Pieces,
    /// Streams that already have a message, so that the next one starts a paragraph.
    spoke: [bool; 3],
    called: bool,
    ended: bool,
}

enum State {
    Header(HarmonyHeader),
    /// A message that is emitted as it arrives.
    Stream(Stream),
    /// A message that is parsed when it is complete.
    Hold {
        text: String,
        then: Held,
    },
    /// A message with a foreign role.
    Skip,
}

#[derive(Clone, Copy)]
enum Stream {
    Text,
    Preamble,
    Reasoning,
}

enum Held {
    Arguments(String),
    Unaddressed,
    /// The beginning of a text that may be JSON.
    Perhaps(Stream),
}

impl Parser {
    /// Starts after `<|start|>assistant`, the end of a prompt.
    pub(super) fn new(tools: &[ToolSpec]) -> Self {
        Self {
            tools: tools.to_vec(),
            names: Names::for_tools(tools),
            state: State::Header(HarmonyHeader::of_answer()),
            joined: Utf8Pieces::default(),
            spoke: [false; 3],
            called: false,
            ended: false,
        }
    }

    fn open_message(&mut self, address: HarmonyAddress) {
        let hold = |then| State::Hold { text: String::new(), then };
        use HarmonyChannel::{Analysis, Commentary, Final, Foreign, Missing, Unknown};
        self.state = match (address.channel, address.recipient) {
            (Foreign, _) => State::Skip,
            (_, Some(recipient)) => hold(Held::Arguments(recipient)),
            (Commentary, None) if address.json => hold(Held::Unaddressed),
            (Commentary, None) => hold(Held::Perhaps(Stream::Preamble)),
            (Final, None) => hold(Held::Perhaps(Stream::Text)),
            (Analysis | Missing | Unknown, None) => State::Stream(Stream::Reasoning),
        };
    }

    fn push_body(&mut self, piece: String, out: &mut Vec<ModelEvent>) {
        match &mut self.state {
            State::Header(_) | State::Skip => {}
            State::Stream(stream) => {
                let stream = *stream;
                self.emit(stream, piece, out);
            }
            State::Hold { text, then } => {
                if text.len() <= CALL_BYTES {
                    text.push_str(&piece);
                }
                // An answer in JSON is held back only if it could be a call.
                if let Held::Perhaps(stream) = *then
                    && (self.tools.is_empty() && !text.is_empty() || !may_be_json(text))
                {
                    let text = std::mem::take(text);
                    self.begin_paragraph(stream, out);
                    self.emit(stream, text, out);
                    self.state = State::Stream(stream);
                }
            }
        }
    }

    fn begin_paragraph(&mut self, stream: Stream, out: &mut Vec<ModelEvent>) {
        if self.spoke[stream as usize] {
            self.emit(stream, "\n\n".to_owned(), out);
        }
    }

    fn emit(&mut self, stream: Stream, piece: String, out: &mut Vec<ModelEvent>) {
        if piece.is_empty() {
            return;
        }
        self.spoke[stream as usize] = true;
        out.push(match stream {
            Stream::Text => ModelEvent::Text(piece),
            Stream::Preamble => ModelEvent::Preamble(piece),
            Stream::Reasoning => ModelEvent::Reasoning(Reasoning::new(piece)),
        });
    }

    fn close_message(&mut self, marker: i32, out: &mut Vec<ModelEvent>) {
        let rest = self.joined.finish();
        self.push_body(rest, out);
        match std::mem::replace(&mut self.state, State::Header(HarmonyHeader::default())) {
            State::Header(header) => {
                let reply = header.unaddressed();
                // Text without a channel may be reasoning. Between messages it is ignored.
                if header.started && !reply.is_empty() {
                    let evidence = if marker == CALL { Evidence::Call } else { Evidence::Place };
                    self.emit_guessed_call(&reply, evidence, out);
                }
            }
            State::Hold { text, then: Held::Arguments(recipient) } => {
                let arguments = match arguments::parse(&text) {
                    Some(arguments) if text.len() <= CALL_BYTES => Value::Object(arguments),
                    _ => broken_arguments(text),
                };
                self.emit_call(self.names.ours(&recipient), arguments, out);
            }
            State::Hold { text, then: Held::Unaddressed } => {
                self.emit_guessed_call(&text, Evidence::Call, out);
            }
            State::Hold { text, then: Held::Perhaps(stream) } => {
                let evidence = if marker == CALL { Evidence::Call } else { Evidence::None };
                match find_call(&text, evidence, &self.tools, &self.names) {
                    Some((name, arguments)) => self.emit_call(name, arguments, out),
                    // JSON meant for a tool is not shown.
                    None if marker == CALL => {}
                    None => {
                        self.begin_paragraph(stream, out);
                        self.emit(stream, text, out);
                    }
                }
            }
            State::Stream(_) | State::Skip => {}
        }
    }

    /// Ends the answer; later tokens are ignored.
    fn end_answer(&mut self, token: i32, out: &mut Vec<ModelEvent>) {
        if !self.ended {
            self.close_message(token, out);
            self.ended = true;
        }
    }

    fn emit_guessed_call(&mut self, text: &str, evidence: Evidence, out: &mut Vec<ModelEvent>) {
        if let Some((name, arguments)) = find_call(text, evidence, &self.tools, &self.names) {
            self.emit_call(name, arguments, out);
        }
    }

    fn emit_call(&mut self, name: String, arguments: Value, out: &mut Vec<ModelEvent>) {
        self.called = true;
        let id = uuid::Uuid::new_v4().to_string();
        out.push(ModelEvent::ToolCall(CallRequest { id, name, arguments }));
    }
}

impl AnswerParser for Parser {
    fn push(&mut self, token: i32, bytes: &[u8], out: &mut Vec<ModelEvent>) {
        if self.ended {
            return;
        }
        match (token, &mut self.state) {
            (START, _) => {
                self.close_message(START, out);
                self.state = State::Header(HarmonyHeader::started());
            }
            (CHANNEL, State::Header(header)) => header.begin_channel(),
            // `<|end|><|start|>assistant` is missing.
            (CHANNEL, _) => {
                self.close_message(CHANNEL, out);
                let mut header = HarmonyHeader::default();
                header.begin_channel();
                self.state = State::Header(header);
            }
            (CONSTRAIN, State::Header(header)) => header.begin_constrain(),
            (MESSAGE, State::Header(header)) => {
                let address = header.address();
                self.open_message(address);
                if matches!(self.state, State::Stream(Stream::Reasoning)) {
                    self.begin_paragraph(Stream::Reasoning, out);
                }
            }
            (END, _) => self.close_message(END, out),
            (RETURN | CALL | END_OF_TEXT, _) => self.end_answer(token, out),
            // Within a body, these and reserved tokens have no meaning.
            (TEXT_TOKENS.., _) => {}
            (_, State::Header(header)) => header.push(bytes),
            _ => {
                let piece = self.joined.push(bytes);
                self.push_body(piece, out);
            }
        }
    }

    fn finish(&mut self, end: Option<i32>, out: &mut Vec<ModelEvent>) -> Ending {
        if let Some(token) = end {
            self.end_answer(token, out);
        }
        if self.ended {
            // A preamble alone is not an answer.
            let answered = self.spoke[Stream::Text as usize] || self.called;
            return if answered { Ending::Whole } else { Ending::Malformed };
        }
        let rest = self.joined.finish();
        self.push_body(rest, out);
        // Drops an incomplete call; emits text that was held back.
        if let State::Hold { text, then: Held::Perhaps(stream) } =
            std::mem::replace(&mut self.state, State::Skip)
        {
            self.begin_paragraph(stream, out);
            self.emit(stream, text, out);
        }
        Ending::CutOff
    }
}

/// Keeps arguments that are not an object as text, which the agent loop reports to the model as the error of this call.
fn broken_arguments(mut text: String) -> Value {
    text.truncate(text.floor_char_boundary(BROKEN_CALL_BYTES));
    Value::String(text)
}

fn may_be_json(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || text.starts_with('{')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Ends with `<|call|>` or is declared as JSON: the arguments may identify the tool by their shape.
    Call,
    /// Is in a place where no answer can be. As above, but must be pure JSON.
    Place,
    /// Could be an answer in JSON: must be pure JSON and name the tool.
    None,
}

/// Returns the tool and its arguments.
///
/// The text must be one object: either `{"name": TOOL, "arguments": {…}}` with an offered tool, or, if a call was
/// meant, arguments that match exactly one tool by name, presence and type.
pub(super) fn find_call(
    text: &str,
    evidence: Evidence,
    tools: &[ToolSpec],
    names: &Names,
) -> Option<(String, Value)> {
    let object = match evidence {
        Evidence::Call => arguments::parse(text),
        Evidence::Place | Evidence::None => arguments::strict(text),
    };
    let object = object.filter(|object| !object.is_empty())?;
    if let Some(named) = named_call(&object, names) {
        return Some(named);
    }
    if evidence == Evidence::None {
        return None;
    }
    let mut fitting = tools.iter().filter(|tool| matches_schema(&object, &tool.parameters));
    match (fitting.next(), fitting.next()) {
        (Some(tool), None) => Some((tool.name.clone(), Value::Object(object))),
        _ => None,
    }
}

fn named_call(object: &Map<String, Value>, names: &Names) -> Option<(String, Value)> {
    let name = names.known(object.get("name")?.as_str()?)?;
    let arguments = object.get("arguments").or_else(|| object.get("parameters"))?;
    let arguments = match arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::String(text) => arguments::parse(text)?,
        _ => return None,
    };
    (object.len() == 2).then_some((name, Value::Object(arguments)))
}

fn matches_schema(object: &Map<String, Value>, schema: &Value) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).all(|name| object.contains_key(name))
        && object
            .iter()
            .all(|(name, value)| properties.get(name).is_some_and(|schema| has_type(value, schema)))
}

fn has_type(value: &Value, schema: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => true,
    };
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn find_call_accepts_plausible_calls_only() {
        let tool =
            |name: &str, parameters| ToolSpec { name: name.into(), description: String::new(), parameters };
        let tools = [
            tool(
                "fs.list_dir",
                json!({"properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}),
            ),
            tool(
                "grep",
                json!({"properties": {"pattern": {"type": "string"}, "path": {}}, "required": ["pattern"]}),
            ),
            tool("glob", json!({"properties": {"pattern": {"type": "string"}}, "required": ["pattern"]})),
        ];
        let names = Names::for_tools(&tools);
        let rows = [
            (r#"{"path":"."}"#, Evidence::Call, Some(("fs.list_dir", json!({"path": "."})))),
            (r#"{"path":"."}"#, Evidence::None, None),
            (r#"{"path":"."}"#, Evidence::Place, Some(("fs.list_dir", json!({"path": "."})))),
            (r#"{"path":"."} there"#, Evidence::Place, None),
            (r#"{"path":"."} there"#, Evidence::Call, Some(("fs.list_dir", json!({"path": "."})))),
            (r#"{"path":1}"#, Evidence::Call, None),
            (r#"{"depth":1.5}"#, Evidence::Call, None),
            (r#"{"pattern":"a"}"#, Evidence::Call, None),
            (
                r#"{"pattern":"a","path":"."}"#,
                Evidence::Call,
                Some(("grep", json!({"pattern": "a", "path": "."}))),
            ),
            (r#"{"other":1}"#, Evidence::Call, None),
            ("{}", Evidence::Call, None),
            (
                r#"{"name":"functions.fs_list_dir","arguments":{"path":"a"}}"#,
                Evidence::None,
                Some(("fs.list_dir", json!({"path": "a"}))),
            ),
            (r#"{"name":"glob","arguments":"{}"}"#, Evidence::None, Some(("glob", json!({})))),
            (r#"{"name":"rm","arguments":{}}"#, Evidence::None, None),
            (r#"{"name":"glob","arguments":{},"more":1}"#, Evidence::None, None),
            ("The answer is 42", Evidence::Call, None),
        ];
        for (text, evidence, expected) in rows {
            let expected = expected.map(|(name, arguments)| (name.to_owned(), arguments));
            assert_eq!(find_call(text, evidence, &tools, &names), expected, "{text} {evidence:?}");
        }
    }
}
