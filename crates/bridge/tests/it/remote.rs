//! The remote transport: requests in, event streams out.

use crate::support::{
    TestBridge, acp,
    agents::{self, ScriptedAgent, asks_to_edit},
    echo, last, prompt,
    remote::{Remote, acp_request, exchange, pair, text},
    seq, until_cancelled,
};
use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use futures::StreamExt;
use openagents_core::agent_ids::CODEX;
use serde_json::{Value, json};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

fn json_post(token: &str, body: impl Into<Body>) -> Request<Body> {
    acp_request("POST", token).header("content-type", "application/json").body(body.into()).unwrap()
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let test = TestBridge::new(echo).await;
    let token = test.bridge.token();
    let remote = Remote::connect(&test).await;
    let _stream = remote.open(None).await;
    let json = "application/json";
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"session/list"}"#;
    let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#;
    let of_a = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}"#;
    let events = "text/event-stream";
    let known = ("acp-connection-id", remote.id.as_str());
    let unknown = ("acp-connection-id", "00000000-0000-4000-8000-000000000000");
    for (expected, method, headers, body) in [
        (415, "POST", vec![known], list),
        (415, "POST", vec![known, ("content-type", "text/plain")], list),
        (202, "POST", vec![known, ("content-type", "application/json; charset=utf-8")], list),
        (400, "POST", vec![("content-type", json)], list),
        (404, "POST", vec![("content-type", json), unknown], list),
        (400, "POST", vec![("content-type", json), known], prompt),
        (400, "POST", vec![("content-type", json), known, ("acp-session-id", "b")], of_a),
        (202, "POST", vec![("content-type", json), known, ("acp-session-id", "a")], of_a),
        (202, "POST", vec![("content-type", json), known], of_a),
        (406, "GET", vec![known], ""),
        (406, "GET", vec![known, ("accept", "*/*")], ""),
        (400, "GET", vec![("accept", events)], ""),
        (404, "GET", vec![("accept", events), unknown], ""),
        (409, "GET", vec![("accept", "application/json, text/event-stream;q=0.9"), known], ""),
        (400, "DELETE", vec![], ""),
        (404, "DELETE", vec![unknown], ""),
        (405, "PUT", vec![known], ""),
    ] {
        let mut request = acp_request(method, token);
        for (name, value) in &headers {
            request = request.header(*name, *value);
        }
        let response = exchange(test.port(), request.body(Body::from(body)).unwrap()).await;
        assert_eq!(response.status(), expected, "{method} {headers:?} {body}");
        assert_ne!(text(response).await.is_empty(), expected >= 400, "{method} {headers:?} {body}");
    }
}

