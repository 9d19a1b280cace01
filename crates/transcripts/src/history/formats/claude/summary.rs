//! Summarises a transcript from its head and tail, by the rules of Claude Code's own list.

use super::decoder;
use crate::{
    history::{
        log::{
            decoder::records,
            json::Node,
            known::LogSurvey,
            lines::{self, Lines, LogLine},
            log_file::{LogFile, Summarised, dated_origin, millis, origin},
            title::{self, TypedText},
            tree::Branches,
        },
        transcript::{Provider, Transcript},
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
};

pub(crate) fn summarise(file: &LogFile, budget: &Budget) -> Summarised {
    let mut summary = Summary {
        row: file.unread(Provider::ClaudeCode),
        survey: LogSurvey::new(Provider::ClaudeCode),
        branches: Branches::new(decoder::TREE),
        prompts: Vec::new(),
        last_at: None,
        original: None,
        worktree: None,
        tail_from: file.stamp.size.saturating_sub(limits::SUMMARY_END),
        starts_in_sidechain: None,
        marked: false,
        spoken: false,
        read_whole: false,
        custom_title: None,
        ai_title: None,
        summaries: vec![],
        own_lines: HashSet::new(),
        last_prompt: None,
        usage: HashMap::new(),
    };
    if summary.read_log(file, budget).is_err() {
        tracing::debug!(path = %file.path.display(), "a transcript could not be read");
    }
    summary.finish(file)
}

struct Summary {
    row: Transcript,
    survey: LogSurvey,
    branches: Branches,
    /// Prompts that the user undid don't count. Which ones they are is known only at the end of the log.
    prompts: Vec<Prompt>,
    last_at: Option<i64>,
    original: Option<String>,
    /// Name of the worktree that Claude Code made for the session.
    worktree: Option<String>,
    tail_from: u64,
    starts_in_sidechain: Option<bool>,
    marked: bool,
    spoken: bool,
    read_whole: bool,
    custom_title: Option<String>,
    ai_title: Option<String>,
    /// Summaries with the id of their line, in order.
    summaries: Vec<(Option<u64>, String)>,
    /// Hashed ids of the lines that were read.
    own_lines: HashSet<u64>,
    last_prompt: Option<String>,
    /// Tokens by message: each block of a message repeats its usage, and the last one is correct.
    usage: HashMap<String, u64>,
}

struct Prompt {
    /// Byte offset of the line.
    offset: u64,
    is_copy: bool,
    turn: Turn,
    /// The first text and the first command in it, if it is in the head.
    text: Option<String>,
    command: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Own,
    /// A turn of another session.
    Copied,
    /// Not a turn: a command, or a task of a sub-agent.
    None,
}

impl Summary {
    fn read_log(&mut self, file: &LogFile, budget: &Budget) -> io::Result<()> {
        let is_short = file.stamp.size <= limits::SUMMARY_WHOLE;
        let mut lines = Lines::new(lines::open(&file.path)?, limits::SUMMARY_LINE, limits::SUMMARY_HEAD);
        let mut has_gap = false;
        while is_short || lines.position() < limits::SUMMARY_WHOLE {
            let Some(line) = lines.next(budget)? else {
                let extent = lines.extent();
                if extent.capped {
                    break;
                }
                self.read_whole = !extent.stopped && !has_gap;
                return Ok(());
            };
            self.branches.add(line.offset, line.bytes);
            // Between head and tail of a long log, only the tree is read.
            if is_short || line.offset < limits::SUMMARY_END || line.offset >= self.tail_from {
                self.line(line);
            } else {
                has_gap = true;
            }
        }
        if let Some(mut tail) = lines.tail(limits::SUMMARY_END)? {
            while let Some(line) = tail.next(budget)? {
                self.line(line);
            }
        }
        Ok(())
    }

    fn line(&mut self, line: LogLine<'_>) {
        let text = line.text();
        if let Some(node) = Node::parse_object(&text) {
            return self.record(&line, &node);
        }
        let (records, is_broken) = records(&text);
        for node in records.into_iter().filter_map(Node::parse_object) {
            self.record(&line, &node);
        }
        self.row.bad_lines += u64::from(is_broken && line.complete);
    }

    fn record(&mut self, line: &LogLine<'_>, node: &Node<'_>) {
        self.survey.check("", node);
        let (in_head, in_tail) = (line.offset < limits::SUMMARY_END, line.offset >= self.tail_from);
        self.starts_in_sidechain.get_or_insert_with(|| node.flag("isSidechain"));
        let at = millis(node.get("timestamp"));
        self.last_at = self.last_at.max(at);
        let id = node.text("uuid").map(origin);
        if id.is_some_and(|id| !self.own_lines.insert(id)) {
            // A branch may hold each record twice.
            return;
        }
        self.original = self.original.take().or_else(|| decoder::original(node, &self.row.id));
        let row = &mut self.row;
        row.first_line = row.first_line.or_else(|| dated_origin(node.text("uuid"), at));
        if in_head && row.created_at.is_none() {
            row.created_at = at;
        }
        if row.cwd.is_none() {
            row.cwd = node.text("cwd").filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        }
        if let Some(branch) = node.text("gitBranch").filter(|branch| !branch.is_empty())
            && (in_tail || row.branch.is_none())
        {
            row.branch = Some(branch.to_owned());
        }
        let newer = |key, old: &mut Option<String>| *old = title::given(node.text(key)).or(old.take());
        match node.text("type").unwrap_or_default() {
            "custom-title" => newer("customTitle", &mut self.custom_title),
            "worktree-state" => {
                let session = node.get("worktreeSession").unwrap_or(node);
                self.worktree = title::given(session.text("worktreeName")).or(self.worktree.take());
            }
            "ai-title" => newer("aiTitle", &mut self.ai_title),
            "summary" if in_tail => {
                let text = title::given(node.text("summary"));
                self.summaries.extend(text.map(|text| (node.text("leafUuid").map(origin), text)));
            }
            "last-prompt" if in_tail => newer("lastPrompt", &mut self.last_prompt),
            "assistant" => self.assistant(node),
            _ => {}
        }
        self.spoken |= matches!(node.text("type"), Some("user" | "assistant"));
        self.marked |= decoder::is_marked(node);
        if let Some(blocks) = decoder::prompt(node, self.marked) {
            self.prompt(line.offset, node, &blocks);
        }
    }

    fn prompt(&mut self, offset: u64, node: &Node<'_>, blocks: &[&str]) {
        let (mut text, mut command) = (None, None);
        for block in blocks {
            match title::typed_text(block) {
                TypedText::Prompt(prompt) => text = text.or(Some(prompt)),
                TypedText::Command(name) => command = command.or(Some(name)),
                TypedText::Nothing => {}
            }
        }
        let is_own = node.text("sessionId").is_none_or(|id| id == self.row.id);
        let turn = match text.is_some() && !node.flag("isSidechain") {
            true if is_own => Turn::Own,
            true => Turn::Copied,
            false => Turn::None,
        };
        let in_head = |text: Option<&str>| text.filter(|_| offset < limits::SUMMARY_END).map(title::one_line);
        self.prompts.push(Prompt {
            offset,
            is_copy: decoder::original(node, &self.row.id).is_some(),
            turn,
            text: in_head(text),
            command: in_head(command),
        });
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

    fn finish(mut self, file: &LogFile) -> Summarised {
        let undone = self.branches.undone(file.files());
        self.prompts.retain(|prompt| !undone.contains(prompt.offset));
        let turns = |turn: Turn| self.prompts.iter().filter(|prompt| prompt.turn == turn).count() as u64;
        let (own_turns, copied_turns) = (turns(Turn::Own), turns(Turn::Copied));
        if self.read_whole {
            // In a renamed log all lines are copies, so every turn counts.
            self.row.user_turns = Some(if own_turns > 0 { own_turns } else { copied_turns });
            self.row.tokens = (!self.usage.is_empty()).then(|| self.usage.values().sum());
        }
        let first = |is_copy: bool| {
            self.prompts.iter().filter(|it| it.is_copy == is_copy).find_map(|it| it.text.clone())
        };
        let first_command = || self.prompts.iter().find_map(|it| it.command.clone());
        let described = || if file.subagent { description(&file.path) } else { None };
        // Claude Code names a session after its worktree.
        let named = self.custom_title.filter(|name| self.worktree.as_ref() != Some(name));
        let given_title = named.or(self.ai_title).or_else(described);
        // Old logs start with summaries of other sessions, which refer to lines of other logs.
        let own = |(leaf, _): &(Option<u64>, String)| leaf.is_none_or(|leaf| self.own_lines.contains(&leaf));
        let given_title = given_title.or_else(|| Some(self.summaries.into_iter().rfind(own)?.1));
        // Claude Code's picker prefers the last prompt, but a title in our list should not change with every turn. A
        // copy is better identified by its new prompts.
        let prompted = first(false).or_else(|| first(true)).or_else(first_command).or(self.last_prompt);
        self.row.named = given_title.is_some();
        self.row.title = given_title.clone().or(prompted);
        self.row.updated_at = self.last_at.unwrap_or(self.row.updated_at);
        self.row.continues = self.original.filter(|_| !file.subagent && own_turns > 0);
        self.row.subagent = file.subagent || self.starts_in_sidechain == Some(true);
        // A log may contain only a title; whether it does is unknown unless it was read whole.
        let silent = self.row.user_turns.is_some() && !self.spoken;
        self.row.hidden = self.row.subagent || self.row.title.is_none() || silent;
        (self.row.version, self.row.unknown) = (self.survey.version, self.survey.unknown);
        Summarised { row: self.row, given_title }
    }
}

/// Returns the task of a sub-agent, from the file next to its log (2.1 and later).
fn description(log: &Path) -> Option<String> {
    let bytes = file::read_bounded(&log.with_extension("meta.json"), limits::SUMMARY_END)?;
    title::given(Node::parse_object(&file::text(&bytes))?.text("description"))
}
