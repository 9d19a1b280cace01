//! The session files of Gemini CLI, which Qwen Code also wrote until 2025: one message is one record after folding.
//!
//! Format: `packages/core/src/services/chatRecordingService.ts` of google-gemini/gemini-cli. The same message is
//! appended again whenever it changes, and a rewind drops the end.

use super::{
    calls::{self, FileTools},
    folder::{entries, paths},
    records::Records,
};
use crate::{
    history::{
        log::{
            decoder::{Decoder, SessionFacts, records},
            event::{Event, EventKind, TitleRank},
            json::Node,
            lines::OpenLog,
            log_file::{LogFile, millis},
            title,
        },
        transcript::SessionFiles,
    },
    limits,
};
use openagents_core::{budget::Budget, file, text::joined};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Start of the summary of a compressed conversation, sent in the user's name (0.61).
const SNAPSHOT: &str = "<state_snapshot>";

/// The answer that follows such a summary.
const ACKNOWLEDGED: &str = "Got it. Thanks for the additional context!";

/// Start of the message about a command that the user ran with `!`.
const COMMAND: &str = "I ran the following shell command:";

pub(crate) struct ChatDecoder {
    facts: SessionFacts,
}

impl ChatDecoder {
    pub(crate) fn new(cwd: Option<PathBuf>) -> Self {
        Self { facts: SessionFacts { cwd, ..SessionFacts::default() } }
    }

    /// Reads a line about the whole session, or a change of it.
    fn session(&mut self, node: &Node<'_>, number: u64) -> Vec<Event> {
        let facts = &mut self.facts;
        facts.subagent |= node.text("kind") == Some("subagent");
        if let Some(id) = node.text("sessionId") {
            facts.id = Some(id.to_owned());
        }
        // Each resume writes another header.
        facts.created_at = [millis(node.get("startTime")), facts.created_at].into_iter().flatten().min();
        facts.updated_at = facts.updated_at.max(millis(node.get("lastUpdated")));
        if facts.cwd.is_none() {
            facts.cwd =
                node.get("directories").and_then(|all| all.items().first()?.as_str()).map(PathBuf::from);
        }
        // The summary of a sub-agent is its answer.
        let summary = title::given(node.text("summary")).filter(|_| !facts.subagent);
        summary
            .into_iter()
            .map(|text| Event::new(number, None, EventKind::Title(TitleRank::Summary), text))
            .collect()
    }

    fn answer(&mut self, node: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
        if let Some(model) = node.text("model") {
            self.facts.model = Some(model.to_owned());
        }
        if let Some(tokens) = node.get("tokens").and_then(|tokens| tokens.count("total")) {
            self.facts.tokens = Some(self.facts.tokens.unwrap_or(0) + tokens);
        }
        let mut events = Vec::new();
        for thought in node.get("thoughts").map_or(&[][..], Node::items) {
            let text = joined([thought.text("subject"), thought.text("description")].into_iter().flatten());
            events.push(Event::new(number, at, EventKind::Thinking, text));
        }
        events.push(Event::new(number, at, EventKind::Assistant, joined(content(node))));
        for call in node.get("toolCalls").map_or(&[][..], Node::items) {
            let at = millis(call.get("timestamp")).or(at);
            self.facts.updated_at = self.facts.updated_at.max(at);
            let id = call.text("id");
            events.push(TOOLS.call(number, at, id, call.text("name").unwrap_or("tool"), call.get("args")));
            let succeeded = match call.text("status") {
                Some("success") => true,
                Some("error" | "cancelled") => false,
                _ => continue,
            };
            events.push(calls::result(number, at, id, output(call), Some(succeeded)));
        }
        events.retain(|event| {
            !event.text.trim().is_empty() || matches!(event.kind, EventKind::ToolCall { .. })
        });
        events
    }
}

