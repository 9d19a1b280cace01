//! The options of agents: every client sees the same, any that may prompt can change them, and only some may lower what
//! an agent asks.

use crate::support::{
    agents::{self, ScriptedAgent, others_client, ours_client, session_in, test_bridge},
    pairing::pair,
    prompt,
};
use openagents_core::{
    agent_ids::CODEX,
    update::{AgentPart, Asking, OptionChoices, OptionValue, RunState, SelectValue, SessionOption, Setting},
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn option(id: &str, values: &[(&str, Option<Asking>)]) -> SessionOption {
    let value = |(value, asks): &(&str, Option<Asking>)| SelectValue {
        value: (*value).to_owned(),
        name: value.to_uppercase(),
        description: None,
        group: None,
        asks: *asks,
    };
    SessionOption {
        id: id.to_owned(),
        name: id.to_owned(),
        description: None,
        category: Some(id.to_owned()),
        decides_asking: id == "mode",
        setting: Setting::Select {
            current: values[0].0.to_owned(),
            values: values.iter().map(value).collect(),
        },
    }
}

/// An agent, and the values with which it last started.
fn agent() -> (Arc<ScriptedAgent>, Arc<Mutex<OptionChoices>>) {
    let started = Arc::<Mutex<OptionChoices>>::default();
    let last = started.clone();
    let agent = ScriptedAgent::new(CODEX, move |_, host, _| {
        let chosen = host.choices();
        let mut options = vec![
            option("model", &[("small", None), ("large", None)]),
            option(
                "mode",
                &[("ask", Some(Asking::Ask)), ("edits", Some(Asking::Edits)), ("yolo", Some(Asking::Bypass))],
            ),
        ];
        for option in &mut options {
            if let Some(chosen) = chosen.get(&option.id) {
                option.set(chosen);
            }
        }
        host.report(AgentPart::Options(options));
        *last.lock().unwrap() = chosen;
        agents::end(host, "Done");
        RunState::Complete
    });
    (agent, started)
}

fn set(session: &Value, option: &str, value: &str) -> Value {
    json!({"sessionId": session, "configId": option, "value": value})
}

const SET: &str = "session/set_config_option";

/// The current values in an answer or an update.
fn values(stated: &Value) -> Vec<(&str, &str)> {
    let options = stated["configOptions"].as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().map(|it| (it["id"].as_str().unwrap(), it["currentValue"].as_str().unwrap())).collect()
}

fn choices(chosen: &[(&str, &str)]) -> OptionChoices {
    let choice = |(id, value): &(&str, &str)| ((*id).to_owned(), OptionValue::Select((*value).to_owned()));
    chosen.iter().map(choice).collect()
}

#[tokio::test]
async fn only_clients_that_may_approve_lower_what_an_agent_asks() {
    let (test, _) = test_bridge(vec![agent().0]).await;
    let mut desk = ours_client(&test, "Desktop").await;
    let mut prompter = pair(&test, &mut desk, "Small phone", "prompt").await.connect(&test).await;
    let mut approver = pair(&test, &mut desk, "Phone", "approve").await.connect(&test).await;
    let session = session_in(&mut desk, &test, CODEX).await;
    desk.request("session/prompt", prompt(&session, "Begin")).await;

    for value in ["edits", "yolo"] {
        let (code, message) = prompter.error(SET, set(&session, "codex/mode", value)).await;
        assert_eq!(code, -32000, "{value}");
        assert!(message.contains("may ask less often after this"), "{message}");
    }
    let now = prompter.request(SET, set(&session, "codex/model", "large")).await;
    assert_eq!(values(&now)[1..], [("codex/model", "large"), ("codex/mode", "ask")]);
    let now = approver.request(SET, set(&session, "codex/mode", "yolo")).await;
    assert_eq!(values(&now)[1..], [("codex/model", "large"), ("codex/mode", "yolo")]);
    let now = prompter.request(SET, set(&session, "codex/mode", "ask")).await;
    assert_eq!(values(&now)[1..], [("codex/model", "large"), ("codex/mode", "ask")]);
    for (option, value) in
        [("codex/mode", "no such"), ("codex/none", "x"), ("gemini/mode", "ask"), ("mode", "ask"), ("", "")]
    {
        assert_eq!(desk.error(SET, set(&session, option, value)).await.0, -32602, "{option} {value}");
    }
}

#[tokio::test]
async fn choices_count_for_the_session_and_are_remembered_for_the_next() {
    let (codex, started) = agent();
    let (test, _) = test_bridge(vec![codex]).await;
    let mut desk = ours_client(&test, "Desktop").await;
    let last = || started.lock().unwrap().clone();
    let known = json!({"agent": CODEX, "cwd": test.workspace});
    let nothing = desk.request("_openagents/agents/options", known.clone()).await;
    assert_eq!(nothing, json!({"configOptions": []}), "it was never started");

    let session = session_in(&mut desk, &test, CODEX).await;
    desk.request("session/prompt", prompt(&session, "Begin")).await;
    assert_eq!(last(), choices(&[]));
    desk.request(SET, set(&session, "codex/model", "large")).await;
    desk.request(SET, set(&session, "codex/mode", "yolo")).await;
    desk.request("session/prompt", prompt(&session, "Go on")).await;
    assert_eq!(last(), choices(&[("model", "large"), ("mode", "yolo")]));

    // That an agent asks nothing is not remembered.
    let expected = desk.request("_openagents/agents/options", known.clone()).await;
    assert_eq!(values(&expected), [("codex/model", "large"), ("codex/mode", "ask")]);
    let next = session_in(&mut desk, &test, CODEX).await;
    desk.request(SET, set(&next, "codex/mode", "edits")).await;
    desk.request("session/prompt", prompt(&next, "Begin")).await;
    assert_eq!(last(), choices(&[("model", "large"), ("mode", "edits")]));
    let expected = desk.request("_openagents/agents/options", known).await;
    assert_eq!(values(&expected), [("codex/model", "large"), ("codex/mode", "edits")]);
    // The first session keeps its own.
    desk.request("session/prompt", prompt(&session, "Go on")).await;
    assert_eq!(last(), choices(&[("model", "large"), ("mode", "yolo")]));
}

#[tokio::test]
async fn every_client_sees_the_same_options() {
    let (test, _) = test_bridge(vec![agent().0]).await;
    let mut desk = ours_client(&test, "Desktop").await;
    let mut editor = others_client(&test, "Editor").await;
    let session = session_in(&mut desk, &test, CODEX).await;
    desk.request("session/prompt", prompt(&session, "Begin")).await;
    let loaded = editor.request("session/load", json!({"sessionId": session})).await;
    let both = [("codex/model", "small"), ("codex/mode", "ask")];
    // An editor that knows options shows no modes, so it chooses the agent among them.
    assert_eq!(values(&loaded), [&[("agent", CODEX)], &both[..]].concat());
    assert_eq!(loaded.pointer("/configOptions/0/category"), Some(&json!("_agent")));
    let asks = loaded.pointer("/configOptions/2/options/2/_meta/openagents/asks");
    assert_eq!(asks, Some(&json!("bypass")));
    editor.notes.clear();
    desk.notes.clear();
    editor.request(SET, set(&session, "codex/model", "large")).await;
    for (client, agent) in [(&mut desk, None), (&mut editor, Some(("agent", CODEX)))] {
        let notes = client.notes_until("config_option_update").await;
        let expected: Vec<_> =
            agent.into_iter().chain([("codex/model", "large"), ("codex/mode", "ask")]).collect();
        assert_eq!(values(&notes.last().unwrap()["update"]), expected);
    }
    // The editor's options follow a change by any client.
    desk.request("session/set_mode", json!({"sessionId": session, "modeId": "default_mode"})).await;
    let notes = editor.notes_until("config_option_update").await;
    assert_eq!(values(&notes.last().unwrap()["update"])[0], ("agent", "default_mode"));
    let answer = editor.request(SET, set(&session, "agent", CODEX)).await;
    assert_eq!(values(&answer), [("agent", CODEX), ("codex/model", "large"), ("codex/mode", "ask")]);
    assert_eq!(editor.error(SET, set(&session, "agent", "nobody")).await.0, -32602);
    // An agent that was not used here is offered as it was elsewhere.
    let new = desk.request("session/new", json!({"cwd": test.workspace, "mcpServers": []})).await;
    assert_eq!(values(&new), [], "OpenAgents itself has none");
}
