//! The sessions of Qwen Code: JSONL since 0.12 (up to 0.14.3, and the newer keys of its source), and the JSON files of
//! 2025, in the form of Gemini CLI (see [`super::chats`]).
//!
//! Format: `packages/core/src/services/chatRecordingService.ts` of QwenLM/qwen-code.

use super::{
    calls,
    chats::{self, ChatDecoder, TOOLS},
    folder::{entries, paths},
};
use crate::history::{
    log::{
        decoder::{Decoder, SessionFacts},
        event::{Event, EventKind, TitleRank},
        json::Node,
        lines::{self, OpenLog},
        log_file::{LogFile, dated_origin, millis, origin},
        title,
        tree::{self, Tree, TreePlace},
        undone::Parent,
    },
    transcript::SessionFiles,
};
use openagents_core::budget::Budget;
use std::{
    io,
    path::{Path, PathBuf},
};

const TREE: Tree = Tree { id: "\"uuid\"", parent: "\"parentUuid\"", place, is_prompt };

fn place(node: &Node<'_>) -> Option<TreePlace> {
    let id = node.text("uuid").filter(|_| !node.flag("isSidechain"))?;
    let parent = match tree::parent(node, "parentUuid") {
        Parent::None if !is_prompt(node) => Parent::Previous,
        parent => parent,
    };
    Some(TreePlace { id: origin(id), parent })
}

fn is_prompt(node: &Node<'_>) -> bool {
    node.text("type") == Some("user") && QwenDecoder::new(false).prompt(node, 0, None).is_some()
}

/// Half of the lines are telemetry, which repeats calls and tokens.
struct QwenDecoder {
    facts: SessionFacts,
    /// The whole log belongs to a sub-agent.
    subagent: bool,
}

impl QwenDecoder {
    fn new(subagent: bool) -> Self {
        Self { facts: SessionFacts::default(), subagent }
    }

    fn answer(&mut self, node: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
        if let Some(model) = node.text("model") {
            self.facts.model = Some(model.to_owned());
        }
        let used = node.get("usageMetadata").and_then(|usage| usage.count("totalTokenCount"));
        if let Some(tokens) = used.filter(|_| !is_copied(node)) {
            self.facts.tokens = Some(self.facts.tokens.unwrap_or(0) + tokens);
        }
        let event = |part: &Node<'_>| {
            if let Some(call) = part.get("functionCall") {
                let name = call.text("name").unwrap_or("tool");
                return Some(TOOLS.call(number, at, call.text("id"), name, call.get("args")));
            }
            let kind = if part.flag("thought") { EventKind::Thinking } else { EventKind::Assistant };
            let text = part.text("text").filter(|text| !text.trim().is_empty())?;
            Some(Event::new(number, at, kind, text))
        };
        message(node).iter().filter_map(event).collect()
    }

    fn system(&mut self, node: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
        let payload = node.get("systemPayload");
        match node.text("subtype")? {
            // Started by a tool of another session.
            "parent_session" => self.facts.subagent = true,
            "chat_compression" => {
                let first = payload.and_then(|it| it.get("compressedHistory")?.items().first()?.get("parts"));
                let summary = first.map(Node::flattened).unwrap_or_default();
                return Some(Event::new(number, at, EventKind::Compaction, summary));
            }
            "custom_title" => {
                let model = payload.and_then(|it| it.text("titleSource")) == Some("auto");
                let rank = if model { TitleRank::Model } else { TitleRank::User };
                let text = title::given(payload?.text("customTitle"))?;
                return Some(Event::new(number, at, EventKind::Title(rank), text));
            }
            _ => {}
        }
        None
    }

    fn prompt(&self, node: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
        let sent_by_person = matches!(node.text("subtype"), None | Some("mid_turn_user_message"))
            && matches!(node.text("provenance"), None | Some("real_user"))
            && (self.subagent || node.text("agentId").is_none());
        if !sent_by_person {
            return None;
        }
        // The text as it was typed, before files and hooks were added.
        let typed = node.get("systemPayload").and_then(|payload| payload.text("displayText"));
        let sent = message(node).iter().filter_map(|part| part.text("text"));
        let text = match typed.filter(|typed| !typed.trim().is_empty()) {
            Some(typed) => chats::prompt([typed]),
            None => chats::prompt(sent),
        };
        Some(Event::new(number, at, EventKind::Prompt, text?))
    }
}

