//! Agents as modes of a session, routing, and managing agents.

use crate::support::{
    self, Client,
    agents::{self, ScriptedAgent, ours_client, session_in},
    pairing::pair,
    prompt, shown,
};
use openagents_core::{
    agent::Conversation,
    agent_ids::{CLAUDE_CODE, CODEX},
    model::Availability,
    update::*,
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// An agent that repeats its prompt and its own session id.
fn echoes() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CODEX, |request, host, _| {
        host.remember("their-own-id");
        let resumed = request.resume.as_ref().map(|earlier| &earlier.id);
        agents::end(host, &format!("{} {resumed:?}", request.text));
        RunState::Complete
    })
}

fn updates(client: &mut Client) -> Vec<Value> {
    client.notes.drain(..).map(|frame| frame["params"].clone()).collect()
}

#[tokio::test]
async fn agent_answers_in_its_mode_and_resumes() {
    let (test, agents) = agents::test_bridge(vec![echoes()]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    client.notes.clear();
    for expected in ["agent_message_chunk: hello None", "agent_message_chunk: hello Some(\"their-own-id\")"] {
        let id = client.ask("session/prompt", prompt(&session, "hello")).await;
        assert_eq!(client.answer(id).await["result"]["stopReason"], "end_turn");
        assert_eq!(shown(&updates(&mut client)).last().map(String::as_str), Some(expected));
    }
    let support::TestBridge { home, workspace, bridge, .. } = test;
    // An agent that has its own history is not given the log.
    for request in agents.agents[0].requests.lock().unwrap().iter() {
        assert_eq!(format!("{:?}", request.transcript), format!("{:?}", Conversation::default()));
    }
    bridge.shutdown().await;
    assert!(agents.shut_down.load(Ordering::SeqCst));
    // The agent's session id survives a restart.
    let agents = Arc::new(agents::ScriptedAgents { agents: vec![echoes()], ..Default::default() });
    let bridge = agents::start_with(home.path(), &workspace, agents).await;
    let mut client = support::acp(bridge.address().port(), bridge.token()).await;
    client.request("session/prompt", prompt(&session, "again")).await;
    assert!(
        shown(&updates(&mut client))
            .contains(&"agent_message_chunk: again Some(\"their-own-id\")".to_owned())
    );
    bridge.shutdown().await;
}

#[tokio::test]
async fn modes_show_privacy_and_missing_agents() {
    let absent = ScriptedAgent::new(CLAUDE_CODE, |_, _, _| panic!("it is not prompted"));
    *absent.availability.lock().unwrap() =
        Availability::Unavailable("Claude Code is not installed; npm install -g it".to_owned());
    let (test, _) = agents::test_bridge(vec![echoes(), absent]).await;
    let mut client = ours_client(&test, "Window").await;
    let new = client.request("session/new", json!({"cwd": test.workspace})).await;
    insta::assert_json_snapshot!(new["modes"]);
    let session = session_in(&mut client, &test, CLAUDE_CODE).await;
    client.notes.clear();
    let ended = client.request("session/prompt", prompt(&session, "hello")).await;
    assert_eq!(ended["_meta"]["openagents"]["state"], "failed");
    let reply = shown(&updates(&mut client));
    assert_eq!(
        reply.last().map(String::as_str),
        Some("agent_message_chunk: ❌ Claude Code is not installed; npm install -g it.")
    );
    // The session continues.
    client.request("session/set_mode", json!({"sessionId": session, "modeId": CODEX})).await;
    client.request("session/prompt", prompt(&session, "hello")).await;
    assert!(shown(&updates(&mut client)).last().unwrap().starts_with("agent_message_chunk: hello"));
    let unknown = json!({"sessionId": session, "modeId": "custom:gone"});
    assert_eq!(client.error("session/set_mode", unknown).await.0, -32602);
}

#[tokio::test]
async fn panicking_agent_fails_only_its_turn() {
    let agent = ScriptedAgent::new(CODEX, |request, host, _| {
        agents::call(host, "open", "edit");
        assert_ne!(request.text, "panic");
        agents::end(host, "fine");
        RunState::Complete
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    let id = client.ask("session/prompt", prompt(&session, "panic")).await;
    client.answer(id).await;
    let notes = updates(&mut client);
    assert!(shown(&notes).last().unwrap().contains("❌ the answer ended unexpectedly"));
    let end = notes.iter().rfind(|note| note["update"]["toolCallId"] == "open").unwrap();
    assert_eq!(end["update"]["status"], "failed");
    client.request("session/prompt", prompt(&session, "well")).await;
    assert!(shown(&updates(&mut client)).contains(&"agent_message_chunk: fine".to_owned()));
}

/// Regression: the shutdown waited for the turn, even if its agent ignored the cancel.
#[tokio::test]
async fn shutdown_ignores_agent_deaf_to_cancel() {
    let released = Arc::new(AtomicBool::new(false));
    let waits = released.clone();
    let agent = ScriptedAgent::new(CODEX, move |_, host, _| {
        agents::call(host, "open", "edit");
        while !waits.load(Ordering::SeqCst) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        RunState::Complete
    });
    let (test, agents) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    client.ask("session/prompt", prompt(&session, "hello")).await;
    client.notes_until("\"open\"").await;
    let support::TestBridge { home, workspace, bridge, .. } = test;
    // The turn never ends, so longer means a hang.
    let over = tokio::time::timeout(std::time::Duration::from_secs(60), bridge.shutdown()).await;
    let next = openagents_bridge::Bridge::start(support::config(home.path(), &workspace)).await;
    released.store(true, Ordering::SeqCst);
    assert!(over.is_ok() && agents.shut_down.load(Ordering::SeqCst));
    // The turn may still write, so the data folder stays locked.
    assert!(matches!(next, Err(openagents_bridge::BridgeError::AlreadyRunning { .. })), "{next:?}");
}

/// Regression: the connections were closed before the answers to their prompts were sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_answers_pending_prompts() {
    let agent = ScriptedAgent::new(CODEX, |_, host, cancel| {
        agents::call(host, "open", "edit");
        agents::until_cancelled(host, cancel)
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let mut client = ours_client(&test, "Window").await;
        let session = session_in(&mut client, &test, CODEX).await;
        let running = client.ask("session/prompt", prompt(&session, "run")).await;
        client.notes_until("\"open\"").await;
        let queued = client.ask("session/prompt", prompt(&session, "wait")).await;
        client.notes_until("wait").await;
        waiting.push((client, [running, queued]));
    }
    let answers = async {
        for (client, prompts) in &mut waiting {
            for id in *prompts {
                let answer = client.answer(id).await;
                assert_eq!(answer["result"]["stopReason"], "cancelled", "{answer}");
            }
        }
    };
    tokio::join!(test.bridge.shutdown(), answers);
}

/// A session whose log has only mode changes counts as empty, even after a restart; one with an exploration does not.
#[tokio::test]
async fn device_deletes_session_without_prompt() {
    let (test, agents) = agents::test_bridge(vec![echoes()]).await;
    let mut client = ours_client(&test, "Window").await;
    let paired = pair(&test, &mut client, "Phone", "prompt").await;
    let empty = session_in(&mut client, &test, CODEX).await;
    let explored =
        client.request("_openagents/explore", json!({"root": test.workspace})).await["sessionId"].clone();
    client.request("session/prompt", prompt(&explored, "done?")).await;
    let support::TestBridge { home, workspace, bridge, _folders } = test;
    bridge.shutdown().await;
    let bridge = agents::start_with(home.path(), &workspace, agents).await;
    let test = support::TestBridge { home, workspace, bridge, _folders };
    let mut phone = paired.connect(&test).await;
    phone.request("session/delete", json!({"sessionId": empty})).await;
    assert_eq!(phone.error("_openagents/attach", json!({"sessionId": empty})).await.0, -32002);
    let (_, refusal) = phone.error("session/delete", json!({"sessionId": explored})).await;
    assert_eq!(refusal, "This device can view and prompt. Change its access on the desktop.");
}

/// Updates of an agent after a cancel are marked as late and reopen nothing.
#[tokio::test]
async fn late_updates_are_marked() {
    let released = Arc::new(AtomicBool::new(false));
    let waits = released.clone();
    let agent = ScriptedAgent::new(CODEX, move |request, host, cancel| {
        if request.text != "first" {
            agents::end(host, "second answer");
            return RunState::Complete;
        }
        agents::call(host, "open", "edit");
        let (host_later, waits) = (host.clone(), waits.clone());
        std::thread::spawn(move || {
            while !waits.load(Ordering::SeqCst) {
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }
            let host = host_later;
            agents::say(&host, "late words");
            agents::call(&host, "late call", "edit");
            agents::completed(&host, "open");
            agents::end(&host, "late end");
        });
        agents::until_cancelled(host, cancel)
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    let id = client.ask("session/prompt", prompt(&session, "first")).await;
    client.notes_until("\"open\"").await;
    client.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    client.notes.clear();
    released.store(true, Ordering::SeqCst);
    let notes = client.notes_until("late end").await;
    let late: Vec<Value> = notes.iter().map(|note| note["update"].clone()).collect();
    insta::assert_json_snapshot!(late);
    client.request("session/prompt", prompt(&session, "second")).await;
    assert_eq!(
        shown(&updates(&mut client)),
        ["user_message_chunk: second", "agent_message_chunk: second answer"]
    );
}

/// Everything that an agent leaves open is closed, and every turn has a final message.
#[tokio::test]
async fn careless_agent_leaves_nothing_open() {
    let agent = ScriptedAgent::new(CODEX, |_, host, _| {
        agents::call(host, "open", "edit");
        let entry = |status| PlanEntry {
            content: "Step".to_owned(),
            status,
            op_id: "1".to_owned(),
            op_hash: 0,
            tool: "codex".to_owned(),
            error: None,
        };
        host.emit(agents::update(SessionUpdate::Plan(PlanSnapshot {
            plan_id: "p".to_owned(),
            goals: Vec::new(),
            state: RunState::Running,
            entries: vec![entry(EntryStatus::InProgress)],
        })));
        RunState::Failed
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    client.notes.clear();
    client.request("session/prompt", prompt(&session, "go")).await;
    let notes = updates(&mut client);
    let ends: Vec<Value> = notes[notes.len() - 3..].iter().map(|note| note["update"].clone()).collect();
    insta::assert_json_snapshot!(ends, {"[2].messageId" => "[id]"});
}

#[tokio::test]
async fn prompt_routing_is_stored() {
    let (test, _) = agents::test_bridge(vec![echoes()]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    std::fs::write(test.workspace.join("parser.rs"), "pub fn parse_parser() {}\n").unwrap();
    for text in ["Who are you?", "@codex write a parser", "where is the parser?"] {
        client.request("session/prompt", prompt(&session, text)).await;
    }
    let notes = updates(&mut client);
    let routed: Vec<&Value> = notes
        .iter()
        .map(|note| &note["update"]["_meta"]["openagents"]["routing"])
        .filter(|routing| routing.is_object())
        .collect();
    let targets: Vec<Value> =
        routed.iter().map(|routing| json!([routing["target"], routing["inline"]])).collect();
    assert_eq!(targets, [json!(["inline", "answer"]), json!(["codex", null]), json!(["inline", "find"])]);
    let reply = shown(&notes);
    assert!(reply.iter().any(|text| text.contains("OpenAgents")), "{reply:?}");
    assert!(reply.iter().any(|text| text.starts_with("agent_message_chunk: write a parser")), "{reply:?}");
    assert!(
        reply.iter().any(|text| text.starts_with("agent_message_chunk: **Found:**\n- `parser.rs:1`")),
        "{reply:?}"
    );

    let kept = client.request("_openagents/agents/decisions", json!({})).await;
    let prompts: Vec<&Value> =
        kept["decisions"].as_array().unwrap().iter().map(|decided| &decided["prompt"]).collect();
    assert_eq!(prompts, ["where is the parser?", "@codex write a parser", "Who are you?"]);
    assert_eq!(&kept["decisions"][1]["decision"], routed[1]);
    assert_eq!(kept["decisions"][1]["sessionId"], session);
}

/// Nothing leaves the machine without asking, unless the policy of the session allows it.
#[tokio::test]
async fn session_can_allow_external_agents() {
    let (test, agents) = agents::test_bridge(vec![echoes()]).await;
    let mut client = ours_client(&test, "Window").await;
    for (policy, asked) in [
        (json!({}), 0),
        (json!({"allow_external_llms": true, "allow_network": false}), 0),
        (json!({"allow_external_llms": true}), 1),
    ] {
        let params = json!({"cwd": test.workspace, "_meta": {"openagents": {"policy": policy}}});
        let session = client.request("session/new", params).await["sessionId"].clone();
        let id = client.ask("session/prompt", prompt(&session, "Write a parser for the log format")).await;
        if asked == 0 {
            agents::asked(&mut client).await;
            client.notify("session/cancel", json!({"sessionId": session})).await;
        }
        client.answer(id).await;
        assert_eq!(agents.agents[0].requests.lock().unwrap().len(), asked);
    }
}

/// Regression: a device could set a policy that only an admin may set.
#[tokio::test]
async fn device_cannot_allow_external_agents() {
    let (test, agents) = agents::test_bridge(vec![echoes()]).await;
    let mut desk = ours_client(&test, "Window").await;
    let mut phone = pair(&test, &mut desk, "Phone", "approve").await.connect(&test).await;
    let policy = json!({"allow_external_llms": true});
    let params = json!({"cwd": test.workspace, "_meta": {"openagents": {"policy": policy}}});
    let session = phone.request("session/new", params).await["sessionId"].clone();
    phone.ask("session/prompt", prompt(&session, "Write a parser for the log format")).await;
    agents::asked(&mut phone).await;
    assert!(agents.agents[0].requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn agents_are_listed_watched_and_changed() {
    let (test, agents) = agents::test_bridge(vec![echoes()]).await;
    let (mut client, mut other) = (ours_client(&test, "Window").await, ours_client(&test, "Other").await);
    let list = client.request("_openagents/agents/list", json!({"watch": true})).await;
    assert_eq!(list["settings"]["choose"], true);
    let agent = json!({"id": "gem", "kind": "acp", "command": "gemini", "args": ["--acp"]});
    let added = other.request("_openagents/agents/add", json!({"agent": agent})).await;
    assert_eq!(added["settings"]["custom"][0]["command"], "gemini");
    assert_eq!(client.note().await, added);
    let changed = other.request("_openagents/agents/configure", json!({"settings": {"choose": false}})).await;
    assert_eq!(changed["settings"]["choose"], false);
    assert_eq!(other.request("_openagents/agents/check", json!({})).await["checkedAt"], 1);
    let (code, message) = other.error("_openagents/agents/remove", json!({"id": "unknown"})).await;
    assert_eq!(code, -32002);
    assert!(message.contains("unknown"), "{message}");
    assert_eq!(agents.watchers.lock().unwrap().len(), 1);
}

/// Regression: a key among the arguments of an added agent was shown to every device.
#[tokio::test]
async fn agent_arguments_are_shown_only_to_admins() {
    let (test, _agents) = agents::test_bridge(vec![echoes()]).await;
    let mut desk = ours_client(&test, "Window").await;
    let paired = pair(&test, &mut desk, "Phone", "approve").await;
    let mut phone = paired.connect(&test).await;
    phone.request("_openagents/agents/list", json!({"watch": true})).await;
    let agent = json!({"id": "gem", "kind": "acp", "command": "gemini", "args": ["--api-key", "s3cret"]});
    let added = desk.request("_openagents/agents/add", json!({"agent": agent})).await;
    assert_eq!(added["settings"]["custom"][0]["args"], json!(["--api-key", "s3cret"]));
    for shown in [phone.note().await, phone.request("_openagents/agents/list", json!({})).await] {
        let custom = &shown["settings"]["custom"][0];
        assert_eq!((&custom["command"], &custom["args"]), (&json!("gemini"), &json!(["…", "…"])));
    }
    // Once the device may change the arguments, it sees them.
    desk.request("_openagents/devices/scope", json!({"id": paired.id, "scope": "admin"})).await;
    phone.notes_until("s3cret").await;
}

/// As the protocol defines it: resuming does not replay the log, and closing stops the agent.
#[tokio::test]
async fn session_is_resumed_and_closed() {
    let agent = ScriptedAgent::new(CODEX, |_, host, cancel| {
        agents::say(host, "at work");
        agents::until_cancelled(host, cancel)
    });
    let (test, agents) = agents::test_bridge(vec![agent]).await;
    let (mut client, mut editor) = (ours_client(&test, "Window").await, ours_client(&test, "Editor").await);
    let session = session_in(&mut client, &test, CODEX).await;
    let id = client.ask("session/prompt", prompt(&session, "go")).await;
    client.notes_until("at work").await;
    let resumed = editor.request("session/resume", json!({"sessionId": session, "cwd": "/"})).await;
    assert_eq!(resumed["modes"]["currentModeId"], CODEX);
    assert!(editor.notes.is_empty(), "{:?}", editor.notes);
    assert_eq!(editor.request("session/close", json!({"sessionId": session})).await, json!({}));
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    assert_eq!(*agents.agents[0].closed.lock().unwrap(), [session.as_str().unwrap()]);
    let unknown = json!({"sessionId": "unknown"});
    assert_eq!(editor.error("session/close", unknown).await.0, -32002);
}

#[tokio::test]
async fn bridge_without_agents_has_no_agent_methods() {
    let test = support::TestBridge::new(support::echo).await;
    let mut client = test.acp().await;
    for method in ["list", "check", "decisions"] {
        let method = format!("_openagents/agents/{method}");
        assert_eq!(client.error(&method, json!({})).await.0, -32601);
    }
}

#[tokio::test]
async fn login_screen_holds_up_no_other_call_and_stays_out_of_the_inspector() {
    let (test, _) = agents::test_bridge(vec![echoes()]).await;
    let mut client = ours_client(&test, "Window").await;
    let screen = client.ask("_openagents/agents/login_screen", json!({"id": CODEX, "since": 0})).await;
    // Answered while the screen is awaited.
    client.request("_openagents/agents/list", json!({})).await;
    client.request("_openagents/agents/login_type", json!({"id": CODEX, "text": "s3cret"})).await;
    let screen = client.answer(screen).await;
    assert_eq!(screen["result"]["lines"], json!(["s3cret"]), "{screen}");
    let frames = client.request("_openagents/inspect", json!({"since": 0})).await.to_string();
    assert!(frames.contains("login_type") && !frames.contains("s3cret"), "{frames}");
    test.bridge.shutdown().await;
}
