//! The sessions of pi (version 3 of its format, and 1 and 2) and of OpenClaw, which is built on it (from March 2026).
//!
//! Format: `packages/coding-agent/src/core/session-manager.ts` of badlogic/pi-mono. A line is an entry of a tree.
//! Titles are lines of the log itself.

use super::{
    calls::{self, FileTools},
    folder::entries,
};
use crate::history::log::{
    action::{self, Outcome},
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind, TitleRank},
    json::Node,
    log_file::{LogFile, dated_origin, millis, origin},
    title,
    tree::{self, Tree, TreePlace},
    undone::Parent,
};
use openagents_core::{budget::Budget, text::joined};
use std::path::{Path, PathBuf};

const TOOLS: FileTools = FileTools { reads: &["read"], edits: &["write", "edit"] };

/// The provider of lines that OpenClaw itself adds as answers.
const GATEWAY: &str = "openclaw";

/// Ends the output of a failed command.
const EXITED: &str = "Command exited with code ";

pub(super) const TREE: Tree = Tree { id: "\"id\"", parent: "\"parentId\"", place, is_prompt };

/// The tree of OpenClaw's log, which may start again several times without a rewind.
pub(super) const OPENCLAW_TREE: Tree = Tree { place: place_after_previous, ..TREE };

fn place(entry: &Node<'_>) -> Option<TreePlace> {
    let parent = match tree::parent(entry, "parentId") {
        Parent::None if !is_prompt(entry) => Parent::Previous,
        parent => parent,
    };
    Some(TreePlace { id: origin(entry.text("id")?), parent })
}

fn place_after_previous(entry: &Node<'_>) -> Option<TreePlace> {
    let place = place(entry)?;
    Some(TreePlace {
        parent: if place.parent == Parent::None { Parent::Previous } else { place.parent },
        ..place
    })
}

fn is_prompt(entry: &Node<'_>) -> bool {
    entry.get("message").is_some_and(|message| message.text("role") == Some("user"))
}

pub(super) struct PiDecoder {
    facts: SessionFacts,
    typed: fn(&str) -> &str,
}

impl PiDecoder {
    pub(super) fn new(typed: fn(&str) -> &str) -> Self {
        Self { facts: SessionFacts::default(), typed }
    }

    /// Reads a header. There may be several, and later entries may be older.
    fn header(&mut self, node: &Node<'_>) {
        let cwd = node.text("cwd").filter(|cwd| !cwd.is_empty());
        self.facts.cwd = self.facts.cwd.take().or_else(|| cwd.map(PathBuf::from));
        self.model(node.text("provider"), node.text("modelId"));
        // A fork names the file of its parent.
        let parent = node.text("parentSession").and_then(|path| path.rsplit(['/', '\\']).next());
        let parent = parent.map(|name| id_of(name.strip_suffix(".jsonl").unwrap_or(name)).to_owned());
        self.facts.continues = self.facts.continues.take().or(parent);
    }

    fn model(&mut self, provider: Option<&str>, model: Option<&str>) {
        if let Some(model) = model.filter(|_| provider != Some(GATEWAY)) {
            self.facts.model = Some(model.to_owned());
        }
    }

