//! Recorded conversations of real agents, replayed against our client.

use super::host::{Host, Say, Scene, Setup, earlier};
use openagents_core::{
    CancellationToken,
    agent::AgentProvider as _,
    update::{AgentPart, SessionUpdate},
};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

struct Prompt {
    text: String,
    is_cancelled: bool,
    answers: Vec<Say>,
}

fn recording(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name)
}

/// Returns the prompts and answers of the recorded user.
fn prompts(name: &str) -> Vec<Prompt> {
    let text = std::fs::read_to_string(recording(name)).unwrap();
    let mut prompts: Vec<Prompt> = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let frame = &line["frame"];
        if line["dir"] != "client" {
            continue;
        }
        let outcome = &frame["result"]["outcome"];
        match frame["method"].as_str() {
            Some("session/prompt") => prompts.push(Prompt {
                text: frame["params"]["prompt"][0]["text"].as_str().unwrap().to_owned(),
                is_cancelled: false,
                answers: Vec::new(),
            }),
            Some("session/cancel") => prompts.last_mut().unwrap().is_cancelled = true,
            None if outcome["outcome"] == "selected" => {
                let id = outcome["optionId"].as_str().unwrap().to_owned();
                prompts.last_mut().unwrap().answers.push(Say::Id(id));
            }
            None if outcome["outcome"] == "cancelled" => {
                prompts.last_mut().unwrap().answers.push(Say::Nothing);
            }
            _ => {}
        }
    }
    prompts
}

fn play(name: &str) -> Scene {
    let args = vec!["replay".to_owned(), recording(name).display().to_string()];
    let scene = Setup { args, ..Setup::default() }.scene(Host::with([]));
    for prompt in prompts(name) {
        scene.host.answers.lock().unwrap().extend(prompt.answers);
        scene.host.updates.lock().unwrap().push(SessionUpdate::UserMessage(
            openagents_core::update::UserMessage { text: prompt.text.clone(), ..Default::default() },
        ));
        if prompt.is_cancelled {
            scene.cancelled(&prompt.text, |host| {
                // The recording waits for the cancel: nothing more follows.
                let mut before = 0;
                loop {
                    std::thread::sleep(Duration::from_millis(500));
                    let now = host.count();
                    if now == before && now > 0 {
                        break;
                    }
                    before = now;
                }
            });
        } else {
            scene.prompt(&prompt.text);
        }
    }
    scene
}

/// Returns the answers, each without text of the one before.
fn answers(scene: &Scene) -> Vec<String> {
    let updates = scene.host.updates.lock().unwrap();
    let mut answers: Vec<String> = Vec::new();
    for update in updates.iter() {
        match update {
            SessionUpdate::UserMessage(_) => answers.push(String::new()),
            SessionUpdate::AgentMessage(message) if !message.late => {
                answers.last_mut().unwrap().push_str(&message.text);
            }
            _ => {}
        }
    }
    answers
}

#[test]
fn codex_recording_replays() {
    let scene = play("codex-acp.jsonl");
    insta::assert_snapshot!("codex", scene.shown());
    insta::assert_snapshot!("codex_answers", answers(&scene).join("\n---\n"));
}

#[test]
fn claude_code_recording_replays() {
    let scene = play("claude-agent-acp.jsonl");
    insta::assert_snapshot!("claude_code", scene.shown());
    insta::assert_snapshot!("claude_code_answers", answers(&scene).join("\n---\n"));
}

#[test]
fn loaded_session_hides_its_history() {
    for name in ["codex-acp.jsonl", "claude-agent-acp.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        // Both agents support resuming, but the recording does not use it.
        let text = std::fs::read_to_string(recording(name)).unwrap();
        std::fs::write(&path, text.replace("\"resume\":{}", "\"no\":{}")).unwrap();
        let args = vec!["replay".to_owned(), path.display().to_string()];
        let scene = Setup { args, ..Setup::default() }.scene(Host::with([]));
        let mut request = scene.request("hello");
        request.resume = earlier();
        // The recording ends with the load: the next prompt is refused.
        let outcome = scene.agent.prompt(&request, scene.host.clone(), &CancellationToken::new());
        assert_eq!(outcome.text, "❌ Fake: session/prompt was not recorded");
        assert_eq!(scene.host.count(), 1, "{}", scene.shown());
    }
}

/// Qwen Code's list of commands is half a megabyte, nearly all of it `_meta`.
#[test]
fn loaded_session_of_50_000_updates_shows_only_its_commands() {
    let session = |update: Value| {
        let params = json!({"sessionId": "earlier", "update": update});
        json!({"dir": "agent", "frame": {"jsonrpc": "2.0", "method": "session/update", "params": params}})
    };
    let initialized = json!({"protocolVersion": 1, "agentInfo": {"name": "x", "version": "1"}, "agentCapabilities": {"loadSession": true}});
    let mut lines = vec![
        json!({"dir": "client", "frame": {"jsonrpc": "2.0", "id": 0, "method": "initialize"}}),
        json!({"dir": "agent", "frame": {"jsonrpc": "2.0", "id": 0, "result": initialized}}),
        json!({"dir": "client", "frame": {"jsonrpc": "2.0", "id": 1, "method": "session/load"}}),
    ];
    lines.extend((0..50_000).map(|at| {
        let content = json!({"type": "text", "text": format!("word {at} ")});
        session(json!({"sessionUpdate": "agent_message_chunk", "messageId": format!("m{}", at / 10), "content": content}))
    }));
    let commands =
        json!([{"name": "review", "description": "Reviews", "_meta": {"schema": "x".repeat(560_000)}}]);
    lines.push(session(json!({"sessionUpdate": "available_commands_update", "availableCommands": commands})));
    lines.push(json!({"dir": "agent", "frame": {"jsonrpc": "2.0", "id": 1, "result": {}}}));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    let text: Vec<_> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&path, text.join("\n")).unwrap();
    let args = vec!["replay".to_owned(), path.display().to_string()];
    let scene = Setup { args, ..Setup::default() }.scene(Host::with([]));
    let mut request = scene.request("hello");
    request.resume = earlier();
    let outcome = scene.agent.prompt(&request, scene.host.clone(), &CancellationToken::new());
    assert_eq!(outcome.text, "❌ Fake: session/prompt was not recorded");
    let shown = scene.shown();
    assert!(!shown.contains("word") && shown.len() < 4_096, "{shown}");
    let states = scene.host.states.lock().unwrap();
    let commands = states.iter().find(|part| matches!(part, AgentPart::Commands(_)));
    let bytes = serde_json::to_string(&commands).unwrap().len();
    assert!(commands.is_some() && bytes < 1_024, "{bytes} bytes");
}
