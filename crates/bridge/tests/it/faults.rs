//! A real bridge whose store cannot be written: only stored updates are shown, all clients get the error, and work
//! continues once writing works again.

use crate::support::{self, Client, TestBridge, agents, echo, prompt, seq, shown, text};
use openagents_sessions::store::{DATABASE_FILE, NewSession};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;

/// Simulates a full disk.
fn fill(home: &Path, is_full: bool) {
    let database = Connection::open(home.join(DATABASE_FILE)).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    let sql = match is_full {
        true => "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no room'); END",
        false => "DROP TRIGGER full",
    };
    database.execute_batch(sql).unwrap();
}

async fn stored(client: &mut Client, session: &Value) -> Vec<String> {
    let attach = json!({"sessionId": session, "since": 0, "snapshot": false});
    let head = client.request("_openagents/attach", attach).await["seq"].as_u64().unwrap();
    // Pending updates come before the answer.
    client.notes.clear();
    let mut notes = Vec::new();
    while notes.len() as u64 != head {
        let note = client.note().await;
        // Errors about unstored prompts are sent too.
        if note["_meta"]["openagents"]["error"].is_null() {
            assert_eq!(seq(&note), notes.len() as u64 + 1);
            notes.push(note);
        }
    }
    shown(&notes)
}

#[tokio::test]
async fn unstorable_turn_stops_and_the_next_runs() {
    let test = TestBridge::new(|request, cancel, emit| {
        if request.goals == ["go on"] {
            return echo(request, cancel, emit);
        }
        support::begun().into_iter().for_each(emit);
        emit(text("stored\n\n"));
        // Until cancelled.
        while !cancel.is_cancelled() {
            emit(text("more "));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        openagents_core::update::RunState::Cancelled
    })
    .await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    other.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    let asked = client.ask("session/prompt", prompt(&session, "begin")).await;
    other.notes_until("stored").await;
    fill(test.home.path(), true);
    let mut seen = 0;
    let mut failed = Value::Null;
    while failed.is_null() {
        let note = other.note().await;
        match note["_meta"]["openagents"]["error"] == "store_failed" {
            true => failed = note,
            false => seen = seq(&note),
        }
    }
    assert!(shown(&[failed])[0].contains("This session has stopped: the session store failed: no room"));
    let answer = client.answer(asked).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    // A prompt is refused too.
    let (code, _) = client.error("session/prompt", prompt(&session, "again")).await;
    assert_eq!(code, -32603);
    assert_eq!(stored(&mut other, &session).await.len() as u64, seen, "what was shown is what is stored");

    fill(test.home.path(), false);
    let answer = client.request("session/prompt", prompt(&session, "go on")).await;
    assert_eq!(answer["stopReason"], "end_turn");
    let lines = stored(&mut other, &session).await;
    let end: Vec<_> = lines.iter().skip_while(|line| !line.contains('❌')).collect();
    assert_eq!(
        end,
        [
            "agent_message_chunk: ❌ This stopped: the session could not be stored.",
            "user_message_chunk: go on",
            "agent_message_chunk: go on"
        ]
    );
    assert!(!lines.iter().any(|line| line.contains("again")));
}

/// Writers wait a while for a lock, then the error names its owner.
#[tokio::test]
async fn locked_database_is_named() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let other = Connection::open(test.home.path().join(DATABASE_FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (code, message) = client.error("session/prompt", prompt(&session, "one")).await;
    let reason = "another program has locked the session database; close it, then send the prompt again";
    assert_eq!((code, message), (-32603, format!("This session has stopped: {reason}.")));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(client.request("session/prompt", prompt(&session, "two")).await["stopReason"], "end_turn");
    let lines = stored(&mut client, &session).await;
    assert_eq!(
        lines,
        ["user_message_chunk: two", "session_info_update: two", "agent_message_chunk: two"],
        "the one that was refused is not there"
    );
}

#[tokio::test]
async fn unreadable_session_leaves_others_alone() {
    let test = TestBridge::new(echo).await;
    let home = test.home.path().to_owned();
    let damage = move || {
        let store = openagents_bridge::open_store(&home).unwrap();
        let new = NewSession { id: "bad".to_owned(), cwd: "/demo".into(), mode: "default_mode".to_owned() };
        store.create_session(new).unwrap();
        store.append("bad", vec![text("one"), text("two"), text("three")]).unwrap();
        let database = Connection::open(home.join(DATABASE_FILE)).unwrap();
        database.execute("UPDATE events SET update_json = 'x' WHERE seq = 2", []).unwrap();
    };
    tokio::task::spawn_blocking(damage).await.unwrap();
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    // Update by update, and folded.
    for since in [0, 99] {
        let attach = json!({"sessionId": "bad", "since": since});
        assert_eq!(client.request("_openagents/attach", attach).await["seq"], 3);
        let output = client.notes_until("store_failed").await.pop().unwrap();
        assert!(shown(&[output])[0].contains("This session cannot be read"));
    }
    assert_eq!(client.request("session/prompt", prompt(&session, "on")).await["stopReason"], "end_turn");
    assert_eq!(stored(&mut client, &session).await.last().unwrap(), "agent_message_chunk: on");
}

#[tokio::test]
async fn late_client_gets_the_session_error() {
    let test = TestBridge::new(echo).await;
    let (mut client, mut late) = (test.acp().await, test.acp().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    client.request("session/prompt", prompt(&session, "one")).await;
    fill(test.home.path(), true);
    client.error("session/prompt", prompt(&session, "two")).await;
    late.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    let output = late.notes_until("store_failed").await;
    assert_eq!(output.len(), 4, "all that is stored, and once that it has stopped");
    assert!(shown(&output)[3].contains("This session has stopped"));
}

#[tokio::test]
async fn unstorable_mode_is_not_set() {
    let (test, _agents) =
        agents::test_bridge(vec![agents::ScriptedAgent::new("codex", |_, host, cancel| {
            agents::until_cancelled(host, cancel)
        })])
        .await;
    let (mut client, mut phone) = (test.acp().await, test.phone().await);
    let session = agents::session_in(&mut client, &test, "default_mode").await;
    fill(test.home.path(), true);
    let set = json!({"sessionId": session, "modeId": "codex"});
    let (code, message) = client.error("session/set_mode", set.clone()).await;
    assert_eq!((code, message.as_str()), (-32603, "the session store failed: no room"));
    let mode = |attached: Value| attached["mode"].clone();
    let attach = json!({"sessionId": session, "since": 0});
    assert_eq!(mode(client.request("_openagents/attach", attach.clone()).await), "default_mode");
    let theirs = json!({"session_id": session, "mode_id": "codex"});
    assert_eq!(phone.error("session/set_mode", theirs.clone()).await.0, -32603);
    phone.notes_until("This session has stopped").await;
    fill(test.home.path(), false);
    client.request("session/set_mode", set).await;
    phone.request("session/set_mode", theirs).await;
    assert_eq!(mode(client.request("_openagents/attach", attach).await), "codex");
}
