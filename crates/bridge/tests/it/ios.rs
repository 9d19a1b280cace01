//! A real bridge, driven over the iOS endpoint.

use crate::support::{self, Client, TestBridge, config, echo, request, shown, text, until_cancelled};
use futures::{SinkExt, StreamExt};
use openagents_bridge::Bridge;
use openagents_core::update::RunState;
use serde_json::{Value, json};
use std::sync::{Mutex, mpsc};
use tokio_tungstenite::tungstenite::Message;

fn prompt(session: &Value, text: &str) -> Value {
    json!({"session_id": session, "prompt": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn initialize_is_answered_first() {
    let test = TestBridge::new(echo).await;
    let mut phone = Client::connect(request(test.port(), "/")).await.unwrap();
    phone.send(&json!({"jsonrpc": "2.0", "id": "early", "method": "session/new", "params": {}})).await;
    phone.send(&json!({"jsonrpc": "2.0", "id": "early", "method": "no/such", "params": {}})).await;
    phone.socket.send(Message::text("{")).await.unwrap();
    phone.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})).await;
    let first = phone.frame().await;
    assert_eq!((&first["id"], &first["result"]["protocol_version"]), (&json!(1), &json!("0.2.2")));
    assert_eq!(first["result"]["_meta"]["working_directory"], json!(test.workspace));
    // A second one is answered like the first.
    assert_eq!(phone.request("initialize", json!({})).await, first["result"]);
}

#[tokio::test]
async fn binary_frames_are_read() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let frame = r#"{"jsonrpc":"2.0","id":"b","method":"session/new","params":{}}"#;
    phone.socket.send(Message::binary(frame.as_bytes().to_vec())).await.unwrap();
    assert!(phone.frame().await["result"]["session_id"].is_string());
    phone.socket.send(Message::binary(vec![0xff, 0xfe])).await.unwrap();
    assert_eq!(u16::from(phone.closed().await.unwrap().code), 1003);
}

#[tokio::test]
async fn prompt_is_answered_and_not_echoed() {
    let test = TestBridge::new(echo).await;
    let (mut phone, mut other) = (test.phone().await, test.phone().await);
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    other.request("session/set_mode", json!({"session_id": session, "mode_id": "codex"})).await;
    assert_eq!(other.note().await["update"]["current_mode_id"], "codex");
    assert_eq!(
        phone.request("session/prompt", prompt(&session, "where is it?")).await,
        json!({"status": "started"})
    );
    assert_eq!(shown(&phone.notes_until("where is it?").await), ["agent_message_chunk: where is it?"]);
    assert_eq!(
        shown(&other.notes_until("agent_message").await),
        ["user_message_chunk: where is it?", "agent_message_chunk: where is it?"]
    );
}

#[tokio::test]
async fn unknown_session_is_created() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let session = json!("7F2A0B5E-OLD");
    assert_eq!(phone.request("session/prompt", prompt(&session, "one")).await, json!({"status": "started"}));
    phone.notes_until("one").await;
    let content = json!({"session_id": session, "content": [{"type": "text", "text": "two"}]});
    assert_eq!(phone.request("session/prompt", content).await, json!({"status": "resumed"}));
    phone.notes_until("two").await;
    assert_eq!(phone.error("session/prompt", prompt(&json!("x".repeat(200)), "three")).await.0, -32602);
}

#[tokio::test]
async fn errors_are_shown_in_the_session() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    let (code, message) = phone.error("session/prompt", prompt(&session, "   ")).await;
    assert_eq!((code, message.as_str()), (-32602, "Empty prompt"));
    assert_eq!(shown(&[phone.note().await]), ["agent_message_chunk: ❌ Empty prompt"]);
    assert_eq!(phone.error("fs/read_text_file", json!({"path": "/etc/passwd"})).await.0, -32601);
}

#[tokio::test]
async fn cancel_works_as_request_and_notification() {
    let test = TestBridge::new(until_cancelled).await;
    let mut phone = test.phone().await;
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    let cancel = json!({"session_id": session});
    assert_eq!(phone.request("session/cancel", cancel.clone()).await, json!({"status": "no_active_session"}));
    phone.request("session/prompt", prompt(&session, "go")).await;
    phone.notes_until("waiting").await;
    phone.notify("session/cancel", cancel.clone()).await;
    phone.notes_until("cancelled").await;
    phone.request("session/prompt", prompt(&session, "again")).await;
    phone.notes_until("waiting").await;
    assert_eq!(phone.request("session/cancel", cancel).await, json!({"status": "cancelled"}));
    phone.notes_until("cancelled").await;
    assert_eq!(phone.error("session/cancel", json!({})).await, (-32602, "Missing session_id".to_owned()));
}

