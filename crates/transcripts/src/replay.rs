//! A transcript as updates of a session, so that clients show it like one of ours.

use crate::history::{Action, Event, EventKind, Outcome};
use openagents_core::update::{
    AgentMessage, AgentThought, Cut, Location, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus,
    ToolCallUpdate, ToolContent, ToolKind, UserMessage,
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Arguments with the replaced and the new text of a change, as the agents name them.
const CHANGES: [(&str, &str); 4] =
    [("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text")];

const CONTENTS: [&str; 3] = ["content", "contents", "file_text"];

const COMPACTED: &str = "**Context compacted.** The agent went on from this summary.";

/// Turns events into updates, in order. Keeps the calls that have no result yet.
#[derive(Debug, Default)]
pub struct Replay {
    /// The directory in which the session ran: titles name files relative to it.
    cwd: PathBuf,
    /// Calls by the agent's id: our id, and the command if it is one.
    open: HashMap<String, (String, Option<String>)>,
    /// The same of the last call without an id.
    last: Option<(String, Option<String>)>,
    calls: u64,
}

impl Replay {
    /// Begins a session that ran in `cwd`.
    pub fn new(cwd: Option<&Path>) -> Self {
        Self { cwd: cwd.unwrap_or(Path::new("")).to_owned(), ..Self::default() }
    }

    /// Returns the update of an event; `None` for events that a conversation does not show.
    pub fn updates(&mut self, event: Event) -> Option<SessionUpdate> {
        match event.kind {
            EventKind::Prompt => {
                Some(SessionUpdate::UserMessage(UserMessage { text: event.text, ..UserMessage::default() }))
            }
            EventKind::Assistant => {
                let message_id = Some(self.next_id(event.line));
                let message = AgentMessage { text: event.text, message_id, ..AgentMessage::default() };
                Some(SessionUpdate::AgentMessage(message))
            }
            EventKind::Thinking => Some(self.thought(event.text, event.line)),
            // The summary repeats the conversation above, so it is folded, as thoughts are.
            EventKind::Compaction => {
                let text = format!("{COMPACTED}\n\n{}", event.text).trim_end().to_owned();
                Some(self.thought(text, event.line))
            }
            EventKind::ToolCall { ref name } => Some(SessionUpdate::ToolCall(self.call(name.clone(), event))),
            EventKind::ToolResult => self.result(event).map(SessionUpdate::ToolCallUpdate),
            EventKind::CommandEnd => {
                // It says which session the call started.
                let Action { call, child_session, .. } = event.action;
                Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                    call_id: call.filter(|_| child_session.is_some())?,
                    status: ToolCallStatus::Unchanged,
                    late: false,
                    details: ToolCallDetails::default(),
                }))
            }
            // Their calls are shown.
            EventKind::FileChange | EventKind::Title(_) => None,
        }
    }

    fn thought(&mut self, text: String, line: u64) -> SessionUpdate {
        let message_id = Some(self.next_id(line));
        SessionUpdate::AgentThought(AgentThought { text, message_id, ..AgentThought::default() })
    }

    /// Returns an id that is unique in a session read in parts, as long as its lines are numbered.
    fn next_id(&mut self, line: u64) -> String {
        self.calls += 1;
        format!("{line}-{}", self.calls)
    }

    fn call(&mut self, name: String, event: Event) -> ToolCall {
        let Action { call, input, command, .. } = event.action;
        let call_id = call.clone().unwrap_or_else(|| self.next_id(event.line));
        let known = (call_id.clone(), command.clone());
        match call {
            Some(id) => drop(self.open.insert(id, known)),
            None => self.last = Some(known),
        }
        let edited = event.files.iter().any(|file| file.edited);
        let file = event.files.first().map(|file| file.path.as_str());
        let near = |path: &str| match Path::new(path).strip_prefix(&self.cwd) {
            Ok(inside) if !self.cwd.as_os_str().is_empty() => inside.display().to_string(),
            _ => path.to_owned(),
        };
        let (kind, title) = match (&command, file) {
            (Some(command), _) => (ToolKind::Execute, Some(command.clone())),
            (None, Some(path)) if edited => (ToolKind::Edit, Some(format!("Edit {}", near(path)))),
            (None, Some(path)) => (ToolKind::Read, Some(format!("Read {}", near(path)))),
            (None, None) => (ToolKind::Other, None),
        };
        let content = if edited { changes(file.unwrap_or_default(), input.as_ref()) } else { vec![] };
        let locations = event.files.into_iter().map(|file| Location { path: file.path, line: None });
        let details = ToolCallDetails {
            title,
            kind: Some(kind),
            locations: locations.collect(),
            content,
            ..ToolCallDetails::default()
        };
        ToolCall { call_id, name, arguments: arguments(input), details, ..ToolCall::default() }
    }

    /// Returns `None` for a result whose call is unknown: it is in an earlier part.
    fn result(&mut self, event: Event) -> Option<ToolCallUpdate> {
        let (call_id, command) = match event.action.call {
            Some(id) => self.open.remove(&id).unwrap_or((id, None)),
            None => self.last.take()?,
        };
        let outcome = event.action.outcome;
        let failed = outcome.is_some_and(|outcome| outcome != Outcome::Exit(0));
        let mut details = ToolCallDetails::default();
        let mut status = if failed {
            ToolCallStatus::Error { message: event.text.clone() }
        } else {
            ToolCallStatus::Completed { output: event.text.clone().into(), cut: Cut::default() }
        };
        if let (Some(command), Some(Outcome::Exit(code))) = (command, outcome) {
            details.content = vec![ToolContent::Terminal {
                terminal_id: call_id.clone(),
                command: Some(command),
                output: event.text,
                truncated: false,
                exit_code: Some(code),
                signal: None,
            }];
            // The terminal shows the output.
            match &mut status {
                ToolCallStatus::Error { message } => *message = format!("exit code {code}"),
                ToolCallStatus::Completed { output, .. } => *output = Value::Null,
                _ => {}
            }
        }
        Some(ToolCallUpdate { call_id, status, late: false, details })
    }
}

