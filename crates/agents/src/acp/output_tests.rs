//! Tests from wire messages to the updates of a session.

use super::from_wire;
use crate::output::{CallNews, Timeline};
use openagents_core::update::{RunState, SessionUpdate, ToolCallStatus, ToolContent};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Applies updates at the given milliseconds and ticks the clock in between.
fn play(timeline: &mut Timeline, begin: Instant, updates: &[(u64, Value)]) -> Vec<SessionUpdate> {
    let end = updates.last().map_or(0, |(ms, _)| *ms);
    for ms in 0..=end {
        let now = begin + Duration::from_millis(ms);
        timeline.tick(now);
        for (_, update) in updates.iter().filter(|(when, _)| *when == ms) {
            from_wire::add_update(timeline, now, serde_json::from_value(update.clone()).unwrap());
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
fn text_of_earlier_message_is_late() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    play(&mut timeline, begin, &[(0, text("m1", "one"))]);
    timeline.end_turn(begin, RunState::Cancelled, "Cancelled", "Cancelled.");
    timeline.begin_turn(begin);
    timeline.take();
    let updates = [(0, text("m2", "two ")), (60, text("m1", "one more")), (90, text("m2", "three"))];
    let report = play(&mut timeline, begin, &updates);
    let expected = [("two ", false), ("one more", true), ("three", false)];
    assert_eq!(texts(&report), expected.map(|(text, late)| (text.to_owned(), late)));
    assert_eq!(timeline.last_message(), "two three");
}

#[test]
fn fast_pieces_are_joined_into_one_update() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    let updates: Vec<_> = (0..100).map(|ms| (ms, text("m", "x"))).collect();
    let report = play(&mut timeline, begin, &updates);
    assert!(report.len() <= 5, "{report:?}");
    timeline.end_turn(begin, RunState::Complete, "", "");
    assert_eq!(timeline.last_message().len(), 100);
}

#[test]
fn terminal_output_is_throttled_and_complete_at_end() {
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
    let report = play(&mut timeline, begin, &updates);
    assert!(report.len() <= 8, "{}", report.len());
    let Some(SessionUpdate::ToolCallUpdate(last)) = report.last() else { panic!("{report:?}") };
    assert!(matches!(last.status, ToolCallStatus::Completed { .. }));
    let [ToolContent::Terminal { output, exit_code, .. }] = &last.details.content[..] else {
        panic!("{last:?}")
    };
    assert_eq!((output.len(), *exit_code), (1_000, Some(0)));
}

#[test]
fn close_open_closes_late_calls() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    timeline.end_turn(begin, RunState::Complete, "", "");
    play(
        &mut timeline,
        begin,
        &[(0, json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "late"}))],
    );
    timeline.close_open(begin, "gone");
    let report = timeline.take();
    let Some(SessionUpdate::ToolCallUpdate(last)) = report.last() else { panic!("{report:?}") };
    assert!(last.late && matches!(last.status, ToolCallStatus::Error { .. }));
}

/// Starts a turn with one call per title, each waiting for a command.
fn waiting_calls(titles: &[&str]) -> (Timeline, Instant, Vec<String>) {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    let call = |(at, title): (usize, &&str)| {
        (
            0,
            json!({"sessionUpdate": "tool_call", "toolCallId": format!("{at}"), "title": title, "kind": "execute"}),
        )
    };
    let calls: Vec<_> = titles.iter().enumerate().map(call).collect();
    let report = play(&mut timeline, begin, &calls);
    let id = |update: &SessionUpdate| match update {
        SessionUpdate::ToolCall(call) => Some(call.call_id.clone()),
        _ => None,
    };
    (timeline, begin, report.iter().filter_map(id).collect())
}

