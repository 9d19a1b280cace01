//! The "This is work for an agent" card: no external agent starts before the user chooses it.

use crate::support::{
    Client, TestBridge,
    agents::{self, ScriptedAgent, ScriptedAgents, asked, others_client, ours_client},
    prompt, shown,
};
use openagents_core::{
    agent_ids::{CLAUDE_CODE, CODEX},
    update::RunState,
};
use serde_json::{Value, json};
use std::sync::Arc;

const WORK: &str = "Write a parser for the log format";

fn codex() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CODEX, |_, host, _| {
        agents::end(host, "Written.");
        RunState::Complete
    })
}

fn claude() -> Arc<ScriptedAgent> {
    ScriptedAgent::new(CLAUDE_CODE, |_, host, _| {
        agents::end(host, "Written by Claude.");
        RunState::Complete
    })
}

async fn test_bridge() -> (TestBridge, Arc<ScriptedAgents>) {
    let (test, agents) = agents::test_bridge(vec![codex(), claude()]).await;
    std::fs::write(test.workspace.join("log.rs"), "/// The log format.\npub struct LogFormat;\n").unwrap();
    (test, agents)
}

async fn new_session(client: &mut Client, test: &TestBridge) -> Value {
    client.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone()
}

fn answer(session: &Value, card: &Value, option: &str) -> Value {
    json!({"sessionId": session, "approvalId": card["id"], "optionId": option})
}

fn prompts_of(agents: &ScriptedAgents) -> Vec<(String, String)> {
    let of = |agent: &Arc<ScriptedAgent>| {
        let requests = agent.requests.lock().unwrap();
        requests.iter().map(|request| (agent.id.clone(), request.text.clone())).collect::<Vec<_>>()
    };
    agents.agents.iter().flat_map(of).collect()
}

#[tokio::test]
async fn card_offers_agents_and_shows_the_brief() {
    let (test, agents) = test_bridge().await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    client.notes.clear();
    let id = client.ask("session/prompt", prompt(&session, WORK)).await;
    let card = asked(&mut client).await;
    insta::assert_json_snapshot!(card, {".id" => "[id]", ".callId" => "[call]", ".askedAt" => 0, ".hash" => "[hash]"});
    assert!(prompts_of(&agents).is_empty());
    client.request("_openagents/approvals/answer", answer(&session, &card, "claude-code")).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "end_turn");
    let brief = card["rawInput"]["brief"].as_str().unwrap().to_owned();
    assert_eq!(prompts_of(&agents), [(CLAUDE_CODE.to_owned(), brief)]);
    let notes: Vec<Value> = client.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    let reply = shown(&notes).join("\n");
    assert!(reply.contains("Written by Claude."), "{reply}");
    assert!(notes.iter().any(|note| note.to_string().contains("Claude Code answers in this session")));
}

#[tokio::test]
async fn not_now_keeps_findings_and_sends_nothing() {
    let (test, agents) = test_bridge().await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let mut other = ours_client(&test, "Other").await;
    other.request("_openagents/attach", json!({"sessionId": session})).await;
    let id = client.ask("session/prompt", prompt(&session, WORK)).await;
    let card = asked(&mut client).await;
    client.request("_openagents/approvals/answer", answer(&session, &card, "not-now")).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "end_turn");
    assert!(prompts_of(&agents).is_empty());
    let reply = shown(&other.notes_until("Not sent").await).join("\n");
    assert!(reply.contains("**Found:**\n- `log.rs:") && reply.contains("Not sent to an agent."), "{reply}");
}

#[tokio::test]
async fn cancel_removes_the_card() {
    let (test, agents) = test_bridge().await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let id = client.ask("session/prompt", prompt(&session, WORK)).await;
    asked(&mut client).await;
    client.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    let attached = client.request("_openagents/attach", json!({"sessionId": session})).await;
    assert_eq!(attached["approvals"], json!([]));
    assert!(prompts_of(&agents).is_empty());
}