#[tokio::test]
async fn exploration_root_is_admitted_or_replaced() {
    let test = TestBridge::new(|request, _, emit| {
        let note = request.repository_note.as_deref().unwrap_or("as asked");
        emit(text(&format!("{}: {note}", request.root.display())));
        RunState::Complete
    })
    .await;
    let own = test.workspace.display().to_string();
    let inner = test.workspace.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let inner = inner.display().to_string();
    let dotted = format!("{own}/inner/../inner");
    let elsewhere = tempfile::tempdir().unwrap();
    let unknown = elsewhere.path().canonicalize().unwrap().display().to_string();
    let file = elsewhere.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.display().to_string();
    let mut phone = test.phone().await;
    for (root, expected) in [
        (json!(own), format!("{own}: as asked")),
        (json!(null), format!("{own}: as asked")),
        (json!(dotted), format!("{inner}: as asked")),
        // The same answer whether the path exists or not.
        (json!("/Users/ada/code"), format!("{own}: /Users/ada/code is not known on this computer")),
        (json!("code"), format!("{own}: code is not known on this computer")),
        (json!(file), format!("{own}: {file} is not known on this computer")),
        (json!(unknown), format!("{own}: {unknown} is not known on this computer")),
        (json!("/"), format!("{own}: / is not known on this computer")),
    ] {
        phone.notes.clear();
        let policy = json!({"allow_external_llms": false});
        let id = phone.ask("orchestrate.explore.start", json!({"root": root, "policy": policy})).await;
        let answer = phone.frame().await;
        assert_eq!(answer["id"], id, "the answer comes before every update: {answer}");
        assert_eq!(answer["result"]["status"], "started");
        assert!(answer["result"]["plan_id"].is_string());
        let note = phone.note().await;
        assert_eq!(note["session_id"], answer["result"]["session_id"]);
        assert_eq!(shown(&[note]), [format!("agent_message_chunk: {expected}")]);
    }
}

