use super::{from_wire, to_wire};
use openagents_sessions::testing;
use openagents_wire::Scope;
use serde_json::{Value, json};

#[test]
fn every_kind_of_update() {
    let frames: Vec<Value> = testing::every_update()
        .iter()
        .zip(1..)
        .map(|(update, seq)| to_wire::session_update("sess-1", seq, 1_700_000_000_000, update))
        .collect();
    insta::assert_json_snapshot!(frames);
}

#[test]
fn our_frames_are_acp() {
    for (update, seq) in testing::every_update().iter().zip(1..) {
        let wire = to_wire::session_update("sess-1", seq, 0, update);
        let typed: Result<agent_client_protocol_schema::v1::SessionNotification, _> =
            serde_json::from_value(wire.clone());
        assert!(typed.is_ok(), "{wire}");
    }
}

#[test]
fn a_large_output_is_cut_and_says_so() {
    let update = testing::completed(json!({"matches": vec!["x".repeat(100); 10_000], "truncated": false}));
    let wire = to_wire::session_update("s", 1, 0, &update);
    assert!(wire.to_string().len() < (256 << 10) + 1024);
    assert_eq!(wire["update"]["_meta"]["openagents"]["pruned"], true);
    assert!(to_wire::whole_update("s", 1, 0, &update).to_string().len() > 1_000_000);
}

#[test]
fn invalid_calls_are_refused() {
    for (method, params, code) in [
        ("session/fork", json!({}), -32602),
        ("session/make_tea", json!({}), -32601),
        ("initialized", json!(null), -32601),
        ("", json!({}), -32601),
        ("initialize", json!({}), -32602),
        ("initialize", json!({"protocolVersion": "one"}), -32602),
        ("session/new", json!({}), -32602),
        ("session/new", json!(null), -32602),
        ("session/new", json!([]), -32602),
        ("session/new", json!({"cwd": 7}), -32602),
        ("session/prompt", json!({"sessionId": "s"}), -32602),
        ("session/prompt", json!({"sessionId": 1, "prompt": []}), -32602),
        ("session/prompt", json!({"sessionId": "s", "prompt": "text"}), -32602),
        ("session/cancel", json!({}), -32602),
        ("session/load", json!({"cwd": "/"}), -32602),
        ("_openagents/explore", json!({}), -32602),
        ("_openagents/explore", json!({"root": "/w", "goals": "one"}), -32602),
        ("_openagents/attach", json!({"sessionId": "s", "since": -1}), -32602),
        ("_openagents/attach", json!({"sessionId": "s", "since": "1"}), -32602),
        ("_openagents/update", json!({"sessionId": "s"}), -32602),
        ("_openagents/markdown", json!({"text": null}), -32602),
        ("session/set_mode", json!({"sessionId": "s"}), -32602),
        ("_openagents/explore", json!({"root": "/w", "planner": "oracle"}), -32602),
        ("_openagents/models/verify", json!({}), -32602),
        ("_openagents/models/download", json!({"id": "m", "acceptLicence": "yes"}), -32602),
        ("_openagents/models/", json!({}), -32601),
        ("_openagents/agents/", json!({}), -32601),
        ("_openagents/agents/add", json!({"agent": {"id": "a"}}), -32602),
        ("_openagents/agents/remove", json!({}), -32602),
        ("_openagents/agents/configure", json!({"settings": {"choose": "yes"}}), -32602),
        ("_openagents/approvals/answer", json!({"sessionId": "s", "approvalId": "a"}), -32602),
        ("_openagents/approvals/resume", json!({"sessionId": "s"}), -32602),
        ("_openagents/delegate", json!({"sessionId": "s"}), -32602),
        ("_openagents/history/list", json!({"after": "x"}), -32602),
        ("_openagents/history/read", json!({"provider": "codex"}), -32602),
        ("_openagents/history/read", json!({"provider": "codex", "id": "x", "before": -1}), -32602),
        ("_openagents/privacy/set", json!({"switch": "hosted-history"}), -32602),
    ] {
        let fault = from_wire::call(method, params.clone(), Scope::Admin).unwrap_err();
        assert_eq!(fault.code, code, "{method} {params}: {fault}");
    }
}

