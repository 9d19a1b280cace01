//! A real bridge: clients that reconnect or join late, and watching the list of sessions.

use crate::support::{self, Client, TestBridge, echo, last, prompt, seq, shown, text, until_cancelled};
use openagents_core::update::RunState;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

/// More updates than are sent one by one to a late client.
const MANY: usize = 2_500;

fn much(_: &openagents_orchestration::explore::ExploreRequest, emit: support::Emit<'_>) -> RunState {
    support::begun().into_iter().for_each(emit);
    (0..MANY).for_each(|n| emit(text(&format!("{n} "))));
    emit(last("the end"));
    RunState::Complete
}

/// Runs an exploration to its end and returns its session.
async fn explored(test: &TestBridge, client: &mut Client) -> Value {
    let explored = client.request("_openagents/explore", json!({"root": test.workspace})).await;
    client.notes_until("the end").await;
    explored["sessionId"].clone()
}

fn whole_text() -> String {
    (0..MANY).map(|n| format!("{n} ")).collect()
}

fn agent_text(notes: &[Value]) -> String {
    let text = |note: &Value| note["update"]["content"]["text"].as_str().unwrap_or_default().to_owned();
    let is_message = |note: &&Value| note["update"]["sessionUpdate"] == "agent_message_chunk";
    notes.iter().filter(is_message).map(text).collect()
}

#[tokio::test]
async fn attach_folds_long_backlog() {
    let test = TestBridge::new(|request, _, emit| much(request, emit)).await;
    let mut first = test.acp().await;
    let session = explored(&test, &mut first).await;
    let mut late = test.acp().await;
    let attached = late.request("_openagents/attach", json!({"sessionId": session, "since": 3})).await;
    let head = attached["seq"].as_u64().unwrap();
    assert_eq!(attached["snapshot"], json!({"seq": head, "since": 3}));
    assert_eq!(attached["title"], "Explore demo");
    assert_eq!((&attached["queue"], &attached["mode"]), (&json!([]), &json!("default_mode")));
    let mut notes = Vec::new();
    loop {
        let note = late.note().await;
        if note["update"].is_null() {
            assert_eq!(note, json!({"sessionId": session, "seq": head}), "the end mark");
            break;
        }
        assert_eq!(note["_meta"]["openagents"]["folded"], true, "{note}");
        notes.push(note);
    }
    assert!(notes.len() < 10, "{} parts", notes.len());
    assert_eq!(agent_text(&notes), whole_text() + "the end");
    assert_eq!(notes.iter().map(seq).max(), Some(head));
    // Later updates are sent unfolded.
    first.request("session/prompt", prompt(&session, "More")).await;
    let note = late.note().await;
    assert_eq!((seq(&note), shown(&[note]).remove(0)), (head + 1, "user_message_chunk: More".to_owned()));
}

#[tokio::test]
async fn attach_replays_short_backlog() {
    let test = TestBridge::new(|request, _, emit| much(request, emit)).await;
    let mut client = test.acp().await;
    let session = explored(&test, &mut client).await;
    let mut late = test.acp().await;
    let params = json!({"sessionId": session, "since": 0, "snapshot": false});
    let head = late.request("_openagents/attach", params).await["seq"].as_u64().unwrap();
    for expected in 1..=head {
        assert_eq!(seq(&late.note().await), expected);
    }
    let attached =
        late.request("_openagents/attach", json!({"sessionId": session, "since": head - 10})).await;
    assert_eq!(attached["snapshot"], Value::Null);
    for expected in head - 9..=head {
        assert_eq!(seq(&late.note().await), expected);
    }
}

#[tokio::test]
async fn attach_ahead_of_log_starts_over() {
    let test = TestBridge::new(|_, _, emit| {
        emit(last("the end"));
        RunState::Complete
    })
    .await;
    let mut client = test.acp().await;
    let session = explored(&test, &mut client).await;
    let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 99})).await;
    assert_eq!(attached["snapshot"], json!({"seq": 2, "since": 99}));
    let notes = [client.note().await, client.note().await, client.note().await];
    assert_eq!(shown(&notes), ["session_info_update: Explore demo", "agent_message_chunk: the end", ""]);
}

