//! Malformed frames: the server keeps serving, usually on the same connection.

use crate::support::{Client, TestBridge, echo};
use futures::SinkExt;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

const METHODS: &[&str] = &[
    "initialize",
    "session/new",
    "session/set_mode",
    "session/prompt",
    "session/cancel",
    "session/list",
    "session/load",
    "orchestrate.explore.start",
    "tinyvex/history.recentSessions",
    "tinyvex/history.sessionTimeline",
    "threads/list",
    "thread/load_latest_typed",
    "_openagents/explore",
    "_openagents/attach",
    "_openagents/update",
    "_openagents/markdown",
    "_openagents/workspaces",
    "no/such",
];

const KEYS: &[&str] = &[
    "sessionId",
    "session_id",
    "prompt",
    "content",
    "cwd",
    "root",
    "goals",
    "policy",
    "since",
    "seq",
    "offset",
    "limit",
    "text",
    "type",
    "cursor",
    "topK",
    "mode_id",
    "mcpServers",
    "protocolVersion",
    "_meta",
];

fn any_value() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,24}".prop_map(Value::from),
        Just(json!("/")),
        Just(json!("text")),
        Just(json!("s")),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(KEYS), inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn any_frame() -> impl Strategy<Value = String> {
    let call = (prop::sample::select(METHODS), any_value(), any_value()).prop_map(
        |(method, params, id)| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
    );
    prop_oneof![
        4 => call.clone().prop_map(|call| call.to_string()),
        1 => (call, any::<prop::sample::Index>()).prop_map(|(call, at)| {
            let text = call.to_string();
            text[..text.floor_char_boundary(at.index(text.len()))].to_owned()
        }),
        1 => any_value().prop_map(|value| value.to_string()),
        1 => any::<String>(),
        1 => (1usize..4000).prop_map(|depth| "[".repeat(depth)),
        1 => (1usize..4000).prop_map(|depth| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{}", "[".repeat(depth))),
    ]
}

/// Checks that the client's next request is answered.
async fn still_served(client: &mut Client, method: &str) {
    let id = "a-marker-that-no-strategy-makes";
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}})).await;
    while client.frame().await["id"] != id {}
}

#[test]
fn text_frames_never_end_the_handler() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (test, phone, client) = runtime.block_on(async {
        let test = TestBridge::new(echo).await;
        let (phone, client) = (test.phone().await, test.acp().await);
        (test, phone, client)
    });
    let clients = tokio::sync::Mutex::new((phone, client));
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) });
    runner
        .run(&any_frame(), |frame| {
            runtime.block_on(async {
                let mut clients = clients.lock().await;
                let (phone, client) = &mut *clients;
                phone.socket.send(Message::text(frame.clone())).await.unwrap();
                client.socket.send(Message::text(frame)).await.unwrap();
                still_served(phone, "threads/list").await;
                still_served(client, "session/list").await;
            });
            Ok(())
        })
        .unwrap();
    drop(clients);
    runtime.block_on(test.bridge.shutdown());
}

#[tokio::test]
async fn malformed_frames_are_answered_or_ignored() {
    let test = TestBridge::new(echo).await;
    let (mut phone, mut client) = (test.phone().await, test.acp().await);
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(10_000), close.repeat(10_000));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"session/list","params":{open}{close}}}"#)
    };
    let long = "9".repeat(100_000);
    for frame in [
        "".to_owned(),
        "session/list".to_owned(),
        "\0".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\0\"}".to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"\u0000\ud800"}"#.to_owned(),
        "[]".to_owned(),
        r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#.to_owned(),
        "null".to_owned(),
        "17".to_owned(),
        r#""{}""#.to_owned(),
        r#"{"jsonrpc":"1.0","id":1,"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":2,"id":1,"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{},"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":[1],"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":true,"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":17}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":17}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":"sessionId"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":[1]}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list","method":"no/such"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1e999,"method":"session/list","params":{"cursor":1e999}}"#.to_owned(),
        format!(
            r#"{{"jsonrpc":"2.0","id":{long},"method":"_openagents/attach","params":{{"since":-{long}}}}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{long}"}}"#),
        deep("[", "]"),
        deep(r#"{"a":"#, "}"),
        "[".repeat(10_000),
    ] {
        phone.socket.send(Message::text(frame.clone())).await.unwrap();
        client.socket.send(Message::text(frame)).await.unwrap();
        still_served(&mut phone, "threads/list").await;
        still_served(&mut client, "session/list").await;
    }
}

#[tokio::test]
async fn non_text_frame_closes_with_reason() {
    let test = TestBridge::new(echo).await;
    for opcode in [Data::Text, Data::Binary] {
        let mut client = test.acp().await;
        let frame = Frame::message(vec![0xff, 0xfe, 0], OpCode::Data(opcode), true);
        client.socket.send(Message::Frame(frame)).await.unwrap();
        assert_eq!(u16::from(client.closed().await.expect("a reason").code), 1003, "{opcode:?}");
    }
}

#[tokio::test]
async fn frame_of_100_mb_closes_with_reason() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    // The server drains only for a moment, but its answer must still arrive.
    let _ = client.socket.send(Message::text("x".repeat(100 << 20))).await;
    assert_eq!(u16::from(client.closed().await.expect("a reason").code), 1009);
    test.acp().await.request("session/list", json!({})).await;
}
