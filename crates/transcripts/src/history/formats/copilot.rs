//! The sessions of GitHub Copilot CLI: folders since 1.0 (read up to 1.0.60), and single files before.
//!
//! Format: `nodejs/src/generated/session-events.ts` of github/copilot-sdk, and logs of 1.0.10, 1.0.59 and 1.0.60.
//! Hooks, 39 % of a log's lines, repeat the arguments and results of calls, and `session.info` has the login: neither
//! is read.

use super::{
    calls::{self, FileTools},
    folder::entries,
};
use crate::{
    history::log::{
        action::Outcome,
        decoder::{Decoder, SessionFacts},
        event::{Event, EventKind, TouchedFile},
        json::Node,
        log_file::{LogFile, dated_origin, is_uuid, millis},
        title,
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

const TOOLS: FileTools = FileTools { reads: &["view"], edits: &["create", "edit"] };

/// Announces what the agent is about to do; it does nothing itself.
const INTENT: &str = "report_intent";

/// Start of the text of a skill, sent in the user's name.
const SKILL: &str = "<skill-context";

/// The models that a session names, in order of preference.
#[derive(Default)]
struct Models {
    chosen: Option<String>,
    answered: Option<String>,
    at_start: Option<String>,
    counted: Option<String>,
}

pub(super) struct CopilotDecoder {
    facts: SessionFacts,
    models: Models,
    /// Calls that wait for a permission, by the id of its request.
    asked: HashMap<String, String>,
    intents: HashSet<String>,
}

impl CopilotDecoder {
    /// `described` holds the facts stored next to the log.
    pub(super) fn new(log: &Path) -> Self {
        let described = facts(log);
        Self { facts: described, models: Models::default(), asked: HashMap::new(), intents: HashSet::new() }
    }

    fn started(&mut self, data: &Node<'_>) {
        self.facts.created_at = self.facts.created_at.or(millis(data.get("startTime")));
        self.facts.subagent |= data.text("detachedFromSpawningParentSessionId").is_some();
        keep(data, "selectedModel", &mut self.models.at_start);
        if let Some(context) = data.get("context") {
            self.moved(context);
        }
    }

    fn moved(&mut self, context: &Node<'_>) {
        self.facts.cwd = context.text("cwd").map(PathBuf::from).or(self.facts.cwd.take());
        keep(context, "branch", &mut self.facts.branch);
    }

    fn called(&mut self, data: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
        let (id, name) = (data.text("toolCallId"), data.text("toolName").unwrap_or("tool"));
        if name == INTENT {
            self.intents.extend(id.map(str::to_owned));
            return None;
        }
        Some(TOOLS.call(number, at, id, name, data.get("arguments")))
    }

    fn completed(&self, data: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
        let id = data.text("toolCallId");
        if id.is_some_and(|id| self.intents.contains(id)) {
            return None;
        }
        let content = data.get("result").and_then(|result| result.text("content").or(result.as_str()));
        let text = content.or_else(|| data.get("error")?.text("message")).unwrap_or_default();
        let succeeded = match data.get("success") {
            Some(Node::Bool(success)) => Some(*success),
            _ => None,
        };
        let mut event = calls::result(number, at, id, text.to_owned(), succeeded);
        if let Some(code) = exit_code(text) {
            event.action.outcome = Some(Outcome::Exit(code));
        }
        Some(event)
    }

    /// A refused call has no result.
    fn permission(&self, data: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
        let kind = data.get("result")?.text("kind").filter(|kind| kind.starts_with("denied"))?;
        let asked = || self.asked.get(data.text("requestId")?).map(String::as_str);
        let id = data.text("toolCallId").or_else(asked)?;
        Some(calls::result(number, at, Some(id), kind.to_owned(), Some(false)))
    }

    fn shutdown(&mut self, data: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
        let models = data.get("modelMetrics").map_or(&[][..], Node::fields);
        if let Some((model, _)) = models.first() {
            self.models.counted = Some(model.to_string());
        }
        // Tokens read from the cache count as input too.
        let parts = ["inputTokens", "outputTokens"];
        let usages = models.iter().filter_map(|(_, metrics)| metrics.get("usage"));
        let used: u64 = usages.flat_map(|usage| parts.map(|part| usage.count(part))).flatten().sum();
        if used > 0 {
            self.facts.total_tokens = Some(used);
        }
        let changed = data.get("codeChanges")?.get("filesModified")?.items();
        let files: Vec<_> = changed
            .iter()
            .filter_map(Node::as_str)
            .map(|path| TouchedFile { path: path.to_owned(), edited: true })
            .collect();
        let text = files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join("\n");
        Some(Event { files, ..Event::new(number, at, EventKind::FileChange, text) })
    }
}

impl Decoder for CopilotDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let at = millis(node.get("timestamp"));
        self.facts.updated_at = self.facts.updated_at.max(at);
        let nothing = Node::Null;
        let data = node.get("data").unwrap_or(&nothing);
        let of_subagent = node.text("agentId").is_some() || data.text("parentToolCallId").is_some();
        let reply = |kind, key| Some(Event::new(number, at, kind, data.text(key)?));
        let events = match node.text("type").unwrap_or_default() {
            "session.compaction_complete" => {
                let summary = data.text("summaryContent").unwrap_or_default();
                [Some(Event::new(number, at, EventKind::Compaction, summary)), None]
            }
            // A fork names its parent at the end of the part that it copied.
            "session.info" if data.text("infoType") == Some("fork") => {
                let parent = data.text("message").and_then(|message| message.strip_prefix("Forked from "));
                self.facts.continues =
                    parent.and_then(id_in).map(str::to_owned).or(self.facts.continues.take());
                [None, None]
            }
            // A command that the user ran with `!`.
            "tool.user_requested" => [self.called(data, number, at), None],
            "session.start" | "session.resume" => {
                self.started(data);
                [None, None]
            }
            "session.context_changed" => {
                self.moved(data);
                [None, None]
            }
            "session.model_change" if !of_subagent => {
                keep(data, "newModel", &mut self.models.chosen);
                [None, None]
            }
            "user.message" if !of_subagent => {
                [prompt(data).map(|text| Event::new(number, at, EventKind::Prompt, text)), None]
            }
            "assistant.message" => {
                if !of_subagent {
                    keep(data, "model", &mut self.models.answered);
                }
                [reply(EventKind::Thinking, "reasoningText"), reply(EventKind::Assistant, "content")]
            }
            "tool.execution_start" => [self.called(data, number, at), None],
            "tool.execution_complete" => [self.completed(data, number, at), None],
            "permission.requested" => {
                let call = data.get("permissionRequest").and_then(|request| request.text("toolCallId"));
                let request = data.text("requestId").map(str::to_owned);
                self.asked.extend(request.zip(call.map(str::to_owned)));
                [None, None]
            }
            "permission.completed" => [self.permission(data, number, at), None],
            "session.shutdown" => [self.shutdown(data, number, at), None],
            _ => [None, None],
        };
        let shown = |event: &Event| {
            !event.text.trim().is_empty()
                || matches!(
                    event.kind,
                    EventKind::ToolCall { .. } | EventKind::ToolResult | EventKind::Compaction
                )
        };
        let events = events.into_iter().flatten().filter(shown);
        // A fork copies events with their ids.
        let origin = dated_origin(node.text("id"), at);
        Some(events.map(|event| Event { sidechain: of_subagent, origin, ..event }).collect())
    }

    fn facts(&self) -> SessionFacts {
        let models = &self.models;
        let model = models.chosen.as_ref().or(models.answered.as_ref()).or(models.at_start.as_ref());
        let model = model.or(models.counted.as_ref()).cloned();
        SessionFacts { model, ..self.facts.clone() }
    }
}