impl Decoder for QwenDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let at = millis(node.get("timestamp"));
        let facts = &mut self.facts;
        facts.updated_at = facts.updated_at.max(at);
        if facts.cwd.is_none() {
            facts.cwd = node.text("cwd").filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        }
        if let Some(branch) = node.text("gitBranch").filter(|branch| !branch.is_empty()) {
            facts.branch = Some(branch.to_owned());
        }
        let mut events = match node.text("type").unwrap_or_default() {
            "user" => self.prompt(node, number, at).into_iter().collect(),
            "assistant" => self.answer(node, number, at),
            "tool_result" => results(node, number, at),
            "system" => self.system(node, number, at).into_iter().collect(),
            _ => vec![],
        };
        if let Some(original) = node.get("forkedFrom").and_then(|it| it.text("sessionId")) {
            self.facts.continues = Some(original.to_owned());
        }
        for event in &mut events {
            event.sidechain = !self.subagent && node.flag("isSidechain");
            event.copied = is_copied(node);
            event.origin = dated_origin(node.text("uuid"), at);
        }
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

/// Returns whether a branch copied the line from its session.
fn is_copied(node: &Node<'_>) -> bool {
    matches!(node.get("forkedFrom"), Some(Node::Object(_)))
}

fn message<'a>(node: &'a Node<'a>) -> &'a [Node<'a>] {
    node.get("message").and_then(|message| message.get("parts")).map_or(&[], Node::items)
}

fn results(node: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let result = node.get("toolCallResult");
    let succeeded = match result.and_then(|result| result.text("status")) {
        Some("success") => Some(true),
        Some("error" | "cancelled") => Some(false),
        _ => None,
    };
    let event = |part: &Node<'_>| {
        let id = result.and_then(|result| result.text("callId"));
        let id = id.or_else(|| part.get("functionResponse")?.text("id"));
        Some(calls::result(number, at, id, chats::response(part)?.to_owned(), succeeded))
    };
    message(node).iter().filter_map(event).collect()
}

const SUBAGENTS: &str = "subagents";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Main,
    Archived,
    Subagent,
}

pub(super) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    if is_gemini_file(files.newest) { chats::open(files) } else { lines::open_all(files) }
}

pub(super) fn tree(files: SessionFiles<'_>) -> Option<Tree> {
    (!is_gemini_file(files.newest)).then_some(TREE)
}

pub(super) fn decoder(files: SessionFiles<'_>) -> Box<dyn Decoder> {
    if is_gemini_file(files.newest) {
        // Its folder is named after a hash of the workspace's path, which is recorded nowhere else.
        Box::new(ChatDecoder::new(None))
    } else {
        Box::new(QwenDecoder::new(is_subagent_log(files.newest)))
    }
}

/// Finds sessions: `projects/<slug>/chats/<id>.jsonl`, archived ones in `chats/archive/`, and those of sub-agents:
/// `projects/<slug>/subagents/<id of the parent>/agent-<id>.jsonl`.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = chats::discover(root, budget);
    for project in paths(&root.join("projects"), budget) {
        let chats = project.join("chats");
        logs(&chats, Kind::Main, budget, &mut files);
        logs(&chats.join("archive"), Kind::Archived, budget, &mut files);
        for parent in paths(&project.join(SUBAGENTS), budget) {
            logs(&parent, Kind::Subagent, budget, &mut files);
        }
    }
    files
}

fn logs(folder: &Path, kind: Kind, budget: &Budget, files: &mut Vec<LogFile>) {
    if budget.spent() {
        return;
    }
    for (path, name) in entries(folder, budget) {
        let Some(stem) = name.strip_suffix(".jsonl") else { continue };
        let subagent = kind == Kind::Subagent;
        if if subagent { stem.starts_with("agent-") } else { is_id(stem) } {
            files.extend(LogFile::stat(path, stem, subagent, kind == Kind::Archived));
        }
    }
}

/// Returns whether a name is that of a session, as in Qwen Code's own list; `<id>.ledger.jsonl` and others are next to
/// it.
fn is_id(stem: &str) -> bool {
    (32..=36).contains(&stem.len())
        && stem.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns whether a session is a JSON file in the form of Gemini CLI.
pub(crate) fn is_gemini_file(log: &Path) -> bool {
    log.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("session-"))
}

fn is_subagent_log(log: &Path) -> bool {
    parent_of(log).is_some()
}

/// Returns the id of the session that started a sub-agent.
pub(crate) fn parent_of(log: &Path) -> Option<&str> {
    let parent = log.parent()?;
    let is_subagent = parent.parent()?.file_name()? == SUBAGENTS;
    parent.file_name()?.to_str().filter(|_| is_subagent)
}
