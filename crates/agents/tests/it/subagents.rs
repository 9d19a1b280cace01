//! Sub-agents: their output, their permissions and their end.

use super::host::{Host, Say, Scene, check_turn, open_calls};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider as _, CANCELLED},
    approval::OptionKind,
    update::{SUBAGENT_TOOL, SessionUpdate, ToolCallStatus},
};

/// Returns what a session got of its sub-agents, in order.
fn inner(updates: &[SessionUpdate]) -> Vec<SessionUpdate> {
    let of = |update: &SessionUpdate| match update {
        SessionUpdate::Delegated(delegated) => Some((*delegated.update).clone()),
        _ => None,
    };
    updates.iter().filter_map(of).collect()
}

/// Returns the arguments of a sub-agent's call and how it ended.
fn card(updates: &[SessionUpdate]) -> (serde_json::Value, Option<ToolCallStatus>) {
    let (mut id, mut input, mut end) = (String::new(), serde_json::Value::Null, None);
    for update in updates {
        match update {
            SessionUpdate::ToolCall(call) if call.name == SUBAGENT_TOOL => {
                (id, input) = (call.call_id.clone(), call.arguments.clone().into());
            }
            SessionUpdate::ToolCallUpdate(update) if update.call_id == id => {
                input = update.details.raw_input.clone().unwrap_or(input);
                if let ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. } = update.status {
                    end = Some(update.status.clone());
                }
            }
            _ => {}
        }
    }
    (input, end)
}

#[test]
fn sub_agent_has_its_own_rows_and_asks_for_permission() {
    for (say, expected) in [(OptionKind::AllowOnce, "completed"), (OptionKind::RejectOnce, "failed")] {
        let scene = Scene::answering([Say::Kind(say)]);
        let outcome = scene.prompt("[[subagent a.txt]]");
        assert_eq!(outcome.text, "Done.", "a sub-agent's words are not the agent's");
        assert_eq!(scene.root.join("a.txt").exists(), expected == "completed");
        let updates = scene.host.since(0);
        let (input, end) = card(&updates);
        assert_eq!(
            (&input["description"], &input["role"], &input["user_prompt"]),
            (&"Look around".into(), &"explorer".into(), &"Look around and report.".into())
        );
        let Some(ToolCallStatus::Completed { output, .. }) = end else { panic!("{updates:#?}") };
        assert_eq!(output["notes"], format!("a.txt: {expected}."));
        let inner = inner(&updates);
        assert_eq!(open_calls(&inner), Vec::<&str>::new());
        let asked = scene.host.asked.lock().unwrap();
        let call = inner.iter().find_map(|update| match update {
            SessionUpdate::ToolCall(call) => Some(call),
            _ => None,
        });
        let call = call.unwrap();
        assert_eq!((asked.len(), &asked[0].call_id, &*asked[0].title), (1, &call.call_id, "Write a.txt"));
    }
}

#[test]
fn sub_agent_is_stopped_alone_or_with_its_turn() {
    let scene = Scene::new();
    let stop_alone = |host: &Host| {
        let mut id = None;
        host.wait("the sub-agent's words", |updates| {
            id = updates.iter().find_map(|update| match update {
                SessionUpdate::Delegated(delegated) => Some(delegated.child_session_id.clone()),
                _ => None,
            });
            id.is_some()
        });
        assert!(!scene.agent.stop_subagent("session", "another"));
        assert!(scene.agent.stop_subagent("session", &id.unwrap()));
    };
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| scene.prompt("[[subagent]]"));
        stop_alone(&scene.host);
        assert_eq!(turn.join().unwrap().text, "Done.");
    });
    let stopped = ToolCallStatus::Error { message: "Cancelled".to_owned() };
    assert_eq!(card(&scene.host.since(0)).1, Some(stopped.clone()));

    let from = scene.host.count();
    let outcome = scene.cancelled("[[subagent]]", |host| {
        host.wait("the sub-agent's words", |updates| !inner(&updates[from..]).is_empty());
    });
    assert_eq!(outcome.text, CANCELLED);
    assert_eq!(card(&scene.host.since(from)).1, Some(stopped));
    assert_eq!(open_calls(&inner(&scene.host.since(from))), Vec::<&str>::new());
}

#[test]
fn updates_of_unknown_and_malformed_sub_agents_change_nothing() {
    let scene = Scene::new();
    let hostile = [
        r#"[[in stranger {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}]]"#,
        r#"[[update {"sessionUpdate":"subagent_update","sessionId":7,"state":{"state":"running"}}]]"#,
        r#"[[update {"sessionUpdate":"session_message","messageId":"m","senderSessionId":"a","recipientSessionId":"b"}]]"#,
        r#"[[update {"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}]]"#,
        "[[say fine]]",
    ];
    let outcome =
        scene.agent.prompt(&scene.request(&hostile.join("")), scene.host.clone(), &CancellationToken::new());
    assert_eq!(outcome.text, "fine");
    check_turn(&scene.host.since(0), &outcome);
    assert_eq!(inner(&scene.host.since(0)), []);
}
