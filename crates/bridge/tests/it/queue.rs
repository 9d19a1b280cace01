//! A real bridge: waiting prompts and their removal.

use crate::support::{self, TestBridge, prompt, shown, until_cancelled};
use serde_json::{Value, json};

#[tokio::test]
async fn every_client_sees_and_edits_the_queue() {
    let test = TestBridge::new(until_cancelled).await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let info = json!({"name": "phone", "title": "Phone", "version": "1"});
    client.request("initialize", json!({"protocolVersion": 1, "clientInfo": info})).await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let first = client.ask("session/prompt", prompt(&session, "first")).await;
    client.notes_until("waiting").await;
    let second = client.ask("session/prompt", prompt(&session, "second")).await;
    let mut third = prompt(&session, "third");
    third["_meta"] = json!({"openagents": {"promptId": "p-3"}});
    let third = client.ask("session/prompt", third).await;
    let reply = client.notes_until("third").await.pop().unwrap();
    let ours = &reply["update"]["_meta"]["openagents"];
    assert_eq!(*ours, json!({"connection": client.id, "client": "Phone", "promptId": "p-3"}));

    let attached = loop {
        let attached = other.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
        if attached["queue"].as_array().unwrap().len() == 2 {
            break attached;
        }
    };
    other.queues.clear();
    let queue = attached["queue"].as_array().unwrap().clone();
    let names =
        |queue: &[Value]| queue.iter().map(|q| q["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&queue), ["second", "third"]);
    assert_eq!(queue[0]["by"], "Phone");
    assert_eq!(queue[1]["id"], reply["update"]["messageId"]);

    let remove = |id: &Value| json!({"sessionId": session, "id": id});
    let removed = other.request("_openagents/queue/remove", remove(&queue[0]["id"])).await;
    assert_eq!(removed, json!({"removed": true}));
    assert_eq!(client.answer(second).await["result"]["stopReason"], "cancelled");
    // Already removed and unknown prompts cannot be removed.
    for id in [&queue[0]["id"], &json!("unknown")] {
        let removed = other.request("_openagents/queue/remove", remove(id)).await;
        assert_eq!(removed, json!({"removed": false}));
    }
    let mark = other.notes_until("removed").await.pop().unwrap();
    assert_eq!(mark["update"]["messageId"], queue[0]["id"]);
    assert_eq!(mark["update"]["content"]["text"], "");

    client.notify("session/cancel", json!({"sessionId": session})).await;
    for id in [first, third] {
        assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    }
    let output = other.notes_until("before it began").await;
    assert_eq!(
        shown(&output),
        ["agent_message_chunk: cancelled", "agent_message_chunk: Cancelled before it began."]
    );
    other.request("session/list", json!({})).await;
    let state = |queue: &Value| (names(queue["queued"].as_array().unwrap()), queue["running"] == true);
    let queues: Vec<_> = other.queues.iter().map(state).collect();
    assert!(queues.contains(&(vec!["third".to_owned()], true)), "{queues:?}");
    while other.queues.last().unwrap()["running"] == true {
        other.request("session/list", json!({})).await;
    }
    assert_eq!(state(other.queues.last().unwrap()), (vec![], false));
}

#[tokio::test]
async fn first_waiting_prompt_is_sent_now_and_the_others_keep_waiting() {
    let test = TestBridge::new(until_cancelled).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let first = client.ask("session/prompt", prompt(&session, "first")).await;
    client.notes_until("waiting").await;
    let second = client.ask("session/prompt", prompt(&session, "second")).await;
    let third = client.ask("session/prompt", prompt(&session, "third")).await;
    client.notes_until("third").await;
    let queued = async |client: &mut support::Client, count: usize| loop {
        let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
        let queue = attached["queue"].as_array().unwrap().clone();
        if queue.len() == count {
            break queue;
        }
    };
    let waiting = queued(&mut client, 2).await;
    let now = |id: &Value| json!({"sessionId": session, "id": id});
    let (code, message) = client.error("_openagents/queue/send_now", now(&waiting[1]["id"])).await;
    assert_eq!(code, -32602);
    assert!(message.starts_with("Only the first prompt in the queue"), "{message}");
    client.request("_openagents/queue/send_now", now(&waiting[0]["id"])).await;
    assert_eq!(client.answer(first).await["result"]["stopReason"], "cancelled");
    let left = queued(&mut client, 1).await;
    assert_eq!(left[0]["text"], "third");
    client.notify("session/cancel", json!({"sessionId": session})).await;
    for id in [second, third] {
        assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    }
}

#[tokio::test]
async fn followers_see_turn_start_and_end() {
    let test = TestBridge::new(until_cancelled).await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let attach = json!({"sessionId": session, "since": 0});
    assert_eq!(other.request("_openagents/attach", attach).await["running"], false);
    let asked = client.ask("session/prompt", prompt(&session, "first")).await;
    for running in [true, false] {
        while other.queues.last().is_none_or(|output| output["running"] != running) {
            other.request("session/list", json!({})).await;
        }
        client.notify("session/cancel", json!({"sessionId": session})).await;
    }
    client.answer(asked).await;
    assert_eq!(other.queues.last().unwrap(), &json!({"sessionId": session, "queued": [], "running": false}));
}

/// The removal is in the log and survives a restart.
#[tokio::test]
async fn removed_prompt_stays_removed_after_restart() {
    let test = TestBridge::new(until_cancelled).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    client.ask("session/prompt", prompt(&session, "first")).await;
    client.notes_until("waiting").await;
    client.ask("session/prompt", prompt(&session, "second")).await;
    while client.queues.last().is_none_or(|output| output["queued"] == json!([])) {
        client.request("session/list", json!({})).await;
    }
    let id = client.queues.last().unwrap()["queued"][0]["id"].clone();
    client.request("_openagents/queue/remove", json!({"sessionId": session, "id": id})).await;
    let TestBridge { home, workspace, bridge, _folders } = test;
    bridge.shutdown().await;
    let bridge = support::start(home.path(), &workspace, support::echo).await.unwrap();
    let mut again = support::acp(bridge.address().port(), bridge.token()).await;
    let load = json!({"sessionId": session, "cwd": workspace, "mcpServers": []});
    again.request("session/load", load).await;
    let notes: Vec<Value> = again.notes.iter().map(|frame| frame["params"].clone()).collect();
    let lines = shown(&notes);
    assert_eq!(lines.iter().filter(|line| line.starts_with("agent_message_chunk")).count(), 2, "{lines:?}");
    assert_eq!(lines.last().unwrap(), "agent_message_chunk: cancelled");
}
