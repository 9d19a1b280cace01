use super::*;
use crate::{
    model::Usage,
    update::{PlanSnapshot, RunState, ToolCallUpdate},
};

fn prompt(text: &str) -> SessionUpdate {
    SessionUpdate::UserMessage(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

fn answer(text: &str) -> SessionUpdate {
    let usage = Some(Usage::default());
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), usage, ..AgentMessage::default() })
}

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
        details: Default::default(),
    })
}

fn ended(id: &str, output: &str) -> SessionUpdate {
    let status = ToolCallStatus::Completed { output: output.into(), cut: crate::update::Cut::default() };
    SessionUpdate::ToolCallUpdate(ToolCallUpdate {
        call_id: id.to_owned(),
        status,
        late: false,
        details: Default::default(),
    })
}

fn rendered(updates: Vec<SessionUpdate>, room: usize) -> String {
    let mut transcript = Conversation::default();
    updates.iter().for_each(|update| transcript.push(update));
    let line = |message: Message| match message {
        Message::User { text } => format!("user {text}"),
        Message::Assistant(reply) => {
            let calls: Vec<_> = reply.calls.iter().map(|call| call.name.as_str()).collect();
            format!("assistant {}{}", reply.text, calls.join(","))
        }
        Message::Tool { name, text, .. } => format!("tool {name} {text}"),
    };
    transcript.messages(room).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn mode(id: &str) -> SessionUpdate {
    SessionUpdate::Mode(crate::update::ModeChange { mode_id: id.to_owned() })
}

/// Returns the part of a log that a reader off this machine, with the id `custom:far`, gets.
fn elsewhere(updates: &[SessionUpdate]) -> String {
    let mut transcript = Conversation::default();
    updates.iter().for_each(|update| transcript.push(update));
    let left = transcript.for_reader_elsewhere("custom:far");
    let text = |message: Message| match message {
        Message::User { text } => format!("> {text}"),
        Message::Assistant(reply) if reply.text == LEFT_OUT => "-".to_owned(),
        Message::Assistant(reply) => reply.text,
        Message::Tool { text, .. } => text,
    };
    left.messages(10_000).into_iter().map(text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("|")
}

#[test]
fn reader_elsewhere_gets_no_past_sessions() {
    let found = SessionUpdate::AgentMessage(AgentMessage {
        text: "Found SECRET".to_owned(),
        findings: Some(crate::update::Findings::default()),
        ..AgentMessage::default()
    });
    let report = |id: &str, provider: &str| {
        let output = serde_json::json!({"dispatched": true, "provider": provider, "notes": "SECRET"});
        let status = ToolCallStatus::Completed { output, cut: crate::update::Cut::default() };
        SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            call_id: id.to_owned(),
            status,
            late: false,
            details: Default::default(),
        })
    };
    let rows = [
        // Nothing was read.
        (vec![prompt("a"), called("1", "search.grep"), ended("1", "x"), answer("y")], "> a|x|y"),
        // A tool read them: its answer and all later answers are omitted.
        (
            vec![
                prompt("a"),
                called("1", "session.read"),
                ended("1", "SECRET"),
                answer("SECRET"),
                prompt("b"),
                answer("SECRET"),
            ],
            "> a|-|> b|-",
        ),
        (vec![prompt("a"), found, answer("SECRET"), prompt("b"), answer("SECRET")], "> a|-|> b|-"),
        // The reader already knows its own answers.
        (
            vec![
                prompt("a"),
                called("1", "session.read"),
                ended("1", "SECRET"),
                answer("SECRET"),
                mode("custom:far"),
                prompt("b"),
                answer("mine"),
                mode("gptoss_20b"),
                prompt("c"),
                answer("SECRET"),
                mode("custom:far"),
            ],
            "> a|-|> b|mine|> c|-",
        ),
        // The end of the turn is uncertain: the answer may be from another provider.
        (
            vec![
                prompt("a"),
                called("1", "session.read"),
                ended("1", "SECRET"),
                answer("SECRET"),
                mode("custom:far"),
                prompt("b"),
                chunk("m", "mine"),
                mode("gptoss_20b"),
                prompt("c"),
                chunk("n", "SECRET"),
            ],
            "> a|-|> b|-",
        ),
        // A delegate that runs with our tools may have read them.
        (
            vec![prompt("a"), called("1", "delegate.run"), report("1", "custom:near"), answer("SECRET")],
            "> a|-",
        ),
    ];
    for (log, expected) in rows {
        assert_eq!(elsewhere(&log), expected);
    }
    let mut late = Conversation::default();
    late.starts_late();
    [prompt("a"), answer("SECRET")].iter().for_each(|update| late.push(update));
    assert!(!format!("{:?}", late.for_reader_elsewhere("custom:far").messages(10_000)).contains("SECRET"));
}

