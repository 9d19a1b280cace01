//! Summarises a rollout from its head and tail, by the rules of Codex's own list (`rollout/src/list.rs`).

use super::{
    record::{self, Item, Stream},
    undone,
};
use crate::{
    history::{
        log::{
            decoder::records,
            json::Node,
            known::LogSurvey,
            lines::{self, Lines, LogLine},
            log_file::{Locate, LogFile, Summarised, is_uuid, millis},
            title,
            undone::UndoneLines,
        },
        transcript::{Provider, Transcript},
    },
    limits,
};
use openagents_core::budget::Budget;
use std::{io, path::PathBuf};

pub(crate) fn summarise(file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Summarised {
    let mut summary = Summary {
        row: file.unread(Provider::Codex),
        survey: LogSurvey::new(Provider::Codex),
        undone: undone::undone(file.files(), 0..limits::SUMMARY_WHOLE, budget),
        last_at: None,
        head_seen: false,
        bare: false,
        interactive: true,
        attached: false,
        parent: None,
        prompts: [None, None, None],
        turns: [0; 3],
        name: None,
        goal: None,
        context_cwd: None,
        copied_tokens: 0,
        own_from: 0,
        own_ordinal: 0,
    };
    // A missing or unreadable log still yields a row: its name contains the time and the session id.
    if summary.read_log(file, locate, budget).is_err() {
        tracing::debug!(path = %file.path.display(), "a rollout could not be read");
    }
    summary.finish(file)
}

struct Summary {
    row: Transcript,
    survey: LogSurvey,
    undone: UndoneLines,
    /// Milliseconds since the epoch: the newest time of a record.
    last_at: Option<i64>,
    /// A header of this session was seen, and whether it was a bare item.
    head_seen: bool,
    bare: bool,
    interactive: bool,
    attached: bool,
    parent: Option<String>,
    /// First prompt of each stream, in the order of [`Stream`].
    prompts: [Option<String>; 3],
    turns: [u64; 3],
    name: Option<String>,
    goal: Option<String>,
    context_cwd: Option<PathBuf>,
    copied_tokens: u64,
    /// Lines before this one are copied from the parent.
    own_from: u64,
    /// Records before this ordinal are copied too.
    own_ordinal: u64,
}

impl Summary {
    fn read_log(&mut self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> io::Result<()> {
        let log = lines::open_all(file.files())?;
        let plain = log.is_file_of_lines();
        let whole = file.stamp.size
            <= if plain { limits::SUMMARY_WHOLE } else { limits::SUMMARY_WHOLE / limits::ZSTD_RATIO };
        let mut lines = Lines::new(log, limits::SUMMARY_LINE, limits::SUMMARY_HEAD);
        let mut records = 0;
        let mut ended = true;
        while let Some(line) = lines.next(budget)? {
            records += 1;
            self.line(line);
            if records == 1
                && self.own_ordinal == 0
                && let Some(parent) = self.parent.as_deref().and_then(locate)
            {
                self.own_from = record::own_from(file.files().oldest(), &parent, budget);
            }
            let enough = records >= limits::CODEX_HEAD_RECORDS
                && (self.has_prompt() || records >= limits::CODEX_HEAD_RECORDS + limits::CODEX_MORE_RECORDS);
            if enough && !whole {
                ended = false;
                break;
            }
        }
        let extent = lines.extent();
        if ended && !extent.capped && !extent.stopped {
            self.row.user_turns = Some(self.turns[self.stream() as usize]);
            return Ok(());
        }
        if self.own_from > 0 {
            // The extent of the copied lines is unknown without reading the whole log.
            self.row.tokens = None;
            self.own_from = u64::MAX;
        }
        // Codex compresses only logs older than a week; reading their tail is not worth the cost.
        if let Some(mut tail) = lines.tail(limits::SUMMARY_END)? {
            while let Some(line) = tail.next(budget)? {
                self.line(LogLine { number: u64::MAX - 1, ..line });
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
        // A last line without a line end may be incomplete.
        self.row.bad_lines += u64::from(is_broken && line.complete);
    }

    fn record(&mut self, line: &LogLine<'_>, node: &Node<'_>) {
        self.survey.check("", node);
        if record::is_before(node, self.own_ordinal) {
            return;
        }
        self.last_at = self.last_at.max(record::timestamp(node));
        let own = line.number >= self.own_from;
        match record::item(node) {
            Item::Meta { head, bare } => self.meta(head, bare, record::timestamp(node)),
            Item::User { .. } | Item::Goal(_) if self.undone.contains(line.offset) => {}
            Item::TurnContext { cwd, model } => {
                self.context_cwd = cwd.map(PathBuf::from).or(self.context_cwd.take());
                self.row.model = model.map(str::to_owned).or(self.row.model.take());
            }
            Item::User { stream, blocks, images } => self.user(stream, &blocks, images, own),
            Item::Name(name) => self.name = title::given(Some(name)).or(self.name.take()),
            Item::Goal(goal) => self.goal = title::given(Some(goal)).or(self.goal.take()),
            Item::Tokens(tokens) if own => {
                // The count is cumulative, so a smaller later one is wrong.
                let tokens = tokens.saturating_sub(self.copied_tokens);
                self.row.tokens = self.row.tokens.max(Some(tokens));
            }
            Item::Tokens(tokens) => self.copied_tokens = self.copied_tokens.max(tokens),
            _ => {}
        }
    }

    fn meta(&mut self, head: &Node<'_>, bare: bool, written: Option<i64>) {
        let id = head.text("id").or(head.text("session_id"));
        let mine = id.is_none_or(|id| id == self.row.id) || !is_uuid(&self.row.id);
        let branch = head.get("git").and_then(|git| git.text("branch")).map(str::to_owned);
        if self.head_seen || !mine {
            // Repeated when the branch changes; a head with another id is a copy of the parent's.
            if mine && branch.is_some() {
                self.row.branch = branch;
            }
            return;
        }
        self.head_seen = true;
        self.bare = bare;
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            self.row.id = id.to_owned();
        }
        self.row.created_at = millis(head.get("timestamp")).or(written);
        self.row.cwd = head.text("cwd").map(PathBuf::from);
        self.row.branch = branch;
        self.interactive = is_interactive(head.get("source"));
        self.row.subagent = record::is_subagent(head);
        // A fork attached to its session; Codex does not list it.
        self.attached = head.flag("attached_thread");
        self.parent = record::parent(head).map(str::to_owned);
        self.own_ordinal = record::first_own_ordinal(head);
    }

    fn user(&mut self, stream: Stream, blocks: &[&str], images: bool, own: bool) {
        let mut prompt = title::prompt(blocks.iter().copied());
        if prompt.is_none() && images && stream != Stream::Response {
            prompt = Some(title::IMAGE_ONLY.to_owned());
        }
        if self.row.cwd.is_none() {
            self.row.cwd = blocks.iter().find_map(|block| environment_cwd(block));
        }
        let Some(prompt) = prompt else { return };
        self.turns[stream as usize] += u64::from(own);
        self.prompts[stream as usize].get_or_insert_with(|| title::one_line(&prompt));
    }

    fn has_prompt(&self) -> bool {
        self.stream() != Stream::Response
    }

    fn stream(&self) -> Stream {
        let with_prompt = |stream: &Stream| self.prompts[*stream as usize].is_some();
        [Stream::Event, Stream::Item].into_iter().find(with_prompt).unwrap_or(Stream::Response)
    }

    fn finish(mut self, file: &LogFile) -> Summarised {
        let stream = self.stream();
        let first = self.prompts[stream as usize].take();
        // Codex never takes a preview from a `response_item`, except in its oldest logs, which have nothing else.
        let previewed = (first.is_some() && (stream != Stream::Response || self.bare)) || self.goal.is_some();
        self.row.hidden = file.archived
            || !self.head_seen
            || !self.interactive
            || self.attached
            || self.row.subagent
            || !previewed;
        self.row.updated_at = self.last_at.unwrap_or(self.row.updated_at);
        self.row.continues = self.parent.filter(|_| !self.row.subagent);
        self.row.named = self.name.is_some();
        self.row.title = self.name.clone().or(first).or(self.goal);
        self.row.cwd = self.context_cwd.or(self.row.cwd);
        (self.row.version, self.row.unknown) = (self.survey.version, self.survey.unknown);
        Summarised { row: self.row, given_title: self.name }
    }
}

/// Returns whether the user started a session of this source. Logs until 0.4x have no source; Codex reads that as
/// `vscode`.
fn is_interactive(source: Option<&Node<'_>>) -> bool {
    match source {
        None | Some(Node::Null) => true,
        Some(Node::Text(name)) => matches!(name.as_ref(), "cli" | "vscode"),
        Some(source) => matches!(source.text("custom"), Some("atlas" | "chatgpt")),
    }
}

/// Returns the directory in the oldest logs, where only the text for the model contains it.
fn environment_cwd(block: &str) -> Option<PathBuf> {
    let text = block.trim_start().strip_prefix("<environment_context>")?;
    let cwd = match text.split_once("<cwd>") {
        Some((_, rest)) => rest.split_once("</cwd>")?.0,
        None => text.split_once("Current working directory:")?.1.lines().next()?,
    };
    let cwd = cwd.trim();
    (!cwd.is_empty()).then(|| PathBuf::from(cwd))
}