#[test]
fn terminal_attaches_to_the_call_that_names_it() {
    let rows: [(&[&str], Option<usize>); 5] = [
        (&["Run a command"], Some(0)),
        (&["Run `make test`", "Run `make lint`"], Some(1)),
        (&["make lint", "make test"], Some(0)),
        (&["Run something", "Run another thing"], None),
        (&[], None),
    ];
    for (titles, expected) in rows {
        let (mut timeline, now, ids) = waiting_calls(titles);
        let row = timeline.terminal_row(now, "t", "make lint", json!({})).unwrap();
        assert_eq!(ids.iter().position(|id| *id == row), expected, "{titles:?}");
    }
}

#[test]
fn calls_per_turn_are_limited() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    let call = |id: usize| CallNews { id: id.to_string(), ..CallNews::default() };
    timeline.begin_turn(begin);
    let taken = (0..10_010).filter(|id| timeline.call(begin, call(*id), true).is_some()).count();
    assert_eq!(taken, 10_000);
    // Known calls are still updated.
    assert!(timeline.call(begin, call(7), false).is_some());
    timeline.end_turn(begin, RunState::Complete, "", "");
    timeline.begin_turn(begin);
    assert!(timeline.call(begin, call(20_000), true).is_some());
}

#[test]
fn terminals_per_call_are_limited() {
    let (mut timeline, begin) = (Timeline::default(), Instant::now());
    timeline.begin_turn(begin);
    let pieces: Vec<_> =
        (0..100).map(|id| json!({"type": "terminal", "terminalId": format!("t{id}")})).collect();
    let exit = |id| {
        let meta = json!({"terminal_output": {"terminal_id": id, "data": "x"},
            "terminal_exit": {"terminal_id": id, "exit_code": 0}});
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": meta})
    };
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "make", "content": pieces});
    let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"});
    let mut updates = vec![(0, call)];
    updates.extend((0..16).map(|id| (1, exit(format!("t{id}")))));
    updates.extend([(2, end), (3, exit("t0".to_owned()))]);
    let report = play(&mut timeline, begin, &updates);
    let shown = |update: &SessionUpdate| match update {
        SessionUpdate::ToolCall(call) => call.details.content.clone(),
        SessionUpdate::ToolCallUpdate(update) => update.details.content.clone(),
        _ => Vec::new(),
    };
    assert_eq!(shown(&report[0]).len(), 16);
    let last = shown(report.last().unwrap());
    assert!(
        last.iter().all(
            |piece| matches!(piece, ToolContent::Terminal { output, exit_code: Some(0), .. } if output == "x")
        ),
        "{last:?}"
    );
}

#[test]
fn turn_ends_once_with_its_last_message() {
    let rows: [(&[(u64, Value)], &str); 4] = [
        (&[], ""),
        (&[(0, text("m1", "one"))], "one"),
        (&[(0, text("m1", "one")), (1, text("m2", "two"))], "two"),
        (&[(0, text("m1", "\n\n")), (1, text("m1", "one\n"))], "one\n"),
    ];
    for (updates, reply) in rows {
        let (mut timeline, begin) = (Timeline::default(), Instant::now());
        timeline.begin_turn(begin);
        let mut report = play(&mut timeline, begin, updates);
        timeline.end_turn(begin, RunState::Complete, "", "");
        report.extend(timeline.take());
        let messages = report.iter().filter_map(|update| match update {
            SessionUpdate::AgentMessage(message) => Some(message),
            _ => None,
        });
        let messages: Vec<_> = messages.collect();
        let ends: Vec<_> = messages.iter().filter(|message| message.ended).collect();
        assert_eq!((ends.len(), timeline.last_message()), (1, reply));
        let last = messages.iter().rev().find(|message| !message.text.is_empty());
        assert!(last.is_none_or(|last| last.message_id == ends[0].message_id), "{report:#?}");
        // Later output is late.
        let late = play(&mut timeline, begin, &[(0, text("m9", "late")), (100, text("m9", "r"))]);
        timeline.end_turn(begin, RunState::Complete, "", "");
        assert!(texts(&late).iter().all(|(_, late)| *late), "{late:#?}");
    }
}
