//! Delegating a task to another agent.

use crate::support::{
    self, Client,
    agents::{self, ScriptedAgent, Session, approval, asked, asks_to_edit, ours, ours_client},
    prompt,
};
use openagents_core::{
    CancellationToken,
    agent::*,
    agent_ids::{CLAUDE_CODE, CODEX},
    approval::ApprovalState,
    model::Availability,
    update::*,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// An agent's turn with one call and a final message.
fn works(request: &AgentRequest, host: &Session, _: &CancellationToken) -> RunState {
    let call_id = format!("call-{}", request.session_id);
    agents::call(host, &call_id, "edit");
    agents::completed(host, &call_id);
    agents::say(host, "Done with it.");
    agents::end(host, "");
    RunState::Complete
}

async fn delegate(client: &mut Client, session: &Value, arguments: Value) -> Value {
    let params = json!({"sessionId": session, "arguments": arguments});
    client.request("_openagents/delegate", params).await["toolCallId"].clone()
}

async fn new_session(client: &mut Client, test: &support::TestBridge) -> Value {
    client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone()
}

/// Returns the last update of a delegation's call, and all notes up to the final message.
async fn ended(client: &mut Client, call: &Value) -> (Value, Vec<Value>) {
    let mut notes = Vec::new();
    let mut end = None;
    loop {
        let note = client.note().await;
        let update = &note["update"];
        if update["toolCallId"] == *call && matches!(update["status"].as_str(), Some("completed" | "failed"))
        {
            end = Some(update.clone());
        }
        let is_last = end.is_some()
            && update["sessionUpdate"] == "agent_message_chunk"
            && ours(&note)["childSessionId"].is_null();
        notes.push(note);
        if is_last {
            return (end.unwrap(), notes);
        }
    }
}

#[tokio::test]
async fn delegate_updates_are_in_both_logs() {
    let (test, agents) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, works)]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let arguments = json!({"provider": "codex", "user_prompt": "Fix it", "description": "The parser"});
    let call = delegate(&mut client, &session, arguments).await;
    let (end, notes) = ended(&mut client, &call).await;
    assert_eq!(end["status"], "completed");
    let child = end["rawOutput"]["session_id"].clone();
    let mut shape = Vec::new();
    for note in &notes {
        let update = &note["update"];
        let inner = if ours(note)["childSessionId"].is_null() { "" } else { "inner " };
        if !inner.is_empty() {
            assert_eq!((&ours(note)["parentCallId"], &ours(note)["childSessionId"]), (&call, &child));
            assert_eq!(note["sessionId"], session);
        }
        let text = [&update["content"]["text"], &update["title"]].into_iter().find_map(Value::as_str);
        let text = if inner.is_empty() { text.unwrap_or_default() } else { "" };
        let status = update["status"].as_str().unwrap_or_default();
        shape.push(format!("{inner}{} {status} {text}", update["sessionUpdate"].as_str().unwrap()));
    }
    insta::assert_snapshot!(shape.join("\n"));

    // The delegate's session is listed only on request.
    let list = client.request("session/list", json!({})).await;
    let ids: Vec<&Value> = list["sessions"].as_array().unwrap().iter().map(|row| &row["sessionId"]).collect();
    assert_eq!(ids, [&session]);
    let all = json!({"_meta": {"openagents": {"children": true}}});
    let list = client.request("session/list", all).await;
    let row = list["sessions"].as_array().unwrap().iter().find(|row| row["sessionId"] == child).unwrap();
    let meta = &row["_meta"]["openagents"];
    assert_eq!(
        (&meta["parentSessionId"], &meta["parentCallId"], &meta["mode"], &row["title"]),
        (&session, &call, &json!("codex"), &json!("The parser"))
    );
    // The parent shows the delegate's updates, in order.
    client.notes.clear();
    client.request("session/load", json!({"sessionId": child})).await;
    let own: Vec<Value> = client.notes.drain(..).map(|frame| frame["params"]["update"].clone()).collect();
    let own = own.into_iter().filter(|update| update["sessionUpdate"] != "session_info_update");
    let shown = notes.iter().filter(|note| !ours(note)["childSessionId"].is_null());
    assert_eq!(own.collect::<Vec<_>>(), shown.map(|note| note["update"].clone()).collect::<Vec<_>>());
    assert_eq!(*agents.agents[0].closed.lock().unwrap(), [child.as_str().unwrap()]);
    assert_eq!(agents.agents[0].requests.lock().unwrap()[0].root, test.workspace);
}

