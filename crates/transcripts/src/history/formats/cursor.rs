//! The transcripts of Cursor's editor and CLI, as text and as JSON lines (from 2026; they name no version).
//!
//! The format was derived from logs. Neither form has times, models, titles or tokens, and the JSON lines have no
//! results.

use super::{
    calls::{self, FileTools},
    folder::{self, entries},
    records::Records,
};
use crate::{
    history::{
        log::{
            decoder::{Decoder, SessionFacts},
            event::{Event, EventKind},
            json::Node,
            lines::{self, OpenLog},
            log_file::{LogFile, is_uuid},
            title,
        },
        transcript::SessionFiles,
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use serde_json::{Map, Value, json};
use std::{
    io,
    path::{Path, PathBuf},
};

const TOOLS: FileTools =
    FileTools { reads: &["Read"], edits: &["StrReplace", "Write", "ApplyPatch", "Delete", "MultiEdit"] };

const IMAGE: &str = "[Image]";
/// Replaces a thought.
const REDACTED: &str = "[REDACTED]";

pub(super) struct CursorDecoder {
    facts: SessionFacts,
}

impl CursorDecoder {
    pub(super) fn new(log: &Path) -> Self {
        Self { facts: SessionFacts { cwd: workspace(log), ..SessionFacts::default() } }
    }
}

impl Decoder for CursorDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let content = node.get("message").and_then(|message| message.get("content"));
        let mut events = match node.text("role") {
            Some("user") => prompt(content)
                .map(|text| Event::new(number, None, EventKind::Prompt, text))
                .into_iter()
                .collect(),
            Some("assistant") => {
                calls::answer(&TOOLS, number, None, content).into_iter().filter_map(text_or_thought).collect()
            }
            _ => vec![],
        };
        let blocks = content.map_or(&[][..], Node::items).iter();
        for block in blocks.filter(|block| block.text("type") == Some("tool_result")) {
            let text = block.get("content").map(Node::flattened).unwrap_or_default();
            events.push(calls::ended(number, None, block.text("tool_use_id"), text, None));
        }
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn prompt(content: Option<&Node<'_>>) -> Option<String> {
    let texts = calls::texts(content);
    let typed = calls::prompt(texts.iter().flat_map(|text| typed(text)), content);
    let is_image = |text: &&str| text.contains(IMAGE) || text.contains("<image_files>");
    typed.or_else(|| texts.iter().any(is_image).then(|| title::IMAGE_ONLY.to_owned()))
}

/// Returns the queries in a text, or all of it if there are none, without the text that Cursor puts before them.
fn typed(text: &str) -> Vec<&str> {
    let text = without_images(text);
    let queries = text.split("<user_query>").skip(1);
    let queries: Vec<&str> = queries
        .map(|query| without_images(query.split_once("</user_query>").map_or(query, |(query, _)| query)))
        .collect();
    if queries.is_empty() { vec![text] } else { queries }
}

fn without_images(text: &str) -> &str {
    let mut rest = title::strip(text);
    while let Some(after) = rest.strip_prefix(IMAGE) {
        rest = title::strip(after);
    }
    rest
}

/// Returns an event of an answer. Thoughts appear among the texts, below a bold heading or redacted.
fn text_or_thought(event: Event) -> Option<Event> {
    if event.kind != EventKind::Assistant {
        return Some(event);
    }
    let text = event.text.trim().trim_end_matches(REDACTED).trim_end();
    let heading = text.lines().next()?;
    let is_thought = heading.len() > 4 && heading.starts_with("**") && heading.trim_end().ends_with("**");
    let kind = if is_thought { EventKind::Thinking } else { EventKind::Assistant };
    Some(Event { kind, text: text.to_owned(), ..event })
}

const TRANSCRIPTS: &str = "agent-transcripts";

/// File in a project's folder with the path of its workspace, once the workspace is trusted.
const TRUSTED: &str = ".workspace-trusted";

/// Finds sessions: in `projects/<name of a workspace>/agent-transcripts/` either `<uuid>.txt` or `<uuid>/<uuid>.jsonl`,
/// and those of sub-agents in `<uuid>/subagents/`.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (project, _) in entries(&root.join("projects"), budget) {
        let transcripts = project.join(TRANSCRIPTS);
        logs(&transcripts, false, budget, &mut files);
        for (session, _) in entries(&transcripts, budget).filter(|(_, name)| is_uuid(name)) {
            logs(&session, false, budget, &mut files);
            logs(&session.join("subagents"), true, budget, &mut files);
        }
    }
    files
}

fn logs(folder: &Path, subagents: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    for (path, name) in entries(folder, budget) {
        let Some(stem) = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".txt")) else { continue };
        if subagents || is_uuid(stem) {
            files.extend(LogFile::stat(path, stem, subagents, false));
        }
    }
}

