//! Other agents' sessions: listed, read in parts, searched, and only on their own computer.

use crate::support::{self, Client, echo, pairing::pair_at};
use openagents_bridge::Bridge;
use openagents_core::history::{HistoryRoots, Provider};
use serde_json::{Value, json};
use std::{fmt::Write, fs, path::Path};

const ID: &str = "c1a0de00-0000-4000-8000-000000000001";

fn line(role: &str, text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    format!("{}\n", json!({"type": role, "cwd": "/w/harbour", "message": {"role": role, "content": content}}))
}

/// Starts a bridge with one session of Claude Code, of `turns` turns.
async fn with_session(base: &Path, turns: usize) -> Bridge {
    let mut log = String::new();
    for turn in 1..=turns {
        write!(log, "{}{}", line("user", &format!("Question {turn}")), line("assistant", "It is as it is."))
            .unwrap();
    }
    let path = base.join(format!("claude/projects/-w-harbour/{ID}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, log).unwrap();
    let (home, workspace) = (base.join("home"), base.join("workspace"));
    fs::create_dir_all(&workspace).unwrap();
    let mut config = support::config(&home, &workspace);
    config.history = HistoryRoots::default().with(Provider::ClaudeCode, base.join("claude"));
    support::start_as(config, echo).await.unwrap()
}

async fn desk(bridge: &Bridge) -> Client {
    support::acp(bridge.address().port(), bridge.token()).await
}

async fn error(client: &mut Client, method: &str, params: Value) -> String {
    let id = client.ask(method, params).await;
    client.answer(id).await["error"]["message"].as_str().unwrap().to_owned()
}

fn session() -> Value {
    json!({"provider": "claude-code", "id": ID})
}

#[tokio::test]
async fn a_session_is_listed_and_read_from_its_end_upwards() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 8000).await;
    let mut desk = desk(&bridge).await;
    let listed = desk.request("_openagents/history/list", json!({})).await;
    let row = &listed["sessions"][0];
    assert_eq!(
        (&row["id"], &row["agent"], &row["title"]),
        (&json!(ID), &json!("Claude Code"), &json!("Question 1"))
    );
    assert_eq!(row["resume"], format!("claude --resume {ID}"));
    let after = json!({"after": session()});
    assert_eq!(desk.request("_openagents/history/list", after).await["sessions"], json!([]));

    let mut part = desk.request("_openagents/history/read", session()).await;
    let text = |update: &Value| update["update"]["content"]["text"].as_str().unwrap().to_owned();
    let mut texts: Vec<String> = part["updates"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(part["updates"][0]["_meta"]["openagents"]["seq"], 16001 - texts.len());
    let mut parts = 1;
    while part["from"] != 0 {
        let mut before = session();
        before["before"] = part["from"].clone();
        part = desk.request("_openagents/history/read", before).await;
        texts.splice(0..0, part["updates"].as_array().unwrap().iter().map(text));
        parts += 1;
    }
    assert!(parts > 1, "in parts");
    let questions: Vec<&String> = texts.iter().step_by(2).collect();
    assert_eq!(questions.len(), 8000);
    assert!(questions.iter().enumerate().all(|(at, text)| **text == format!("Question {}", at + 1)));

    let mut raw = session();
    raw["line"] = json!(3);
    let raw = desk.request("_openagents/history/line", raw).await;
    assert_eq!(raw["text"], line("user", "Question 2").trim_end());
}

#[tokio::test]
async fn a_session_is_found_by_its_words() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 30).await;
    let mut desk = desk(&bridge).await;
    let found = loop {
        let found = desk.request("_openagents/sessions/search", json!({"query": "question 17"})).await;
        if found["sessions"] != json!([]) {
            break found;
        }
        // The index is filled in the background.
        tokio::task::yield_now().await;
    };
    let best = &found["sessions"][0];
    assert_eq!(
        (&best["id"], &best["line"], &best["snippet"]),
        (&json!(ID), &json!(33), &json!("Question 17"))
    );
    let none = desk.request("_openagents/sessions/search", json!({"query": "\" OR *"})).await;
    assert_eq!(none["sessions"], json!([]));
}

#[tokio::test]
async fn other_agents_sessions_stay_on_their_computer() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut desk = desk(&bridge).await;
    let port = bridge.address().port();
    let paired = pair_at(port, &mut desk, "Phone", "admin").await;
    let mut phone = support::acp(port, &paired.token).await;
    for (method, params) in [
        ("_openagents/history/list", json!({})),
        ("_openagents/history/read", session()),
        ("_openagents/history/line", json!({"provider": "claude-code", "id": ID, "line": 1})),
        ("_openagents/sessions/search", json!({"query": "question"})),
    ] {
        let reason = error(&mut phone, method, params).await;
        assert_eq!(reason, "Other agents' sessions are shown on their own computer only.", "{method}");
    }
}

#[tokio::test]
async fn what_is_gone_is_said_to_be_gone() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut desk = desk(&bridge).await;
    let gone = json!({"provider": "codex", "id": "0199a2b4-9999-7000-8000-000000000009"});
    let reason = error(&mut desk, "_openagents/history/read", gone).await;
    assert_eq!(reason, "Codex has no session 0199a2b4-9999-7000-8000-000000000009 any more.");
    let mut behind = session();
    behind["line"] = json!(99);
    assert!(
        error(&mut desk, "_openagents/history/line", behind).await.starts_with("Line 99 is no longer in ")
    );
}
