use super::*;
use crate::{
    agent::testing::{answer, prompt},
    update::{PlanSnapshot, RunState, ToolCallUpdate},
};

fn chunk(id: &str, text: &str) -> SessionUpdate {
    let message_id = Some(id.to_owned());
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), message_id, ..AgentMessage::default() })
}

fn called(id: &str, name: &str) -> SessionUpdate {
    SessionUpdate::ToolCall(crate::update::ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        arguments: serde_json::Map::new(),
        op_hash: None,
        stage: None,
    })
}

fn ended(id: &str, output: &str) -> SessionUpdate {
    let status = ToolCallStatus::Completed { output: output.into(), cut: crate::update::Cut::default() };
    SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id: id.to_owned(), status, late: false })
}

fn read(updates: Vec<SessionUpdate>, room: usize) -> String {
    let mut transcript = Transcript::default();
    updates.iter().for_each(|update| transcript.push(update));
    let line = |message: Message| match message {
        Message::User { text } => format!("user {text}"),
        Message::Assistant(said) => {
            let calls: Vec<_> = said.calls.iter().map(|call| call.name.as_str()).collect();
            format!("assistant {}{}", said.text, calls.join(","))
        }
        Message::Tool { name, text, .. } => format!("tool {name} {text}"),
    };
    transcript.messages(room).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_log_becomes_a_conversation() {
    let thought = SessionUpdate::AgentThought(crate::update::AgentThought { text: "hidden".to_owned() });
    let log = vec![
        prompt("one"),
        thought,
        called("a", "search.grep"),
        ended("a", "found"),
        called("b", "fs.list_dir"),
        chunk("m", "It "),
        chunk("m", "is"),
        answer(""),
        prompt("two"),
        called("c", GENERATE),
        chunk("g", "fn main() {}"),
        ended("c", "figures"),
        answer("Done."),
        prompt("waits"),
    ];
    insta::assert_snapshot!(read(log, 10_000), @r"
    user one
    assistant search.grep
    tool search.grep found
    assistant fs.list_dir
    tool fs.list_dir (no result)
    assistant It is
    user two
    assistant fn main() {}
    assistant Done.
    ");
}

#[test]
fn an_exploration_is_its_last_message() {
    let plan = |state| {
        SessionUpdate::Plan(PlanSnapshot {
            plan_id: "p".to_owned(),
            goals: vec!["Find the parser".to_owned()],
            state,
            entries: Vec::new(),
        })
    };
    let summary = SessionUpdate::AgentMessage(AgentMessage {
        text: "**Repository:** app".to_owned(),
        summary: Some(crate::update::Summary::default()),
        ..AgentMessage::default()
    });
    let mut step = called("s", "search.grep");
    if let SessionUpdate::ToolCall(call) = &mut step {
        call.op_hash = Some(7);
    }
    let log = vec![
        plan(RunState::Running),
        step,
        ended("s", "x"),
        plan(RunState::Complete),
        summary.clone(),
        prompt("and now?"),
        plan(RunState::Running),
        summary,
    ];
    insta::assert_snapshot!(read(log, 10_000), @r"
    user Explore this workspace. Find the parser
    assistant **Repository:** app
    user and now?
    assistant **Repository:** app
    ");
}

#[test]
fn prompts_that_waited_stand_before_their_own_answers() {
    let log = vec![
        prompt("one"),
        prompt("two"),
        prompt("three"),
        answer("first"),
        chunk("p", "The answer was cut off: the limit of 7 tokens was reached."),
        chunk("w", "Cancelled before it began."),
    ];
    insta::assert_snapshot!(read(log, 10_000), @r"
    user one
    assistant first
    assistant The answer was cut off: the limit of 7 tokens was reached.
    user two
    assistant Cancelled before it began.
    ");
}

#[test]
fn the_newest_turns_that_fit_are_kept() {
    let log: Vec<_> = (0..5).flat_map(|n| [prompt(&format!("{n}")), answer("0123456789")]).collect();
    assert_eq!(read(log.clone(), 25), "user 3\nassistant 0123456789\nuser 4\nassistant 0123456789");
    assert_eq!(read(log, 5), "");
}