#[test]
fn log_becomes_conversation() {
    let thought = SessionUpdate::AgentThought(crate::update::AgentThought {
        text: "hidden".to_owned(),
        ..Default::default()
    });
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
    insta::assert_snapshot!(rendered(log, 10_000), @r"
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
fn exploration_is_its_last_message() {
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
    insta::assert_snapshot!(rendered(log, 10_000), @r"
    user Explore this workspace. Find the parser
    assistant **Repository:** app
    user and now?
    assistant **Repository:** app
    ");
}

fn last(id: &str, text: &str) -> SessionUpdate {
    let message_id = Some(id.to_owned());
    let message = AgentMessage { text: text.to_owned(), message_id, ended: true, ..AgentMessage::default() };
    SessionUpdate::AgentMessage(message)
}

#[test]
fn queued_prompts_precede_their_answers() {
    let log = vec![
        prompt("one"),
        prompt("two"),
        prompt("three"),
        answer("first"),
        last("w", "Cancelled before it began."),
        chunk("m", "Once"),
        last("p", "The answer was cut off: the limit of 7 tokens was reached."),
        last("q", "❌ and so on"),
    ];
    insta::assert_snapshot!(rendered(log, 10_000), @r"
    user one
    assistant first
    user two
    assistant Cancelled before it began.
    user three
    assistant Once
    assistant The answer was cut off: the limit of 7 tokens was reached.
    assistant ❌ and so on
    ");
}

#[test]
fn interrupted_thought_keeps_prompt() {
    let cut = "The answer was cut off: the limit of 7 tokens was reached.";
    let log =
        vec![prompt("one"), answer("first"), prompt("two"), last("p", cut), prompt("three"), answer("third")];
    insta::assert_snapshot!(rendered(log, 10_000), @r"
    user one
    assistant first
    user two
    assistant The answer was cut off: the limit of 7 tokens was reached.
    user three
    assistant third
    ");
}

#[test]
fn text_like_an_ending_does_not_end_turn() {
    for reply in ["❌ Tests fail", "The order was cancelled", "Cancelled.", "The answer was cut off"] {
        let log = vec![
            prompt("one"),
            chunk("m", reply),
            prompt("two"),
            chunk("m", " by me"),
            called("c", "search.grep"),
            answer(""),
            answer("second"),
        ];
        let expected = format!(
            "user one\nassistant {reply} by mesearch.grep\ntool search.grep (no result)\nuser two\nassistant second"
        );
        assert_eq!(rendered(log, 10_000), expected);
    }
}

#[test]
fn refused_prompt_takes_no_answer() {
    let aside = SessionUpdate::AgentMessage(AgentMessage {
        text: "❌ 8 prompts are waiting already".to_owned(),
        ..AgentMessage::default()
    });
    let log = vec![prompt("one"), aside, answer("first"), prompt("two"), answer("second")];
    assert_eq!(rendered(log, 10_000), "user one\nassistant first\nuser two\nassistant second");
}

/// Otherwise the model would process everything again in every turn of a long session.
#[test]
fn old_turns_drop_in_steps() {
    let log = |turns| (0..turns).flat_map(|n| [prompt(&format!("{n}")), answer("012345678")]).collect();
    let first = |turns| rendered(log(turns), 100).lines().next().map(str::to_owned);
    let begins: Vec<_> = (8..18).map(first).map(Option::unwrap_or_default).collect();
    let mut distinct = begins.clone();
    distinct.dedup();
    assert!(distinct.len() <= 5, "{begins:?}");
    assert_eq!(begins[0], "user 0");
    assert_ne!(begins[9], "user 0");
}

#[test]
fn messages_keep_newest_turns_that_fit() {
    let log: Vec<_> = (0..5).flat_map(|n| [prompt(&format!("{n}")), answer("0123456789")]).collect();
    assert_eq!(rendered(log.clone(), 25), "user 3\nassistant 0123456789\nuser 4\nassistant 0123456789");
    assert_eq!(rendered(log, 5), "");
}

#[test]
fn steered_prompt_belongs_to_the_running_turn() {
    let said = |id: &str, text: &str, steered| {
        let message_id = Some(id.to_owned());
        SessionUpdate::UserMessage(UserMessage {
            text: text.to_owned(),
            message_id,
            steered,
            ..UserMessage::default()
        })
    };
    // Before the first output of the agent.
    let early = vec![said("1", "one", false), said("2", "two", false), said("2", "", true), answer("done")];
    assert_eq!(rendered(early, 1000), "user one\n\ntwo\nassistant done");
    let log = vec![
        said("1", "one", false),
        chunk("m", "first"),
        said("2", "with tabs", false),
        said("2", "", true),
        answer(" and done"),
        said("3", "three", false),
        chunk("n", "third"),
    ];
    assert_eq!(
        rendered(log, 1000),
        "user one\n\nwith tabs\nassistant first\nassistant  and done\nuser three\nassistant third"
    );
}

#[test]
fn removed_prompt_is_left_out() {
    let waits = |id: &str, text: &str, removed| {
        let message_id = Some(id.to_owned());
        SessionUpdate::UserMessage(UserMessage {
            text: text.to_owned(),
            message_id,
            removed,
            ..UserMessage::default()
        })
    };
    let log = vec![
        waits("1", "one", false),
        chunk("m", "first"),
        waits("2", "two", false),
        waits("3", "three", false),
        waits("2", "", true),
        answer(""),
        chunk("n", "third"),
    ];
    assert_eq!(rendered(log, 1000), "user one\nassistant first\nuser three\nassistant third");
}
