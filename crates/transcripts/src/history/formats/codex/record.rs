//! Parses one line of a rollout of any generation into an [`Item`].
//!
//! Three generations: bare items without an envelope (until about September 2025), `{timestamp, type, payload}`, and
//! since about 0.149 the same with an `ordinal`, where turns come as `item_completed`.

use crate::{
    history::{
        formats::calls,
        log::{
            action::{self, Action, Outcome},
            json::Node,
            lines,
            log_file::millis,
        },
    },
    limits,
};
use openagents_core::{budget::Budget, text};
use serde_json::json;
use std::{collections::HashSet, path::Path};

/// The stream in which a turn was recorded. Many files record each turn two or three times; a reader picks the first of
/// these streams that the file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    Event,
    Item,
    /// `response_item`, which also contains text added by the agent.
    Response,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item<'a> {
    /// The head of a session; copied heads of a parent look the same.
    Meta {
        head: &'a Node<'a>,
        bare: bool,
    },
    TurnContext {
        cwd: Option<&'a str>,
        model: Option<&'a str>,
    },
    /// A turn of the user as text blocks.
    User {
        stream: Stream,
        blocks: Vec<&'a str>,
        images: bool,
    },
    Assistant {
        stream: Stream,
        text: String,
    },
    Thinking {
        stream: Stream,
        text: String,
    },
    /// A tool call; commands recorded only as `item_completed` use that stream.
    Call {
        stream: Stream,
        name: &'a str,
        text: String,
        files: Vec<String>,
        action: Action,
    },
    /// A tool that ran elsewhere, such as a web search; some versions log its call, too.
    Extension {
        name: &'a str,
        text: String,
        action: Action,
    },
    Output {
        text: String,
        action: Action,
    },
    /// A command ended; the call may be in another stream.
    CommandEnd(Action),
    Files(Vec<String>),
    /// Total number of tokens used so far.
    Tokens(u64),
    Name(&'a str),
    /// The objective of a thread's goal.
    Goal(&'a str),
    /// The summary that replaces the conversation so far.
    Compaction(&'a str),
    Other,
}

pub(super) fn item<'a>(line: &'a Node<'a>) -> Item<'a> {
    match (line.text("type"), line.get("payload")) {
        (Some("session_meta"), Some(payload)) => Item::Meta { head: payload, bare: false },
        (Some("turn_context"), Some(payload)) => turn_context(payload),
        (Some("response_item"), Some(payload)) => response(payload),
        (Some("compacted"), Some(payload)) => Item::Compaction(payload.text("message").unwrap_or_default()),
        (Some("event_msg"), Some(payload)) => event(payload),
        // The whole state at first, then parts of it.
        (Some("world_state"), Some(payload)) => turn_context(payload.get("state").unwrap_or(payload)),
        (Some("token_usage_record"), Some(payload)) => {
            let total = || payload.get("thread_token_usage")?.count("total_tokens");
            total().map_or(Item::Other, Item::Tokens)
        }
        (Some(_), None) => response(line),
        (None, _) if line.text("id").is_some() && line.get("timestamp").is_some() => {
            Item::Meta { head: line, bare: true }
        }
        _ => Item::Other,
    }
}

/// In milliseconds since the epoch.
pub(super) fn timestamp(line: &Node<'_>) -> Option<i64> {
    millis(line.get("timestamp"))
}

pub(super) fn parent<'a>(head: &'a Node<'a>) -> Option<&'a str> {
    let spawned_by = || head.get("source")?.get("subagent")?.get("thread_spawn")?.text("parent_thread_id");
    head.text("forked_from_id").or(head.text("parent_thread_id")).or_else(spawned_by)
}

/// Returns the ordinal of a sub-agent's first own record; earlier records are copies of its parent's.
pub(super) fn first_own_ordinal(head: &Node<'_>) -> u64 {
    head.count("subagent_history_start_ordinal").unwrap_or(0)
}

pub(super) fn is_before(line: &Node<'_>, own: u64) -> bool {
    line.count("ordinal").is_some_and(|ordinal| ordinal < own)
}

pub(super) fn is_subagent(head: &Node<'_>) -> bool {
    head.get("source").is_some_and(|source| source.get("subagent").is_some())
        || matches!(head.text("thread_source"), Some("subagent" | "guardian_review"))
}

pub(super) fn is_search_call(line: &Node<'_>) -> bool {
    line.get("payload").is_some_and(|payload| payload.text("type") == Some("web_search_call"))
}

/// Returns the number of turns that the user undid with this record.
pub(super) fn rolled_back(line: &Node<'_>) -> Option<u64> {
    let payload = line.get("payload").filter(|it| it.text("type") == Some("thread_rolled_back"))?;
    payload.count("num_turns")
}

pub(super) fn turn_id<'a>(line: &'a Node<'a>) -> Option<&'a str> {
    line.get("payload")?.text("turn_id")
}

fn turn_context<'a>(payload: &'a Node<'a>) -> Item<'a> {
    Item::TurnContext { cwd: payload.text("cwd"), model: payload.text("model") }
}

fn event<'a>(payload: &'a Node<'a>) -> Item<'a> {
    let text = |key| payload.text(key).unwrap_or_default();
    match payload.text("type").unwrap_or_default() {
        // Until 0.4x the environment and the instructions were user messages of another kind.
        "user_message" if payload.text("kind").is_none_or(|kind| kind == "plain") => {
            let has = |key| payload.get(key).is_some_and(|list| !list.items().is_empty());
            let images = has("images") || has("local_images");
            Item::User { stream: Stream::Event, blocks: vec![text("message")], images }
        }
        "agent_message" => Item::Assistant { stream: Stream::Event, text: text("message").to_owned() },
        "agent_reasoning" => Item::Thinking { stream: Stream::Event, text: text("text").to_owned() },
        "item_completed" => payload.get("item").map_or(Item::Other, completed),
        "token_count" => {
            let total = || payload.get("info")?.get("total_token_usage")?.count("total_tokens");
            total().map_or(Item::Other, Item::Tokens)
        }
        "patch_apply_end" => changed(payload),
        "exec_command_end" => Item::CommandEnd(executed(payload, payload.text("call_id"))),
        "thread_name_updated" => {
            payload.text("thread_name").or(payload.text("name")).map_or(Item::Other, Item::Name)
        }
        "thread_goal_updated" => {
            let goal = payload.get("goal").unwrap_or(payload);
            goal.text("objective").map_or(Item::Other, Item::Goal)
        }
        "thread_settings_applied" => {
            let settings = payload.get("thread_settings").or(payload.get("settings")).unwrap_or(payload);
            turn_context(settings)
        }
        _ => Item::Other,
    }
}

fn completed<'a>(item: &'a Node<'a>) -> Item<'a> {
    let stream = Stream::Item;
    match item.text("type").unwrap_or_default() {
        "UserMessage" => user(stream, item.get("content"), None),
        "AgentMessage" => Item::Assistant { stream, text: joined(item.get("content")) },
        "Reasoning" => {
            let text = joined(item.get("summary_text").or(item.get("summary")).or(item.get("content")));
            Item::Thinking { stream, text }
        }
        "Plan" => Item::Assistant { stream, text: item.text("text").unwrap_or_default().to_owned() },
        "FileChange" => changed(item),
        "CommandExecution" => {
            let text = item.get("command").map(Node::flattened).unwrap_or_default();
            let action = executed(item, item.text("id"));
            Item::Call { stream, name: "shell", text, files: vec![], action }
        }
        "McpToolCall" => {
            call(stream, item.text("tool").unwrap_or("mcp"), item.text("id"), item.get("arguments"))
        }
        "Extension" | "WebSearch" => {
            let name = item.text("kind").or(item.text("name")).unwrap_or("web_search");
            let input = ["input", "arguments", "action", "query"].iter().find_map(|key| item.get(key));
            let Item::Call { name, text, action, .. } = call(stream, name, item.text("id"), input) else {
                return Item::Other;
            };
            Item::Extension { name, text, action }
        }
        "ContextCompaction" => Item::Compaction(""),
        // Codex 0.169 runs sub-agents in two ways, and logs each differently.
        "CollabAgentToolCall" if item.text("tool") == Some("spawn_agent") => {
            let thread = item.get("receiver_thread_ids").and_then(|ids| ids.items().first()?.as_str());
            Item::CommandEnd(started(item.text("id"), thread))
        }
        "SubAgentActivity" if item.text("kind") == Some("started") => {
            Item::CommandEnd(started(item.text("id"), item.text("agent_thread_id")))
        }
        _ => Item::Other,
    }
}

fn started(call: Option<&str>, thread: Option<&str>) -> Action {
    Action { call: call.map(str::to_owned), child_session: thread.map(str::to_owned), ..Action::default() }
}

fn response<'a>(payload: &'a Node<'a>) -> Item<'a> {
    let stream = Stream::Response;
    let id = payload.text("call_id");
    match payload.text("type").unwrap_or_default() {
        "message" => match payload.text("role").unwrap_or_default() {
            "user" => {
                let kinds =
                    || payload.get("internal_chat_message_metadata_passthrough")?.get("content_item_kinds");
                user(stream, payload.get("content"), kinds())
            }
            "assistant" => Item::Assistant { stream, text: joined(payload.get("content")) },
            _ => Item::Other,
        },
        "reasoning" => Item::Thinking { stream, text: joined(payload.get("summary")) },
        "function_call" => {
            call(stream, payload.text("name").unwrap_or("function"), id, payload.get("arguments"))
        }
        "custom_tool_call" => {
            let name = payload.text("name").unwrap_or("tool");
            let (text, files) = input(payload.get("input"));
            // A script or a patch, not a command.
            let given = payload.get("input").map(|input| json!({"input": input.to_value()}));
            let action = Action { call: id.map(str::to_owned), input: given, ..Action::default() };
            Item::Call { stream, name, text, files, action }
        }
        "local_shell_call" => {
            call(stream, "local_shell", id, payload.get("action").and_then(|a| a.get("command")))
        }
        "web_search_call" => call(stream, "web_search", id, payload.get("action")),
        "tool_search_call" => call(stream, "tool_search", id, payload.get("arguments")),
        "function_call_output" | "custom_tool_call_output" => {
            let text = payload.get("output").map(Node::flattened).unwrap_or_default();
            let outcome = action::exit_code(&text).map(Outcome::Exit);
            let action = Action { call: id.map(str::to_owned), outcome, ..Action::default() };
            Item::Output { text, action }
        }
        _ => Item::Other,
    }
}

/// Since about 0.150, `kinds` says who wrote each block.
fn user<'a>(stream: Stream, content: Option<&'a Node<'a>>, kinds: Option<&Node<'_>>) -> Item<'a> {
    let mut blocks: Vec<&str> = content.and_then(Node::as_str).into_iter().collect();
    let mut images = false;
    for (at, block) in content.map_or(&[][..], Node::items).iter().enumerate() {
        let kind = kinds.and_then(|kinds| kinds.items().get(at)?.as_str());
        if kind.is_some_and(|kind| !kind.starts_with("user.") || kind == "user.goal") {
            continue;
        }
        match block.text("text") {
            Some(text) => blocks.push(text),
            None => images |= block.text("type").is_some_and(|kind| kind.contains("mage")),
        }
    }
    Item::User { stream, blocks, images }
}

