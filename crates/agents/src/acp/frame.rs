//! JSON-RPC messages of an agent.

use openagents_core::{json_text, text::clip_bytes};
use serde_json::{Value, json};

#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// Expects a response.
    Request {
        /// Any value; sent back unchanged.
        id: Value,
        method: String,
        params: Value,
    },
    /// Expects no response.
    Notification { method: String, params: Value },
    /// A response to us.
    Response { id: Value, result: Result<Value, RpcError> },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Value,
}

/// The protocol's code for "log in first".
const AUTHENTICATION_REQUIRED: i64 = -32000;

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    pub(super) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {}", clip_bytes(method, 100)))
    }

    pub(super) fn invalid_params(why: impl std::fmt::Display) -> Self {
        Self::new(-32602, format!("Invalid params: {why}"))
    }

    /// A refusal, with a reason that the agent can pass to its model.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::new(-32603, why)
    }

    pub(super) fn wants_login(&self) -> bool {
        let words = self.message.to_ascii_lowercase();
        self.code == AUTHENTICATION_REQUIRED && words.contains("auth")
    }

    /// The message, followed by the details if they add something.
    pub(super) fn sentence(&self) -> String {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let details = text(&self.data)
            .or_else(|| ["details", "message"].iter().find_map(|key| text(&self.data[*key])))
            .filter(|details| !details.is_empty() && !self.message.contains(details.as_str()));
        let whole = match details {
            Some(details) => format!("{}: {details}", self.message),
            None => self.message.clone(),
        };
        clip_bytes(&whole, 500)
    }
}

/// Parses a line; `None` if it is not a message.
pub(super) fn parse(line: &[u8]) -> Option<Incoming> {
    let Ok(Value::Object(mut frame)) = json_text::from_slice(line) else { return None };
    let id = frame.remove("id");
    let params = frame.remove("params").unwrap_or(Value::Null);
    match (frame.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Some(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Incoming::Notification { method, params }),
        (None, Some(id)) => {
            let result = match (frame.remove("error"), frame.remove("result")) {
                // Some agents omit an empty result.
                (None | Some(Value::Null), result) => Ok(result.unwrap_or_default()),
                (Some(error), _) => Err(RpcError {
                    code: error["code"].as_i64().unwrap_or_default(),
                    message: error["message"].as_str().unwrap_or("an error without a message").to_owned(),
                    data: error["data"].clone(),
                }),
            };
            Some(Incoming::Response { id, result })
        }
        _ => None,
    }
}

/// Returns the number of one of our requests; some agents send it back as text.
pub(super) fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(super) fn response(id: &Value, result: Result<Value, RpcError>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let mut said = json!({"code": error.code, "message": error.message});
            if !error.data.is_null() {
                said["data"] = error.data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": said})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_other_lines() {
        let error = RpcError { code: -1, message: "no".to_owned(), data: json!("why") };
        let rows: [(&str, Option<Incoming>); 13] = [
            ("", None),
            ("{", None),
            ("[]", None),
            ("{}", None),
            (r#"{"method":7,"id":1}"#, None),
            (
                r#"{"method":"a","params":"cut \ud83d"}"#,
                Some(Incoming::Notification { method: "a".to_owned(), params: json!("cut \u{fffd}") }),
            ),
            (r#"{"id":1}"#, Some(Incoming::Response { id: json!(1), result: Ok(Value::Null) })),
            (r#"{"id":1,"error":null}"#, Some(Incoming::Response { id: json!(1), result: Ok(Value::Null) })),
            (
                r#"{"method":"a"}"#,
                Some(Incoming::Notification { method: "a".to_owned(), params: Value::Null }),
            ),
            (
                r#"{"method":"a","id":"x","params":{}}"#,
                Some(Incoming::Request { id: json!("x"), method: "a".to_owned(), params: json!({}) }),
            ),
            (r#"{"id":1,"result":null}"#, Some(Incoming::Response { id: json!(1), result: Ok(Value::Null) })),
            (
                r#"{"id":1,"result":2,"error":null}"#,
                Some(Incoming::Response { id: json!(1), result: Ok(json!(2)) }),
            ),
            (
                r#"{"id":1,"error":{"code":-1,"message":"no","data":"why"}}"#,
                Some(Incoming::Response { id: json!(1), result: Err(error.clone()) }),
            ),
        ];
        for (line, expected) in rows {
            assert_eq!(parse(line.as_bytes()), expected, "{line}");
        }
        let ids = [json!(7), json!("7"), json!("x"), Value::Null, json!(-1)];
        assert_eq!(ids.map(|id| number(&id)), [Some(7), Some(7), None, None, None]);
        assert_eq!(error.sentence(), "no: why");
        assert_eq!(parse("[".repeat(100_000).as_bytes()), None);
    }
}