fn workspace(log: &Path) -> Option<PathBuf> {
    let bytes = file::read_bounded(&project(log)?.join(TRUSTED), limits::GIT_FILE)?;
    let text = file::text(&bytes);
    let path = Node::parse_object(&text)?.text("workspacePath").map(PathBuf::from)?;
    path.is_absolute().then_some(path)
}

/// Returns whether a session's project has the name of a folder. Other folders may have the same name.
pub(super) fn may_have_run_in(log: &Path, folder: &Path) -> bool {
    let project = project(log).and_then(Path::file_name).and_then(|name| name.to_str());
    project
        .zip(folder.to_str())
        .is_some_and(|(project, folder)| folder::joined_name(project) == folder::joined_name(folder))
}

/// Returns whether the name of a session's project may stand for a folder or one below it.
pub(super) fn may_have_run_below(log: &Path, folder: &Path) -> bool {
    project(log).and_then(Path::file_name).is_none_or(|project| folder::may_be_below(project, folder))
}

/// Returns the file with the workspace of a session.
pub(super) fn beside(log: &Path) -> Vec<PathBuf> {
    project(log).map(|project| project.join(TRUSTED)).into_iter().collect()
}

fn project(log: &Path) -> Option<&Path> {
    log.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TRANSCRIPTS))?.parent()
}

pub(super) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    let path = files.newest;
    if path.extension().is_none_or(|extension| extension != "txt") {
        return lines::open(path);
    }
    let bytes = file::read_document(path, limits::DOCUMENT)?;
    Ok(unfolded(&file::text(&bytes)).into_log())
}

/// Unfolds a text transcript into the records of the JSON form: each part of a message is a record, at the line where
/// it begins.
fn unfolded(text: &str) -> Records {
    let mut messages = Messages::default();
    let mut after_blank = true;
    for (at, line) in text.lines().enumerate() {
        match line {
            "user:" | "assistant:" if after_blank => {
                messages.end();
                messages.role = Some(line.trim_end_matches(':'));
            }
            _ => messages.line(at + 1, line),
        }
        after_blank = line.trim().is_empty();
    }
    messages.end();
    messages.records
}

#[derive(Default)]
struct Messages<'a> {
    records: Records,
    /// The author of the current message; `None` before the first one.
    role: Option<&'a str>,
    part: Option<Part<'a>>,
}