#[tokio::test]
async fn token_origin_and_host_are_checked() {
    let test = TestBridge::new(echo).await;
    let (port, token) = (test.port(), test.bridge.token());
    let remote = Remote::connect(&test).await;
    for (expected, name, value) in [
        (401, "authorization", "Bearer 00"),
        (403, "origin", "https://example.com"),
        (403, "host", "example.com"),
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let mut request = remote
                .acp_request(method)
                .header("content-type", "application/json")
                .header("accept", "text/event-stream")
                .body(Body::from(INITIALIZE))
                .unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
            assert_eq!(exchange(port, request).await.status(), expected, "{method} {name}");
        }
    }
    let own = acp_request("POST", token).header("origin", format!("http://127.0.0.1:{port}"));
    let own = own.header("content-type", "application/json").body(Body::from(INITIALIZE)).unwrap();
    assert_eq!(exchange(port, own).await.status(), 200);
    assert_eq!(remote.delete().await, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn invalid_message_is_answered_at_once() {
    let test = TestBridge::new(echo).await;
    let remote = Remote::connect(&test).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}{}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    for (code, body) in [
        (-32700, &b""[..]),
        (-32700, b"{"),
        (-32700, b"initialize"),
        (-32700, b"\0"),
        (-32700, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"),
        (-32700, deep.as_bytes()),
        (-32600, b"[]"),
        (-32600, br#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}]"#),
        (-32600, b"1"),
        (-32600, b"null"),
        (-32600, br#"{"jsonrpc":"1.0","id":1,"method":"initialize"}"#),
        (-32600, br#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#),
        (-32600, br#"{"jsonrpc":"2.0","id":1,"method":1}"#),
    ] {
        for connection in [Some(&remote), None] {
            let request = connection
                .map_or_else(|| acp_request("POST", &remote.token), |known| known.acp_request("POST"));
            let request =
                request.header("content-type", "application/json").body(Body::from(body.to_vec())).unwrap();
            let response = exchange(test.port(), request).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
            assert_eq!(response.status(), 400, "{shown}");
            assert!(!response.headers().contains_key("acp-connection-id"));
            let answer: Value = serde_json::from_str(&text(response).await).unwrap();
            assert_eq!(answer["error"]["code"], code, "{shown}");
        }
    }
    // A refused initialize opens no connection.
    let wrong = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":{}}}"#;
    let refused = exchange(test.port(), json_post(&remote.token, wrong)).await;
    assert_eq!(refused.status(), 200);
    assert!(!refused.headers().contains_key("acp-connection-id"));
    let refused: Value = serde_json::from_str(&text(refused).await).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("a"), &json!(-32602)));
    assert_eq!(remote.delete().await, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn body_of_100_mb_is_refused_and_next_is_read() {
    let test = TestBridge::new(echo).await;
    let remote = Remote::connect(&test).await;
    let chunk = axum::body::Bytes::from(vec![b' '; 1 << 20]);
    let endless = futures::stream::iter((0..24).map(move |_| Ok::<_, std::io::Error>(chunk.clone())));
    for body in [Body::from_stream(endless), Body::from(vec![b' '; 100 << 20])] {
        let request =
            remote.acp_request("POST").header("content-type", "application/json").body(body).unwrap();
        assert_eq!(exchange(test.port(), request).await.status(), 413);
    }
    let request = remote.acp_request("POST").header("content-type", "application/json");
    let request = request.header("expect", "100-continue").header("content-length", 100 << 20);
    assert_eq!(exchange(test.port(), request.body(Body::empty()).unwrap()).await.status(), 413);
    let blank = format!("{}{}", " ".repeat(15 << 20), json!({"jsonrpc": "2.0", "method": "x"}));
    let request = remote
        .acp_request("POST")
        .header("content-type", "application/json")
        .body(Body::from(blank))
        .unwrap();
    assert_eq!(exchange(test.port(), request).await.status(), 202);
}

/// A complete turn, with a client that uses none of our extensions.
#[tokio::test]
async fn prompt_is_answered_on_its_session_stream() {
    let agent = ScriptedAgent::new(CODEX, |request, host, cancel| asks_to_edit(&request.text, host, cancel));
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut remote = Remote::connect(&test).await;
    let mut connection = remote.open(None).await;
    let id = remote.ask("session/new", json!({"cwd": test.workspace, "mcpServers": []})).await;
    let session = connection.answer(id).await["sessionId"].as_str().unwrap().to_owned();
    let mut updates = remote.open(Some(&session)).await;
    let id = remote.ask("session/set_mode", json!({"sessionId": session, "modeId": CODEX})).await;
    updates.answer(id).await;
    let turn = remote.ask("session/prompt", prompt(&json!(session), "a.rs")).await;
    let request = updates.called("session/request_permission").await;
    assert_eq!(request["params"]["sessionId"], session);
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": outcome});
    assert_eq!(remote.post(&answer).await.status(), 202);
    assert_eq!(updates.answer(turn).await["stopReason"], "end_turn");
    assert!(updates.notes.iter().all(|note| note["params"]["sessionId"] == session));
    assert!(updates.notes.iter().any(|note| note.to_string().contains("told yes")));

    assert_eq!(remote.delete().await, StatusCode::ACCEPTED);
    assert_eq!(connection.next().await, None);
    // Other notifications may come before the end.
    while updates.next().await.is_some() {}
    assert_eq!(remote.delete().await, StatusCode::NOT_FOUND);
    assert_eq!(remote.get(None).await.status(), 404);
}

#[tokio::test]
async fn turn_is_cancelled_while_it_runs() {
    let test = TestBridge::new(until_cancelled).await;
    let mut remote = Remote::connect_with_one_stream(&test).await;
    let mut events = remote.open(None).await;
    let id = remote.ask("session/new", json!({"cwd": test.workspace, "mcpServers": []})).await;
    let session = events.answer(id).await["sessionId"].clone();
    let turn = remote.ask("session/prompt", prompt(&session, "Wait")).await;
    while !events.called("session/update").await.to_string().contains("waiting") {}
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    assert_eq!(remote.post(&cancel).await.status(), 202);
    assert_eq!(events.answer(turn).await["stopReason"], "cancelled");
}

/// Without a stream for the session, its frames go to the connection's.
#[tokio::test]
async fn frames_leave_an_unopened_stream() {
    let test = TestBridge::new(echo).await;
    let mut remote = Remote::connect(&test).await;
    let mut events = remote.open(None).await;
    let explore =
        json!({"root": test.workspace, "goals": (0..16).map(|n| format!("goal {n}")).collect::<Vec<_>>()});
    let id = remote.ask("_openagents/explore", explore).await;
    let session = events.answer(id).await["sessionId"].clone();
    while !events.called("session/update").await.to_string().contains("goal 15") {}
    let turn = remote.ask("session/prompt", prompt(&session, "Once more")).await;
    events.answer(turn).await;
    assert!(events.notes.iter().any(|note| note.to_string().contains("Once more")));
    // Opened later, the session's stream gets the rest.
    let mut own = remote.open(session.as_str()).await;
    let turn = remote.ask("session/prompt", prompt(&session, "On my own")).await;
    own.answer(turn).await;
    assert!(own.notes.iter().any(|note| note.to_string().contains("On my own")));
}

/// All updates of a session arrive once, although streams break.
#[tokio::test]
async fn attaching_again_misses_nothing() {
    const UPDATES: usize = 600;
    let test = TestBridge::new(|_, _, emit| {
        (0..UPDATES).for_each(|n| emit(last(&format!("update {n}"))));
        openagents_core::update::RunState::Complete
    })
    .await;
    let mut remote = Remote::connect_with_one_stream(&test).await;
    let mut events = remote.open(None).await;
    let id = remote.ask("_openagents/explore", json!({"root": test.workspace, "goals": []})).await;
    let session = events.answer(id).await["sessionId"].clone();
    let (mut seen, mut since) = (Vec::new(), 0);
    while !seen.iter().any(|text: &String| text.contains(&format!("update {}", UPDATES - 1))) {
        let update = events.called("session/update").await["params"].clone();
        // Updates before the answer belong to the earlier attach.
        if seq(&update) != since + 1 {
            continue;
        }
        since = seq(&update);
        seen.push(update["update"].to_string());
        if since.is_multiple_of(97) {
            drop(events);
            events = remote.open_again(None).await;
            let id = remote.ask("_openagents/attach", json!({"sessionId": session, "since": since})).await;
            events.answer(id).await;
            events.notes.clear();
        }
    }
    let texts = seen.iter().filter(|text| text.contains("update ")).count();
    assert_eq!(texts, UPDATES);
}

#[tokio::test]
async fn stuck_reader_makes_the_writer_wait() {
    let test = TestBridge::new(|_, _, emit| {
        let long = "x".repeat(64 << 10);
        (0..400).for_each(|n| emit(last(&format!("{n} {long}"))));
        openagents_core::update::RunState::Complete
    })
    .await;
    let mut remote = Remote::connect_with_one_stream(&test).await;
    let mut slow = remote.open(None).await;
    let id = remote.ask("_openagents/explore", json!({"root": test.workspace, "goals": []})).await;
    let session = slow.answer(id).await["sessionId"].clone();
    // Another client gets all updates meanwhile.
    let mut other = test.acp().await;
    other.request("_openagents/attach", json!({"sessionId": session})).await;
    let there = |note: &Value| note["update"].to_string().contains("\"399 ");
    while !there(&other.note().await) {}
    let mut last_seq = 0;
    loop {
        let update = slow.called("session/update").await["params"].clone();
        assert_eq!(seq(&update), last_seq + 1);
        last_seq = seq(&update);
        if there(&update) {
            break;
        }
    }
}

#[tokio::test]
async fn device_finds_only_its_own_connections() {
    let test = TestBridge::new(echo).await;
    let mut desktop = test.acp().await;
    let (token, _) = pair(&test, &mut desktop, "prompt").await;
    let (own, phone) = (Remote::connect(&test).await, Remote::connect_as(&test, &token).await);
    for (id, token) in [(&own.id, &phone.token), (&phone.id, &own.token)] {
        for method in ["POST", "GET", "DELETE"] {
            let request = acp_request(method, token)
                .header("acp-connection-id", id)
                .header("content-type", "application/json")
                .header("accept", "text/event-stream")
                .body(Body::from(r#"{"jsonrpc":"2.0","id":1,"method":"session/list"}"#));
            assert_eq!(exchange(test.port(), request.unwrap()).await.status(), 404, "{method}");
        }
    }
    let mut events = phone.open(None).await;
    let mut phone = phone;
    let id = phone.ask("_openagents/devices/me", json!({})).await;
    assert_eq!(events.answer(id).await["scope"], "prompt");
}

#[tokio::test]
async fn removed_device_is_disconnected_and_refused() {
    let test = TestBridge::new(until_cancelled).await;
    let mut desktop = test.acp().await;
    let (token, device) = pair(&test, &mut desktop, "prompt").await;
    let mut phone = Remote::connect_as(&test, &token).await;
    let (mut events, mut socket) = (phone.open(None).await, acp(test.port(), &token).await);
    let id = phone.ask("session/new", json!({"cwd": test.workspace, "mcpServers": []})).await;
    let session = events.answer(id).await["sessionId"].clone();
    let mut updates = phone.open(session.as_str()).await;
    phone.ask("session/prompt", prompt(&session, "Wait")).await;
    while !updates.called("session/update").await.to_string().contains("waiting") {}
    desktop.request("_openagents/devices/revoke", json!({"id": device})).await;
    while updates.next().await.is_some() {}
    while events.next().await.is_some() {}
    assert_eq!(u16::from(socket.closed().await.expect("a reason").code), 4403);
    let frame = json!({"jsonrpc": "2.0", "id": 9, "method": "session/list"});
    assert_eq!(phone.post(&frame).await.status(), 401);
    assert_eq!(phone.get(None).await.status(), 401);
    assert_eq!(phone.delete().await, 401);
}

#[tokio::test]
async fn stream_ends_with_a_reason() {
    let test = TestBridge::new(echo).await;
    let mut desktop = test.acp().await;
    let (token, device) = pair(&test, &mut desktop, "view").await;
    let phone = Remote::connect_as(&test, &token).await;
    let stream = phone.get(None).await;
    desktop.request("_openagents/devices/revoke", json!({"id": device})).await;
    let all = text(stream).await;
    assert!(all.contains(": closed 4403 This device was removed on "), "{all}");
}

/// Slow requests must not exhaust the server.
#[tokio::test]
async fn endless_body_delays_no_other_request() {
    let test = TestBridge::new(echo).await;
    let remote = Remote::connect(&test).await;
    let never = || {
        let begun =
            futures::stream::iter([Ok::<_, std::io::Error>(axum::body::Bytes::from(vec![b' '; 65 << 10]))]);
        Body::from_stream(begun.chain(futures::stream::pending()))
    };
    // A request without a token is answered before its body.
    let unauthenticated =
        acp_request("POST", "wrong").header("content-type", "application/json").body(never()).unwrap();
    assert_eq!(exchange(test.port(), unauthenticated).await.status(), 401);
    let slow: Vec<_> = (0..40)
        .map(|_| {
            let request = remote.acp_request("POST").header("content-type", "application/json").body(never());
            tokio::spawn(exchange(test.port(), request.unwrap()))
        })
        .collect();
    let mut desktop = test.acp().await;
    let (token, _) = pair(&test, &mut desktop, "prompt").await;
    let (mut other, mut remote) = (Remote::connect_as(&test, &token).await, remote);
    // A long frame of another device, and a short frame of the same device.
    for (client, bytes) in [(&mut other, 1 << 20), (&mut remote, 1 << 10)] {
        let mut events = client.open(None).await;
        let id = client.ask("session/list", json!({"_meta": {"padding": "x".repeat(bytes)}})).await;
        events.answer(id).await;
    }
    slow.iter().for_each(tokio::task::JoinHandle::abort);
}