#[tokio::test]
async fn always_in_folder_skips_the_card() {
    let (test, agents) = test_bridge().await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    let id = client.ask("session/prompt", prompt(&session, WORK)).await;
    let card = asked(&mut client).await;
    client.request("_openagents/approvals/answer", answer(&session, &card, "always:codex")).await;
    client.answer(id).await;
    let other = new_session(&mut client, &test).await;
    client.request("session/prompt", prompt(&other, "Refactor the log module")).await;
    assert_eq!(prompts_of(&agents).len(), 2);
    let settings = client.request("_openagents/agents/list", json!({})).await["settings"].clone();
    let folder = test.workspace.to_string_lossy().into_owned();
    assert_eq!(settings["workspaceAgents"], json!({folder: "codex"}));
}

/// An agent named in a prompt is offered first, but not started.
#[tokio::test]
async fn named_agent_is_offered_first() {
    let (test, agents) = test_bridge().await;
    let mut client = ours_client(&test, "Window").await;
    let session = new_session(&mut client, &test).await;
    for (text, first) in [("Use Claude to write a parser", "claude-code"), ("Ask Codex to fix it", "codex")] {
        let id = client.ask("session/prompt", prompt(&session, text)).await;
        let card = asked(&mut client).await;
        assert_eq!(card["options"][0]["id"], first, "{text}");
        client.notify("session/cancel", json!({"sessionId": session})).await;
        client.answer(id).await;
    }
    assert!(prompts_of(&agents).is_empty());
}

#[tokio::test]
async fn editor_gets_card_as_permission_request() {
    let (test, agents) = test_bridge().await;
    let mut editor = others_client(&test, "Editor").await;
    let session = new_session(&mut editor, &test).await;
    let id = editor.ask("session/prompt", prompt(&session, WORK)).await;
    let request = loop {
        let frame = editor.frame().await;
        if frame["method"] == "session/request_permission" {
            break frame;
        }
    };
    let names: Vec<_> =
        request["params"]["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
    assert_eq!(
        names,
        [
            "Codex",
            "Claude Code",
            "Always Codex in this folder",
            "Always Claude Code in this folder",
            "Not now"
        ]
    );
    let selected = json!({"outcome": {"outcome": "selected", "optionId": "codex"}});
    editor.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": selected})).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    assert_eq!(prompts_of(&agents)[0].0, CODEX);
}

/// The app cannot show the card.
#[tokio::test]
async fn ios_app_names_the_choice() {
    let (test, agents) = test_bridge().await;
    let mut phone = test.phone().await;
    let session = phone.request("session/new", json!({"cwd": test.workspace})).await["session_id"].clone();
    let text = json!([{"type": "text", "text": "Use Codex to write a parser"}]);
    phone.ask("session/prompt", json!({"session_id": session, "prompt": text})).await;
    phone.notes_until("This is work for an agent. Pick Codex in the mode menu and send it again.").await;
    assert!(prompts_of(&agents).is_empty());
}

/// A card of an exited process can be answered: the prompt asks again and gets the answer.
#[tokio::test]
async fn card_survives_a_restart() {
    let (test, _) = test_bridge().await;
    std::fs::write(test.workspace.join("banana.rs"), "fn banana() {}\n").unwrap();
    let mut client = ours_client(&test, "Before").await;
    let session = new_session(&mut client, &test).await;
    // Attachments are not the user's words, so neither brief has findings for them.
    let attached =
        json!({"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "banana banana"}});
    let mut work = prompt(&session, WORK);
    work["prompt"].as_array_mut().unwrap().push(attached);
    client.ask("session/prompt", work).await;
    let card = asked(&mut client).await;
    let TestBridge { home, workspace, bridge, _folders } = test;
    bridge.shutdown().await;
    let agents = Arc::new(ScriptedAgents { agents: vec![codex(), claude()], ..ScriptedAgents::default() });
    let bridge = agents::start_with(home.path(), &workspace, agents.clone()).await;
    let test = TestBridge { home, workspace, bridge, _folders };
    let mut client = ours_client(&test, "After").await;
    client.request("_openagents/attach", json!({"sessionId": session})).await;
    client.notes_until("withdrawn").await;
    client.request("_openagents/approvals/answer", answer(&session, &card, "codex")).await;
    client.notes_until("Written.").await;
    let brief = card["rawInput"]["brief"].as_str().unwrap().to_owned();
    assert!(brief.contains("banana banana") && !brief.contains("banana.rs"), "{brief}");
    assert_eq!(prompts_of(&agents), [(CODEX.to_owned(), brief)]);
}