struct Part<'a> {
    kind: Kind<'a>,
    line: usize,
    body: Vec<&'a str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind<'a> {
    Text,
    /// Up to its closing tag.
    Think,
    /// Up to an empty line.
    Thinking,
    /// A call of the named tool.
    Call(&'a str),
    Result(&'a str),
}

impl<'a> Messages<'a> {
    fn line(&mut self, number: usize, line: &'a str) {
        if self.role.is_none() {
            return;
        }
        // A prompt may quote a transcript.
        let opened = if self.role == Some("assistant") { opened(line) } else { None };
        let rest = match opened {
            Some((kind, rest)) => {
                self.begin(kind, number);
                rest
            }
            None => line,
        };
        match &mut self.part {
            None if rest.trim().is_empty() => return,
            None => self.begin(Kind::Text, number),
            Some(part) if part.kind == Kind::Thinking && rest.trim().is_empty() && !part.body.is_empty() => {
                return self.end();
            }
            Some(_) => {}
        }
        let Some(part) = &mut self.part else { return };
        match rest.split_once("</think>").filter(|_| part.kind == Kind::Think) {
            Some((thought, text)) => {
                part.body.push(thought);
                self.end();
                self.line(number, text);
            }
            None => part.body.push(rest),
        }
    }

    fn begin(&mut self, kind: Kind<'a>, line: usize) {
        self.end();
        self.part = Some(Part { kind, line, body: vec![] });
    }

    /// Ends the open part and writes it.
    fn end(&mut self) {
        let (Some(part), Some(role)) = (self.part.take(), self.role) else { return };
        let body = part.body.join("\n").trim().to_owned();
        let block = match part.kind {
            Kind::Call(name) => json!({"type": "tool_use", "name": name, "input": arguments(&part.body)}),
            _ if body.is_empty() => return,
            Kind::Text => json!({"type": "text", "text": body}),
            Kind::Think | Kind::Thinking => json!({"type": "thinking", "thinking": body}),
            Kind::Result(name) => json!({"type": "tool_result", "name": name, "content": body}),
        };
        let record = json!({"role": role, "message": {"content": [block]}});
        self.records.push_at(part.line, &record.to_string());
    }
}

/// Returns the kind of part that a line opens, and the text of the part on that line.
fn opened(line: &str) -> Option<(Kind<'_>, &str)> {
    if let Some(name) = line.strip_prefix("[Tool call] ") {
        Some((Kind::Call(name.trim()), ""))
    } else if let Some(name) = line.strip_prefix("[Tool result] ") {
        Some((Kind::Result(name.trim()), ""))
    } else if let Some(thought) = line.strip_prefix("[Thinking]") {
        Some((Kind::Thinking, thought))
    } else {
        Some((Kind::Think, line.strip_prefix("<think>")?))
    }
}

/// Reads lines such as `  path: src/a.ts`. A long value continues in lines without an indent; a line that repeats a key
/// is one of them.
fn arguments(body: &[&str]) -> Map<String, Value> {
    let mut values: Vec<(&str, String)> = Vec::new();
    for line in body {
        let new = key(line).filter(|(key, _)| values.iter().all(|(known, _)| known != key));
        match (new, values.last_mut()) {
            (Some((key, value)), _) => values.push((key, value.to_owned())),
            (None, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            (None, None) => {}
        }
    }
    values.into_iter().map(|(key, value)| (key.to_owned(), value.trim_end().into())).collect()
}

fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("  ")?.split_once(':')?;
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (key, value.strip_prefix(' ').unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_strips_generated_text() {
        let rows = [
            ("<user_query>\nfix the chart\n</user_query>", Some("fix the chart")),
            (
                "<attached_files>\n<code_selection>\n<user_query>\nno\n</user_query>\n</code_selection>\n</attached_files>\n\
                 <user_query>\nfix it\n</user_query>",
                Some("fix it"),
            ),
            (
                "<timestamp>Friday</timestamp>\n<user_query>a</user_query>\n<user_query>b</user_query>",
                Some("a\nb"),
            ),
            (
                "[Image]\n<image_files>\n1. /x.png\n</image_files>\n<user_query>\nlike this\n</user_query>",
                Some("like this"),
            ),
            ("[Image]\n<user_query>\n[Image]\n</user_query>", Some("[Image]")),
            ("<image_files>\n1. /x.png\n</image_files>\n<user_query>\n</user_query>", Some("[Image]")),
            ("plain words", Some("plain words")),
            ("<attached_files>\nx\n</attached_files>", None),
        ];
        for (text, expected) in rows {
            assert_eq!(prompt(Some(&Node::Text(text.into()))).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn may_have_run_compares_folder_names() {
        let log = Path::new("/h/.cursor/projects/home-a-my-proj/agent-transcripts/x.txt");
        let rows =
            [("/home/a/my-proj", true), ("/home/a/my.proj", true), ("/home/a/my", false), ("/", false)];
        for (folder, expected) in rows {
            assert_eq!(may_have_run_in(log, Path::new(folder)), expected, "{folder}");
        }
        let without = Path::new("/h/.cursor/projects/empty-window/agent-transcripts/x.txt");
        assert!(!may_have_run_in(without, Path::new("/home/a/my-proj")));
        for (folder, expected) in
            [("/home/a", true), ("/home/a/my", true), ("/home/a/my-proj", true), ("/home/a/my-proj/x", false)]
        {
            assert_eq!(may_have_run_below(log, Path::new(folder)), expected, "{folder}");
        }
        assert!(!may_have_run_below(without, Path::new("/home/a/my-proj")));
    }

    #[test]
    fn unfolded_part_keeps_its_line() {
        let text = "user:\nfix\nuser:\n\n\nassistant:\n<think>a\nb</think>Done.\n[Tool call] Write\n  path: a.ts\n  \
                    contents: x\n\ny\n\n[Tool result] Write\n\n[Thinking] more\n\nEnd.";
        let expected = [
            (2, r#"{"role":"user","message":{"content":[{"type":"text","text":"fix\nuser:"}]}}"#),
            (7, r#"{"role":"assistant","message":{"content":[{"type":"thinking","thinking":"a\nb"}]}}"#),
            (8, r#"{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#),
            (
                9,
                r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"path":"a.ts","contents":"x\n\ny"}}]}}"#,
            ),
            (17, r#"{"role":"assistant","message":{"content":[{"type":"thinking","thinking":"more"}]}}"#),
            (19, r#"{"role":"assistant","message":{"content":[{"type":"text","text":"End."}]}}"#),
        ];
        assert_eq!(unfolded(text).numbered(), expected);
        assert_eq!(unfolded(&text.replace('\n', "\r\n")).numbered(), expected);
    }

    #[test]
    fn unfolded_other_text_has_no_records() {
        assert_eq!(unfolded("hello\nworld\n").numbered(), []);
        assert_eq!(unfolded("").numbered(), []);
    }
}