#[tokio::test]
async fn load_folds_a_long_session() {
    let test = TestBridge::new(|request, _, emit| much(request, emit)).await;
    let mut client = test.acp().await;
    let session = explored(&test, &mut client).await;
    let mut editor = test.acp().await;
    let load = json!({"sessionId": session, "cwd": test.workspace, "mcpServers": []});
    editor.request("session/load", load).await;
    let notes: Vec<Value> = editor.notes.iter().map(|frame| frame["params"].clone()).collect();
    assert!(notes.len() < 10, "{} parts", notes.len());
    assert_eq!(agent_text(&notes), whole_text() + "the end");
}

/// After attaching again on the same connection, no updates of the earlier attach follow the answer.
#[tokio::test(flavor = "multi_thread")]
async fn attach_again_while_updates_stream() {
    let test = TestBridge::new(|_, _, emit| {
        (0..1_500).for_each(|n| emit(text(&format!("{n} "))));
        emit(last("the end"));
        RunState::Complete
    })
    .await;
    let mut client = test.acp().await;
    let session =
        client.request("_openagents/explore", json!({"root": test.workspace})).await["sessionId"].clone();
    for round in 0..40 {
        client.notes.clear();
        client.note().await;
        let params = json!({"sessionId": session, "since": round, "snapshot": false});
        let id = client.ask("_openagents/attach", params).await;
        let head = client.answer(id).await["result"]["seq"].as_u64().unwrap();
        client.notes.clear();
        assert_eq!(seq(&client.note().await), round.min(head) + 1, "round {round}");
    }
    client.request("session/close", json!({"sessionId": session})).await;
    client.notes.clear();
    let list = client.request("session/list", json!({})).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert!(client.notes.is_empty(), "a closed session is no longer followed");
}

#[tokio::test]
async fn connection_follows_two_sessions() {
    let test = TestBridge::new(echo).await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let new = client.request("session/new", json!({"cwd": test.workspace})).await;
        sessions.push(new["sessionId"].clone());
        other.request("_openagents/attach", json!({"sessionId": sessions.last(), "since": 0})).await;
    }
    for n in 0..10 {
        client.request("session/prompt", prompt(&sessions[n % 2], &format!("{n}"))).await;
    }
    let mut next = [1, 1];
    while next != [12, 12] {
        let note = other.note().await;
        let which = usize::from(note["sessionId"] == sessions[1]);
        assert_eq!(seq(&note), next[which]);
        next[which] += 1;
    }
}

#[tokio::test]
async fn deleted_session_is_gone_for_every_client() {
    let test = TestBridge::new(until_cancelled).await;
    let (mut client, mut other, mut third) = (test.acp().await, test.acp().await, test.acp().await);
    let capabilities = client.request("initialize", json!({"protocolVersion": 1})).await;
    assert!(capabilities["agentCapabilities"]["sessionCapabilities"]["delete"].is_object());
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let asked = client.ask("session/prompt", prompt(&session, "Wait")).await;
    client.notes_until("waiting").await;
    other.request("_openagents/attach", json!({"sessionId": session, "since": 3})).await;
    third.request("session/list", json!({"_meta": {"openagents": {"watch": true}}})).await;
    let (code, message) = client.error("session/delete", json!({"sessionId": session})).await;
    assert_eq!((code, &message[..19]), (-32000, "A turn runs in this"));
    client.notify("session/cancel", json!({"sessionId": session})).await;
    client.answer(asked).await;
    client.request("session/delete", json!({"sessionId": session})).await;
    let gone = other.notes_until("removed").await.pop().unwrap();
    assert_eq!(gone, json!({"sessions": [], "removed": [session]}));
    let output = third.notes_until(&format!("\"removed\":[{session}]")).await.pop().unwrap();
    assert_eq!(output["sessions"], json!([]));
    for method in ["_openagents/attach", "session/prompt", "session/delete", "session/resume"] {
        let params = prompt(&session, "Again");
        assert_eq!(client.error(method, params).await.0, -32002, "{method}");
    }
    assert_eq!(client.request("session/list", json!({})).await["sessions"], json!([]));
}

#[tokio::test]
async fn list_watchers_see_changes_by_others() {
    let test = TestBridge::new(until_cancelled).await;
    let (mut watcher, mut client) = (test.acp().await, test.acp().await);
    let list = watcher.request("session/list", json!({"_meta": {"openagents": {"watch": true}}})).await;
    assert_eq!(list["sessions"], json!([]));
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let asked = client.ask("session/prompt", prompt(&session, "Name it")).await;
    let running = watcher.notes_until("\"running\":true").await.pop().unwrap();
    assert_eq!(running["sessions"][0]["sessionId"], session);
    client.notify("session/cancel", json!({"sessionId": session})).await;
    client.answer(asked).await;
    let rested = watcher.notes_until("\"running\":false").await.pop().unwrap();
    let row = &rested["sessions"][0];
    assert_eq!((&row["sessionId"], &row["title"]), (&session, &json!("Name it")));
}

