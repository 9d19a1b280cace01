//! Other agents' transcripts: listed, read in parts and searched, only on this computer unless devices are allowed.

use crate::support::{self, Client, echo, pairing::pair_at};
use openagents_bridge::Bridge;
use openagents_transcripts::history::{HistoryRoots, Provider};
use serde_json::{Value, json};
use std::{fmt::Write, fs, path::Path};

const ID: &str = "c1a0de00-0000-4000-8000-000000000001";

fn line(role: &str, text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    format!("{}\n", json!({"type": role, "cwd": "/w/harbour", "message": {"role": role, "content": content}}))
}

/// Starts a bridge with one Claude Code transcript of `turns` turns.
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

/// Returns a page of the list once every transcript has been read, which takes longer on a busy machine.
async fn list(client: &mut Client, params: Value) -> Value {
    for _ in 0..200 {
        let page = client.request("_openagents/history/list", params.clone()).await;
        if page["unread"] == 0 {
            return page;
        }
    }
    panic!("200 requests did not read every transcript");
}

fn session() -> Value {
    json!({"provider": "claude-code", "id": ID})
}

#[tokio::test]
async fn history_lists_and_pages_from_the_end() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 8000).await;
    let mut desk = desk(&bridge).await;
    let listed = list(&mut desk, json!({})).await;
    let row = &listed["sessions"][0];
    assert_eq!(
        (&row["id"], &row["agent"], &row["title"]),
        (&json!(ID), &json!("Claude Code"), &json!("Question 1"))
    );
    assert_eq!(row["resume"], format!("claude --resume {ID}"));
    let after = json!({"after": session()});
    assert_eq!(list(&mut desk, after).await["sessions"], json!([]));

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
async fn history_finds_session_by_words() {
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
async fn history_finds_touched_file() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 1).await;
    let log = base.path().join(format!("claude/projects/-w-harbour/{ID}.jsonl"));
    let input = json!({"file_path": "/w/harbour/src/pair.rs", "old_string": "a", "new_string": "b"});
    let content = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": input}]);
    let line = json!({"type": "assistant", "cwd": "/w/harbour", "message": {"role": "assistant", "content": content}});
    let mut file = fs::File::options().append(true).open(&log).unwrap();
    std::io::Write::write_all(&mut file, format!("{line}\n").as_bytes()).unwrap();
    let mut desk = desk(&bridge).await;
    let found = loop {
        let found = desk.request("_openagents/sessions/search", json!({"query": "src/pair.rs"})).await;
        if found["sessions"] != json!([]) {
            break found;
        }
        // The index is filled in the background.
        tokio::task::yield_now().await;
    };
    let best = &found["sessions"][0];
    assert_eq!((&best["kind"], &best["snippet"]), (&json!("file"), &json!("src/pair.rs, edited")));
}

#[tokio::test]
async fn history_stays_off_devices_by_default() {
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
        assert!(
            reason.starts_with("Other agents' sessions are shown only on the computer that stores them."),
            "{method}: {reason}"
        );
    }
}

#[tokio::test]
async fn deleted_transcript_is_not_found() {
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

#[tokio::test]
async fn device_reads_history_while_switched_on() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut desk = desk(&bridge).await;
    let port = bridge.address().port();
    let paired = pair_at(port, &mut desk, "Phone", "view").await;
    let mut phone = support::acp(port, &paired.token).await;
    let refused = error(&mut phone, "_openagents/history/configure", json!({"devices": true})).await;
    assert!(refused.starts_with("This device can only view."), "{refused}");
    let set = desk.request("_openagents/history/configure", json!({"devices": true})).await;
    assert_eq!(set["devices"], true);
    let row = list(&mut phone, json!({})).await["sessions"][0].clone();
    assert_eq!((&row["id"], row.get("file")), (&json!(ID), None), "without the place of the log");
    assert!(phone.request("_openagents/history/read", session()).await["updates"][0].is_object());
    desk.request("_openagents/history/configure", json!({"devices": false})).await;
    error(&mut phone, "_openagents/history/list", json!({})).await;
}

