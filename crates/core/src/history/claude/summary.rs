//! Summarises a transcript from its head and tail, by the rules of Claude Code's own list.

use super::{
    super::{
        file,
        json::Node,
        lines::{self, Lines, OpenLog},
        source::{LogFile, millis},
        title::{self, TypedText},
        transcript::{Provider, Transcript},
    },
    line,
};
use crate::budget::Budget;
use std::{
    collections::{HashMap, HashSet},
    io::{self, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Bytes read at each end, as in Claude Code's own list.
const END_BYTES: u64 = 64 << 10;
/// Logs up to this size in bytes are read completely, so that turns can be counted.
const WHOLE_BYTES: u64 = 256 << 10;
/// A line that starts in the head is read to its end: a first prompt may include an image.
const MAX_LINE: usize = 4 << 20;
/// Maximum number of bytes read for the head, in case of a line without an end.
const HEAD_BYTES: u64 = 8 << 20;

pub(super) fn summarise(file: &LogFile, budget: &Budget) -> Transcript {
    let mut summary = Summary::empty(file);
    if summary.read(file, budget).is_err() {
        tracing::debug!(path = %file.path.display(), "a transcript could not be read");
    }
    summary.finish(file)
}

/// Returns the title in the log.
pub(super) fn given_title(file: &LogFile, budget: &Budget) -> Option<String> {
    let mut summary = Summary::empty(file);
    summary.read(file, budget).ok()?;
    summary.given(file)
}

struct Summary {
    row: Transcript,
    lines: u64,
    starts_in_sidechain: bool,
    custom_title: Option<String>,
    ai_title: Option<String>,
    /// Summaries with the id of their line, in order.
    summaries: Vec<(Option<u64>, String)>,
    /// Hashed ids of the lines that were read.
    own_lines: HashSet<u64>,
    first_prompt: Option<String>,
    first_command: Option<String>,
    last_prompt: Option<String>,
    own_turns: u64,
    copied_turns: u64,
    /// Tokens by message: each block of a message repeats its usage, and the last one is correct.
    usage: HashMap<String, u64>,
}

impl Summary {
    fn empty(file: &LogFile) -> Self {
        Self {
            row: file.unread(Provider::ClaudeCode),
            lines: 0,
            starts_in_sidechain: false,
            custom_title: None,
            ai_title: None,
            summaries: vec![],
            own_lines: HashSet::new(),
            first_prompt: None,
            first_command: None,
            last_prompt: None,
            own_turns: 0,
            copied_turns: 0,
            usage: HashMap::new(),
        }
    }

    fn read(&mut self, file: &LogFile, budget: &Budget) -> io::Result<()> {
        let whole = file.stamp.size <= WHOLE_BYTES;
        let tail_from = file.stamp.size.saturating_sub(END_BYTES);
        let mut lines = Lines::new(lines::open(&file.path)?, MAX_LINE, HEAD_BYTES);
        while whole || lines.position() < END_BYTES {
            let Some(line) = lines.next(budget)? else {
                let extent = lines.extent();
                if extent.capped {
                    break;
                }
                if !extent.stopped {
                    self.count();
                }
                return Ok(());
            };
            let part = Part { head: line.offset < END_BYTES, tail: line.offset >= tail_from };
            self.line(line.bytes, line.complete, part);
        }
        let (position, capped) = (lines.position(), lines.extent().capped);
        let OpenLog::Plain(mut log) = lines.into_reader() else { return Ok(()) };
        let from = position.max(tail_from);
        log.seek(SeekFrom::Start(from))?;
        let mut lines = Lines::new(log, MAX_LINE, END_BYTES * 2);
        let mut torn = capped || from > position;
        while let Some(line) = lines.next(budget)? {
            if !std::mem::take(&mut torn) {
                self.line(line.bytes, line.complete, Part { head: false, tail: true });
            }
        }
        Ok(())
    }

    fn count(&mut self) {
        // In a renamed log all lines are copies; then every turn counts.
        let turns = if self.own_turns > 0 { self.own_turns } else { self.copied_turns };
        self.row.user_turns = Some(turns);
        self.row.tokens = (!self.usage.is_empty()).then(|| self.usage.values().sum());
    }

    fn line(&mut self, bytes: &[u8], complete: bool, part: Part) {
        let Some(node) = Node::parse_object(bytes) else {
            self.row.bad_lines += u64::from(complete);
            return;
        };
        self.lines += 1;
        if self.lines == 1 {
            self.starts_in_sidechain = node.flag("isSidechain");
        }
        self.own_lines.extend(node.text("uuid").map(line::hash));
        let row = &mut self.row;
        if part.head && row.created_at.is_none() {
            row.created_at = millis(node.get("timestamp"));
        }
        if row.cwd.is_none() {
            row.cwd = node.text("cwd").filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        }
        if let Some(branch) = node.text("gitBranch").filter(|branch| !branch.is_empty())
            && (part.tail || row.branch.is_none())
        {
            row.branch = Some(branch.to_owned());
        }
        let newer = |new: Option<&str>, old: &mut Option<String>| {
            if let Some(new) = title::given(new) {
                *old = Some(new);
            }
        };
        match node.text("type").unwrap_or_default() {
            "custom-title" => newer(node.text("customTitle"), &mut self.custom_title),
            "ai-title" => newer(node.text("aiTitle"), &mut self.ai_title),
            "summary" if part.tail => {
                let text = title::given(node.text("summary"));
                self.summaries.extend(text.map(|text| (node.text("leafUuid").map(line::hash), text)));
            }
            "last-prompt" if part.tail => newer(node.text("lastPrompt"), &mut self.last_prompt),
            "user" => self.user(&node, part),
            "assistant" => self.assistant(&node),
            _ => {}
        }
    }

    fn user(&mut self, node: &Node<'_>, part: Part) {
        if !line::is_persons(node) {
            return;
        }
        let mut prompted = false;
        for block in line::texts(node) {
            match title::said(block) {
                TypedText::Prompt(text) => {
                    prompted = true;
                    if part.head && self.first_prompt.is_none() {
                        self.first_prompt = Some(title::one_line(&text));
                    }
                }
                TypedText::Command(name) if part.head && self.first_command.is_none() => {
                    self.first_command = Some(title::one_line(name));
                }
                TypedText::Command(_) | TypedText::Nothing => {}
            }
        }
        if prompted && !node.flag("isSidechain") {
            let own = node.text("sessionId").is_none_or(|id| id == self.row.id);
            *(if own { &mut self.own_turns } else { &mut self.copied_turns }) += 1;
        }
    }

    fn assistant(&mut self, node: &Node<'_>) {
        let Some(message) = node.get("message") else { return };
        if let Some(model) = message.text("model").filter(|model| *model != "<synthetic>") {
            self.row.model = Some(model.to_owned());
        }
        let Some(usage) = message.get("usage") else { return };
        let parts =
            ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let tokens = parts.iter().filter_map(|part| usage.count(part)).sum();
        let id = message.text("id").unwrap_or_default();
        let request = node.text("requestId").unwrap_or_default();
        self.usage.insert(format!("{id} {request}"), tokens);
    }

    fn given(&mut self, file: &LogFile) -> Option<String> {
        let described = || if file.subagent { description(&file.path) } else { None };
        let given = self.custom_title.take().or(self.ai_title.take()).or_else(described);
        // Old logs start with summaries of other sessions, which refer to lines of other logs.
        let own = |(leaf, _): &(Option<u64>, String)| leaf.is_none_or(|leaf| self.own_lines.contains(&leaf));
        given.or_else(|| self.summaries.iter().rfind(|summary| own(summary)).map(|(_, text)| text.clone()))
    }

    fn finish(mut self, file: &LogFile) -> Transcript {
        let given = self.given(file);
        // Claude Code's picker prefers the last prompt, but a title in our list should not change with every turn.
        self.row.title = given.or(self.first_prompt).or(self.first_command).or(self.last_prompt);
        self.row.subagent = file.subagent || self.starts_in_sidechain;
        self.row.hidden = self.row.subagent || self.row.title.is_none();
        self.row
    }
}

/// The ends of the file that contain a line.
#[derive(Debug, Clone, Copy)]
struct Part {
    head: bool,
    tail: bool,
}

/// Returns the task of a sub-agent, from the file next to its log (2.1 and later).
fn description(log: &Path) -> Option<String> {
    let text = file::read(&log.with_extension("meta.json"), END_BYTES)?;
    title::given(Node::parse_object(&text)?.text("description"))
}