impl Decoder for ChatDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        if let Some(change) = node.get("$set") {
            return Some(self.session(change, number));
        }
        let Some(kind) = node.text("type") else { return Some(self.session(node, number)) };
        let at = millis(node.get("timestamp"));
        self.facts.updated_at = self.facts.updated_at.max(at);
        Some(match kind {
            "user" => user(node, number, at).into_iter().collect(),
            // Follows a compressed conversation.
            "gemini" if content(node) == [ACKNOWLEDGED] => vec![],
            "gemini" | "qwen" => self.answer(node, number, at),
            _ => vec![],
        })
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn content<'a>(node: &'a Node<'a>) -> Vec<&'a str> {
    node.get("content").map(texts).unwrap_or_default()
}

fn texts<'a>(content: &'a Node<'a>) -> Vec<&'a str> {
    let parts = content.items().iter().filter_map(|part| part.text("text").or(part.as_str()));
    content.as_str().into_iter().chain(parts).collect()
}

/// Returns the event of a message in the user's name: a prompt, or the summary that replaces the conversation so far.
fn user(node: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
    let sent = content(node);
    if let Some(summary) = sent.first().filter(|text| text.trim_start().starts_with(SNAPSHOT)) {
        return Some(Event::new(number, at, EventKind::Compaction, *summary));
    }
    // The text as it was typed, if a command or a warning replaced it.
    let typed = node.get("displayContent").map(texts).filter(|typed| !typed.is_empty());
    let is_command = |text: &&str| text.starts_with(COMMAND);
    let text = prompt(typed.unwrap_or(sent).into_iter().filter(|text| !is_command(text)))?;
    Some(Event::new(number, at, EventKind::Prompt, text))
}

fn output(call: &Node<'_>) -> String {
    joined(call.get("result").map_or(&[][..], Node::items).iter().filter_map(response))
}

/// File in a project's folder with the path of its workspace.
const WORKSPACE: &str = ".project_root";

/// Finds sessions: `tmp/<project>/chats/session-<time>-<start of id>.json` or `.jsonl`, and those of sub-agents in
/// `chats/<id of the parent>/`. A resumed session has several files with the same start of its id.
pub(crate) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for project in paths(&root.join("tmp"), budget) {
        let mut found = Vec::new();
        chats(&project.join("chats"), false, budget, &mut found);
        files.extend(sessions(found));
    }
    files
}

/// Joins the files of each session of a project, oldest first: their names begin with the time.
fn sessions(mut files: Vec<LogFile>) -> Vec<LogFile> {
    let mut sessions: Vec<Vec<LogFile>> = Vec::new();
    let mut places: HashMap<(String, bool), Vec<usize>> = HashMap::new();
    files.sort_by_cached_key(|file| file.path.file_name().map(ToOwned::to_owned));
    for file in files {
        let known = places.entry((file.id.clone(), file.subagent)).or_default();
        // Eight characters are not the whole id.
        let same = known.iter().copied().find(|place| is_same_session(&sessions[*place][0], &file));
        match same {
            Some(place) => sessions[place].push(file),
            None => {
                known.push(sessions.len());
                sessions.push(vec![file]);
            }
        }
    }
    sessions.into_iter().filter_map(LogFile::joined).collect()
}

fn is_same_session(file: &LogFile, other: &LogFile) -> bool {
    match (session_id(&file.path), session_id(&other.path)) {
        (Some(id), Some(other)) => id == other,
        _ => file.path.with_extension("") == other.path.with_extension(""),
    }
}

fn session_id(log: &Path) -> Option<String> {
    let mut head = Vec::new();
    file::open(log).ok()?.take(limits::CHAT_HEAD).read_to_end(&mut head).ok()?;
    let text = file::text(&head);
    let (_, rest) = text.split_once("\"sessionId\"")?;
    let id = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    Some(id.split_once('"')?.0.to_owned())
}

fn chats(folder: &Path, subagents: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    for (path, name) in entries(folder, budget) {
        let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"));
        match stem {
            Some(stem) if subagents => files.extend(LogFile::stat(path, stem, true, false)),
            Some(stem) if stem.starts_with("session-") => {
                let id = stem.rsplit('-').next().unwrap_or(stem);
                files.extend(LogFile::stat(path, id, false, false));
            }
            Some(_) => {}
            None if !subagents => chats(&path, true, budget, files),
            None => {}
        }
    }
}

