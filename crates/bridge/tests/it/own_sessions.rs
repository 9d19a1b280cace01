//! Sessions that an agent keeps itself, and the text of a session.

use crate::support::{
    agents::{self, ScriptedAgent, ours_client, session_in, trust, untrusted_bridge},
    pairing::pair,
    prompt,
};
use openagents_core::{
    agent::{EarlierKind, EarlierSession},
    agent_ids::CODEX,
    update::RunState,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn agent() -> Arc<ScriptedAgent> {
    let agent = ScriptedAgent::new(CODEX, |_, host, _| {
        agents::end(host, "Done");
        RunState::Complete
    });
    *agent.own.lock().unwrap() = vec!["first".to_owned(), "second".to_owned()];
    agent
}

#[tokio::test]
async fn own_session_is_continued_by_one_session_here() {
    let (test, agents) = untrusted_bridge(vec![agent()]).await;
    let mut desk = ours_client(&test, "Desktop").await;
    let here = |id: &str| json!({"agent": CODEX, "cwd": test.workspace, "id": id});
    let (code, why) = desk.error("_openagents/agents/sessions", here("")).await;
    assert_eq!(code, -32602);
    assert!(why.contains("starts only in folders that you trust"), "{why}");
    trust(&test, &test.workspace).await;
    let listed = desk.request("_openagents/agents/sessions", here("")).await;
    assert_eq!(
        listed,
        json!({"sessions": [{"id": "first", "updatedAt": 1}, {"id": "second", "updatedAt": 1}]})
    );

    let continued = desk.request("_openagents/agents/continue_session", here("second")).await;
    let again = desk.request("_openagents/agents/continue_session", here("second")).await;
    assert_eq!(continued, again);
    let listed = desk.request("_openagents/agents/sessions", here("")).await;
    assert_eq!(listed["sessions"][1]["sessionId"], continued["sessionId"]);
    let unknown = desk.error("_openagents/agents/continue_session", here("third")).await;
    assert!(unknown.1.contains("has not listed that session here"), "{unknown:?}");
    let id = &continued["sessionId"];
    desk.request("session/prompt", prompt(id, "Continue")).await;
    let excerpt = desk.request("_openagents/sessions/excerpt", json!({"sessionId": id, "id": id})).await;
    assert_eq!(
        excerpt["text"], "User: Continue\nAgent: Done\n",
        "the notice is not part of the conversation"
    );
    let resumed = agents.agents[0].requests.lock().unwrap()[0].resume.clone();
    assert_eq!(resumed, Some(EarlierSession { id: "second".to_owned(), kind: EarlierKind::Own }));

    // Only this computer, or an admin, has it deleted there.
    let mut phone = pair(&test, &mut desk, "Phone", "approve").await.connect(&test).await;
    assert_eq!(phone.error("_openagents/agents/delete_session", here("first")).await.0, -32000);
    let (_, why) = phone.error("_openagents/agents/sessions", here("")).await;
    assert!(why.contains("shown only on the computer that stores them"), "{why}");
    desk.request("_openagents/agents/delete_session", here("first")).await;
    let listed = desk.request("_openagents/agents/sessions", here("")).await;
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        desk.error("_openagents/agents/sessions", json!({"agent": "nobody", "cwd": test.workspace})).await.0,
        -32602
    );
}

#[tokio::test]
async fn excerpt_is_the_conversation_of_a_session() {
    let (test, _) = agents::test_bridge(vec![agent()]).await;
    let mut desk = ours_client(&test, "Desktop").await;
    let session = session_in(&mut desk, &test, CODEX).await;
    let of = |provider: Value, id: &Value| json!({"sessionId": session, "provider": provider, "id": id});
    let excerpt = |text: Value| text["text"].as_str().unwrap().to_owned();
    let empty = desk.request("_openagents/sessions/excerpt", of(Value::Null, &session)).await;
    assert_eq!(excerpt(empty), "");
    desk.request("session/prompt", prompt(&session, "Fix it")).await;
    let text = desk.request("_openagents/sessions/excerpt", of(Value::Null, &session)).await;
    assert_eq!(excerpt(text), "User: Fix it\nAgent: Done\n");
    let (code, _) = desk.error("_openagents/sessions/excerpt", of(Value::Null, &json!("nothing"))).await;
    assert_eq!(code, -32002);
    let (code, _) = desk.error("_openagents/sessions/excerpt", of(json!("codex"), &json!("nothing"))).await;
    assert_eq!(code, -32002);
}
