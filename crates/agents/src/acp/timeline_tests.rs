use super::*;
use openagents_core::update::{ToolCallStatus, ToolContent};
use serde_json::{Value, json};
use std::time::Duration;

/// Plays updates at their milliseconds, with the clock ticking between them.
fn play(timeline: &mut Timeline, begin: Instant, updates: &[(u64, Value)]) -> Vec<SessionUpdate> {
    let end = updates.last().map_or(0, |(ms, _)| *ms);
    for ms in 0..=end {
        let now = begin + Duration::from_millis(ms);
        timeline.tick(now);
        for (_, update) in updates.iter().filter(|(when, _)| *when == ms) {
            match serde_json::from_value(update.clone()).unwrap() {
                wire::SessionUpdate::AgentMessageChunk(chunk) => timeline.text(now, Voice::Message, &chunk),
                wire::SessionUpdate::ToolCall(call) => {
                    timeline.call(now, from_wire::announced(call), true);
                }
                wire::SessionUpdate::ToolCallUpdate(update) => {
                    timeline.call(now, from_wire::news(update), false);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    timeline.take()
}

fn text(id: &str, text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": content})
}

fn texts(updates: &[SessionUpdate]) -> Vec<(String, bool)> {
    let text = |update: &SessionUpdate| match update {
        SessionUpdate::AgentMessage(message) => Some((message.text.clone(), message.late)),
        _ => None,
    };
    updates.iter().filter_map(text).collect()
}

#[test]
fn text_of_an_earlier_message_is_late_in_the_next_answer() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    play(&mut timeline, begin, &[(0, text("m1", "one"))]);
    timeline.end_turn(begin, RunState::Cancelled, "Cancelled", "Cancelled.");
    timeline.begin_turn(begin);
    timeline.take();
    let updates = [(0, text("m2", "two ")), (60, text("m1", "one more")), (90, text("m2", "three"))];
    let told = play(&mut timeline, begin, &updates);
    let expected = [("two ", false), ("one more", true), ("three", false)];
    assert_eq!(texts(&told), expected.map(|(text, late)| (text.to_owned(), late)));
    assert_eq!(timeline.said(), "three");
}

#[test]
fn pieces_that_come_fast_are_one_update() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    let updates: Vec<_> = (0..100).map(|ms| (ms, text("m", "x"))).collect();
    let told = play(&mut timeline, begin, &updates);
    assert!(told.len() <= 5, "{told:?}");
    timeline.end_turn(begin, RunState::Complete, "", "");
    assert_eq!(timeline.said().len(), 100);
}

#[test]
fn output_of_a_terminal_is_shown_now_and_then_and_whole_at_the_end() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "make", "kind": "execute",
        "content": [{"type": "terminal", "terminalId": "t"}]});
    let more = |ms| {
        let data = json!({"terminal_output_delta": {"terminal_id": "t", "data": "x"}});
        (ms, json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": data}))
    };
    let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
        "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0}}});
    let mut updates = vec![(0, call)];
    updates.extend((1..=1_000).map(more));
    updates.push((1_001, end));
    let told = play(&mut timeline, begin, &updates);
    assert!(told.len() <= 8, "{}", told.len());
    let Some(SessionUpdate::ToolCallUpdate(last)) = told.last() else { panic!("{told:?}") };
    assert!(matches!(last.status, ToolCallStatus::Completed { .. }));
    let [ToolContent::Terminal { output, exit_code, .. }] = &last.details.content[..] else {
        panic!("{last:?}")
    };
    assert_eq!((output.len(), *exit_code), (1_000, Some(0)));
}

#[test]
fn an_agent_that_goes_away_leaves_no_late_call_open() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    timeline.end_turn(begin, RunState::Complete, "", "");
    play(
        &mut timeline,
        begin,
        &[(0, json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "late"}))],
    );
    timeline.close_open(begin, "gone");
    let told = timeline.take();
    let Some(SessionUpdate::ToolCallUpdate(last)) = told.last() else { panic!("{told:?}") };
    assert!(last.late && matches!(last.status, ToolCallStatus::Error { .. }));
}
