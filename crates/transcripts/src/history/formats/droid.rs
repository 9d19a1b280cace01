//! The sessions of Factory's Droid (from 2026).
//!
//! The format was derived from a settings file and from the readers of other programs. A file next to each log has the
//! model and the tokens; without a log it is not a session.

use super::{
    calls::{self, FileTools},
    folder::entries,
};
use crate::{
    history::log::{
        decoder::{Decoder, SessionFacts},
        event::{Event, EventKind, TitleRank},
        json::Node,
        log_file::{LogFile, millis},
        title,
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use std::path::{Path, PathBuf};

/// Finds `sessions/<name of a workspace>/<uuid>.jsonl`, in older versions `sessions/<uuid>.jsonl`.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let sessions = root.join("sessions");
    let workspaces = entries(&sessions, budget).map(|(workspace, _)| workspace);
    let log = |(path, name): (PathBuf, String)| {
        let id = name.strip_suffix(".jsonl")?;
        let settings = path.with_extension("settings.json");
        Some(LogFile::stat(path, id, false, false)?.changes_with(&settings))
    };
    let folders = std::iter::once(sessions.clone()).chain(workspaces);
    folders.flat_map(|folder| entries(&folder, budget).filter_map(log).collect::<Vec<_>>()).collect()
}

const TOOLS: FileTools =
    FileTools { reads: &["Read"], edits: &["Edit", "MultiEdit", "Create", "Write", "ApplyPatch"] };

pub(super) struct DroidDecoder {
    facts: SessionFacts,
}

impl DroidDecoder {
    /// Decodes the log at `path`; reads its settings.
    pub(super) fn new(path: &Path) -> Self {
        let bytes =
            file::read_bounded(&path.with_extension("settings.json"), limits::MANIFEST).unwrap_or_default();
        let text = file::text(&bytes);
        let settings = Node::parse_object(&text);
        let usage = settings.as_ref().and_then(|settings| settings.get("tokenUsage"));
        let kinds =
            ["inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "thinkingTokens"];
        let facts = SessionFacts {
            model: settings.as_ref().and_then(|settings| settings.text("model")).map(str::to_owned),
            tokens: usage.map(|usage| kinds.into_iter().filter_map(|kind| usage.count(kind)).sum()),
            ..SessionFacts::default()
        };
        Self { facts }
    }

    fn start(&mut self, node: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
        self.facts.cwd = node.text("cwd").filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        title::given(node.text("title").or(node.text("sessionTitle")))
            .map(|title| Event::new(number, at, EventKind::Title(TitleRank::Model), title))
            .into_iter()
            .collect()
    }
}

impl Decoder for DroidDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let at = millis(node.get("timestamp"));
        match node.text("type")? {
            "session_start" => return Some(self.start(node, number, at)),
            "message" => {}
            _ => return Some(vec![]),
        }
        self.facts.updated_at = self.facts.updated_at.max(at);
        let message = node.get("message").unwrap_or(node);
        let content = message.get("content");
        if message.text("role") == Some("assistant") {
            return Some(calls::answer(&TOOLS, number, at, content));
        }
        let blocks = content.map_or(&[][..], Node::items).iter();
        let mut results = blocks.filter(|block| block.text("type") == Some("tool_result")).peekable();
        if results.peek().is_some() {
            return Some(results.map(|block| result(block, number, at)).collect());
        }
        let prompt = calls::prompt(calls::texts(content), content);
        let prompt = prompt.filter(|_| message.text("role") == Some("user"));
        Some(prompt.into_iter().map(|text| Event::new(number, at, EventKind::Prompt, text)).collect())
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn result(block: &Node<'_>, number: u64, at: Option<i64>) -> Event {
    let content = block.get("content");
    let text = calls::texts(content).join("\n");
    calls::result(number, at, block.text("tool_use_id"), text, Some(!block.flag("is_error")))
}
