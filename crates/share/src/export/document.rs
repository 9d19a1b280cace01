//! A session as a document: messages and calls in order, each call with its outcome.

use openagents_core::{
    budget::Budget,
    text::plain,
    update::{SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent},
};
use openagents_transcripts::{
    history::{History, Part, Transcript},
    replay::Replay,
};
use serde_json::Value;
use std::{collections::HashMap, io, path::PathBuf};

/// Bytes of a log that are read at once.
const PART: u64 = 8 << 20;
/// Bytes at the end of a log that are read: more than fits into a file.
const READ: u64 = 256 << 20;

/// What a document says of the session as a whole.
#[derive(Debug, Clone, Default)]
pub struct Head {
    pub title: Option<String>,
    /// The agent's display name.
    pub agent: String,
    pub model: Option<String>,
    pub branch: Option<String>,
    pub folder: Option<PathBuf>,
    /// Milliseconds since the epoch.
    pub created_at: Option<i64>,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
}

#[derive(Debug, Default)]
pub struct Document {
    pub head: Head,
    pub entries: Vec<Entry>,
    /// Lines that could not be read.
    pub unread: u64,
    /// The beginning was not read.
    pub(super) starts_late: bool,
    /// By id, the place of a prompt in `entries`.
    prompts: HashMap<String, usize>,
    /// By id, the place of a call in `entries`.
    calls: HashMap<String, usize>,
    /// The id of the last message, which may be continued.
    open_message: Option<String>,
}

#[derive(Debug)]
pub struct Entry {
    /// The line of the log, or the number of the update.
    pub line: u64,
    /// Milliseconds since the epoch.
    pub at: Option<i64>,
    pub kind: EntryKind,
}

#[derive(Debug)]
pub enum EntryKind {
    Prompt(String),
    Answer(String),
    Thought(String),
    Call(Call),
}

/// A tool call.
#[derive(Debug, Default)]
pub struct Call {
    /// The agent's name of the tool.
    pub name: String,
    /// What a list of calls shows.
    pub title: String,
    pub input: Value,
    pub content: Vec<ToolContent>,
    pub output: String,
    pub error: Option<String>,
}

impl Document {
    pub fn new(head: Head) -> Self {
        Self { head, ..Self::default() }
    }