/// Regression: a device with the scope `view` could read the excluded folders and the counts of all agents.
#[tokio::test]
async fn device_sees_no_exclusions_or_counts() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut desk = desk(&bridge).await;
    let port = bridge.address().port();
    let paired = pair_at(port, &mut desk, "Phone", "view").await;
    let mut phone = support::acp(port, &paired.token).await;
    let exclude = |folder: &str| json!({"exclude": {"workspace": folder}});
    desk.request("_openagents/history/configure", exclude("/secret/one")).await;
    desk.request("_openagents/history/configure", json!({"exclude": {"agent": "codex"}})).await;
    loop {
        let here = desk.request("_openagents/history/settings", json!({})).await;
        assert_eq!(here["excluded"], json!({"agents": ["codex"], "workspaces": ["/secret/one"]}));
        if here["sessions"] == 1 && here["agents"][1]["sessions"] == 1 {
            break;
        }
    }
    let seen = phone.request("_openagents/history/settings", json!({"watch": true})).await;
    let nothing = json!({
        "index": true, "devices": false, "excluded": {"agents": [], "workspaces": []}, "agents": [],
        "sessions": 0, "cut": 0, "bytes": 0, "progress": {"done": 0, "total": 0},
    });
    assert_eq!(seen, nothing);
    desk.request("_openagents/history/configure", exclude("/secret/two")).await;
    desk.request("_openagents/history/configure", json!({"devices": true})).await;
    loop {
        let frame = phone.frame().await;
        assert!(!frame.to_string().contains("secret") && !frame.to_string().contains("codex"), "{frame}");
        let settings = &frame["params"];
        if frame["method"] == "_openagents/history/settings" && settings["devices"] == true {
            assert_eq!(settings["agents"][0]["sessions"], 1);
            break;
        }
    }
}

#[tokio::test]
async fn excluded_session_is_hidden_until_included() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 3).await;
    let mut desk = desk(&bridge).await;
    for left_out in [json!({"agent": "claude-code"}), json!({"workspace": "/w"})] {
        desk.request("_openagents/history/configure", json!({"exclude": left_out})).await;
        assert_eq!(list(&mut desk, json!({})).await["sessions"], json!([]));
        error(&mut desk, "_openagents/history/read", session()).await;
        let found = desk.request("_openagents/sessions/search", json!({"query": "question"})).await;
        assert_eq!(found["sessions"], json!([]));
        let set = desk.request("_openagents/history/configure", json!({"include": left_out})).await;
        assert_eq!(set["excluded"], json!({"agents": [], "workspaces": []}));
        assert_eq!(list(&mut desk, json!({})).await["total"], 1);
    }
    let relative = json!({"exclude": {"workspace": "w"}});
    assert_eq!(
        error(&mut desk, "_openagents/history/configure", relative).await,
        "w is not an absolute path."
    );
}

#[tokio::test]
async fn labels_leave_transcripts_unchanged() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut desk = desk(&bridge).await;
    let log = base.path().join(format!("claude/projects/-w-harbour/{ID}.jsonl"));
    let before = (fs::read(&log).unwrap(), log.metadata().unwrap().modified().unwrap());
    let mut label = session();
    for (name, value) in [("title", json!("Mine\nalone")), ("pinned", json!(true)), ("archived", json!(true))]
    {
        label[name] = value;
    }
    desk.request("_openagents/sessions/label", label).await;
    let row = list(&mut desk, json!({})).await["sessions"][0].clone();
    assert_eq!(
        (&row["title"], &row["pinned"], &row["archived"]),
        (&json!("Mine alone"), &json!(true), &json!(true))
    );
    let shown = json!({"filter": {"archived": false}});
    assert_eq!(list(&mut desk, shown).await["sessions"], json!([]));
    let mut own = session();
    own["title"] = Value::Null;
    desk.request("_openagents/sessions/label", own).await;
    let row = list(&mut desk, json!({})).await["sessions"][0].clone();
    assert_eq!((&row["title"], &row["pinned"]), (&json!("Question 1"), &json!(true)));
    assert_eq!((fs::read(&log).unwrap(), log.metadata().unwrap().modified().unwrap()), before);
}