fn joined(content: Option<&Node<'_>>) -> String {
    let Some(content) = content else { return String::new() };
    let items = content.items().iter().filter_map(|item| item.text("text").or(item.as_str()));
    text::joined(content.as_str().into_iter().chain(items))
}

fn call<'a>(stream: Stream, name: &'a str, id: Option<&str>, arguments: Option<&Node<'_>>) -> Item<'a> {
    let (text, files) = input(arguments);
    Item::Call { stream, name, text, files, action: action::from_call(name, id, arguments) }
}

/// Returns the text of a call, and the files that a patch in it touches.
fn input(node: Option<&Node<'_>>) -> (String, Vec<String>) {
    let text = node.map(Node::flattened).unwrap_or_default();
    let mut files = Vec::new();
    // Arguments are JSON in a string; patches inside are escaped once more, which `patch` handles.
    calls::touched(&text, &mut files);
    (text, files)
}

fn executed(node: &Node<'_>, id: Option<&str>) -> Action {
    let code = action::code(node, "exit_code").map(Outcome::Exit);
    let not_run = || (node.text("status") == Some("declined")).then_some(Outcome::NotRun);
    Action {
        call: id.map(str::to_owned),
        command: action::command(node.get("command")),
        outcome: code.or_else(not_run),
        ..Action::default()
    }
}