    /// Reads another agent's session.
    pub fn read(
        history: &History,
        session: &Transcript,
        title: Option<String>,
        budget: &Budget,
    ) -> io::Result<Self> {
        let mut document = Self::new(Head {
            title: title.or_else(|| session.title.clone()),
            agent: session.provider.display_name().to_owned(),
            model: session.model.clone(),
            branch: session.branch.clone(),
            folder: session.cwd.clone(),
            created_at: session.created_at,
            updated_at: session.updated_at,
        });
        let mut replay = Replay::new(session.cwd.as_deref());
        let (end, _) = history.shown_part(session, Part::End, 1, budget)?;
        let mut from = end.size.saturating_sub(READ);
        document.starts_late = from > 0;
        loop {
            let (part, images) = history.shown_part(session, Part::From(from), PART, budget)?;
            document.unread += part.omitted;
            for event in part.events.into_iter().filter(|event| session.subagent || !event.sidechain) {
                if event.undone {
                    continue;
                }
                let (line, at) = (event.line, event.timestamp);
                if let Some(mut update) = replay.updates(event) {
                    // Behind 64 MiB, lines have no numbers.
                    if let (SessionUpdate::UserMessage(prompt), Some(images)) =
                        (&mut update, images.get(&line).filter(|_| line > 0))
                    {
                        prompt.text = openagents_core::update::text_with_images(&prompt.text, images.len())
                            .into_owned();
                    }
                    document.push(line, at, update);
                }
            }
            if budget.spent() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the session was not read in time"));
            }
            // Lines that begin in a part are read to their ends, also the last one, which may be incomplete.
            if from.saturating_add(PART) >= part.size || part.to <= from {
                return Ok(document);
            }
            from = part.to;
        }
    }

    /// Adds an update of a session. Work of sub-agents is left out.
    pub fn push(&mut self, line: u64, at: Option<i64>, update: SessionUpdate) {
        match update {
            SessionUpdate::UserMessage(prompt) if prompt.is_mark() => {
                // The user took it back before it was sent.
                let id = prompt.message_id.filter(|_| prompt.removed);
                if let Some(at) = id.and_then(|id| self.prompts.get(&id).copied()) {
                    self.entries[at].kind = EntryKind::Prompt(String::new());
                }
            }
            SessionUpdate::UserMessage(prompt) => {
                self.open_message = None;
                let text = prompt.text_with_images().into_owned();
                if let Some(id) = prompt.message_id {
                    self.prompts.insert(id, self.entries.len());
                }
                self.entries.push(Entry { line, at, kind: EntryKind::Prompt(text) });
            }
            SessionUpdate::AgentMessage(message) => {
                self.message((line, at), message.message_id, message.text, EntryKind::Answer);
            }
            SessionUpdate::AgentThought(thought) => {
                self.message((line, at), thought.message_id, thought.text, EntryKind::Thought);
            }
            SessionUpdate::ToolCall(call) => self.call(line, at, call),
            SessionUpdate::ToolCallUpdate(update) => self.update_call(update),
            SessionUpdate::Title(title) => self.head.title = Some(title.title),
            SessionUpdate::Plan(_)
            | SessionUpdate::Mode(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_)
            | SessionUpdate::AgentState(_)
            | SessionUpdate::AgentNote(_) => {}
        }
    }

    fn message(
        &mut self,
        (line, at): (u64, Option<i64>),
        id: Option<String>,
        text: String,
        kind: impl FnOnce(String) -> EntryKind,
    ) {
        let continues = id.is_some() && id == self.open_message;
        self.open_message = id;
        if let Some(Entry { kind: EntryKind::Answer(so_far) | EntryKind::Thought(so_far), .. }) =
            self.entries.last_mut().filter(|_| continues)
        {
            so_far.push_str(&text);
        } else if !text.trim().is_empty() {
            self.entries.push(Entry { line, at, kind: kind(text) });
        }
    }

    fn call(&mut self, line: u64, at: Option<i64>, call: ToolCall) {
        self.open_message = None;
        let ToolCall { call_id, name, arguments, details, .. } = call;
        self.calls.insert(call_id, self.entries.len());
        let title = details.title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| name.clone());
        let title = whole_words(title);
        let input = details.raw_input.unwrap_or(Value::Object(arguments));
        let call = Call { name, title, input, content: details.content, ..Call::default() };
        self.entries.push(Entry { line, at, kind: EntryKind::Call(call) });
    }

    fn update_call(&mut self, update: ToolCallUpdate) {
        let entry = self.calls.get(&update.call_id).and_then(|at| self.entries.get_mut(*at));
        let Some(Entry { kind: EntryKind::Call(call), .. }) = entry else { return };
        let details = update.details;
        call.title = details.title.unwrap_or(std::mem::take(&mut call.title));
        // A terminal is added to the change that the call describes; anything else replaces it.
        call.content
            .retain(|content| matches!(content, ToolContent::Diff { .. }) || details.content.is_empty());
        let has_diff = |path: &str| {
            details
                .content
                .iter()
                .any(|new| matches!(new, ToolContent::Diff { path: other, .. } if other == path))
        };
        call.content.retain(|old| !matches!(old, ToolContent::Diff { path, .. } if has_diff(path)));
        call.content.extend(details.content);
        match update.status {
            ToolCallStatus::Completed { output: Value::Null, .. }
            | ToolCallStatus::Started { .. }
            | ToolCallStatus::Unchanged => {}
            ToolCallStatus::Completed { output, .. } => call.output = plain(&output),
            ToolCallStatus::Error { message } => call.error = Some(message),
        }
    }

    /// Visits all texts, with the lines that they are from.
    pub(super) fn each_text(&mut self, visit: &mut dyn FnMut(u64, &mut String)) {
        let Head { title, model, branch, .. } = &mut self.head;
        [title, model, branch].into_iter().flatten().for_each(|text| visit(0, text));
        for Entry { line, kind, .. } in &mut self.entries {
            match kind {
                EntryKind::Prompt(text) | EntryKind::Answer(text) | EntryKind::Thought(text) => {
                    visit(*line, text)
                }
                EntryKind::Call(call) => call.each_text(&mut |text| visit(*line, text)),
            }
        }
    }
}

/// Drops the last word of a title that was cut, such as a long command: it may be a part of a secret.
fn whole_words(mut title: String) -> String {
    /// Bytes at which commands are cut.
    const CUT: usize = 1_000;
    if title.len() >= CUT {
        title.truncate(title.rfind(char::is_whitespace).unwrap_or_default());
        title.push('…');
    }
    title
}

impl Call {
    fn each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        visit(&mut self.name);
        visit(&mut self.title);
        crate::secrets::each_string(&mut self.input, visit);
        for content in &mut self.content {
            match content {
                ToolContent::Text { text } => visit(text),
                ToolContent::Diff { path, old_text, new_text, .. } => {
                    visit(path);
                    old_text.iter_mut().for_each(&mut *visit);
                    visit(new_text);
                }
                ToolContent::Terminal { command, output, .. } => {
                    command.iter_mut().for_each(&mut *visit);
                    visit(output);
                }
            }
        }
        visit(&mut self.output);
        self.error.iter_mut().for_each(visit);
    }
}