#[tokio::test]
async fn own_session_labels_reach_every_client() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 1).await;
    let mut desk = desk(&bridge).await;
    let workspace = base.path().join("workspace").canonicalize().unwrap();
    let started = desk.request("_openagents/explore", json!({"root": workspace})).await;
    let id = started["sessionId"].as_str().unwrap().to_owned();
    desk.request("_openagents/sessions/label", json!({"id": id, "title": "My title", "pinned": true})).await;
    let ours =
        async |client: &mut Client| client.request("session/list", json!({})).await["sessions"][0].clone();
    let row = ours(&mut desk).await;
    assert_eq!((&row["title"], &row["_meta"]["openagents"]["pinned"]), (&json!("My title"), &json!(true)));
    desk.request("_openagents/sessions/label", json!({"id": id, "pinned": false, "archived": true})).await;
    let row = ours(&mut desk).await;
    assert_eq!(row["_meta"]["openagents"].get("pinned"), None);
    assert_eq!(row["_meta"]["openagents"]["archived"], true);
    let empty = json!({"id": id, "title": ""});
    assert_eq!(
        error(&mut desk, "_openagents/sessions/label", empty).await,
        "A title has one character at least."
    );
}

#[tokio::test]
async fn watchers_see_appended_history() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut desk = desk(&bridge).await;
    desk.request("_openagents/history/watch", json!({})).await;
    let log = base.path().join(format!("claude/projects/-w-harbour/{ID}.jsonl"));
    loop {
        // Append until the notification arrives, because the folder may not be watched yet.
        let mut file = fs::File::options().append(true).open(&log).unwrap();
        std::io::Write::write_all(&mut file, line("user", "One more").as_bytes()).unwrap();
        drop(file);
        let frame = desk.frame().await;
        if frame["method"] == "_openagents/history/changed" && frame["params"]["sessions"][0]["id"] == ID {
            break;
        }
    }
}

#[tokio::test]
async fn history_find_covers_every_line() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 40).await;
    let mut desk = desk(&bridge).await;
    let mut wanted = session();
    wanted["query"] = json!("QUESTION 3");
    let found = desk.request("_openagents/history/find", wanted.clone()).await;
    let lines: Vec<u64> = std::iter::once(3).chain(30..=39).map(|turn| turn * 2 - 1).collect();
    assert_eq!(found, json!({"lines": lines, "more": false}));
    wanted["limit"] = json!(2);
    assert_eq!(
        desk.request("_openagents/history/find", wanted).await,
        json!({"lines": [5, 59], "more": true})
    );
}

#[tokio::test]
async fn list_watchers_see_labels() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 2).await;
    let mut other = desk(&bridge).await;
    let mut desk = desk(&bridge).await;
    other.request("_openagents/history/watch", json!({})).await;
    for (title, shown) in [(json!("Mine"), "Mine"), (Value::Null, "Question 1")] {
        let mut label = session();
        label["title"] = title;
        desk.request("_openagents/sessions/label", label).await;
        loop {
            let frame = other.frame().await;
            let rows = frame["params"]["sessions"].as_array().cloned().unwrap_or_default();
            if frame["method"] == "_openagents/history/changed"
                && rows.iter().any(|row| row["title"] == shown)
            {
                break;
            }
        }
    }
}

#[tokio::test]
async fn sub_agent_is_read_from_its_call() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 1).await;
    let folder = base.path().join("claude/projects/-w-harbour");
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Look around"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Launched."}]);
    let lines = [
        json!({"type": "assistant", "cwd": "/w/harbour", "message": {"role": "assistant", "content": call}}),
        json!({"type": "user", "cwd": "/w/harbour", "message": {"role": "user", "content": result},
            "toolUseResult": {"status": "async_launched", "agentId": "ab12"}}),
    ];
    let mut log = fs::File::options().append(true).open(folder.join(format!("{ID}.jsonl"))).unwrap();
    for line in lines {
        std::io::Write::write_all(&mut log, format!("{line}\n").as_bytes()).unwrap();
    }
    let inside = folder.join(ID).join("subagents");
    fs::create_dir_all(&inside).unwrap();
    let reply = json!({"type": "user", "isSidechain": true, "agentId": "ab12", "sessionId": ID, "cwd": "/w/harbour",
        "message": {"role": "user", "content": "Look around"}});
    fs::write(inside.join("agent-ab12.jsonl"), format!("{reply}\n")).unwrap();

    let mut client = desk(&bridge).await;
    let part = client.request("_openagents/history/read", session()).await;
    let ended = part["updates"].as_array().unwrap().last().unwrap();
    let child = &ended["update"]["_meta"]["openagents"]["childSessionId"];
    assert_eq!((&ended["update"]["toolCallId"], child), (&json!("t1"), &json!("agent-ab12")));
    let child =
        client.request("_openagents/history/read", json!({"provider": "claude-code", "id": child})).await;
    assert_eq!(child["updates"][0]["update"]["content"]["text"], "Look around");
}