#[test]
fn valid_calls_are_accepted() {
    for (method, params) in [
        ("initialize", json!({"protocolVersion": 1})),
        (
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        ),
        ("session/new", json!({"cwd": "/work", "mcpServers": []})),
        ("session/new", json!({"cwd": "/work"})),
        ("session/list", json!(null)),
        ("session/list", json!({"cwd": "/work", "cursor": "1:a"})),
        ("session/load", json!({"sessionId": "s"})),
        ("session/prompt", json!({"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]})),
        ("session/cancel", json!({"sessionId": "s"})),
        ("session/resume", json!({"sessionId": "s"})),
        ("session/close", json!({"sessionId": "s"})),
        ("session/set_mode", json!({"sessionId": "s", "modeId": "gptoss_20b"})),
        ("_openagents/explore", json!({"root": "/w", "planner": "model"})),
        ("_openagents/models/list", json!(null)),
        ("_openagents/models/list", json!({"watch": true})),
        ("_openagents/models/download", json!({"id": "m", "acceptLicence": true})),
        ("_openagents/models/add", json!({"path": "/m.gguf"})),
        ("_openagents/models/load", json!({})),
        ("_openagents/models/configure", json!({"settings": {"temperature": 0.5, "unknown": 1}})),
        ("_openagents/explore", json!({"root": "/w"})),
        ("_openagents/explore", json!({"root": "/w", "goals": ["a"], "policy": {"allow_network": false}})),
        ("_openagents/attach", json!({"sessionId": "s"})),
        ("_openagents/update", json!({"sessionId": "s", "seq": 3, "offset": 10, "limit": 100})),
        ("_openagents/markdown", json!({"text": "x"})),
        ("_openagents/workspaces", json!({})),
        ("_openagents/inspect", json!({})),
        ("_openagents/inspect", json!({"watch": false})),
        ("_openagents/agents/list", json!({"watch": true})),
        ("_openagents/agents/decisions", json!(null)),
        ("_openagents/agents/check", json!({})),
        (
            "_openagents/agents/add",
            json!({"agent": {"id": "a", "kind": "acp", "command": "gemini", "args": ["--acp"]}}),
        ),
        ("_openagents/agents/remove", json!({"id": "a"})),
        ("_openagents/agents/configure", json!({"settings": {"choose": false}})),
        ("_openagents/privacy/list", json!({"watch": true})),
        ("_openagents/privacy/set", json!({"switch": "hosted-history", "on": true})),
        ("_openagents/approvals/answer", json!({"sessionId": "s", "approvalId": "a", "optionId": "o"})),
        ("_openagents/approvals/resume", json!({"sessionId": "s", "approvalId": "a"})),
        ("_openagents/delegate", json!({"sessionId": "s", "arguments": {"user_prompt": "x"}})),
    ] {
        assert!(from_wire::call(method, params.clone(), Scope::Admin).is_ok(), "{method} {params}");
    }
}

#[test]
fn a_smaller_scope_may_do_less() {
    let explore = || json!({"root": "/w"});
    assert!(from_wire::call("_openagents/explore", explore(), Scope::Prompt).is_ok());
    assert!(from_wire::call("_openagents/explore", explore(), Scope::View).is_err());
    assert!(from_wire::call("_openagents/inspect", json!({}), Scope::Prompt).is_err());
    assert!(from_wire::call("session/list", json!({}), Scope::View).is_ok());
    assert!(from_wire::call("_openagents/models/list", json!({}), Scope::View).is_ok());
    assert!(from_wire::call("_openagents/models/load", json!({}), Scope::Prompt).is_err());
    let answer = || json!({"sessionId": "s", "approvalId": "a", "optionId": "o"});
    assert!(from_wire::call("_openagents/approvals/answer", answer(), Scope::Prompt).is_err());
    assert!(from_wire::call("_openagents/approvals/answer", answer(), Scope::Approve).is_ok());
    assert!(from_wire::call("_openagents/inspect", json!({}), Scope::Approve).is_err());
    // Whether the session has prompts is checked in the session itself.
    let session = || json!({"sessionId": "s"});
    assert!(from_wire::call("session/delete", session(), Scope::View).is_err());
    assert!(from_wire::call("session/delete", session(), Scope::Prompt).is_ok());
    assert!(from_wire::call("_openagents/agents/list", json!({}), Scope::View).is_ok());
    assert!(from_wire::call("_openagents/agents/check", json!({}), Scope::Approve).is_err());
    let switch = || json!({"switch": "hosted-history", "on": true});
    assert!(from_wire::call("_openagents/privacy/list", json!({}), Scope::View).is_ok());
    assert!(from_wire::call("_openagents/privacy/set", switch(), Scope::Approve).is_err());
    assert!(from_wire::call("_openagents/privacy/set", switch(), Scope::Admin).is_ok());
}

#[test]
fn only_session_cancel_cancels_a_turn() {
    for (method, params, expected) in [
        ("session/cancel", json!({"sessionId": "s"}), Some("s")),
        ("session/cancel", json!({"sessionId": 1}), None),
        ("session/load", json!({"sessionId": "s"}), None),
    ] {
        assert_eq!(from_wire::cancelled(method, params.clone()).as_deref(), expected, "{method} {params}");
    }
}

#[test]
fn the_text_of_a_prompt() {
    let blocks = json!([
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "uri": "file:///projects/a.rs", "name": "a.rs"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "Use ```Codex```\n"}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]);
    let blocks: Vec<_> = serde_json::from_value(blocks).unwrap();
    let content = from_wire::prompt_content(&blocks);
    let text = "Look at \nfile:///projects/a.rs\n\nfile:///b\n````\nUse ```Codex```\n````";
    assert_eq!((content.text.as_str(), content.words()), (text, "Look at"));
    assert_eq!(from_wire::prompt_content(&[]).text, "");
}
