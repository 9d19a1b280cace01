//! A real bridge, driven over the ACP endpoint.

use crate::support::{self, Client, TestBridge, echo, prompt, seq, shown, start, text, until_cancelled};
use openagents_core::update::{Cut, RunState, SessionUpdate, ToolCallStatus, ToolCallUpdate};
use serde_json::{Value, json};
use std::sync::Barrier;

#[tokio::test]
async fn initialize_names_client_and_computer() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let result = client.request("initialize", json!({"protocolVersion": 7})).await;
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(result["agentInfo"]["title"], "OpenAgents Desktop");
    assert_eq!(result["agentCapabilities"]["loadSession"], true);
    assert!(result["agentCapabilities"]["sessionCapabilities"]["list"].is_object());
    assert_eq!(result["_meta"]["openagents"]["root"], json!(test.workspace));
    assert_eq!(client.id.len(), 36);
}

#[tokio::test]
async fn exploration_answers_at_once_and_streams() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let id =
        client.ask("_openagents/explore", json!({"root": test.workspace, "goals": ["one", "two"]})).await;
    let answer = client.frame().await;
    assert_eq!((&answer["id"], &answer["result"]["status"]), (&json!(id), &json!("started")));
    let session = answer["result"]["sessionId"].clone();
    assert!(answer["result"]["planId"].is_string());
    let notes = client.notes_until("\"two\"").await;
    assert_eq!(
        shown(&notes),
        ["session_info_update: Explore demo", "agent_message_chunk: one", "agent_message_chunk: two"]
    );
    assert_eq!(notes.iter().map(seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(notes.iter().all(|note| note["sessionId"] == session));

    let list = client.request("session/list", json!({})).await;
    let row = &list["sessions"][0];
    assert_eq!((&row["sessionId"], &row["title"]), (&session, &json!("Explore demo")));
    assert_eq!(row["cwd"], json!(test.workspace));
    assert_eq!(row["_meta"]["openagents"]["seq"], 3);
    assert!(row["updatedAt"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn prompt_answer_follows_its_updates() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let session =
        client.request("session/new", json!({"cwd": test.workspace, "mcpServers": []})).await["sessionId"]
            .clone();
    let result = client.request("session/prompt", prompt(&session, "What is\nthis?")).await;
    assert_eq!(result["stopReason"], "end_turn");
    let notes: Vec<Value> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert_eq!(
        shown(&notes),
        [
            "user_message_chunk: What is\nthis?",
            "session_info_update: What is this?",
            "agent_message_chunk: What is\nthis?"
        ]
    );
    assert_eq!(notes[0]["update"]["_meta"]["openagents"]["connection"], json!(client.id));
    // A second turn continues the same log and keeps the title.
    client.request("session/prompt", prompt(&session, "And that?")).await;
    let notes: Vec<Value> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert_eq!(notes.iter().map(seq).collect::<Vec<_>>(), [4, 5]);
}

#[tokio::test]
async fn cancel_ends_the_turn_and_empties_the_queue() {
    let test = TestBridge::new(until_cancelled).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let mut asked = Vec::new();
    for n in 0..9 {
        asked.push(client.ask("session/prompt", prompt(&session, &format!("prompt {n}"))).await);
    }
    client.notes_until("waiting").await;
    let (code, message) = client.error("session/prompt", prompt(&session, "one too many")).await;
    assert_eq!((code, message.as_str()), (-32000, "8 prompts are waiting already; cancel or wait."));
    client.notify("session/cancel", json!({"sessionId": session})).await;
    let mut ended = Vec::new();
    while ended.len() < 9 {
        let frame = client.frame().await;
        if frame["id"].is_u64() {
            assert_eq!(frame["result"]["stopReason"], "cancelled", "{frame}");
            ended.push(frame["id"].as_u64().unwrap());
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, asked);
    let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!((&attached["seq"], &attached["running"]), (&json!(20), &json!(false)));
}

/// The answer to a prompt comes after the updates of its turn.
#[tokio::test]
async fn cancelled_queue_logs_every_prompt() {
    let test = TestBridge::new(until_cancelled).await;
    let (mut client, mut other) = (test.acp().await, test.acp().await);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    other.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    let first = client.ask("session/prompt", prompt(&session, "first")).await;
    other.notes_until("waiting").await;
    let second = client.ask("session/prompt", prompt(&session, "second")).await;
    let third = client.ask("session/prompt", prompt(&session, "third")).await;
    // All clients see the waiting prompts while the first one runs.
    assert_eq!(
        shown(&other.notes_until("third").await),
        ["user_message_chunk: second", "user_message_chunk: third"]
    );
    client.notify("session/cancel", json!({"sessionId": session})).await;
    for id in [first, second, third] {
        assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    }
    let report = ["agent_message_chunk: cancelled"].into_iter();
    let report: Vec<_> = report.chain(["agent_message_chunk: Cancelled before it began."; 2]).collect();
    let notes = [other.note().await, other.note().await, other.note().await];
    assert_eq!(shown(&notes), report);
    // Three messages, not one.
    assert_ne!(notes[1]["update"]["messageId"], notes[2]["update"]["messageId"]);
    // The submitting client got them before the answer, and the next prompt runs.
    assert_eq!(shown(&client.notes.iter().map(|n| n["params"].clone()).collect::<Vec<_>>())[5..], report);
    client.ask("session/prompt", prompt(&session, "fourth")).await;
    let notes = other.notes_until("waiting").await;
    assert_eq!(shown(&notes), ["user_message_chunk: fourth", "agent_message_chunk: waiting\n\n"]);
}

/// At most eight turns run at a time; the ninth is cancelled while it waits.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_turn_is_cancelled_at_once() {
    let test = TestBridge::new(|_, cancel, emit| {
        emit(text("waiting"));
        futures::executor::block_on(cancel.cancelled());
        RunState::Cancelled
    })
    .await;
    let mut client = test.acp().await;
    for _ in 0..8 {
        client.request("_openagents/explore", json!({"root": test.workspace})).await;
        client.notes_until("waiting").await;
    }
    let explored = client.request("_openagents/explore", json!({"root": test.workspace})).await;
    let session = &explored["sessionId"];
    client.notes_until("Explore demo").await;
    let list = client.request("session/list", json!({})).await;
    let row = list["sessions"].as_array().unwrap().iter().find(|row| row["sessionId"] == *session).unwrap();
    assert_eq!(row["_meta"]["openagents"]["running"], true);
    client.notify("session/cancel", json!({"sessionId": session})).await;
    let notes = client.notes_until("agent_message_chunk").await;
    assert_eq!(shown(&notes), ["agent_message_chunk: Exploration cancelled."]);
    assert_eq!(notes[0]["sessionId"], *session);
    // The others still run.
    let list = client.request("session/list", json!({})).await;
    let is_running = |row: &&Value| row["_meta"]["openagents"]["running"] == true;
    let others = list["sessions"].as_array().unwrap().iter().filter(|row| row["sessionId"] != *session);
    assert_eq!(others.filter(is_running).count(), 8);
}

#[tokio::test]
async fn failed_run_ends_its_plan() {
    let test = TestBridge::new(|request, _, emit| {
        support::begun().into_iter().for_each(emit);
        assert!(request.goals == ["fine"], "as the test wants it");
        RunState::Complete
    })
    .await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let id = client.ask("session/prompt", prompt(&session, "break")).await;
    let notes = client.notes_until("❌").await;
    assert_eq!(client.answer(id).await["error"]["code"], -32603);
    let [.., call, plan, last] = notes.as_slice() else { panic!("{notes:?}") };
    assert_eq!(call["update"]["_meta"]["openagents"]["error"], "the exploration ended unexpectedly");
    assert_eq!(plan["update"]["_meta"]["openagents"]["state"], "failed");
    assert_eq!(
        shown(&notes[notes.len() - 1..]),
        ["agent_message_chunk: ❌ the exploration ended unexpectedly"]
    );
    // The state is a field, because an agent's answer may begin with the same symbol.
    assert_eq!(last["update"]["_meta"]["openagents"], json!({"ended": true, "failed": true}));
}

#[tokio::test]
async fn queue_runs_in_order() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let mut asked = Vec::new();
    for n in 0..5 {
        asked.push(client.ask("session/prompt", prompt(&session, &format!("prompt {n}"))).await);
    }
    for id in asked {
        client.answer(id).await;
    }
    let reply: Vec<String> = client
        .notes
        .iter()
        .filter_map(|note| {
            let update = &note["params"]["update"];
            (update["sessionUpdate"] == "agent_message_chunk")
                .then(|| update["content"]["text"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(reply, ["prompt 0", "prompt 1", "prompt 2", "prompt 3", "prompt 4"]);
}

#[tokio::test]
async fn load_replays_before_answering() {
    let test = TestBridge::new(echo).await;
    let mut first = test.acp().await;
    let explored =
        first.request("_openagents/explore", json!({"root": test.workspace, "goals": ["one"]})).await;
    first.notes_until("\"one\"").await;
    let mut second = test.acp().await;
    let load = json!({"sessionId": explored["sessionId"], "cwd": test.workspace, "mcpServers": []});
    second.request("session/load", load).await;
    assert_eq!(second.notes.iter().map(|frame| seq(&frame["params"])).collect::<Vec<_>>(), [1, 2]);
    let (code, message) = second.error("session/load", json!({"sessionId": "unknown"})).await;
    assert_eq!((code, message.as_str()), (-32002, "There is no session unknown."));
}

/// Four threads write 2,000 updates while clients connect, disconnect and attach at various positions.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attach_sends_each_update_once() {
    const WRITERS: usize = 4;
    const EACH: usize = 500;
    const LAST: u64 = (WRITERS * EACH + 2) as u64;
    let test = TestBridge::new(|_, _, emit| {
        let start = Barrier::new(WRITERS);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    (0..EACH).for_each(|n| emit(text(&format!("{writer} {n}"))));
                });
            }
        });
        emit(text("the end"));
        RunState::Complete
    })
    .await;
    let mut client = test.acp().await;
    let session =
        client.request("_openagents/explore", json!({"root": test.workspace})).await["sessionId"].clone();
    let readers = (0..12u64).map(|reader| {
        let (session, port, token) = (session.clone(), test.port(), test.bridge.token().to_owned());
        tokio::spawn(async move {
            let mut client = support::acp(port, &token).await;
            for round in 0..3 {
                let since = (reader * 37 + round * 411) % 400;
                client.notes.clear();
                let params = json!({"sessionId": session, "since": since, "snapshot": false});
                let id = client.ask("_openagents/attach", params).await;
                // Pending updates of an earlier attach come before the answer.
                let head = client.answer(id).await["result"]["seq"].as_u64().unwrap();
                client.notes.clear();
                let mut expected = since.min(head) + 1;
                // Leave in the middle, except in the last round, which runs to the end.
                let stop = if round == 2 { LAST } else { (expected + 150).min(LAST) };
                while expected <= stop {
                    assert_eq!(seq(&client.note().await), expected, "reader {reader}, round {round}");
                    expected += 1;
                }
            }
        })
    });
    for reader in futures::future::join_all(readers).await {
        reader.unwrap();
    }
    let own = client.notes_until("the end").await;
    assert_eq!(own.iter().map(seq).collect::<Vec<_>>(), (1..=LAST).collect::<Vec<_>>());
}

