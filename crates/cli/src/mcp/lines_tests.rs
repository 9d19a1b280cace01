//! Conversations of clients, line by line, with the real server.

use super::*;
use crate::mcp::server::Server;
use openagents_core::workspace::Workspace;
use proptest::prelude::*;
use rmcp::ServiceExt as _;

/// Sends bytes and closes the input. Returns the frames written, sorted by id: `initialize` comes first.
fn converse(bytes: &[u8]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cart.py"), "def total(items):\n    return sum(items)\n").unwrap();
    let server = Server::new(Arc::new(Workspace::open(folder.path()).unwrap()), || false);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let written = runtime.block_on(async {
        let (client_output, mut written) = tokio::io::duplex(1 << 20);
        let connection = connect(std::io::Cursor::new(bytes.to_vec()), client_output);
        let session = async {
            if let Ok(service) = server.serve((connection.input, connection.output)).await {
                service.waiting().await.unwrap();
            }
            connection.writer.await.unwrap().unwrap();
        };
        let mut all = String::new();
        let (_, read) = tokio::join!(session, written.read_to_string(&mut all));
        read.unwrap();
        all
    });
    let mut frames: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    frames.sort_by_key(|frame| frame["id"].to_string());
    frames
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn initialize(version: &str) -> Value {
    let client = json!({"name": "test", "version": "0"});
    request(1, "initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}))
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// Returns the responses to `lines` after a handshake in `version`, without that of the handshake.
fn after_handshake(version: &str, lines: &[&str]) -> Vec<Value> {
    let handshake = [initialize(version), initialized()].map(|frame| frame.to_string());
    let all = [&handshake.each_ref().map(String::as_str), lines].concat();
    let mut frames = converse((all.join("\n") + "\n").as_bytes());
    let handshake = frames.iter().position(|frame| frame["result"]["serverInfo"].is_object()).unwrap();
    frames.remove(handshake);
    frames
}

/// Returns the code and message of each error, by the id of its frame.
fn errors<'a>(frames: &'a [Value]) -> Vec<(Value, i64, &'a str)> {
    let error = |frame: &Value| Some((frame["id"].clone(), frame["error"]["code"].as_i64()?));
    let message = |frame: &'a Value| frame["error"]["message"].as_str().unwrap_or_default();
    let all = frames.iter().filter_map(|frame| error(frame).map(|(id, code)| (id, code, message(frame))));
    all.collect()
}

#[test]
fn invalid_json_is_answered_and_skipped() {
    let ping = request("six", "ping", json!({})).to_string();
    for line in ["{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":", "not a frame", "\u{0}", "{\"id\":1}}"] {
        let frames = after_handshake("2025-06-18", &[line, "", "  ", &ping]);
        assert_eq!(frames.len(), 2, "{frames:?}");
        assert_eq!((&frames[0]["id"], &frames[0]["result"]), (&json!("six"), &json!({})));
        let (id, code, message) = errors(&frames)[0].clone();
        assert_eq!((id, code), (Value::Null, -32700), "{line}");
        assert!(frames[1].as_object().unwrap().contains_key("id"), "the id is null, not absent");
        assert!(message.starts_with("the line is not JSON: "), "{message}");
    }
}

#[test]
fn invalid_request_is_answered_with_its_id() {
    let rows = [
        (r#"{"jsonrpc":"2.0","id":5}"#, json!(5), "method is missing"),
        (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, json!("a"), "method is not a string"),
        (r#"{"id":5,"method":"ping"}"#, json!(5), "jsonrpc is not \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, "id is not a string or an integer"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, "id is not a string or an integer"),
        ("7", Value::Null, "the message is not an object"),
        ("null", Value::Null, "the message is not an object"),
    ];
    for (line, id, message) in rows {
        let frames = after_handshake("2025-11-25", &[line]);
        assert_eq!(errors(&frames), [(id, -32600, message)], "{line}");
    }
}

#[test]
fn odd_ids_and_stray_notifications_are_accepted() {
    let lines = [
        request(0, "ping", json!({})),
        request("six", "ping", json!({})),
        request(-7, "ping", json!({})),
        request(7, "no/such", json!({})),
        request(8, "tools/call", json!({"name": "find"})),
        request(9, "tools/call", json!({"name": "nope", "arguments": {}})),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4242}}),
        json!({"jsonrpc": "2.0", "method": "no/such"}),
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let frames = after_handshake("2025-06-18", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let ids: Vec<String> = frames.iter().map(|frame| frame["id"].to_string()).collect();
    assert_eq!(ids, ["\"six\"", "-7", "0", "7", "8", "9"]);
    assert_eq!(frames[4]["result"]["isError"], true);
    assert_eq!(
        errors(&frames),
        [
            (json!(7), -32601, "no such method: no/such"),
            (json!(9), -32602, "no such tool: nope (there are: overview, find)")
        ]
    );
}

#[test]
fn byte_order_mark_and_crlf_are_accepted() {
    let lines = [initialize("2025-06-18"), initialized(), request(2, "ping", json!({}))];
    let text: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let frames = converse(format!("\u{feff}{text}").as_bytes());
    assert_eq!(frames.iter().map(|frame| &frame["id"]).collect::<Vec<_>>(), [&json!(1), &json!(2)]);
    // The last line may end with the input instead of a line break.
    assert_eq!(converse(text.trim_end().as_bytes()).len(), 2);
}

#[test]
fn half_character_becomes_replacement() {
    let call = request(2, "tools/call", json!({"name": "find", "arguments": {"question": "total CUT"}}));
    for cut in [&b"\\ud83d"[..], b"\\uDE00", b"\xf0\x9f"] {
        let call = call.to_string();
        let (before, after) = call.split_once("CUT").unwrap();
        let handshake = format!("{}\n{}\n", initialize("2025-06-18"), initialized());
        let bytes = [handshake.as_bytes(), before.as_bytes(), cut, after.as_bytes(), b"\n"].concat();
        let frames = converse(&bytes);
        assert_eq!(frames[1]["result"]["structuredContent"]["findings"][0]["path"], "cart.py", "{frames:?}");
    }
}

#[test]
fn batch_is_answered_where_version_allows_it() {
    let batch = json!([request(2, "ping", json!({})), initialized(), request(3, "tools/list", json!({})), 7]);
    for version in ["2024-11-05", "2025-03-26"] {
        let frames = after_handshake(version, &[&batch.to_string()]);
        let [Value::Array(responses)] = &frames[..] else { panic!("{frames:?}") };
        let mut ids: Vec<_> = responses.iter().map(|response| response["id"].to_string()).collect();
        ids.sort();
        assert_eq!(ids, ["2", "3", "null"], "{responses:?}");
        // Nothing to respond to.
        assert_eq!(after_handshake(version, &[&json!([initialized()]).to_string()]), [] as [Value; 0]);
    }
    for version in ["2025-06-18", "2025-11-25"] {
        let frames = after_handshake(version, &[&batch.to_string()]);
        let message = format!("MCP {version} has no batches; send each request on its own line");
        assert_eq!(errors(&frames), [(Value::Null, -32600, message.as_str())]);
    }
    assert_eq!(
        errors(&after_handshake("2025-03-26", &["[]"])),
        [(Value::Null, -32600, "the batch is empty")]
    );
}

#[test]
fn cancelled_request_does_not_delay_its_batch() {
    let mut open = Open::default();
    open.batches.push(Batch { waiting: vec![json!(1), json!("b")], responses: Vec::new() });
    assert_eq!(open.respond(json!({"id": "b"})), None);
    assert_eq!(open.respond(json!({"id": 4})), Some(json!({"id": 4})));
    assert_eq!(open.cancel(&json!(1)), Some(json!([{"id": "b"}])));
    assert_eq!(open.cancel(&json!(1)), None);
}

#[test]
fn request_before_handshake_names_remedy() {
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let early = request(9, "tools/list", json!({}));
    let batch = json!([early]);
    let lines =
        [cancel, early, batch, request(3, "ping", json!({})), initialize("2025-11-25"), initialized()];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let frames = converse((lines.join("\n") + "\n").as_bytes());
    let errors = errors(&frames);
    assert_eq!((&errors[0].0, errors[0].1), (&json!(9), -32600));
    let helps = "tools/list came before `initialize`; send that first, or name the protocol version in _meta";
    assert!(errors[0].2.starts_with(helps), "{}", errors[0].2);
    assert_eq!(errors[1].2, "a batch came before `initialize`, which is sent alone");
    assert_eq!((&frames[0]["id"], &frames[1]["id"]), (&json!(1), &json!(3)), "{frames:?}");
}

#[test]
fn client_without_handshake_is_served() {
    let meta = json!({
        INLINE_VERSION: "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discover = request(0, "server/discover", json!({"_meta": meta}));
    let list = request(2, "tools/list", json!({"_meta": meta}));
    let lines = format!("{discover}\n{list}\n");
    let frames = converse(lines.as_bytes());
    assert!(frames[0]["result"]["supportedVersions"].is_array(), "{frames:?}");
    assert_eq!(frames[1]["result"]["tools"][1]["name"], "find");
    // A probe before the handshake.
    let lines = format!("{discover}\n{}\n{}\n", initialize("2025-11-25"), initialized());
    assert_eq!(converse(lines.as_bytes()).len(), 2);
}

#[test]
fn endless_line_is_skipped() {
    let long = "x".repeat(LINE as usize + 10);
    let frames = after_handshake("2025-06-18", &[&long, &request(2, "ping", json!({})).to_string()]);
    assert_eq!(frames[0]["id"], 2);
    assert_eq!(errors(&frames), [(Value::Null, -32600, "the line is longer than 16 MiB")]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn request_after_any_bytes_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC*") {
        let handshake = format!("{}\n{}\n", initialize("2025-03-26"), initialized());
        let ping = format!("\n{}\n", request("last", "ping", json!({})));
        let all = [handshake.as_bytes(), &bytes, b"\n", text.as_bytes(), ping.as_bytes()].concat();
        let answered = converse(&all).into_iter().any(|frame| frame["id"] == "last");
        prop_assert!(answered);
    }
}