    fn message(&mut self, entry: &Node<'_>, message: &Node<'_>, line: u64, at: Option<i64>) -> Vec<Event> {
        let content = message.get("content");
        match message.text("role").unwrap_or_default() {
            "user" => {
                self.facts.updated_at = self.facts.updated_at.max(at);
                let texts = calls::texts(content).into_iter().map(self.typed);
                let prompt = calls::prompt(texts, content);
                prompt.into_iter().map(|text| Event::new(line, at, EventKind::Prompt, text)).collect()
            }
            "assistant" => {
                self.facts.updated_at = self.facts.updated_at.max(at);
                self.model(message.text("provider"), message.text("model"));
                if let Some(tokens) = message.get("usage").and_then(|usage| usage.count("totalTokens")) {
                    *self.facts.tokens.get_or_insert(0) += tokens;
                }
                let mut events = calls::answer(&TOOLS, line, at, content);
                let error = message.text("errorMessage").filter(|error| !error.trim().is_empty());
                events.extend(error.map(|error| Event::new(line, at, EventKind::Assistant, error)));
                events
            }
            "toolResult" => {
                let text = joined(calls::texts(content));
                let outcome = outcome(message, &text);
                vec![calls::ended(line, at, message.text("toolCallId"), text, outcome)]
            }
            // A command that the user ran.
            "bashExecution" => {
                let id = Some(entry.text("id").unwrap_or("bash"));
                let output = message.text("output").unwrap_or_default().to_owned();
                let outcome = action::code(message, "exitCode").map(Outcome::Exit);
                vec![
                    TOOLS.call(line, at, id, "bash", message.get("command")),
                    calls::ended(line, at, id, output, outcome),
                ]
            }
            // Written by versions before the entry `compaction`.
            "compactionSummary" => summary(message, line, at).into_iter().collect(),
            _ => vec![],
        }
    }
}

fn summary(node: &Node<'_>, line: u64, at: Option<i64>) -> Option<Event> {
    Some(Event::new(line, at, EventKind::Compaction, node.text("summary")?))
}

impl Decoder for PiDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let kind = node.text("type")?;
        let at = millis(node.get("timestamp"));
        self.facts.created_at = [self.facts.created_at, at].into_iter().flatten().min();
        let mut events = match (kind, node.get("message")) {
            ("session", _) => {
                self.header(node);
                vec![]
            }
            ("model_change", _) => {
                self.model(node.text("provider"), node.text("modelId"));
                vec![]
            }
            ("session_info", _) => title::given(node.text("name"))
                .map(|name| Event::new(number, at, EventKind::Title(TitleRank::User), name))
                .into_iter()
                .collect(),
            ("compaction", _) => summary(node, number, at).into_iter().collect(),
            ("message", Some(message)) => {
                let at = at.or_else(|| millis(message.get("timestamp")));
                self.message(node, message, number, at)
            }
            _ => vec![],
        };
        // A fork begins with the lines of its parent. Ids are short, and unique only together with the time.
        let origin = dated_origin(node.text("id"), at);
        events.iter_mut().for_each(|event| event.origin = origin);
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

/// Returns the outcome of a call. OpenClaw reports it in the details even if nothing is marked as an error.
fn outcome(message: &Node<'_>, text: &str) -> Option<Outcome> {
    let details = message.get("details");
    let status = details.and_then(|details| details.text("status")).unwrap_or_default();
    let last = || text.lines().next_back()?.strip_prefix(EXITED)?.trim().parse().ok();
    let failed = message.flag("isError") || matches!(status, "error" | "failed");
    match details.and_then(|details| action::code(details, "exitCode")).or_else(last) {
        Some(code) => Some(Outcome::Exit(code)),
        None if failed => Some(Outcome::NotRun),
        None if status == "running" => None,
        None => Some(Outcome::Exit(0)),
    }
}

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (workspace, _) in entries(&root.join("sessions"), budget) {
        logs(&workspace, false, budget, &mut files);
    }
    files
}

pub(super) fn discover_openclaw(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (agent, _) in entries(&root.join("agents"), budget) {
        logs(&agent.join("sessions"), true, budget, &mut files);
    }
    files
}