/// Returns the session in a text such as `"Its name" (<id>) as "Another name" (<id>)`: the first one.
fn id_in(text: &str) -> Option<&str> {
    text.split(['(', ')']).find(|part| is_uuid(part))
}

/// Replaces an older value if there is a newer one.
fn keep(node: &Node<'_>, key: &str, old: &mut Option<String>) {
    if let Some(text) = node.text(key).filter(|text| !text.is_empty()) {
        *old = Some(text.to_owned());
    }
}

/// Returns what the user typed; skills, sub-agents and the autopilot send messages too.
fn prompt(data: &Node<'_>) -> Option<String> {
    let is_by_user =
        data.text("source").is_none_or(|source| source == "user") && !data.flag("isAutopilotContinuation");
    let text = data.text("content").filter(|text| is_by_user && !text.trim_start().starts_with(SKILL))?;
    title::prompt([text])
}

/// Finds the exit code at the end of a shell's output, such as `<exited with exit code 1>`.
fn exit_code(text: &str) -> Option<i32> {
    text.trim_end().strip_suffix('>')?.rsplit_once("with exit code ")?.1.parse().ok()
}

const EVENTS: &str = "events.jsonl";

/// Finds sessions: `session-state/<id>/events.jsonl`, and `session-state/<id>.jsonl` before 1.0. A folder without
/// events belongs to a session that was never prompted.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let log = |(path, name): (PathBuf, String)| match name.strip_suffix(".jsonl") {
        Some(id) => LogFile::stat(path, id, false, false),
        None => session(&path, &name),
    };
    entries(&root.join("session-state"), budget).filter_map(log).collect()
}

