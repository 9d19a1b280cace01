//! JSON-RPC 2.0, shared by both dialects. Ids are echoed byte for byte.

use crate::fault::Fault;
use openagents_core::json_text;
use openagents_wire::Event;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

#[derive(Debug)]
pub enum Incoming {
    Request {
        id: Id,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// Answers a request of ours; `result` is null for an error.
    Response {
        id: Option<Id>,
        result: Value,
    },
}

/// The id of a request as received: `1` stays a number, `"1"` a string.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Id(Box<RawValue>);

impl Id {
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// An invalid frame: the error, and the id if it could be read.
#[derive(Debug)]
pub struct Malformed {
    pub id: Option<Id>,
    pub fault: Fault,
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<Value>,
    id: Option<Box<RawValue>>,
    method: Option<Value>,
    params: Option<Value>,
    result: Option<Value>,
}

pub fn parse(text: &str) -> Result<Incoming, Malformed> {
    if text.trim_start().starts_with('[') {
        return Err(Malformed { id: None, fault: Fault::invalid_request("Batches are not supported.") });
    }
    let envelope: Envelope = json_text::from_str(text).map_err(|error| Malformed {
        id: None,
        fault: match error.classify() {
            serde_json::error::Category::Data => {
                Fault::invalid_request("A frame must be a JSON-RPC 2.0 object.")
            }
            _ => Fault::parse(format!("The frame is not valid JSON: {error}.")),
        },
    })?;
    let id = envelope.id.map(Id);
    if let Some(bad) = id.as_ref().filter(|id| !is_id(id.as_str())) {
        let reason = format!(
            "An id must be a string or a number, not {}.",
            openagents_core::text::prefix(bad.as_str(), 40)
        );
        return Err(Malformed { id: None, fault: Fault::invalid_request(reason) });
    }
    if envelope.jsonrpc.as_ref().and_then(Value::as_str) != Some("2.0") {
        return Err(Malformed { id, fault: Fault::invalid_request("The member jsonrpc must be \"2.0\".") });
    }
    let params = envelope.params.unwrap_or(Value::Null);
    match (envelope.method, id) {
        (Some(Value::String(method)), Some(id)) => Ok(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (Some(_), id) => Err(Malformed { id, fault: Fault::invalid_request("The method must be a string.") }),
        (None, id) => Ok(Incoming::Response { id, result: envelope.result.unwrap_or_default() }),
    }
}

fn is_id(raw: &str) -> bool {
    raw.starts_with('"') || raw.starts_with('-') || raw.starts_with(|first: char| first.is_ascii_digit())
}

/// An outgoing frame. Serialised directly: going through [`Value`] would lose the spelling of ids.
#[derive(Serialize)]
pub struct Frame<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Option<&'a Id>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

const EMPTY: Frame<'static> =
    Frame { jsonrpc: "2.0", id: None, method: None, params: None, result: None, error: None };

impl Frame<'_> {
    /// Serialises to compact JSON: the iOS app searches for the literal `"jsonrpc":"2.0"`.
    fn write(&self) -> String {
        // Cannot fail: all keys are strings and no member's serialisation fails.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Writes a response. `result` must be an object or an array: the iOS app crashes on anything else.
pub fn response(id: &Id, result: &Value) -> String {
    Frame { id: Some(Some(id)), result: Some(result), ..EMPTY }.write()
}

/// Writes an error response. Without an id, the id is `null`.
pub fn error(id: Option<&Id>, fault: &Fault) -> String {
    Frame { id: Some(id), error: Some(fault.to_wire()), ..EMPTY }.write()
}

pub fn request(id: &str, method: &str, params: &Value) -> String {
    let id = serde_json::value::to_raw_value(id).map(Id).ok();
    Frame { id: Some(id.as_ref()), method: Some(method), params: Some(params), ..EMPTY }.write()
}

pub fn notification(method: &str, params: &Value) -> String {
    Frame { method: Some(method), params: Some(params), ..EMPTY }.write()
}

/// Encodes an event as a notification.
pub fn event<E: Event>(params: &E::Params) -> String {
    notification(E::NAME, &value(params))
}

/// Returns a value as JSON. Wire types have string keys, so this cannot fail.
pub fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lone_surrogate_becomes_a_replacement() {
        let frame = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"cut \ud83d \ude00"}]}}"#;
        let Ok(Incoming::Request { params, .. }) = parse(frame) else { panic!("{frame}") };
        assert_eq!(params["prompt"][0]["text"], "cut \u{fffd} \u{fffd}");
    }

    #[test]
    fn ids_are_echoed_unchanged() {
        for id in ["1", "\"1\"", "-7", "1.50", "\"a\\u0041\"", "12345678901234567890123"] {
            let Ok(Incoming::Request { id: parsed, .. }) =
                parse(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#))
            else {
                panic!("{id} is an id");
            };
            assert_eq!(
                response(&parsed, &json!({})),
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
            );
        }
    }

    #[test]
    fn invalid_frames_are_rejected() {
        for (text, code, id) in [
            ("", -32700, None),
            ("{", -32700, None),
            ("[]", -32600, None),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, -32600, None),
            ("1", -32600, None),
            ("\"text\"", -32600, None),
            ("null", -32600, None),
            (r#"{"id":1,"method":"x"}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, -32600, Some("1")),
            (r#"{"jsonrpc":2.0,"id":1,"method":"x"}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, -32600, Some("\"a\"")),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#, -32600, None),
        ] {
            let malformed = parse(text).unwrap_err();
            assert_eq!((malformed.fault.code, malformed.id.as_ref().map(Id::as_str)), (code, id), "{text}");
        }
    }

    #[test]
    fn parse_tells_frame_kinds_apart() {
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"a":1}}"#),
            Ok(Incoming::Notification { method, params }) if method == "session/cancel" && params == json!({"a": 1})
        ));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#),
            Ok(Incoming::Notification { .. })
        ));
        assert!(matches!(parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Incoming::Response { .. })));
        assert!(matches!(
            parse(r#" {"jsonrpc": "2.0", "id": 1, "method": "x"} "#),
            Ok(Incoming::Request { .. })
        ));
    }

    #[test]
    fn error_without_id_has_null_id() {
        assert_eq!(
            error(None, &Fault::parse("Oh.")),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Oh."}}"#
        );
    }
}