fn project(log: &Path) -> Option<&Path> {
    log.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "chats"))?.parent()
}

/// Returns the files with the workspace of a session.
pub(super) fn beside(log: &Path) -> Vec<PathBuf> {
    let Some(project) = project(log) else { return vec![] };
    let table = project.parent().and_then(Path::parent).map(|root| root.join("projects.json"));
    let own = project.join(WORKSPACE);
    if own.exists() { vec![own] } else { table.into_iter().collect() }
}

/// Returns the workspace of a session, from its project's folder or from the table of all projects.
pub(crate) fn workspace(log: &Path) -> Option<PathBuf> {
    let project = project(log)?;
    if let Some(bytes) = file::read_bounded(&project.join(WORKSPACE), limits::GIT_FILE) {
        let path = file::text(&bytes).trim().to_owned();
        return (!path.is_empty()).then(|| PathBuf::from(path));
    }
    let bytes = file::read_bounded(&project.parent()?.parent()?.join("projects.json"), limits::CODEX_NAMES)?;
    let text = file::text(&bytes);
    let table = Node::parse_object(&text)?;
    let slug = project.file_name()?.to_str()?;
    let row = table.get("projects")?.fields().iter().find(|(_, name)| name.as_str() == Some(slug))?;
    Some(PathBuf::from(row.0.as_ref()))
}

/// A line of a JSONL file, or a whole JSON file.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    /// All messages, in a JSON file.
    #[serde(default, borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow, rename = "$set")]
    set: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "$rewindTo")]
    rewind_to: Option<Cow<'a, str>>,
}

/// The messages of a session, in the order in which each was first written.
#[derive(Default)]
struct Folded {
    messages: Vec<Message>,
    places: HashMap<String, usize>,
    others: Vec<String>,
}

struct Message {
    id: String,
    text: String,
    /// Comes after a message to which the user rewound.
    undone: bool,
}

/// Opens a session. `gemini --resume` starts another file, which stays empty or repeats the whole session: messages are
/// joined by their ids.
pub(crate) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    let mut session = Folded::default();
    let mut failed = None;
    for path in files.oldest_first() {
        match file::read_document(path, limits::DOCUMENT) {
            Ok(bytes) => session.join(Folded::parse(&file::text(&bytes))),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if session.messages.is_empty() && session.others.is_empty() => Err(error),
        _ => Ok(session.into_log()),
    }
}