fn changed<'a>(node: &Node<'_>) -> Item<'a> {
    match node.get("changes") {
        Some(changes) => Item::Files(changes.fields().iter().map(|(path, _)| path.to_string()).collect()),
        None => Item::Other,
    }
}

/// Returns the first line of `child` whose turn is not in `parent`; earlier lines are copies with new timestamps.
/// Without turn ids (before about 0.104) copies cannot be detected, and every line counts as the child's own.
pub(super) fn own_from(child: &Path, parent: &Path, budget: &Budget) -> u64 {
    let mut known = HashSet::new();
    each_turn(parent, budget, |_, turn| {
        known.insert(turn.to_owned());
        true
    });
    let (mut copies, mut own) = (false, u64::MAX);
    each_turn(child, budget, |line, turn| {
        let copied = known.contains(turn);
        if copied {
            copies = true
        } else {
            own = line
        }
        copied
    });
    if copies { own } else { 0 }
}

/// Passes each line's number and turn to `visit` until it returns false.
fn each_turn(path: &Path, budget: &Budget, mut visit: impl FnMut(u64, &str) -> bool) {
    let Ok(log) = lines::open(path) else { return };
    let mut lines = lines::Lines::new(log, limits::LINE, limits::COPIED);
    while let Ok(Some(line)) = lines.next(budget) {
        if memchr::memmem::find(line.bytes, b"\"turn_id\"").is_none() {
            continue;
        }
        let text = line.text();
        let Some(node) = Node::parse_object(&text) else { continue };
        if turn_id(&node).is_some_and(|turn| !visit(line.number, turn)) {
            return;
        }
    }
}
