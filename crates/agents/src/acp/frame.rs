//! JSON-RPC messages exchanged with an agent.

use crate::limits::SPREAD;
use openagents_core::{json_text, text::clip_bytes};
use serde_json::{Map, Value, json};

#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    Request {
        /// Any value; sent back unchanged.
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        id: Value,
        result: Result<Value, RpcError>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

/// The protocol's error code for "log in first".
const AUTHENTICATION_REQUIRED: i64 = -32000;

/// The message that comes with the code and adds nothing to it.
const AUTHENTICATION_WORDS: &str = "authentication required";

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
        self.code == AUTHENTICATION_REQUIRED
    }

    /// Returns `advice` (how to log in), followed by the agent's message unless it is only the standard one.
    pub(super) fn login_sentence(&self, advice: &str) -> String {
        match self.sentence() {
            message if message.trim_end_matches('.').eq_ignore_ascii_case(AUTHENTICATION_WORDS) => {
                advice.to_owned()
            }
            message => format!("{advice}. It says: {message}"),
        }
    }

    /// Returns whether a message is what the error says: `Internal error: Credit balance is too low`, or its data.
    pub(super) fn is(&self, message: &str) -> bool {
        let reason = self.message.split_once(": ").map_or(self.message.as_str(), |(_, reason)| reason);
        let mut reasons = [Some(reason), self.details()].into_iter().flatten().map(str::trim);
        reasons.any(|reason| !reason.is_empty() && message.trim() == reason)
    }

    fn details(&self) -> Option<&str> {
        let data = &self.data;
        data.as_str().or_else(|| ["details", "message"].iter().find_map(|key| data[*key].as_str()))
    }

    pub(crate) fn sentence(&self) -> String {
        let details = self.details().filter(|details| !details.is_empty() && !self.message.contains(details));
        let whole = match details {
            Some(details) => format!("{}: {details}", self.message),
            None => self.message.clone(),
        };
        clip_bytes(&whole, 500)
    }
}