/// A refused path and an admitted path are later replaced by links.
#[tokio::test]
async fn swapped_link_is_not_explored() {
    let test = TestBridge::new(|request, _, emit| {
        emit(text(&format!("in {}", request.root.display())));
        RunState::Complete
    })
    .await;
    let secret = tempfile::tempdir().unwrap();
    let own = test.workspace.display().to_string();
    let (file, folder) = (test.workspace.join("file"), test.workspace.join("folder"));
    std::fs::write(&file, "").unwrap();
    std::fs::create_dir(&folder).unwrap();
    let mut phone = test.phone().await;
    for (path, first, then) in [
        (&file, format!("in {own}"), format!("in {own}")),
        (&folder, format!("in {own}/folder"), format!("❌ {own}/folder is not a known workspace")),
    ] {
        let params = json!({"root": path.display().to_string()});
        let session = phone.request("orchestrate.explore.start", params).await["session_id"].clone();
        assert_eq!(
            shown(&phone.notes_until("in ").await).last(),
            Some(&format!("agent_message_chunk: {first}"))
        );
        if path.is_dir() {
            std::fs::remove_dir(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
        std::os::unix::fs::symlink(secret.path(), path).unwrap();
        phone.request("session/prompt", prompt(&session, "again")).await;
        assert_eq!(shown(&[phone.note().await]), [format!("agent_message_chunk: {then}")]);
    }
}

#[tokio::test]
async fn only_named_sessions_are_followed() {
    let test = TestBridge::new(echo).await;
    let (mut one, mut two) = (test.phone().await, test.phone().await);
    for (phone, reply) in [(&mut one, "first"), (&mut two, "second")] {
        let session = phone.request("session/new", json!({})).await["session_id"].clone();
        phone.request("session/prompt", prompt(&session, reply)).await;
        phone.notes_until(reply).await;
    }
    // The answer comes after all earlier frames.
    one.request("session/new", json!({})).await;
    assert!(one.notes.is_empty(), "{:?}", one.notes);
}

#[tokio::test]
async fn mode_is_sent_to_clients_that_set_one() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    for (mode, expected) in
        [("default_mode", "default_mode"), ("codex", "codex"), ("gptoss_20b", "default_mode")]
    {
        let set = json!({"session_id": session, "mode_id": mode});
        assert_eq!(phone.request("session/set_mode", set.clone()).await, json!({}));
        assert_eq!(phone.note().await["update"]["current_mode_id"], expected);
        // The previous version of the app sets it again before every prompt; that is not a change.
        phone.request("session/set_mode", set).await;
    }
    phone.request("session/prompt", prompt(&session, "now")).await;
    assert_eq!(shown(&phone.notes_until("now").await), ["agent_message_chunk: now"]);
}

#[tokio::test]
async fn mode_changed_elsewhere_can_be_set_again() {
    let test = TestBridge::new(echo).await;
    let (mut one, mut two) = (test.phone().await, test.phone().await);
    let session = one.request("session/new", json!({})).await["session_id"].clone();
    let set = |mode: &str| json!({"session_id": session, "mode_id": mode});
    one.request("session/set_mode", set("codex")).await;
    assert_eq!(one.note().await["update"]["current_mode_id"], "codex");
    two.request("session/set_mode", set("claude-code")).await;
    assert_eq!(one.note().await["update"]["current_mode_id"], "claude-code");
    one.request("session/set_mode", set("codex")).await;
    assert_eq!(one.note().await["update"]["current_mode_id"], "codex");
}

#[tokio::test]
async fn history_is_available_for_the_drawer() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    assert_eq!(phone.request("tinyvex/history.recentSessions", json!({})).await, json!([]));
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    phone.request("session/set_mode", json!({"session_id": session, "mode_id": "codex"})).await;
    phone.request("session/prompt", prompt(&session, "where is it?")).await;
    phone.notes_until("agent_message_chunk").await;
    let recent = phone.request("tinyvex/history.recentSessions", json!({})).await;
    assert_eq!(recent[0]["session_id"], session);
    assert_eq!(recent[0]["message_count"], 4);
    assert!(recent[0]["last_ts"].as_i64().unwrap() > 1_600_000_000_000);
    let timeline = phone.request("tinyvex/history.sessionTimeline", json!({"session_id": session})).await;
    assert_eq!(
        shown(timeline.as_array().unwrap()),
        ["user_message_chunk: where is it?", "agent_message_chunk: where is it?"]
    );
    let unknown = phone.request("tinyvex/history.sessionTimeline", json!({"session_id": "unknown"})).await;
    assert_eq!(unknown, json!([]));
    assert_eq!(phone.request("threads/list", json!({})).await, json!({"items": []}));
    let (code, message) = phone.error("thread/load_latest_typed", json!({})).await;
    assert_eq!((code, message.as_str()), (-32002, "No threads found"));
}

/// The socket breaks during a turn; the next one from the same address continues, without an echo.
#[tokio::test]
async fn broken_connection_is_resumed() {
    let (step, steps) = mpsc::channel::<&'static str>();
    let steps = Mutex::new(steps);
    let test = TestBridge::new(move |_, _, emit| {
        while let Ok(reply) = steps.lock().unwrap().recv() {
            emit(text(&format!("{reply}\n\n")));
            if reply == "end" {
                break;
            }
        }
        RunState::Complete
    })
    .await;
    let mut phone = test.phone().await;
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    phone.request("session/prompt", prompt(&session, "go")).await;
    step.send("one").unwrap();
    phone.notes_until("one").await;
    // No close frame.
    drop(phone);
    // Watched over the ACP endpoint, to be sure that the update is in the log.
    let mut watcher = test.acp().await;
    watcher.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    step.send("two").unwrap();
    watcher.notes_until("two").await;

    let mut phone = test.phone_again().await;
    step.send("end").unwrap();
    assert_eq!(
        shown(&phone.notes_until("end").await),
        ["agent_message_chunk: two", "agent_message_chunk: end"]
    );
    // Closed cleanly: the next one starts fresh.
    phone.socket.close(None).await.unwrap();
    while phone.socket.next().await.is_some() {}
    let mut fresh = test.phone().await;
    fresh.request("session/new", json!({})).await;
    assert!(fresh.notes.is_empty(), "{:?}", fresh.notes);
}

/// The phone has lost its network: the old socket stays open for a long time, but is silent.
#[tokio::test]
async fn phone_resumes_before_old_socket_dies() {
    let test = TestBridge::new(|request, _, emit| {
        request.goals.iter().for_each(|goal| emit(text(goal)));
        RunState::Complete
    })
    .await;
    let mut gone = test.phone().await;
    let session = gone.request("session/new", json!({})).await["session_id"].clone();
    gone.request("session/prompt", prompt(&session, "one")).await;
    gone.notes_until("one").await;
    // From here on `gone` does not read. Updates written to it are lost.
    let mut back = test.phone().await;
    back.request("tinyvex/history.recentSessions", json!({})).await;
    let mut other = test.acp().await;
    other.request("session/prompt", support::prompt(&session, "two")).await;
    assert_eq!(
        shown(&back.notes_until("agent_message_chunk").await),
        ["user_message_chunk: two", "agent_message_chunk: two"]
    );
    // The old connection has ended.
    while let Some(Ok(_)) = gone.socket.next().await {}
}

