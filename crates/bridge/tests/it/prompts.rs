//! Prompts with images, prompts that a running turn gets, and sessions that branch.

use crate::support::{
    TestBridge,
    agents::{self, ScriptedAgent, ours_client, session_in},
    echo, prompt, shown,
};
use openagents_core::{agent_ids::CODEX, update::*};
use serde_json::{Value, json};
use std::sync::Arc;

/// A red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// An agent that says how many images it got, and its session.
fn looks() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CODEX, |request, host, _| {
        let branch = request.resume.as_ref().map(|earlier| format!("{} {:?}", earlier.id, earlier.kind));
        host.remember("their-own-id");
        let images: Vec<_> = request.images.iter().map(|image| format!("{image:?}")).collect();
        agents::end(host, &format!("{} {images:?} {branch:?}", request.text));
        RunState::Complete
    })
}

fn with_image(session: &Value, data: &str) -> Value {
    let image = json!({"type": "image", "mimeType": "image/png", "data": data});
    json!({"sessionId": session, "prompt": [{"type": "text", "text": "Like this"}, image]})
}

#[tokio::test]
async fn images_are_kept_beside_the_log_and_reach_the_agent() {
    let (test, agents) = agents::test_bridge(vec![looks()]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    client.notes.clear();
    client.request("session/prompt", with_image(&session, PNG)).await;
    let rows: Vec<_> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert!(shown(&rows).iter().any(|row| row.contains("image/png, 70 bytes")), "{:?}", shown(&rows));
    assert_eq!(agents.agents[0].requests.lock().unwrap()[0].images.len(), 1);
    // The log names the image; its bytes are read by hash.
    let said = rows.iter().find(|row| row["update"]["sessionUpdate"] == "user_message_chunk").unwrap();
    assert!(!said.to_string().contains(PNG), "{said}");
    let image = &said["update"]["_meta"]["openagents"]["images"][0];
    assert_eq!((&image["width"], &image["height"]), (&json!(1), &json!(1)));
    let read = json!({"sessionId": session, "hash": image["hash"]});
    let answer = client.request("_openagents/images/read", read.clone()).await;
    assert_eq!(answer, json!({"mimeType": "image/png", "data": PNG}));
    // An editor gets a word for it.
    let mut editor = test.acp().await;
    editor.request("session/load", json!({"sessionId": session, "cwd": "", "mcpServers": []})).await;
    let loaded: Vec<_> = editor.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert!(shown(&loaded).contains(&"user_message_chunk: Like this\n\n[image]".to_owned()), "{loaded:?}");
    // A broken image is refused before anything is logged.
    let (code, message) = client.error("session/prompt", with_image(&session, "AAAA")).await;
    assert_eq!(
        (code, message.as_str()),
        (-32602, "An image is not a PNG, JPEG, GIF or WebP file; convert it.")
    );
    // They go with the session.
    client.request("session/delete", json!({"sessionId": session})).await;
    assert_eq!(client.error("_openagents/images/read", read).await.0, -32002);
    test.bridge.shutdown().await;
}

#[tokio::test]
async fn prompt_with_image_asks_for_an_agent_that_can_see_it() {
    let (test, _) = agents::test_bridge(vec![looks()]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let id = client.ask("session/prompt", with_image(&session, PNG)).await;
    let card = agents::asked(&mut client).await;
    let answer =
        json!({"sessionId": session, "approvalId": card["id"], "optionId": card["options"][0]["id"]});
    client.request("_openagents/approvals/answer", answer).await;
    assert_eq!(client.answer(id).await["result"]["_meta"]["openagents"]["state"], "complete");
    let rows: Vec<_> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert!(shown(&rows).iter().any(|row| row.contains("image/png, 70 bytes")), "{:?}", shown(&rows));
    test.bridge.shutdown().await;
    // Without agents there is nothing to choose from.
    let test = TestBridge::new(echo).await;
    let mut client = test.acp().await;
    let session = client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let end = client.request("session/prompt", with_image(&session, PNG)).await;
    assert_eq!(end["_meta"]["openagents"]["state"], "failed");
    let rows: Vec<_> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    let last = shown(&rows).pop().unwrap();
    assert!(last.contains("OpenAgents cannot see images. Choose an agent"), "{last}");
}

#[tokio::test]
async fn branch_has_the_log_and_goes_on_by_itself() {
    let (test, _) = agents::test_bridge(vec![looks()]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CODEX).await;
    client.request("session/prompt", with_image(&session, PNG)).await;
    let branch =
        client.request("session/fork", json!({"sessionId": session, "cwd": "", "mcpServers": []})).await;
    assert_eq!(branch["modes"]["currentModeId"], CODEX);
    let branch = branch["sessionId"].clone();
    assert_ne!(branch, session);
    client.notes.clear();
    client.request("_openagents/attach", json!({"sessionId": branch, "since": 0})).await;
    for expected in ["and on [] Some(\"their-own-id Branched\")", "and on [] Some(\"their-own-id Own\")"] {
        client.request("session/prompt", prompt(&branch, "and on")).await;
        let rows: Vec<_> = client.notes.iter().map(|frame| frame["params"].clone()).collect();
        let last = shown(&rows).pop().unwrap();
        assert_eq!(last, format!("agent_message_chunk: {expected}"));
    }
    let rows: Vec<_> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    assert!(shown(&rows).contains(&"user_message_chunk: Like this".to_owned()), "{:?}", shown(&rows));
    let image = rows.iter().find_map(|row| row["update"]["_meta"]["openagents"]["images"].get(0)).unwrap();
    client.request("_openagents/images/read", json!({"sessionId": branch, "hash": image["hash"]})).await;
    let list = client.request("session/list", json!({})).await;
    let titles: Vec<_> =
        list["sessions"].as_array().unwrap().iter().map(|row| row["title"].clone()).collect();
    assert_eq!(titles, ["Like this (branch)", "Like this"]);
    // The first session is unchanged, and a branch of it does not get its later turns.
    let fork = json!({"sessionId": session, "cwd": "", "mcpServers": []});
    let late = client.request("session/fork", fork).await["sessionId"].clone();
    client.notes.clear();
    client.request("session/prompt", prompt(&session, "here")).await;
    let rows: Vec<_> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    let last = shown(&rows).pop().unwrap();
    assert_eq!(last, "agent_message_chunk: here [] Some(\"their-own-id Own\")");
    client.request("_openagents/attach", json!({"sessionId": late, "since": 0})).await;
    client.request("session/prompt", prompt(&late, "late")).await;
    let rows: Vec<_> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    let last = shown(&rows).pop().unwrap();
    assert_eq!(last, "agent_message_chunk: late [] Some(\"their-own-id Passed\")");
    test.bridge.shutdown().await;
}

#[tokio::test]
async fn running_turn_gets_the_first_waiting_prompt_if_the_agent_takes_it() {
    for takes in [true, false] {
        let agent = ScriptedAgent::new(CODEX, |request, host, cancel| {
            agents::say(host, &format!("began {}", request.text));
            while request.text == "first" && !cancel.is_cancelled() && !request.root.join("done").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let state = if cancel.is_cancelled() { RunState::Cancelled } else { RunState::Complete };
            agents::end(host, "ended");
            state
        });
        *agent.steered.lock().unwrap() = takes.then(Vec::new);
        let (test, agents) = agents::test_bridge(vec![agent]).await;
        let mut client = ours_client(&test, "Window").await;
        let session = session_in(&mut client, &test, CODEX).await;
        let first = client.ask("session/prompt", prompt(&session, "first")).await;
        client.notes_until("began first").await;
        let second = client.ask("session/prompt", prompt(&session, "second")).await;
        client.notes_until("second").await;
        let attach = json!({"sessionId": session, "since": 0});
        let queue = loop {
            let attached = client.request("_openagents/attach", attach.clone()).await;
            if attached["queue"].as_array().unwrap().len() == 1 {
                break attached["queue"].clone();
            }
        };
        let now = json!({"sessionId": session, "id": queue[0]["id"]});
        client.request("_openagents/queue/send_now", now).await;
        let steered = agents.agents[0].steered.lock().unwrap().clone();
        assert_eq!(steered, takes.then(|| vec!["second".to_owned()]));
        std::fs::write(test.workspace.join("done"), "").unwrap();
        // Its sender hears with the end of the turn that got it.
        let reason = if takes { "end_turn" } else { "cancelled" };
        assert_eq!(client.answer(first).await["result"]["stopReason"], reason);
        assert_eq!(client.answer(second).await["result"]["stopReason"], "end_turn");
        assert_eq!(agents.agents[0].requests.lock().unwrap().len(), if takes { 1 } else { 2 });
        let steers = |frame: &Value| frame["params"]["update"]["_meta"]["openagents"]["steered"] == true;
        assert_eq!(client.notes.iter().any(steers), takes);
        test.bridge.shutdown().await;
    }
}
