//! Logs of older versions stay readable: new fields have defaults.

use super::*;

/// One line of each kind, as written by the first versions.
const LINES: [&str; 10] = [
    r#"{"kind":"user_message","text":"hi"}"#,
    r#"{"kind":"agent_message","text":"Hello","message_id":"m"}"#,
    r#"{"kind":"agent_thought","text":"Hm"}"#,
    r#"{"kind":"plan","plan_id":"p","goals":[],"state":"complete","entries":[]}"#,
    r#"{"kind":"tool_call","call_id":"c","name":"fs.list_dir","arguments":{"path":"."},"op_hash":7}"#,
    r#"{"kind":"tool_call_update","call_id":"c","status":{"status":"started","progress":0.5}}"#,
    r#"{"kind":"tool_call_update","call_id":"c","status":{"status":"completed","output":["a"]}}"#,
    r#"{"kind":"tool_call_update","call_id":"c","status":{"status":"error","message":"gone"}}"#,
    r#"{"kind":"mode","mode_id":"codex"}"#,
    r#"{"kind":"title","title":"Hi"}"#,
];

#[test]
fn older_log_lines_round_trip() {
    for line in LINES {
        let update: SessionUpdate =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let again = serde_json::to_value(&update).unwrap();
        let members =
            |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let old: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(members(&again), members(&old), "{line}");
    }
}

#[test]
fn delegated_update_survives_store() {
    let decision = Decision {
        target: crate::update::Target::Custom("gem".to_owned()),
        inline: None,
        reason: "You asked Gemini to do it.".to_owned(),
        instead_of: None,
    };
    let delegated = SessionUpdate::Delegated(Delegated {
        parent_call_id: "c".to_owned(),
        child_session_id: "s".to_owned(),
        update: Box::new(SessionUpdate::Routed(decision)),
    });
    let line = serde_json::to_string(&delegated).unwrap();
    assert_eq!(serde_json::from_str::<SessionUpdate>(&line).unwrap(), delegated, "{line}");
}