#[tokio::test]
async fn update_is_read_in_full_and_in_pages() {
    let output = json!({"matches": vec!["é".repeat(100); 3000]});
    let whole = output.clone();
    let test = TestBridge::new(move |_, _, emit| {
        let status = ToolCallStatus::Completed { output: output.clone(), cut: Cut::default() };
        emit(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            call_id: "c".to_owned(),
            status,
            late: false,
            details: Default::default(),
        }));
        RunState::Complete
    })
    .await;
    let mut client = test.acp().await;
    let session =
        client.request("_openagents/explore", json!({"root": test.workspace})).await["sessionId"].clone();
    let cut = client.notes_until("tool_call_update").await.pop().unwrap();
    assert_eq!(cut["update"]["_meta"]["openagents"]["pruned"], true);
    let (mut full, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let params = json!({"sessionId": session, "seq": 2, "offset": offset, "limit": 100_001});
        let page = client.request("_openagents/update", params).await;
        full.push_str(page["text"].as_str().unwrap());
        offset = page["nextOffset"].clone();
        assert!(full.len() <= usize::try_from(page["total"].as_u64().unwrap()).unwrap());
    }
    let full: Value = serde_json::from_str(&full).unwrap();
    assert_eq!(full["update"]["rawOutput"], whole);
    assert_eq!(seq(&full), 2);
    for number in [0, 3, u64::MAX] {
        assert!(client.error("_openagents/update", json!({"sessionId": session, "seq": number})).await.0 < 0);
    }
}