impl Folded {
    fn parse(text: &str) -> Self {
        let mut folded = Self::default();
        let text = text.trim_matches(['\u{feff}', '\0']);
        match serde_json::from_str::<Entry<'_>>(text) {
            Ok(document) => folded.entry(text, document),
            Err(_) => {
                for line in text.lines().map(|line| line.trim_matches(['\u{feff}', '\0'])) {
                    match serde_json::from_str(line) {
                        Ok(entry) => folded.entry(line, entry),
                        Err(_) if line.trim().is_empty() => {}
                        Err(_) => {
                            let (records, is_broken) = records(line);
                            for record in &records {
                                if let Ok(entry) = serde_json::from_str(record) {
                                    folded.entry(record, entry);
                                }
                            }
                            // The rest counts as a bad line.
                            folded.others.extend(is_broken.then(|| line.to_owned()));
                        }
                    }
                }
            }
        }
        folded
    }

    fn entry(&mut self, text: &str, entry: Entry<'_>) {
        if let Some(messages) = entry.messages {
            self.checkpoint(&messages);
            self.others.push(text.to_owned());
        } else if let Some(set) = entry.set {
            if let Ok(Entry { messages: Some(messages), .. }) = serde_json::from_str(set.get()) {
                self.checkpoint(&messages);
            }
            self.others.push(text.to_owned());
        } else if let Some(id) = entry.rewind_to {
            // Rewinding to an unknown message undoes all of them.
            let kept = self.places.get(id.as_ref()).copied().unwrap_or(0);
            self.messages[kept..].iter_mut().for_each(|message| message.undone = true);
        } else if let Some(id) = entry.id {
            self.message(&id, text);
        } else {
            self.others.push(text.to_owned());
        }
    }

    /// Adds all messages that the agent has now. Messages that it left out were compressed, but they did happen.
    fn checkpoint(&mut self, messages: &[&RawValue]) {
        let parsed: Vec<(String, &str)> = messages
            .iter()
            .filter_map(|message| match serde_json::from_str(message.get()) {
                Ok(Entry { id: Some(id), .. }) => Some((id.into_owned(), message.get())),
                _ => None,
            })
            .collect();
        let is_known = |folded: &Self, id: &str| folded.places.contains_key(id);
        if !self.messages.is_empty() && parsed.iter().any(|(id, _)| !is_known(self, id)) {
            // A resumed session may use other ids.
            let kept: HashSet<&str> = parsed.iter().map(|(id, _)| id.as_str()).collect();
            let mut same: HashMap<(String, String), VecDeque<usize>> = HashMap::new();
            for (place, message) in self.messages.iter().enumerate().filter(|(_, it)| !it.undone) {
                if !kept.contains(message.id.as_str()) {
                    same.entry(kind_and_text(&message.text)).or_default().push_back(place);
                }
            }
            for (id, text) in &parsed {
                if is_known(self, id) {
                    continue;
                }
                let content = kind_and_text(text);
                if content.1.is_empty() {
                    continue;
                }
                if let Some(place) = same.get_mut(&content).and_then(VecDeque::pop_front) {
                    self.places.insert(id.clone(), place);
                }
            }
        }
        for (id, text) in parsed {
            self.message(&id, text);
        }
    }

    /// Keeps the last version of a message, in the position of the first.
    fn message(&mut self, id: &str, text: &str) {
        let text = text.to_owned();
        match self.places.get(id) {
            Some(place) => {
                let id = std::mem::take(&mut self.messages[*place].id);
                self.messages[*place] = Message { id, text, undone: false };
            }
            None => {
                self.places.insert(id.to_owned(), self.messages.len());
                self.messages.push(Message { id: id.to_owned(), text, undone: false });
            }
        }
    }

    fn join(&mut self, later: Self) {
        for Message { id, text, undone } in later.messages {
            self.message(&id, &text);
            if let Some(message) = self.places.get(&id).and_then(|place| self.messages.get_mut(*place)) {
                message.undone = undone;
            }
        }
        self.others.extend(later.others);
    }

    fn into_log(self) -> OpenLog {
        let mut records = Records::default();
        for message in &self.messages {
            records.set_taken_back(message.undone);
            records.push(&message.text);
        }
        records.set_taken_back(false);
        self.others.iter().for_each(|line| records.push(line));
        records.into_log()
    }
}

fn kind_and_text(message: &str) -> (String, String) {
    let node = Node::parse_object(message);
    let text = |key| node.as_ref().and_then(|node| node.get(key)).map(Node::flattened).unwrap_or_default();
    (text("type"), text("content"))
}

pub(super) const TOOLS: FileTools =
    FileTools { reads: &["read_file", "read_many_files"], edits: &["replace", "write_file", "edit"] };

const REFERENCED: &str = "--- Content from referenced files ---";

/// Returns the prompt that the user typed; `None` for a slash command and for text added by the agent.
pub(crate) fn prompt<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let own = texts.into_iter().map(|text| text.split(REFERENCED).next().unwrap_or(text));
    title::prompt(own).filter(|text| !text.starts_with(['/', '?']))
}