/// Parses a line; `None` if it is not a message. Agents also print other lines: banners, and JSON log lines that may
/// carry the id of a request.
pub(crate) fn parse(line: &[u8]) -> Option<Incoming> {
    let Ok(Value::Object(mut frame)) = json_text::from_slice(line) else { return None };
    if !is_marked(&frame) {
        return None;
    }
    let id = frame.remove("id");
    let params = frame.remove("params").unwrap_or(Value::Null);
    match (frame.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Some(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Incoming::Notification { method, params }),
        (None, Some(id)) => {
            let result = match (frame.remove("error"), frame.remove("result")) {
                (None, None) => return None,
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

/// Returns whether an object is marked as JSON-RPC 2.0. Without the mark, which some agents omit, it may have only
/// the members of a message.
fn is_marked(frame: &Map<String, Value>) -> bool {
    match frame.get("jsonrpc") {
        Some(version) => version == "2.0",
        None => frame.keys().all(|key| MEMBERS.contains(&key.as_str())),
    }
}

/// Members of a message, apart from its mark.
const MEMBERS: [&str; 5] = ["id", "method", "params", "result", "error"];

/// Detects messages that an agent spreads over several lines: ACP has one message per line.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    lines: Vec<u8>,
}

impl Spread {
    /// Adds a line that is not a message. Returns whether it completes one.
    pub(crate) fn completes(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        if self.lines.is_empty() && line.first() != Some(&b'{') {
            return false;
        }
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        if self.lines.len() > SPREAD {
            self.lines.clear();
        }
        // Only the end of an object is worth parsing.
        if line.last() != Some(&b'}') {
            return false;
        }
        match serde_json::from_slice::<Value>(&self.lines) {
            Ok(_) => {
                let is_message = parse(&self.lines).is_some();
                self.lines.clear();
                is_message
            }
            Err(error) => {
                if !error.is_eof() {
                    self.lines.clear();
                }
                false
            }
        }
    }
}

pub(crate) const SPREAD_MESSAGE: &str =
    "sends messages of several lines, and ACP wants each in one line; report this to its developers";

/// Returns the number of one of our requests; some agents send it back as a string.
pub(crate) fn number(id: &Value) -> Option<u64> {
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
            let mut fault = json!({"code": error.code, "message": error.message});
            if !error.data.is_null() {
                fault["data"] = error.data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": fault})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The errors of claude-agent-acp 0.101 and codex-acp 2.6 that their last messages repeat.
    #[test]
    fn error_is_recognised_in_message() {
        let billing = RpcError::new(-32603, "Internal error: Credit balance is too low");
        let limit = RpcError {
            code: -32603,
            message: "Internal error".to_owned(),
            data: json!({"message": "You’ve hit your usage limit.", "codexErrorInfo": "usageLimitExceeded"}),
        };
        let rows = [
            (&billing, "Credit balance is too low", true),
            (&billing, "Let me see.\n\nCredit balance is too low\n", false),
            (&billing, "Credit balance is too low, so I stop here.", false),
            (&billing, "", false),
            (&limit, "You’ve hit your usage limit.", true),
            (&limit, "Done.", false),
            (&RpcError::new(-1, ""), "", false),
            (&RpcError::new(-1, "odd: "), "Done.", false),
        ];
        for (error, message, expected) in rows {
            assert_eq!(error.is(message), expected, "{error:?} {message}");
        }
    }

    #[test]
    fn parse_separates_messages_from_other_lines() {
        let error = RpcError { code: -1, message: "no".to_owned(), data: json!("why") };
        let rows: [(&str, Option<Incoming>); 21] = [
            ("", None),
            ("{", None),
            ("[]", None),
            ("{}", None),
            (r#"{"method":7,"id":1}"#, None),
            (r#"{"id":1}"#, None),
            (r#"{"jsonrpc":"2.0","id":1}"#, None),
            (r#"{"level":"info","id":1,"msg":"a log line with the id of a request"}"#, None),
            (r#"{"level":"info","id":1,"result":"ok"}"#, None),
            (r#"{"level":"error","id":1,"error":{"code":7}}"#, None),
            (r#"{"level":"info","id":1,"method":"GET"}"#, None),
            (r#"{"jsonrpc":"1.0","id":1,"result":2}"#, None),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":2,"_meta":{}}"#,
                Some(Incoming::Response { id: json!(1), result: Ok(json!(2)) }),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":2}"#,
                Some(Incoming::Response { id: json!(1), result: Ok(json!(2)) }),
            ),
            (
                r#"{"method":"a","params":"cut \ud83d"}"#,
                Some(Incoming::Notification { method: "a".to_owned(), params: json!("cut \u{fffd}") }),
            ),
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

    /// Returns the number of the line that completes a message, counted from 1.
    fn completed(text: &str) -> Option<usize> {
        let mut spread = Spread::default();
        text.lines().position(|line| spread.completes(line.as_bytes())).map(|at| at + 1)
    }

    #[test]
    fn spread_detects_messages_of_several_lines() {
        let message = json!({"jsonrpc": "2.0", "id": 0, "result": {"a": {"b": []}}});
        let settings = json!({"level": "info", "id": 0, "paths": {"home": "/h"}});
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
        assert_eq!(completed(&pretty(&message)), Some(9));
        assert_eq!(completed(&pretty(&message).replace('\n', "\r\n")), Some(9));
        assert_eq!(completed(&pretty(&settings)), None);
        assert_eq!(completed(&format!("Welcome\n{}\n{}", pretty(&settings), pretty(&message))), Some(17));
        assert_eq!(completed(&format!("{{ is not JSON }}\n{}", pretty(&message))), Some(10));
        assert_eq!(completed(&format!("{{\n{}", "x\n".repeat(SPREAD))), None);
    }

    proptest::proptest! {
        #[test]
        fn parse_never_panics(lines in proptest::collection::vec(".*", 0..20)) {
            let mut spread = Spread::default();
            for line in lines {
                let _ = (parse(line.as_bytes()), spread.completes(line.as_bytes()));
            }
        }
    }
}