#[tokio::test]
async fn unknown_workspace_is_refused() {
    let test = TestBridge::new(echo).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().canonicalize().unwrap();
    let file = elsewhere.join("file");
    std::fs::write(&file, "").unwrap();
    let mut client = test.acp().await;
    let (code, message) = client.error("session/new", json!({"cwd": elsewhere})).await;
    assert_eq!((code, message), (-32602, format!("{} is not a known workspace", elsewhere.display())));
    for (cwd, part) in [
        (json!("/"), "too large to be a workspace"),
        (json!(std::env::home_dir()), "too large to be a workspace"),
        (json!("relative"), "not an absolute path"),
        (json!(file), "Invalid workspace: Path does not exist or is not a directory"),
        (json!(elsewhere.join("gone")), "Invalid workspace: Path does not exist or is not a directory"),
    ] {
        for (method, key) in [("session/new", "cwd"), ("_openagents/explore", "root")] {
            let (code, message) = client.error(method, json!({key: cwd})).await;
            assert!(code == -32602 && message.contains(part), "{method} {cwd}: {message}");
        }
    }
    let inside = test.workspace.join("src");
    std::fs::create_dir(&inside).unwrap();
    client.request("session/new", json!({"cwd": inside})).await;
    // An admin makes a folder known by exploring it.
    client.request("_openagents/explore", json!({"root": elsewhere})).await;
    client.request("session/new", json!({"cwd": elsewhere})).await;
    let known = client.request("_openagents/workspaces", json!({})).await;
    assert_eq!(known, json!({"workspaces": [], "root": test.workspace}));
}