#[tokio::test]
async fn detached_session_is_not_followed() {
    let test = TestBridge::new(echo).await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    other.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!(other.request("_openagents/detach", json!({"sessionId": session})).await, json!({}));
    client.request("session/prompt", prompt(&session, "Unheard")).await;
    other.request("session/list", json!({})).await;
    assert!(other.notes.is_empty(), "{:?}", other.notes);
}

#[tokio::test]
async fn follow_limit_drops_oldest_session() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        let new = client.request("session/new", json!({"cwd": test.workspace})).await;
        sessions.push(new["sessionId"].clone());
    }
    client.request("session/prompt", prompt(&sessions[0], "Still here")).await;
    client.notes.clear();
    client.request("session/new", json!({"cwd": test.workspace})).await;
    client.request("session/list", json!({})).await;
    let output: Vec<_> =
        client.notes.iter().map(|note| (&note["method"], &note["params"]["sessionId"])).collect();
    assert_eq!(output, [(&json!("_openagents/detached"), &sessions[1])]);
}

/// The app chooses its session ids, so an id can be reused.
#[tokio::test]
async fn recreated_session_is_followed_again() {
    let test = TestBridge::new(echo).await;
    let (mut client, mut phone) = (test.acp().await, test.phone().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    client.request("session/prompt", prompt(&session, "one")).await;
    let mut other = test.acp().await;
    other.request("session/delete", json!({"sessionId": session})).await;
    client.notes_until("removed").await;
    phone.request("session/set_mode", json!({"session_id": session, "mode_id": "default_mode"})).await;
    let asked = client.ask("session/prompt", prompt(&session, "two")).await;
    client.notes_until("user_message_chunk").await;
    client.answer(asked).await;
}

/// Emits 12 MiB, more than any socket buffers.
fn speech(_: &openagents_orchestration::explore::ExploreRequest, emit: support::Emit<'_>) -> RunState {
    (0..192).for_each(|_| emit(text(&"x".repeat(64 << 10))));
    emit(last("the end"));
    RunState::Complete
}

#[tokio::test]
async fn stuck_client_reattaches_without_loss() {
    let test = TestBridge::new(|request, _, emit| speech(request, emit)).await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let wire = tokio::net::TcpSocket::new_v4().unwrap();
    wire.set_recv_buffer_size(4 << 10).unwrap();
    let wire = wire.connect(([127, 0, 0, 1], test.port()).into()).await.unwrap();
    let token = format!("Bearer {}", test.bridge.token());
    let request = support::with(support::request(test.port(), "/acp"), "authorization", &token);
    let mut slow = Client::over(wire, request).await.unwrap();
    slow.request("initialize", json!({"protocolVersion": 1})).await;
    for reader in [&mut slow, &mut other] {
        reader.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    }
    client.ask("session/prompt", prompt(&session, "Speak")).await;
    other.notes_until("the end").await;
    // The server writes until the socket is full.
    for _ in 0..20 {
        other.request("session/list", json!({})).await;
    }
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(31)).await;
    tokio::time::resume();
    let mut seen = 0;
    let close = loop {
        match slow.message().await {
            Some(Message::Close(Some(close))) => break close,
            Some(Message::Text(text)) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                if frame["method"] == "session/update" {
                    assert_eq!(seq(&frame["params"]), seen + 1);
                    seen += 1;
                }
            }
            other => panic!("not closed with a reason: {other:?}"),
        }
    };
    assert_eq!(u16::from(close.code), 4408);
    let number = close.reason.strip_prefix("Attach again from update ").unwrap().strip_suffix('.').unwrap();
    let number: u64 = number.parse().unwrap();
    assert!(number <= seen, "{number} of {seen}");
    let mut again = test.acp().await;
    let attach = json!({"sessionId": session, "since": number, "snapshot": false});
    let head = again.request("_openagents/attach", attach).await["seq"].as_u64().unwrap();
    assert!(seen < head, "it had not seen all of it");
    for expected in number + 1..=head {
        assert_eq!(seq(&again.note().await), expected);
    }
}
