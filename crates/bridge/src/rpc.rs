//! The JSON-RPC 2.0 core that both dialects stand on. Ids are echoed as they came, byte for byte.

use crate::error::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// A frame of a client.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Wants an answer.
    Request { id: Id, method: String, params: Value },
    /// Wants none.
    Notification { method: String, params: Value },
    /// Answers something that was never asked: no door asks its clients anything yet.
    Response,
}

/// The id of a request as it came: `1` stays a number, `"1"` a string.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct Id(Box<RawValue>);

impl Id {
    pub(crate) fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// What is wrong with a frame, and the id to answer it with, where one could be read.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) id: Option<Id>,
    pub(crate) fault: Fault,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    jsonrpc: Option<Value>,
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(default)]
    method: Option<Value>,
    #[serde(default)]
    params: Option<Value>,
}

/// Reads a frame.
pub(crate) fn parse(text: &str) -> Result<Incoming, Malformed> {
    if text.trim_start().starts_with('[') {
        return Err(Malformed { id: None, fault: Fault::invalid_request("Batches are not supported.") });
    }
    let envelope: Envelope = serde_json::from_str(text).map_err(|error| Malformed {
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
        let reason =
            format!("An id must be a string or a number, not {}.", crate::prune::head(bad.as_str(), 40));
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
        (None, _) => Ok(Incoming::Response),
    }
}

fn is_id(raw: &str) -> bool {
    raw.starts_with('"') || raw.starts_with('-') || raw.starts_with(|first: char| first.is_ascii_digit())
}

/// Writes a response. `result` must be an object or an array: the iOS app ends on anything else.
pub(crate) fn response(id: &Id, result: &Value) -> String {
    frame(&serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Writes an error response; without an id where none could be read.
pub(crate) fn error(id: Option<&Id>, fault: &Fault) -> String {
    frame(&serde_json::json!({"jsonrpc": "2.0", "id": id, "error": fault.to_wire()}))
}

/// Writes a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    frame(&serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// Compact, because the iOS app looks for `"jsonrpc":"2.0"` to the letter.
fn frame(value: &Value) -> String {
    value.to_string()
}