/// Returns the result in a part, of a call that succeeded or failed.
pub(crate) fn response<'a>(part: &'a Node<'a>) -> Option<&'a str> {
    let response = part.get("functionResponse")?.get("response")?;
    response.text("output").or_else(|| response.text("error"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Returns the lines; a dash marks those that were undone.
    fn folded(files: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> =
            (0..files.len()).map(|at| folder.path().join(format!("session-{at}.jsonl"))).collect();
        for (path, text) in paths.iter().zip(files) {
            std::fs::write(path, text).unwrap();
        }
        let (newest, earlier) = paths.split_last().unwrap();
        let mut log = open(SessionFiles { newest, earlier }).unwrap();
        let undone = log.undone();
        let (mut text, mut lines, mut offset) = (String::new(), String::new(), 0);
        log.read_to_string(&mut text).unwrap();
        for line in text.split_inclusive('\n') {
            lines.push_str(if undone.contains(offset) { "-" } else { "" });
            lines.push_str(line);
            offset += line.len() as u64;
        }
        lines
    }

    #[test]
    fn fold_joins_versions_of_message() {
        let first = r#"{"id":"1","v":1}"#;
        let again = r#"{"id":"1","v":2}"#;
        let second = r#"{"id":"2"}"#;
        let set = r#"{"$set":{"messages":[{"id":"9"}]}}"#;
        let rewind = |id: &str| format!(r#"{{"$rewindTo":"{id}"}}"#);
        let rows: [(&[&str], &str); 8] = [
            (&[first, second, again], "{\"id\":\"1\",\"v\":2}\n{\"id\":\"2\"}\n"),
            (&[first, second, &rewind("2")], "{\"id\":\"1\",\"v\":1}\n-{\"id\":\"2\"}\n"),
            (&[first, second, &rewind("7")], "-{\"id\":\"1\",\"v\":1}\n-{\"id\":\"2\"}\n"),
            (&[second, &rewind("2"), second], "{\"id\":\"2\"}\n"),
            // Compressed messages stay.
            (&[first, set], &format!("{{\"id\":\"1\",\"v\":1}}\n{{\"id\":\"9\"}}\n{set}\n")),
            (&["{\"sessionId\":\"s\"}", first], "{\"id\":\"1\",\"v\":1}\n{\"sessionId\":\"s\"}\n"),
            (&["{", first], "{\"id\":\"1\",\"v\":1}\n{\n"),
            (
                &[&format!("{{\"id\":\"cut{first}")],
                "{\"id\":\"1\",\"v\":1}\n{\"id\":\"cut{\"id\":\"1\",\"v\":1}\n",
            ),
        ];
        for (lines, expected) in rows {
            assert_eq!(folded(&[&lines.join("\n")]), expected, "{lines:?}");
        }
        let document = "{\n \"sessionId\": \"s\",\n \"messages\": [{\n \"id\": \"1\"}]}";
        assert_eq!(folded(&[document]).lines().next(), Some("{  \"id\": \"1\"}"));
    }

    #[test]
    fn open_joins_files_by_message_ids() {
        let message = |id: &str, text: &str| format!(r#"{{"id":"{id}","type":"user","content":"{text}"}}"#);
        let (a, b, c) = (message("1", "a"), message("2", "b"), message("3", "c"));
        let head = r#"{"sessionId":"s"}"#;
        let whole = format!("{head}\n{{\"$set\":{{\"messages\":[{a},{b}]}}}}\n{c}\n");
        let ids = |files: &[&str]| {
            let lines = folded(files);
            lines
                .lines()
                .filter(|line| line.contains("content"))
                .filter(|line| !line.contains("$set"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let older = format!("{a}\n{b}\n");
        assert_eq!(ids(&[&older, head]), [a.clone(), b.clone()]);
        assert_eq!(ids(&[&older, &whole]), [a.clone(), b.clone(), c.clone()]);
        let rewound = format!("{whole}{{\"$rewindTo\":\"2\"}}\n");
        assert_eq!(ids(&[&older, &rewound]), [a.clone(), format!("-{b}"), format!("-{c}")]);
        // Other ids for the same messages.
        let (a2, b2) = (message("7", "a"), message("8", "b"));
        let renamed = format!("{older}{{\"$set\":{{\"messages\":[{a2},{b2}]}}}}\n{c}\n");
        assert_eq!(ids(&[&renamed]), [a2, b2, c]);
    }
}