fn arguments(input: Option<Value>) -> Map<String, Value> {
    match input {
        Some(Value::Object(fields)) => fields,
        Some(Value::Null) | None => Map::new(),
        Some(value) => [("input".to_owned(), value)].into_iter().collect(),
    }
}

/// Returns the changes that the arguments of an edit describe.
pub fn changes(path: &str, input: Option<&Value>) -> Vec<ToolContent> {
    let Some(input) = input else { return vec![] };
    if let Some(patch) = input.as_str().or_else(|| input.get("input")?.as_str()) {
        return vec![ToolContent::Text { text: format!("```diff\n{}\n```", patch.replace("```", "'''")) }];
    }
    let text = |from: &Value, key: &str| from.get(key).and_then(Value::as_str).map(str::to_owned);
    let diff = |old_text, new_text| ToolContent::Diff {
        path: path.to_owned(),
        old_text,
        new_text,
        truncated: false,
    };
    let change = |from: &Value| {
        let both = |(old, new): (&str, &str)| Some(diff(Some(text(from, old)?), text(from, new)?));
        CHANGES.into_iter().find_map(both)
    };
    if let Some(edits) = input.get("edits").and_then(Value::as_array) {
        return edits.iter().filter_map(change).collect();
    }
    let whole = || CONTENTS.iter().find_map(|key| Some(diff(None, text(input, key)?)));
    change(input).or_else(whole).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::TouchedFile;
    use serde_json::json;

    fn event(kind: EventKind, text: &str) -> Event {
        Event {
            line: 7,
            timestamp: None,
            kind,
            text: text.to_owned(),
            files: vec![],
            action: Action::default(),
            sidechain: false,
            copied: false,
            undone: false,
            origin: None,
        }
    }

    fn call(name: &str, action: Action, files: &[(&str, bool)]) -> Event {
        let files =
            files.iter().map(|(path, edited)| TouchedFile { path: (*path).to_owned(), edited: *edited });
        Event { action, files: files.collect(), ..event(EventKind::ToolCall { name: name.to_owned() }, "") }
    }

    fn result(id: Option<&str>, text: &str, outcome: Option<Outcome>) -> Event {
        let action = Action { call: id.map(str::to_owned), outcome, ..Action::default() };
        Event { action, ..event(EventKind::ToolResult, text) }
    }

    fn wire(replay: &mut Replay, events: Vec<Event>) -> Vec<Value> {
        let updates = events.into_iter().filter_map(|event| replay.updates(event));
        updates.map(|update| serde_json::to_value(update).unwrap()).collect()
    }

    #[test]
    fn calls_show_changes_and_output() {
        let edit = Action {
            call: Some("c1".into()),
            input: Some(json!({"file_path": "/w/a.rs", "old_string": "a", "new_string": "b"})),
            ..Action::default()
        };
        let run = Action { call: Some("c2".into()), command: Some("make".into()), ..Action::default() };
        let shown = wire(
            &mut Replay::new(Some(Path::new("/w"))),
            vec![
                call("Edit", edit, &[("/w/a.rs", true)]),
                result(Some("c1"), "ok", None),
                call("Bash", run, &[]),
                result(Some("c2"), "failed", Some(Outcome::Exit(2))),
            ],
        );
        assert_eq!(shown[0]["details"]["title"], "Edit a.rs");
        assert_eq!(shown[0]["details"]["content"][0]["new_text"], "b");
        assert_eq!(shown[1]["status"]["output"], "ok");
        assert_eq!(shown[2]["details"]["kind"], "execute");
        assert_eq!(shown[3]["status"]["message"], "exit code 2");
        assert_eq!(shown[3]["details"]["content"][0]["output"], "failed");
    }

    #[test]
    fn call_end_names_started_session() {
        let ended = |child: Option<&str>| {
            let child_session = child.map(str::to_owned);
            let action = Action { call: Some("c1".into()), child_session, ..Action::default() };
            Event { action, ..event(EventKind::CommandEnd, "") }
        };
        let shown = wire(&mut Replay::default(), vec![ended(None), ended(Some("child"))]);
        assert_eq!(shown.len(), 1);
        assert_eq!(
            (&shown[0]["call_id"], &shown[0]["status"]["status"]),
            (&json!("c1"), &json!("unchanged"))
        );
    }

    #[test]
    fn compaction_is_marked_and_folded() {
        let shown = wire(&mut Replay::default(), vec![event(EventKind::Compaction, "We fixed a.rs.")]);
        assert_eq!(shown[0]["kind"], "agent_thought");
        let text = shown[0]["text"].as_str().unwrap();
        assert!(text.starts_with(COMPACTED) && text.ends_with("We fixed a.rs."), "{text}");
    }

    #[test]
    fn result_without_id_ends_previous_call() {
        let mut replay = Replay::default();
        assert_eq!(wire(&mut replay, vec![result(None, "orphan", None)]), Vec::<Value>::new());
        let shown =
            wire(&mut replay, vec![call("grep", Action::default(), &[]), result(None, "found", None)]);
        assert_eq!(shown[0]["call_id"], shown[1]["call_id"]);
    }

    #[test]
    fn changes_reads_every_form() {
        let rows = [
            (json!({"old_str": "a", "new_str": "b"}), 1),
            (json!({"oldText": "a", "newText": "b"}), 1),
            (json!({"content": "whole"}), 1),
            (
                json!({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]}),
                2,
            ),
            (json!({"input": "*** Begin Patch"}), 1),
            (json!("*** Begin Patch"), 1),
            (json!({"old_string": "a"}), 0),
            (json!(3), 0),
        ];
        for (input, expected) in rows {
            assert_eq!(changes("a.rs", Some(&input)).len(), expected, "{input}");
        }
    }
}