#[tokio::test]
async fn delegations_that_cannot_start_are_reported() {
    let absent = ScriptedAgent::new(CLAUDE_CODE, works);
    *absent.availability.lock().unwrap() = Availability::Unavailable("it is not installed".to_owned());
    let (test, agents) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, works), absent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    for (arguments, expected) in [
        (json!({"provider": "claude-code", "user_prompt": "x"}), "not installed"),
        (json!({"provider": "unknown", "user_prompt": "x"}), "unknown"),
        (json!({"provider": "codex"}), "user_prompt"),
        (json!({"provider": "codex", "user_prompt": "x", "workspace_root": "/etc"}), "/etc"),
    ] {
        let call = delegate(&mut client, &session, arguments).await;
        let (end, notes) = ended(&mut client, &call).await;
        assert_eq!(end["status"], "failed", "{end}");
        assert!(end.to_string().contains(expected), "{end}");
        assert!(notes.last().unwrap().to_string().contains("❌"));
    }
    let call =
        delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x", "dry_run": true}))
            .await;
    assert_eq!(ended(&mut client, &call).await.0["rawOutput"]["dispatched"], false);
    assert!(agents.agents.iter().all(|agent| agent.requests.lock().unwrap().is_empty()));
}

#[tokio::test]
async fn delegate_approval_is_answered_from_either_session() {
    let asker = ScriptedAgent::new(CODEX, |request, host, cancel| asks_to_edit(&request.text, host, cancel));
    let (test, _) = agents::test_bridge(vec![asker]).await;
    let (mut client, mut other) = (ours_client(&test, "Window").await, ours_client(&test, "Other").await);
    for through_child in [false, true] {
        let session = new_session(&mut client, &test).await;
        let call = delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "a.rs"})).await;
        let question = asked(&mut client).await;
        let all = json!({"_meta": {"openagents": {"children": true}}});
        let list = client.request("session/list", all).await;
        let row = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["_meta"]["openagents"]["parentSessionId"] == session);
        let child = row.unwrap()["sessionId"].clone();
        for id in [&session, &child] {
            let attached = other.request("_openagents/attach", json!({"sessionId": id})).await;
            assert_eq!(attached["approvals"][0]["id"], question["id"]);
        }
        let through = if through_child { &child } else { &session };
        let answer = json!({"sessionId": through, "approvalId": question["id"], "optionId": "yes"});
        assert_eq!(other.request("_openagents/approvals/answer", answer).await["state"], "answered");
        let (end, notes) = ended(&mut client, &call).await;
        assert_eq!(end["status"], "completed");
        let output = notes.iter().find(|note| approval(note)["state"] == "answered").unwrap();
        assert_eq!(ours(output)["childSessionId"], child);
    }
}

