//! Agents that decide themselves what they ask: their first start needs a confirmation, and only some clients may send
//! prompts that change what an agent asks.

use crate::support::{
    agents::{
        self, ScriptedAgent, approval, asked, ours, ours_client, session_in, test_bridge, trust,
        untrusted_bridge,
    },
    pairing::pair,
    prompt, shown,
};
use openagents_core::{
    agent_ids::{CLAUDE_CODE, CODEX},
    update::RunState,
};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::Ordering};

const ODD: &str = "custom:odd";

fn agent(id: &str, decides: bool) -> Arc<ScriptedAgent> {
    let agent = ScriptedAgent::new(id, |request, host, _| {
        agents::end(host, &format!("{} may_lower={}", request.text, request.may_change_approval_mode));
        RunState::Complete
    });
    agent.decides_what_it_asks.store(decides, Ordering::SeqCst);
    agent
}

fn started(agent: &ScriptedAgent) -> usize {
    agent.requests.lock().unwrap().len()
}

fn answer(session: &Value, approval: &Value, option: &str) -> Value {
    json!({"sessionId": session, "approvalId": approval["id"], "optionId": option})
}

const ANSWER: &str = "_openagents/approvals/answer";

#[tokio::test]
async fn autonomous_agent_starts_after_confirmation() {
    let odd = agent(ODD, false);
    let (test, _) = test_bridge(vec![odd.clone()]).await;
    // Added after the folder was trusted.
    odd.decides_what_it_asks.store(true, Ordering::SeqCst);
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, ODD).await;
    let id = client.ask("session/prompt", prompt(&session, "Fix it")).await;
    let question = asked(&mut client).await;
    assert_eq!(question["title"], "custom:odd may act without asking you. Let it start here?");
    assert_eq!((&question["agent"], started(&odd)), (&json!("OpenAgents"), 0));
    client.request(ANSWER, answer(&session, &question, "not-now")).await;
    let ended = client.answer(id).await;
    assert_eq!(ended["result"]["_meta"]["openagents"]["state"], "failed");
    assert_eq!(started(&odd), 0);

    client.notes.clear();
    let id = client.ask("session/prompt", prompt(&session, "Fix it")).await;
    let question = asked(&mut client).await;
    client.request(ANSWER, answer(&session, &question, "start")).await;
    client.answer(id).await;
    assert_eq!(started(&odd), 1);
    // One confirmation covers the folder and everything below it.
    let below = test.workspace.join("part");
    std::fs::create_dir(&below).unwrap();
    for cwd in [&test.workspace, &below] {
        let new = json!({"cwd": cwd, "_meta": {"openagents": {"open": true}}});
        let session = client.request("session/new", new).await["sessionId"].clone();
        client.request("session/set_mode", json!({"sessionId": session, "modeId": ODD})).await;
        client.notes.clear();
        client.request("session/prompt", prompt(&session, "Fix it")).await;
        assert!(client.notes.iter().all(|frame| approval(&frame["params"]).is_null()));
    }
    assert_eq!(started(&odd), 3);
}

#[tokio::test]
async fn trust_request_names_autonomous_agents() {
    let (odd, codex) = (agent(ODD, true), agent(CODEX, false));
    let (test, _) = untrusted_bridge(vec![odd.clone(), codex]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, ODD).await;
    let id = client.ask("session/prompt", prompt(&session, "Fix it")).await;
    let question = asked(&mut client).await;
    assert_eq!(question["subject"], "trust");
    assert_eq!(question["rawInput"]["decidesWhatItAsks"], true);
    client.request(ANSWER, answer(&session, &question, "trust")).await;
    // One question, not two.
    client.answer(id).await;
    assert_eq!(started(&odd), 1);

    // Trusting the folder on the command line has the same effect.
    let other = test.workspace.parent().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    trust(&test, &other).await;
    let new = json!({"cwd": other, "_meta": {"openagents": {"open": true}}});
    let session = client.request("session/new", new).await["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": ODD})).await;
    client.request("session/prompt", prompt(&session, "Fix it")).await;
    assert_eq!(started(&odd), 2);
}

#[tokio::test]
async fn trust_request_counts_deleted_sessions() {
    let (test, _) = untrusted_bridge(vec![agent(CLAUDE_CODE, false)]).await;
    let mut client = ours_client(&test, "Window").await;
    let session = session_in(&mut client, &test, CLAUDE_CODE).await;
    client.ask("session/prompt", prompt(&session, "Fix it")).await;
    assert_eq!(asked(&mut client).await["rawInput"]["deletes"], 12);
}

#[tokio::test]
async fn approve_scope_guards_approval_commands() {
    let codex = agent(CODEX, false);
    let (test, _) = test_bridge(vec![codex.clone()]).await;
    let mut desk = ours_client(&test, "Desktop").await;
    let mut prompter = pair(&test, &mut desk, "Small phone", "prompt").await.connect(&test).await;
    let mut approver = pair(&test, &mut desk, "Phone", "approve").await.connect(&test).await;
    let session = session_in(&mut desk, &test, CODEX).await;
    let any = session_in(&mut desk, &test, "default_mode").await;
    for command in ["/allow-all on", "/permissions allow-all", "/autopilot", "/yolo", "  /Mode auto"] {
        for (session, text) in [(&session, command.to_owned()), (&any, format!("@codex {}", command.trim()))]
        {
            let refused = prompter.request("session/prompt", prompt(session, &text)).await;
            assert_eq!(refused["_meta"]["openagents"]["state"], "failed", "{text}");
            assert_eq!(started(&codex), 0, "{text}");
        }
    }
    let notes: Vec<Value> = prompter.notes.drain(..).map(|frame| frame["params"].clone()).collect();
    let expected = "agent_message_chunk: ❌ /mode changes what Codex asks. Send it from a device that may approve, or from this computer.";
    assert_eq!(shown(&notes).pop().unwrap(), expected);
    // Clients that may approve can send such commands.
    for (client, text) in [(&mut approver, "/allow-all on"), (&mut desk, "/yolo")] {
        client.notes.clear();
        client.request("session/prompt", prompt(&session, text)).await;
        let reply =
            client.notes.iter().any(|note| note.to_string().contains(&format!("{text} may_lower=true")));
        assert!(reply, "{text}");
    }
    // Any client that may prompt can send other prompts.
    for text in ["/compact", "Explain /yolo", "/model gpt"] {
        prompter.request("session/prompt", prompt(&session, text)).await;
    }
    assert_eq!(started(&codex), 5);
    let last = codex.requests.lock().unwrap().last().unwrap().clone();
    assert!(!last.may_change_approval_mode);
    // A delegated task is not in the user's own words, so it may not change what is asked.
    let arguments = json!({"provider": "codex", "user_prompt": "/allow-all on"});
    let call = desk.request("_openagents/delegate", json!({"sessionId": any, "arguments": arguments})).await;
    let over = |note: &Value| {
        note["update"]["toolCallId"] == call["toolCallId"] && note["update"]["status"] == "failed"
            || ours(note)["ended"] == true
    };
    loop {
        let frame = desk.frame().await;
        if over(&frame["params"]) {
            break;
        }
    }
    assert_eq!(started(&codex), 5);
}