fn session(folder: &Path, id: &str) -> Option<LogFile> {
    let file = LogFile::stat(folder.join(EVENTS), id, false, false)?;
    let description = workspace_of(&file.path);
    // A new title changes only the description.
    Some(file.changes_with(&description))
}

/// Introduce a value of several lines.
const BLOCKS: [&str; 6] = ["|", "|-", "|+", ">", ">-", ">+"];

pub(super) fn workspace_of(log: &Path) -> PathBuf {
    log.with_file_name("workspace.yaml")
}

/// Returns the facts in a session's description. Its times lag minutes behind those of the events.
fn facts(log: &Path) -> SessionFacts {
    let bytes = file::read_bounded(&workspace_of(log), limits::SUMMARY_END).unwrap_or_default();
    let text = file::text(&bytes);
    let values = values(&text);
    let value = |key| {
        let raw = values.iter().find(|(name, _)| *name == key)?.1.as_str();
        scalar(raw).filter(|value| !value.is_empty())
    };
    SessionFacts {
        title: title::given(value("name").or_else(|| value("summary")).as_deref()),
        cwd: value("cwd").map(PathBuf::from),
        branch: value("branch"),
        ..SessionFacts::default()
    }
}

/// Returns the raw values by key, with their lines joined.
/// The description `workspace.yaml` has flat keys, whose values may be quoted or span several lines.
fn values(text: &str) -> Vec<(&str, String)> {
    let mut values: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        if !line.starts_with([' ', '\t']) {
            if let Some((key, value)) = line.split_once(':') {
                values.push((key, value.trim().to_owned()));
            }
        } else if let Some((_, value)) = values.last_mut() {
            value.push(' ');
            value.push_str(line.trim());
        }
    }
    values
}

fn scalar(raw: &str) -> Option<String> {
    let raw = match raw.split_once(' ') {
        Some((mark, block)) if BLOCKS.contains(&mark) => block.trim(),
        _ => raw.trim(),
    };
    match raw.as_bytes().first()? {
        // Most escapes are those of JSON.
        b'"' => serde_json::from_str(raw).ok().or_else(|| Some(raw.trim_matches('"').to_owned())),
        b'\'' => Some(raw.trim_matches('\'').replace("''", "'")),
        _ if matches!(raw, "null" | "~") => None,
        _ => Some(raw.split(" #").next().unwrap_or(raw).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_reads_every_form_of_value() {
        let rows = [
            ("name: Add a test", Some("Add a test")),
            ("name: Add a test # once", Some("Add a test")),
            ("name: \"Say \\\"hi\\\": twice\"", Some("Say \"hi\": twice")),
            ("name: \"a \\x41\"", Some("a \\x41")),
            ("name: 'It''s done'", Some("It's done")),
            ("name: A title that\n  goes on\ncwd: /w", Some("A title that goes on")),
            ("name: \"A title that\n  goes on\"", Some("A title that goes on")),
            ("name: |-\n  One\n  two\nid: x", Some("One two")),
            ("name:\n  On the next line", Some("On the next line")),
            ("name: C:\\proj", Some("C:\\proj")),
            ("name: null", None),
            ("name: \"\"", None),
            ("name:", None),
            ("renamed: x", None),
            ("summary: Old\r\n", Some("Old")),
            ("summary: Old\nname: New", Some("New")),
            ("  name: nested", None),
            ("", None),
        ];
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("events.jsonl");
        for (text, expected) in rows {
            std::fs::write(workspace_of(&log), text).unwrap();
            assert_eq!(facts(&log).title.as_deref(), expected, "{text:?}");
        }
    }
}