/// Finds the logs of a folder. Backup copies (`.checkpoint.`, `.bak`) are not sessions, and an archived log is one only
/// if no other file has its session.
/// `<uuid>.jsonl.reset.<time>` and `<uuid>.jsonl.deleted.<time>` are archived logs of OpenClaw.
fn logs(folder: &Path, with_archived: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    let (mut found, mut archived) = (Vec::new(), Vec::new());
    for (path, name) in entries(folder, budget) {
        let Some((stem, ending)) = name.split_once(".jsonl") else { continue };
        let id = id_of(stem);
        if id.contains('.') {
            continue;
        }
        match ending {
            "" => found.extend(LogFile::stat(path, id, false, false)),
            _ if with_archived && (ending.starts_with(".reset.") || ending.starts_with(".deleted.")) => {
                archived.extend(LogFile::stat(path, id, false, true));
            }
            _ => {}
        }
    }
    // If a session was archived several times, the last reset counts.
    archived.sort_by(|a: &LogFile, b: &LogFile| (&a.id, &b.path).cmp(&(&b.id, &a.path)));
    archived.dedup_by(|a, b| a.id == b.id);
    archived.retain(|file| found.iter().all(|other: &LogFile| other.id != file.id));
    files.append(&mut found);
    files.append(&mut archived);
}

fn id_of(stem: &str) -> &str {
    stem.rsplit('_').next().unwrap_or(stem)
}

/// Returns the typed part of a user's message; empty if there is none.
pub(super) fn typed(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let shorter = after_time(rest).or_else(|| after_facts(rest)).or_else(|| after_system(rest));
        match shorter {
            Some(shorter) => rest = shorter.trim(),
            None => return rest,
        }
    }
}

/// Skips a paragraph such as `System: [2026-03-21 19:16:00 UTC] Gateway restarted`.
fn after_system(text: &str) -> Option<&str> {
    let note = text.strip_prefix("System: [")?;
    Some(note.split_once("\n\n").map_or("", |(_, rest)| rest))
}

/// Skips a line such as `Sender (untrusted metadata):` and the fenced JSON below it.
fn after_facts(text: &str) -> Option<&str> {
    let (label, rest) = text.split_once('\n')?;
    let is_label = label.contains("(untrusted") && label.trim_end().ends_with(':');
    let (_, rest) = rest.trim_start().strip_prefix("```").filter(|_| is_label)?.split_once('\n')?;
    let close = if rest.starts_with("```") { 0 } else { rest.find("\n```")? + 1 };
    Some(&rest[close + 3..])
}

/// Skips a time such as `[Sat 2026-03-21 19:16 UTC] `.
fn after_time(text: &str) -> Option<&str> {
    let (time, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let mut words = time.split(' ');
    let day = words.next().is_some_and(|day| day.len() == 3 && day.chars().all(|c| c.is_ascii_alphabetic()));
    let date = words.next().is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok());
    let clock = words.next().is_some_and(|clock| clock.contains(':'));
    (day && date && clock).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_strips_text_of_openclaw() {
        let sender = "Sender (untrusted metadata):\n```json\n{\n  \"label\": \"x\"\n}\n```\n\n";
        let time = "[Sat 2026-03-21 19:16 UTC] ";
        let rows = [
            (format!("{sender}{time}list the files"), "list the files"),
            (
                format!("System: [2026-03-21 19:16:00 UTC] a\nSystem: [x] b\n\n{sender}{time}go\n\non"),
                "go\n\non",
            ),
            (format!("Conversation info (untrusted metadata):\n```json\n{{}}\n```\n\n{sender}go"), "go"),
            (format!("{time}Sender (untrusted metadata):\n```json\n{{}}\n```\n\ngo"), "go"),
            ("System: [2026-03-21 19:16:00 UTC] restarted".to_owned(), ""),
            ("Sender (untrusted metadata):\n```json\n```\ngo".to_owned(), "go"),
            // The user's own words.
            ("[x] is a box".to_owned(), "[x] is a box"),
            (
                "Sender (untrusted metadata): what is that?".to_owned(),
                "Sender (untrusted metadata): what is that?",
            ),
            ("```\ncode\n```".to_owned(), "```\ncode\n```"),
            (
                "Sender (untrusted):\n```json\nnever ends".to_owned(),
                "Sender (untrusted):\n```json\nnever ends",
            ),
            (String::new(), ""),
        ];
        for (text, expected) in rows {
            assert_eq!(typed(&text), expected, "{text:?}");
        }
    }
}