#[tokio::test]
async fn prompt_image_is_shown() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 1).await;
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let content = json!([{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]);
    let reply = json!({"type": "user", "cwd": "/w/harbour", "message": {"role": "user", "content": content}});
    let log = base.path().join(format!("claude/projects/-w-harbour/{ID}.jsonl"));
    let mut file = fs::File::options().append(true).open(&log).unwrap();
    std::io::Write::write_all(&mut file, format!("{reply}\n").as_bytes()).unwrap();
    let part = desk(&bridge).await.request("_openagents/history/read", session()).await;
    let updates = part["updates"].as_array().unwrap();
    let [text, image] = &updates[updates.len() - 2..] else { panic!("{updates:?}") };
    assert_eq!(text["update"]["content"]["text"], "What is this?");
    let expected = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    assert_eq!(image["update"]["content"], expected);
    assert_eq!(image["update"]["sessionUpdate"], "user_message_chunk");
    assert_eq!(image["update"]["messageId"], text["update"]["messageId"]);
}

/// Waits until the state of the kept copies is as expected.
async fn kept(desk: &mut Client, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let kept = desk.request("_openagents/keep/status", json!({})).await;
        if is_it(&kept) {
            return kept;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_session_outlives_its_log_until_its_copy_is_deleted() {
    let base = tempfile::tempdir().unwrap();
    let bridge = with_session(base.path(), 3).await;
    let mut desk = desk(&bridge).await;
    let asked = kept(&mut desk, |kept| kept["found"] == 1).await;
    assert_eq!(
        (&asked["state"], &asked["answered"], &asked["sessions"]),
        (&json!("off"), &json!(false), &json!(0))
    );
    let small = error(&mut desk, "_openagents/keep/configure", json!({"limit": 5})).await;
    assert!(small.contains("100 MB"), "{small}");
    let nothing = error(&mut desk, "_openagents/keep/forget", json!({})).await;
    assert!(nothing.contains("Name the sessions"), "{nothing}");
    desk.request("_openagents/keep/configure", json!({"on": true, "limit": 200_000_000})).await;
    let now = kept(&mut desk, |kept| kept["sessions"] == 1 && kept["waiting"] == 0).await;
    assert_eq!((&now["answered"], &now["limit"]), (&json!(true), &json!(200_000_000)));

    let read = desk.request("_openagents/history/read", session()).await;
    let log = base.path().join(format!("claude/projects/-w-harbour/{ID}.jsonl"));
    let bytes = fs::read(&log).unwrap();
    fs::remove_file(&log).unwrap();
    kept(&mut desk, |kept| kept["gone"] == 1).await;
    let gone = desk.request("_openagents/history/read", session()).await;
    assert_eq!(gone["updates"], read["updates"]);
    assert_eq!(gone["session"]["kept"]["reason"], "deleted");
    let verified = desk.request("_openagents/keep/verify", json!({})).await;
    assert_eq!(verified["damaged"], json!([]));

    let to = base.path().join("restored");
    let restored = desk
        .request("_openagents/keep/restore", json!({"provider": "claude-code", "id": ID, "to": to}))
        .await;
    assert_eq!(fs::read(restored["files"][0].as_str().unwrap()).unwrap(), bytes);
    for (to, why) in [
        (json!("restored"), "absolute"),
        (json!(to), "not empty"),
        (json!(base.path().join("claude/x")), "agent"),
    ] {
        let params = json!({"provider": "claude-code", "id": ID, "to": to});
        let refused = error(&mut desk, "_openagents/keep/restore", params).await;
        assert!(refused.contains(why), "{refused}");
    }
    let forgotten = desk.request("_openagents/keep/forget", json!({"sessions": [session()]})).await;
    assert_eq!(forgotten["sessions"], 1);
    assert_eq!(list(&mut desk, json!({})).await["total"], 0);
    bridge.shutdown().await;
}
