//! Sessions for other readers: exported files, briefs for other agents, and sessions that are open elsewhere.

use crate::support::{self, Client, echo, pairing::pair_at, prompt};
use openagents_bridge::Bridge;
use openagents_transcripts::history::{HistoryRoots, Provider};
use serde_json::{Value, json};
use std::{fs, path::Path};

const ID: &str = "c1a0de00-0000-4000-8000-000000000001";
const TOKEN: &str = "ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf";

/// Starts a bridge with one Claude Code transcript.
async fn with_session(base: &Path) -> (Bridge, Client) {
    let (home, workspace) = (base.join("home"), base.join("workspace"));
    fs::create_dir_all(&workspace).unwrap();
    let workspace = workspace.canonicalize().unwrap();
    let line = |role: &str, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        format!(
            "{}\n",
            json!({"type": role, "cwd": workspace, "message": {"role": role, "content": content}})
        )
    };
    let log = line("user", "Fix the cart. Never touch the API.")
        + &line("user", &format!("The token is {TOKEN}"))
        + &line("assistant", "**Done.**");
    let path = base.join(format!("claude/projects/-w/{ID}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, log).unwrap();
    let mut config = support::config(&home, &workspace);
    config.history = HistoryRoots::default().with(Provider::ClaudeCode, base.join("claude"));
    let bridge = support::start_as(config, echo).await.unwrap();
    let desk = support::acp(bridge.address().port(), bridge.token()).await;
    (bridge, desk)
}

async fn error(client: &mut Client, method: &str, params: Value) -> (i64, String) {
    let id = client.ask(method, params).await;
    let error = client.answer(id).await["error"].clone();
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

async fn exported(client: &mut Client, wanted: Value) -> (Value, String) {
    let prepared = client.request("_openagents/export/prepare", wanted).await;
    let read = json!({"export": prepared["export"], "offset": 0});
    let part = client.request("_openagents/export/read", read).await;
    assert_eq!(part["next"], Value::Null);
    let text = part["text"].as_str().unwrap().to_owned();
    assert_eq!(prepared["bytes"], text.len());
    (prepared, text)
}

#[tokio::test]
async fn session_is_exported_without_its_secrets() {
    let base = tempfile::tempdir().unwrap();
    let (bridge, mut desk) = with_session(base.path()).await;
    let wanted = json!({"provider": "claude-code", "id": ID});
    let (prepared, text) = exported(&mut desk, wanted.clone()).await;
    assert_eq!(prepared["name"], "Fix the cart Never touch the API.md");
    assert_eq!(prepared["secrets"], json!([{"rule": "github-pat", "line": 2, "beginning": "ghp"}]));
    assert!(text.contains("> The token is [hidden: github-pat]\n"), "{text}");
    let mut shown = wanted.clone();
    (shown["shown"], shown["format"]) = (json!([0]), json!("html"));
    let (_, text) = exported(&mut desk, shown).await;
    assert!(text.contains(TOKEN) && text.contains("<strong>Done.</strong>"), "{text}");

    let gone = json!({"export": "no-such-file", "offset": 0});
    let (code, why) = error(&mut desk, "_openagents/export/read", gone).await;
    assert!(code == -32002 && why.contains("Export the session again"), "{code} {why}");
    let unknown = json!({"provider": "claude-code", "id": "c1a0de00-0000-4000-8000-00000000000f"});
    assert_eq!(error(&mut desk, "_openagents/export/prepare", unknown).await.0, -32002);
    let no_agent = json!({"provider": "no-such-agent", "id": ID});
    assert_eq!(error(&mut desk, "_openagents/export/prepare", no_agent).await.0, -32602);

    // A device may export what it sees: our own sessions.
    let port = bridge.address().port();
    let phone = pair_at(port, &mut desk, "Phone", "view").await;
    let mut phone = support::acp(port, &phone.token).await;
    let (_, why) = error(&mut phone, "_openagents/export/prepare", wanted).await;
    assert!(why.contains("shown only on the computer that stores them"), "{why}");
    let cwd = base.path().join("workspace").canonicalize().unwrap();
    let new = desk.request("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
    let id = &new["sessionId"];
    desk.request("session/prompt", prompt(id, &format!("Say {TOKEN}"))).await;
    let (_, text) = exported(&mut phone, json!({"id": id, "format": "json"})).await;
    assert!(text.contains("Say [hidden: github-pat]") && !text.contains(TOKEN), "{text}");
}

#[tokio::test]
async fn brief_names_its_sources() {
    let base = tempfile::tempdir().unwrap();
    let (bridge, mut desk) = with_session(base.path()).await;
    let query = json!({"provider": "claude-code", "id": ID, "agent": "codex", "tokens": 300});
    let brief = desk.request("_openagents/continue/brief", query.clone()).await;
    let text = brief["text"].as_str().unwrap();
    assert!(text.contains("- Never touch the API. [1]\n") && !text.contains(TOKEN), "{text}");
    assert_eq!(brief["lines"][0]["source"], 1);
    for tokens in [199, 32_001] {
        let mut query = query.clone();
        query["tokens"] = tokens.into();
        let (code, why) = error(&mut desk, "_openagents/continue/brief", query).await;
        assert!(code == -32602 && why.contains("200 to 32000"), "{code} {why}");
    }
    let port = bridge.address().port();
    let viewer = pair_at(port, &mut desk, "Viewer", "view").await;
    let mut viewer = support::acp(port, &viewer.token).await;
    assert_eq!(error(&mut viewer, "_openagents/continue/brief", query).await.0, -32000, "its scope");
}

#[tokio::test]
async fn session_that_is_open_in_a_terminal_is_not_continued_here() {
    let base = tempfile::tempdir().unwrap();
    let (_bridge, mut desk) = with_session(base.path()).await;
    let cwd = base.path().join("workspace").canonicalize().unwrap();
    let here = json!({"agent": "claude-code", "cwd": cwd, "id": ID});
    let running = base.path().join(format!("claude/sessions/{}.json", std::process::id()));
    fs::create_dir_all(running.parent().unwrap()).unwrap();
    fs::write(&running, json!({"sessionId": ID}).to_string()).unwrap();
    let (code, why) = error(&mut desk, "_openagents/agents/continue_session", here.clone()).await;
    assert!(code == -32000 && why.starts_with("This session is open in Claude Code since "), "{code} {why}");
    // No agent is installed here that could copy it.
    let mut copy = here;
    copy["copy"] = true.into();
    let (code, why) = error(&mut desk, "_openagents/agents/continue_session", copy).await;
    assert!(code < -32000 && !why.contains("is open in"), "{code} {why}");
}