#[tokio::test]
async fn live_phone_keeps_its_session() {
    let test = TestBridge::new(echo).await;
    let mut lives = test.phone().await;
    let session = lives.request("session/new", json!({})).await["session_id"].clone();
    let listening = tokio::spawn(async move { lives.notes_until("agent_message_chunk").await });
    let mut second = test.phone().await;
    second.request("tinyvex/history.recentSessions", json!({})).await;
    let mut other = test.acp().await;
    other.request("session/prompt", support::prompt(&session, "where is it?")).await;
    assert_eq!(
        shown(&listening.await.unwrap()),
        ["user_message_chunk: where is it?", "agent_message_chunk: where is it?"]
    );
    second.request("tinyvex/history.recentSessions", json!({})).await;
    assert!(second.notes.is_empty(), "{:?}", second.notes);
}

/// Detecting that the first phone is silent takes a second here.
#[tokio::test]
async fn cancel_overtakes_a_slow_request() {
    let test = TestBridge::new(until_cancelled).await;
    let mut silent = test.phone().await;
    let session = silent.request("session/new", json!({})).await["session_id"].clone();
    silent.request("session/prompt", prompt(&session, "go")).await;
    silent.notes_until("waiting").await;
    let mut watcher = test.acp().await;
    watcher.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    let mut phone = test.phone().await;
    phone.notify("session/cancel", json!({"session_id": session})).await;
    let later = phone.ask("tinyvex/history.recentSessions", json!({})).await;
    tokio::select! {
        biased;
        _ = watcher.notes_until("cancelled") => {}
        answer = phone.answer(later) => panic!("the slow request ended before: {answer}"),
    }
}

#[tokio::test]
async fn phone_follows_last_named_sessions() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let mut sessions = Vec::new();
    for _ in 0..65 {
        sessions.push(phone.request("session/new", json!({})).await["session_id"].clone());
    }
    let mut other = test.acp().await;
    for (session, reply) in [(&sessions[0], "first"), (&sessions[1], "second"), (&sessions[64], "last")] {
        other.request("session/prompt", support::prompt(session, reply)).await;
    }
    let mut notes = phone.notes_until("last").await;
    notes.extend(phone.notes_until("last").await);
    assert!(notes.iter().all(|note| note["session_id"] != sessions[0]), "{notes:?}");
    assert!(notes.iter().any(|note| note["session_id"] == sessions[1]), "{notes:?}");
}

#[tokio::test]
async fn queued_explorations_are_limited() {
    let test = TestBridge::new(|_, cancel, _| {
        futures::executor::block_on(cancel.cancelled());
        RunState::Cancelled
    })
    .await;
    let mut phone = test.phone().await;
    for _ in 0..256 {
        phone.request("orchestrate.explore.start", json!({})).await;
    }
    assert!(phone.notes.is_empty(), "{:?}", phone.notes);
    phone.request("orchestrate.explore.start", json!({})).await;
    phone.notes_until("❌ Too many sessions are at work already").await;
}

#[tokio::test]
async fn ios_access_can_be_switched_off() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut config = config(home.path(), workspace.path());
    config.ios = Some(openagents_bridge::IosAccess::Off);
    let bridge = Bridge::start(config).await.unwrap();
    assert_eq!(support::refused(request(bridge.address().port(), "/")).await, 403);
    bridge.shutdown().await;
}

#[tokio::test]
async fn whole_disk_is_not_a_workspace() {
    let home = tempfile::tempdir().unwrap();
    let bridge = support::start(home.path(), std::path::Path::new("/"), echo).await.unwrap();
    let mut phone = support::phone(bridge.address().port()).await;
    assert_eq!(phone.request("initialize", json!({})).await.get("_meta"), None);
    for root in [json!(null), json!("/Users/ada/code")] {
        phone.request("orchestrate.explore.start", json!({"root": root})).await;
        phone.notes_until("❌ no workspace is open; open a folder on the desktop first").await;
    }
    phone.request("session/prompt", prompt(&json!("s"), "hello")).await;
    phone.notes_until("❌ no workspace is open").await;
    bridge.shutdown().await;
}
