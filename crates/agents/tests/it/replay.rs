//! Recorded conversations of real agents, replayed against our client.

use super::host::{Host, Say, Scene, Setup, earlier};
use openagents_core::{CancellationToken, agent::AgentProvider as _, update::SessionUpdate};
use serde_json::Value;
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