#[tokio::test]
async fn cancel_propagates_both_ways() {
    let agent = ScriptedAgent::new(CODEX, |request, host, cancel| {
        agents::call(host, &format!("open-{}", request.session_id), "edit");
        agents::until_cancelled(host, cancel)
    });
    let (test, agents) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    for cancels_child in [false, true] {
        let session = new_session(&mut client, &test).await;
        let call = delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x"})).await;
        let child = loop {
            let note = client.note().await;
            if note["update"]["sessionUpdate"] == "tool_call" && ours(&note)["childSessionId"].is_string() {
                break ours(&note)["childSessionId"].clone();
            }
        };
        let cancelled = if cancels_child { &child } else { &session };
        client.notify("session/cancel", json!({"sessionId": cancelled})).await;
        let (end, notes) = ended(&mut client, &call).await;
        assert_eq!(end["status"], "failed");
        let reason = end["_meta"]["openagents"]["error"].as_str().unwrap().to_lowercase();
        assert!(reason.starts_with("cancelled"), "{reason}");
        let mut open = notes
            .iter()
            .filter(|note| note["update"]["toolCallId"] == format!("open-{}", child.as_str().unwrap()));
        assert_eq!(open.next_back().unwrap()["update"]["status"], "failed");
        let attached = client.request("_openagents/attach", json!({"sessionId": child})).await;
        assert_eq!(attached["running"], false);
        client.notes.clear();
    }
    assert_eq!(agents.agents[0].closed.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn time_budget_is_noted_and_then_enforced() {
    let agent = ScriptedAgent::new(CODEX, |request, host, cancel| {
        if request.text.starts_with("Summarize") {
            agents::say(host, "I began.");
            agents::end(host, "");
            return RunState::Complete;
        }
        agents::until_cancelled(host, cancel)
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let arguments = json!({"provider": "codex", "user_prompt": "x", "time_budget_ms": 20, "summarize": true});
    let call = delegate(&mut client, &session, arguments).await;
    let (end, notes) = ended(&mut client, &call).await;
    let note = notes.iter().find(|note| note.to_string().contains("time budget reached")).unwrap();
    assert_eq!((&note["update"]["toolCallId"], &note["update"]["status"]), (&call, &json!("in_progress")));
    assert_eq!(end["status"], "failed");
    let reply = end["_meta"]["openagents"]["error"].as_str().unwrap();
    assert_eq!(reply, "cancelled at twice its time budget; its summary: I began.");
}

/// A delegate that ignores its cancel is not waited for, and its later updates reopen nothing.
#[tokio::test]
async fn delegate_deaf_to_cancel_is_abandoned() {
    let released = Arc::new(AtomicU64::new(0));
    let waits = released.clone();
    let agent = ScriptedAgent::new(CODEX, move |_, host, _| {
        agents::call(host, "deaf", "edit");
        while waits.load(Ordering::SeqCst) == 0 {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        agents::say(host, "too late");
        agents::end(host, "");
        RunState::Complete
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let call = delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x"})).await;
    client.notes_until("\"deaf\"").await;
    client.notify("session/cancel", json!({"sessionId": session})).await;
    let (end, notes) = ended(&mut client, &call).await;
    assert_eq!(end["status"], "failed");
    let inner: Vec<&Value> = notes.iter().filter(|note| !ours(note)["childSessionId"].is_null()).collect();
    assert!(
        inner
            .iter()
            .any(|note| note["update"]["toolCallId"] == "deaf" && note["update"]["status"] == "failed")
    );
    released.store(1, Ordering::SeqCst);
    let id = client.ask("session/prompt", prompt(&session, "where is it?")).await;
    client.answer(id).await;
    assert!(client.notes.iter().all(|note| !note.to_string().contains("too late")));
}

#[tokio::test]
async fn at_most_eight_delegates_run() {
    let agent = ScriptedAgent::new(CODEX, |_, host, cancel| agents::until_cancelled(host, cancel));
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let mut sessions = Vec::new();
    for _ in 0..8 {
        let session = new_session(&mut client, &test).await;
        delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x"})).await;
        // The delegate has its prompt.
        loop {
            let note = client.note().await;
            if ours(&note)["childSessionId"].is_string() {
                break;
            }
        }
        sessions.push(session);
    }
    let session = new_session(&mut client, &test).await;
    let call = delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x"})).await;
    let (end, _) = ended(&mut client, &call).await;
    assert!(end.to_string().contains("8 delegates are at work already"), "{end}");
    for session in &sessions {
        client.notify("session/cancel", json!({"sessionId": session})).await;
    }
    let id = client.ask("session/prompt", prompt(&sessions[7], "where is it?")).await;
    client.answer(id).await;
}

#[tokio::test]
async fn model_delegates_and_gets_report() {
    let model = Arc::new(agents::Delegating { offered: Mutex::default() });
    let planner = ScriptedAgent::new("custom:planner", |_, _, _| panic!("it has a model"));
    let mut planner = Arc::into_inner(planner).unwrap();
    planner.model = Some(model.clone());
    let (test, agents) = agents::test_bridge(vec![Arc::new(planner), ScriptedAgent::new(CODEX, works)]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = agents::session_in(&mut client, &test, "custom:planner").await;
    client.notes.clear();
    // The user is asked before anything leaves this machine, whatever the prompt says.
    let id = client.ask("session/prompt", prompt(&session, "Use Codex to fix the parser")).await;
    let card = asked(&mut client).await;
    assert!(agents.agents[1].requests.lock().unwrap().is_empty());
    assert!(card["rawInput"]["brief"].as_str().unwrap().starts_with("Fix it"), "{card}");
    let answer = json!({"sessionId": session, "approvalId": card["id"], "optionId": "codex"});
    client.request("_openagents/approvals/answer", answer).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "end_turn");
    let notes: Vec<Value> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert!(notes.iter().any(|note| ours(note)["childSessionId"].is_string()));
    let reply = support::shown(&notes);
    assert!(reply.contains(&"agent_message_chunk: Codex says: \"Done with it.\"".to_owned()), "{reply:?}");
    let offered = model.offered.lock().unwrap().clone();
    for tool in ["delegate.run", "codex.run", "search.grep"] {
        assert!(offered.iter().any(|name| name == tool), "{offered:?}");
    }
    assert!(agents.agents[1].requests.lock().unwrap()[0].text.contains("Fix it"));
}

#[tokio::test]
async fn delegate_depth_is_limited() {
    let (test, _) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, works)]).await;
    let mut client = ours_client(&test, "Window").await;
    let mut session = new_session(&mut client, &test).await;
    for depth in 0..3 {
        if depth > 0 {
            client.request("session/resume", json!({"sessionId": session, "cwd": test.workspace})).await;
        }
        client.notes.clear();
        let arguments = json!({"provider": "codex", "user_prompt": "x"});
        let call = delegate(&mut client, &session, arguments).await;
        let (end, notes) = ended(&mut client, &call).await;
        if depth == 2 {
            assert!(end.to_string().contains("delegates are 2 deep already"), "{end}");
            return;
        }
        // Deeper updates are shown only one level up.
        assert!(notes.iter().all(|note| note["sessionId"] == session));
        session = end["rawOutput"]["session_id"].clone();
    }
}

#[tokio::test]
async fn nested_approval_is_answered_from_the_top() {
    let model = Arc::new(agents::Delegating { offered: Mutex::default() });
    let planner = ScriptedAgent::new("custom:planner", |_, _, _| panic!("it has a model"));
    let mut planner = Arc::into_inner(planner).unwrap();
    planner.model = Some(model);
    let codex = ScriptedAgent::new(CODEX, |_, host, cancel| asks_to_edit("a.rs", host, cancel));
    let mut codex = Arc::into_inner(codex).unwrap();
    codex.local = true;
    let (test, _) = agents::test_bridge(vec![Arc::new(planner), Arc::new(codex)]).await;
    for answers_by_request in [false, true] {
        let mut client = ours_client(&test, "Window").await;
        let session = new_session(&mut client, &test).await;
        let mut editor = agents::others_client(&test, "Editor").await;
        editor.request("_openagents/attach", json!({"sessionId": session})).await;
        let mut phone = test.phone().await;
        let mode = json!({"session_id": session, "mode_id": "default_mode"});
        phone.request("session/set_mode", mode).await;
        let arguments = json!({"provider": "custom:planner", "user_prompt": "x"});
        let call = delegate(&mut client, &session, arguments).await;
        let question = asked(&mut client).await;
        let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
        assert_eq!(attached["approvals"], json!([question]));
        let request = loop {
            let frame = editor.frame().await;
            if frame["method"] == "session/request_permission" {
                break frame;
            }
        };
        assert_eq!(request["params"]["sessionId"], session);
        phone.notes_until("Waiting for approval on ").await;
        if answers_by_request {
            let selected = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
            editor.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": selected})).await;
        } else {
            let answer = json!({"sessionId": session, "approvalId": question["id"], "optionId": "yes"});
            assert_eq!(client.request("_openagents/approvals/answer", answer).await["state"], "answered");
        }
        let (end, notes) = ended(&mut client, &call).await;
        assert!(end.to_string().contains("told yes"), "{end}");
        assert!(notes.iter().any(|note| approval(note)["state"] == "answered"));
        let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
        assert_eq!(attached["approvals"], json!([]));
    }
}

#[tokio::test]
async fn resumed_delegate_keeps_its_limits() {
    for answered in [false, true] {
        let asker = || ScriptedAgent::new(CODEX, |_, host, cancel| asks_to_edit("a.rs", host, cancel));
        let (test, _) = agents::test_bridge(vec![asker()]).await;
        let mut client = ours_client(&test, "Before").await;
        let session = new_session(&mut client, &test).await;
        let arguments = json!({"provider": "codex", "user_prompt": "x", "files_include_glob": ["src/**"],
            "max_files": 3});
        delegate(&mut client, &session, arguments).await;
        let question = asked(&mut client).await;
        let support::TestBridge { home, workspace, bridge, .. } = test;
        bridge.shutdown().await;
        let agents = Arc::new(agents::ScriptedAgents { agents: vec![asker()], ..Default::default() });
        let bridge = agents::start_with(home.path(), &workspace, agents.clone()).await;
        let folders = tempfile::tempdir().unwrap();
        let test = support::TestBridge { home, workspace, bridge, _folders: folders };
        let mut client = ours_client(&test, "After").await;
        client.request("_openagents/attach", json!({"sessionId": session})).await;
        // The approval has the same state in the delegate and in the session above it.
        let stands = client.notes.iter().map(|frame| approval(&frame["params"])).rfind(|one| one.is_object());
        let stands = match stands {
            Some(stands) => stands.clone(),
            None => approval(client.notes_until("withdrawn").await.last().unwrap()).clone(),
        };
        assert_eq!((&stands["id"], &stands["state"]), (&question["id"], &json!("withdrawn")));
        if answered {
            // The agent continues, asks the same question and gets the answer.
            let answer = json!({"sessionId": session, "approvalId": question["id"], "optionId": "yes"});
            client.request("_openagents/approvals/answer", answer).await;
        } else {
            let resume = json!({"sessionId": session, "approvalId": question["id"]});
            client.request("_openagents/approvals/resume", resume).await;
            let again = asked(&mut client).await;
            assert_ne!(again["id"], question["id"]);
            let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
            assert_eq!(attached["approvals"], json!([again]));
            let answer = json!({"sessionId": session, "approvalId": again["id"], "optionId": "yes"});
            client.request("_openagents/approvals/answer", answer).await;
        }
        let output = client.notes_until("told yes").await;
        assert!(ours(output.last().unwrap())["childSessionId"].is_string());
        let limits = agents.agents[0].requests.lock().unwrap()[0].limits.clone();
        assert_eq!(limits, AccessLimits { include: vec!["src/**".to_owned()], max_files: Some(3) });
    }
}

/// Regression: the shutdown did not wait until the log of the session above recorded the end of the resumed delegate.
#[tokio::test]
async fn shutdown_ends_resumed_delegate_in_parent() {
    let asker = || ScriptedAgent::new(CODEX, |_, host, cancel| asks_to_edit("a.rs", host, cancel));
    let (test, _) = agents::test_bridge(vec![asker()]).await;
    let mut client = ours_client(&test, "Before").await;
    let session = new_session(&mut client, &test).await;
    delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x"})).await;
    let question = asked(&mut client).await;
    let support::TestBridge { home, workspace, bridge, _folders } = test;
    bridge.shutdown().await;
    let agents = Arc::new(agents::ScriptedAgents { agents: vec![asker()], ..Default::default() });
    let bridge = agents::start_with(home.path(), &workspace, agents).await;
    let test = support::TestBridge { home, workspace, bridge, _folders };
    let mut client = ours_client(&test, "After").await;
    client.request("_openagents/attach", json!({"sessionId": session})).await;
    let resume = json!({"sessionId": session, "approvalId": question["id"]});
    client.request("_openagents/approvals/resume", resume).await;
    let again = loop {
        let again = asked(&mut client).await;
        if again["id"] != question["id"] {
            break again;
        }
    };
    let support::TestBridge { home, bridge, .. } = test;
    bridge.shutdown().await;
    // Read from the store, because a bridge that loads the session closes everything that is open.
    let store = openagents_bridge::open_store(home.path()).unwrap();
    let log = store.updates_after(session.as_str().unwrap(), 0, 1_000).unwrap();
    let shown: Vec<Value> = log.iter().map(|row| serde_json::to_value(&row.update).unwrap()).collect();
    let id = again["id"].as_str().unwrap();
    let last = shown.iter().rfind(|update| update.to_string().contains(id)).unwrap().to_string();
    assert!(last.contains("withdrawn"), "{last}");
}

#[tokio::test]
async fn failed_summary_keeps_the_answer() {
    let agent = ScriptedAgent::new(CODEX, |request, host, cancel| {
        if request.text.starts_with("Summarize") {
            agents::end(host, "❌ Too tired.");
            return RunState::Failed;
        }
        works(request, host, cancel)
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let arguments = json!({"provider": "codex", "user_prompt": "x", "summarize": true});
    let call = delegate(&mut client, &session, arguments).await;
    let (end, _) = ended(&mut client, &call).await;
    assert_eq!((&end["status"], &end["rawOutput"]["notes"]), (&json!("completed"), &json!("Done with it.")));
}

#[tokio::test]
async fn report_marks_a_cut_answer() {
    for (summarize, expected) in [
        (false, "The answer was cut off: Codex reached its limit of tokens.\n\nHalf an ans"),
        (true, "The answer was cut off: Codex reached its limit of tokens.\n\nIts summary: Half is done."),
    ] {
        let agent = ScriptedAgent::new(CODEX, |request, host, _| {
            if request.text.starts_with("Summarize") {
                agents::say(host, "Half is done.");
            } else {
                agents::say(host, "Half an ans");
                agents::end(host, "The answer was cut off: Codex reached its limit of tokens.");
            }
            RunState::Complete
        });
        let cuts = agent.clone();
        let (test, _) = agents::test_bridge(vec![agent]).await;
        let mut client = ours_client(&test, "Window").await;
        let session = new_session(&mut client, &test).await;
        cuts.cut_off.store(true, Ordering::SeqCst);
        let arguments = json!({"provider": "codex", "user_prompt": "x", "summarize": summarize});
        let call = delegate(&mut client, &session, arguments).await;
        let (end, _) = ended(&mut client, &call).await;
        assert_eq!(end["rawOutput"]["notes"], expected);
    }
}

#[tokio::test]
async fn failure_has_one_marker() {
    let agent = ScriptedAgent::new(CODEX, |_, host, _| {
        agents::end(host, "❌ No disk.");
        RunState::Failed
    });
    let (test, _) = agents::test_bridge(vec![agent]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let call = delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": "x"})).await;
    let (end, notes) = ended(&mut client, &call).await;
    assert_eq!(end["_meta"]["openagents"]["error"], "No disk.");
    assert_eq!(notes.last().unwrap()["update"]["content"]["text"], "❌ No disk.");
}

/// The client got the id of the call with the response, so the call needs an end.
#[tokio::test]
async fn early_cancelled_delegation_ends() {
    let waits = |_: &AgentRequest, host: &Session, cancel: &CancellationToken| {
        agents::say(host, "at work");
        agents::until_cancelled(host, cancel)
    };
    let (test, _) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, waits)]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let task = json!({"provider": "codex", "user_prompt": "x"});
    let first = delegate(&mut client, &session, task.clone()).await;
    client.notes_until("at work").await;
    let second = delegate(&mut client, &session, task).await;
    client.notify("session/cancel", json!({"sessionId": session})).await;
    for call in [first, second] {
        let (end, _) = ended(&mut client, &call).await;
        assert_eq!(end["status"], "failed", "{end}");
    }
}

/// A small seeded generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Fails, panics, asks, leaves calls open, succeeds or waits, depending on the prompt's number.
fn unruly(request: &AgentRequest, host: &Session, cancel: &CancellationToken) -> RunState {
    let mut dice = Dice(request.text.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
    for n in 0..dice.roll(4) {
        let id = format!("{}-{n}", request.session_id);
        agents::call(host, &id, "edit");
        if dice.roll(2) == 0 {
            agents::completed(host, &id);
        }
        agents::say(host, "working ");
    }
    match dice.roll(6) {
        0 => panic!("scripted"),
        1 => RunState::Failed,
        2 => asks_to_edit("a.rs", host, cancel),
        3 => agents::until_cancelled(host, cancel),
        4 => {
            // An approval that the turn does not wait for.
            let (host, cancel) = (host.clone(), cancel.clone());
            std::thread::spawn(move || host.ask(agents::wants_to_edit("orphan", "a.rs"), &cancel));
            RunState::Complete
        }
        _ => {
            agents::end(host, "done");
            RunState::Complete
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delegations_200_leave_nothing_open() {
    let (test, _) = agents::test_bridge(vec![ScriptedAgent::new(CODEX, unruly)]).await;
    let mut rounds = Vec::new();
    for worker in 0..4u64 {
        let mut client = ours_client(&test, "Window").await;
        let workspace = test.workspace.clone();
        rounds.push(tokio::spawn(async move {
            let (mut dice, mut children) = (Dice(worker + 1), 0);
            let new = json!({"cwd": workspace});
            let session = client.request("session/new", new).await["sessionId"].clone();
            for round in 0..50 {
                let text = format!("{worker} {round}");
                let call =
                    delegate(&mut client, &session, json!({"provider": "codex", "user_prompt": text})).await;
                let mut child = Value::Null;
                let (mut end, mut last) = (false, false);
                while !(end && last) {
                    // Some turns wait for a cancel and emit nothing until then.
                    let Ok(note) = tokio::time::timeout(Duration::from_millis(50), client.note()).await
                    else {
                        let who = if dice.roll(2) == 0 && child.is_string() { &child } else { &session };
                        client.notify("session/cancel", json!({"sessionId": who})).await;
                        continue;
                    };
                    let update = &note["update"];
                    if ours(&note)["childSessionId"].is_string() {
                        child = ours(&note)["childSessionId"].clone();
                    }
                    let is_own = ours(&note)["childSessionId"].is_null();
                    let status = update["status"].as_str().unwrap_or_default();
                    end |= update["toolCallId"] == call && matches!(status, "completed" | "failed");
                    last |= end && is_own && update["sessionUpdate"] == "agent_message_chunk";
                    if approval(&note)["state"] == "pending" && dice.roll(2) == 0 {
                        let id = &approval(&note)["id"];
                        let answer = json!({"sessionId": session, "approvalId": id, "optionId": "yes"});
                        client.request("_openagents/approvals/answer", answer).await;
                    } else if child.is_string() && !end && dice.roll(5) == 0 {
                        let who = if dice.roll(2) == 0 { &child } else { &session };
                        client.notify("session/cancel", json!({"sessionId": who})).await;
                    }
                }
                // On a busy machine, some delegates are cancelled before they start.
                children += usize::from(child.is_string());
            }
            (session, children)
        }));
    }
    let (mut parents, mut started) = (Vec::new(), 0);
    for round in rounds {
        let (parent, children) =
            tokio::time::timeout(Duration::from_secs(600), round).await.unwrap().unwrap();
        parents.push(parent);
        started += children;
    }
    assert!(started >= 100, "only {started} delegates began");
    let mut client = ours_client(&test, "Window").await;
    for session in &parents {
        let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
        assert_eq!((&attached["running"], &attached["approvals"]), (&json!(false), &json!([])));
    }
    let support::TestBridge { home, bridge, .. } = test;
    bridge.shutdown().await;

    let store = openagents_bridge::open_store(home.path()).unwrap();
    let mut children = 0;
    for parent in &parents {
        let log = store.updates_after(parent.as_str().unwrap(), 0, 1 << 20).unwrap();
        let mut by_child: BTreeMap<String, Vec<SessionUpdate>> = BTreeMap::new();
        let mut own = Vec::new();
        for stored in log {
            match &stored.update {
                SessionUpdate::Delegated(delegated) => by_child
                    .entry(delegated.child_session_id.clone())
                    .or_default()
                    .push((*delegated.update).clone()),
                update => own.push(update.clone()),
            }
        }
        nothing_is_open("parent", &own);
        children += by_child.len();
        for (child, shown) in by_child {
            nothing_is_open(&format!("{child} in its parent"), &shown);
            let log = store.updates_after(&child, 0, 1 << 20).unwrap();
            let log: Vec<SessionUpdate> = log.iter().map(|stored| stored.update.clone()).collect();
            nothing_is_open(&child, &log);
        }
    }
    assert_eq!(children, started);
}

/// Checks that every call has an end, every approval an outcome, and every prompt a final message.
fn nothing_is_open(whose: &str, log: &[SessionUpdate]) {
    let mut calls: HashMap<&str, bool> = HashMap::new();
    let mut approvals: HashMap<&str, &ApprovalState> = HashMap::new();
    let (mut prompts, mut ends) = (0, 0);
    for update in log {
        match update {
            SessionUpdate::ToolCall(call) => drop(calls.insert(&call.call_id, false)),
            SessionUpdate::ToolCallUpdate(update) => match update.status {
                ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. } => {
                    calls.insert(&update.call_id, true);
                }
                _ => {}
            },
            SessionUpdate::Approval(approval) => drop(approvals.insert(&approval.id, &approval.state)),
            SessionUpdate::UserMessage(_) => prompts += 1,
            SessionUpdate::AgentMessage(message) if message.ended => ends += 1,
            _ => {}
        }
    }
    assert!(calls.values().all(|ended| *ended), "{whose}: {calls:?}");
    assert!(approvals.values().all(|state| **state != ApprovalState::Pending), "{whose}: {approvals:?}");
    assert!(ends >= prompts, "{whose}: {prompts} prompts, {ends} ends: {log:#?}");
}