#[tokio::test]
async fn inspector_shows_both_endpoints_not_itself() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let mut watcher = test.acp().await;
    let frames = watcher.request("_openagents/inspect", json!({})).await["frames"].clone();
    let frames = frames.as_array().unwrap();
    assert!(frames.iter().any(|frame| frame["endpoint"] == "ios" && frame["method"] == "initialize"));
    assert!(frames.iter().all(|frame| !frame["json"].as_str().unwrap().contains("_openagents/inspect")));
    phone.request("session/new", json!({})).await;
    let (ask, answer) = (watcher.note().await, watcher.note().await);
    assert_eq!(
        (&ask["direction"], &ask["method"], &ask["client"]),
        (&json!("in"), &json!("session/new"), &json!("test"))
    );
    assert_eq!((&answer["direction"], &answer["id"]), (&json!("out"), &ask["id"]));
    assert_eq!(answer["n"].as_u64().unwrap(), ask["n"].as_u64().unwrap() + 1);
    // The inspector's own frames are not inspected: the next one is about the phone again.
    phone.request("session/new", json!({})).await;
    assert_eq!(watcher.note().await["n"].as_u64().unwrap(), answer["n"].as_u64().unwrap() + 1);
}

#[tokio::test]
async fn inspector_streams_until_stopped() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let mut watcher = test.acp().await;
    watcher.request("_openagents/inspect", json!({})).await;
    phone.request("session/new", json!({})).await;
    assert_eq!(watcher.note().await["method"], "session/new");
    assert_eq!(watcher.note().await["direction"], "out");
    assert_eq!(watcher.request("_openagents/inspect", json!({"watch": false})).await, json!({}));
    phone.request("session/new", json!({})).await;
    let frames = watcher.request("_openagents/inspect", json!({})).await["frames"].clone();
    let newest = frames.as_array().unwrap().last().unwrap()["n"].as_u64().unwrap();
    phone.request("session/new", json!({})).await;
    assert_eq!(watcher.note().await["n"].as_u64().unwrap(), newest + 1, "none of those before");
}

#[tokio::test]
async fn markdown_is_rendered() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let result = client.request("_openagents/markdown", json!({"text": "**a** <script>"})).await;
    assert_eq!(result["html"], "<p><strong>a</strong> &lt;script&gt;</p>\n");
}

#[tokio::test]
async fn unknown_and_malformed_requests_fail() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    assert_eq!(client.error("session/make_tea", json!({})).await.0, -32601);
    assert_eq!(client.error("session/prompt", json!({"sessionId": 1})).await.0, -32602);
    assert_eq!(client.error("session/prompt", prompt(&json!("unknown"), "hi")).await.0, -32002);
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    assert_eq!(
        client.error("session/prompt", prompt(&session, "  ")).await,
        (-32602, "The prompt is empty.".to_owned())
    );
    assert_eq!(client.error("session/list", json!({"cursor": "?"})).await.0, -32602);
}

#[tokio::test]
async fn unwritable_log_ends_the_turn_everywhere() {
    let (break_it, broken) = std::sync::mpsc::channel::<()>();
    let broken = std::sync::Mutex::new(broken);
    let test = TestBridge::new(move |_, cancel, emit| {
        emit(text("before"));
        broken.lock().unwrap().recv().unwrap();
        emit(text("lost"));
        while !cancel.is_cancelled() {
            std::thread::yield_now();
        }
        RunState::Cancelled
    })
    .await;
    let (mut writer, mut reader) = (test.acp().await, test.acp().await);
    let session = writer.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let id = writer.ask("session/prompt", prompt(&session, "go")).await;
    writer.notes_until("before").await;
    reader.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    reader.notes_until("before").await;

    let database = rusqlite::Connection::open(test.home.path().join("openagents.sqlite")).unwrap();
    database.execute_batch("ALTER TABLE events RENAME TO away").unwrap();
    break_it.send(()).unwrap();

    let answer = writer.answer(id).await;
    assert_eq!(answer["error"]["code"], -32603);
    for client in [&mut writer, &mut reader] {
        let note = client.notes_until("❌").await.pop().unwrap();
        let reply = note["update"]["content"]["text"].as_str().unwrap().to_owned();
        assert!(reply.starts_with("❌ This session has stopped: the session store failed: "), "{reply}");
        assert_eq!(note["_meta"]["openagents"], json!({"error": "store_failed"}));
    }
    // Only the unwritten updates are lost, and the next prompt continues.
    database.execute_batch("ALTER TABLE away RENAME TO events").unwrap();
    break_it.send(()).unwrap();
    let id = writer.ask("session/prompt", prompt(&session, "again")).await;
    // The final message of the failed turn was stored first.
    assert_eq!(seq(&reader.notes_until("again").await.pop().unwrap()), 5);
    writer.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(writer.answer(id).await["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn panicking_explorer_is_reported() {
    let test = TestBridge::new(|request, _, emit| {
        assert!(request.goals != ["panic"], "as the test wants it");
        emit(text("fine"));
        RunState::Complete
    })
    .await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let id = client.ask("session/prompt", prompt(&session, "panic")).await;
    assert_eq!(client.answer(id).await["error"]["code"], -32603);
    client.notes_until("❌ the exploration ended unexpectedly").await;
    assert_eq!(client.request("session/prompt", prompt(&session, "go on")).await["stopReason"], "end_turn");
}

#[tokio::test]
async fn shutdown_stores_last_messages() {
    let test = TestBridge::new(until_cancelled).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let id = client.ask("session/prompt", prompt(&session, "wait for it")).await;
    client.notes_until("waiting").await;
    let TestBridge { home, workspace, bridge, _folders } = test;
    let watching = tokio::spawn(async move {
        let answer = client.answer(id).await;
        let close = client.closed().await.unwrap();
        (answer, client.notes, close)
    });
    bridge.shutdown().await;
    let (answer, notes, close) = watching.await.unwrap();
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert_eq!(notes.back().unwrap()["params"]["update"]["content"]["text"], "cancelled");
    assert_eq!((u16::from(close.code), close.reason.as_str()), (1001, "OpenAgents is shutting down."));

    // The lock is free, and the next bridge has the whole log.
    let bridge = start(home.path(), &workspace, echo).await.unwrap();
    let mut client: Client = support::acp(bridge.address().port(), bridge.token()).await;
    let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 2})).await;
    assert_eq!((&attached["seq"], &attached["running"]), (&json!(4), &json!(false)));
    let notes = client.notes_until("cancelled").await;
    assert_eq!(notes.iter().map(seq).collect::<Vec<_>>(), [3, 4]);
    bridge.shutdown().await;
}

#[tokio::test]
async fn list_answers_once_per_page() {
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    for n in 0..60 {
        let session =
            client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
        client.request("session/prompt", prompt(&session, &format!("prompt {n}"))).await;
    }
    let (mut titles, mut cursor) = (Vec::new(), json!(null));
    loop {
        let page = client.request("session/list", json!({"cursor": cursor})).await;
        let rows = page["sessions"].as_array().unwrap();
        assert!(rows.len() <= 50);
        titles.extend(rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), 60);
}
