//! The tasks of Cline in VS Code and related editors (logs of April and May 2026), and the sessions of its CLI since 3.
//!
//! Format: `src/core/task` and `sdk/packages/core/src/session` of cline/cline. A file is one JSON document; a message's
//! line number is its position in it.

pub(super) mod decoder;

use crate::{
    history::{
        format::Environment,
        formats::{calls, folder::entries, records::Records},
        log::{
            action::{self, Outcome},
            json::Node,
            lines::OpenLog,
            log_file::LogFile,
        },
        transcript::SessionFiles,
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
};

#[derive(Deserialize)]
struct Session<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

pub(super) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    let path = files.newest;
    let bytes = file::read_document(path, limits::DOCUMENT)?;
    let mut records = unfolded(&file::text(&bytes));
    let manifest = manifest(path).and_then(|manifest| file::read_bounded(&manifest, limits::MANIFEST));
    if let Some(session) = manifest.and_then(|manifest| session(path, &file::text(&manifest))) {
        records.push(&json!({"session": session}).to_string());
    }
    Ok(records.into_log())
}

/// Returns what the manifest of a CLI session says about one of its logs.
fn session(log: &Path, manifest: &str) -> Option<Value> {
    let node = Node::parse_object(manifest)?;
    let mut session = json!({
        "cwd": node.text("cwd").or(node.text("workspace_root")),
        "model": node.text("model"),
    });
    if !is_subagent_log(log) {
        session["startedAt"] = node.text("started_at").into();
        session["title"] = node.get("metadata").and_then(|about| about.text("title")).into();
    }
    Some(session)
}

fn unfolded(text: &str) -> Records {
    let mut records = Records::default();
    let messages = serde_json::from_str::<Vec<&RawValue>>(text)
        .or_else(|_| serde_json::from_str(text).map(|session: Session<'_>| session.messages));
    let Ok(messages) = messages else {
        // Counts as one bad line.
        records.push(text);
        return records;
    };
    let mut open = Calls::default();
    for (at, message) in messages.iter().enumerate() {
        let node = Node::parse_object(message.get());
        match node.as_ref().and_then(|node| node.text("role")).zip(node.as_ref()) {
            Some(("user", node)) => records.push(&user(node, at, &mut open).to_string()),
            Some((_, node)) => {
                open.add(node);
                records.push(message.get());
            }
            None => records.push(message.get()),
        }
    }
    records
}

/// Calls without a result, by id and name.
#[derive(Default)]
struct Calls(VecDeque<(String, String)>);

impl Calls {
    fn add(&mut self, message: &Node<'_>) {
        for block in message.get("content").map_or(&[][..], Node::items) {
            if block.text("type") == Some("tool_use")
                && let (Some(id), Some(name)) = (block.text("id"), block.text("name"))
            {
                self.0.push_back((id.to_owned(), name.to_owned()));
            }
        }
    }

    fn take(&mut self, is_it: impl Fn(&(String, String)) -> bool) -> Option<(String, String)> {
        let at = self.0.iter().position(is_it)?;
        self.0.remove(at)
    }
}

/// Returns a user's message with its results as blocks; calls that were not logged are added before their results.
fn user(message: &Node<'_>, at: usize, open: &mut Calls) -> Value {
    let content = message.get("content");
    let plain = content.and_then(Node::as_str).map(|text| json!({"type": "text", "text": text}));
    let mut found: Vec<Value> = plain.into_iter().collect();
    let mut blocks = content.map_or(&[][..], Node::items).iter().peekable();
    while let Some(block) = blocks.next() {
        match block.text("type") {
            Some("text") => {
                let text = block.text("text").unwrap_or_default();
                let Some(mut result) = parse(text) else {
                    found.push(json!({"type": "text", "text": text}));
                    continue;
                };
                // Older versions put the output into the next block.
                if result.output.is_empty()
                    && let Some(next) = blocks.peek().and_then(|next| next.text("text"))
                    && parse(next).is_none()
                    && !next.trim_start().starts_with("<environment_details>")
                {
                    result.output = next;
                    blocks.next();
                }
                let id = match open.take(|(_, name)| name == result.tool) {
                    Some((id, _)) => id,
                    None => {
                        let id = format!("{at}-{}", found.len());
                        found.push(call(&result, &id));
                        id
                    }
                };
                found.push(ended(&id, result.tool, result.output, false));
            }
            Some("tool_result") => {
                let id = block.text("tool_use_id").unwrap_or_default();
                let name = open.take(|(open, _)| open == id).map(|(_, name)| name).unwrap_or_default();
                let content = block.get("content");
                let text = calls::texts(content).join("\n");
                let text =
                    if text.is_empty() { content.map(Node::flattened).unwrap_or_default() } else { text };
                let output = parse(&text).map_or(text.as_str(), |result| result.output);
                found.push(ended(id, &name, output, block.flag("is_error")));
            }
            Some(kind) => found.push(json!({"type": kind})),
            None => {}
        }
    }
    // All results of a message come together, so a call without one was interrupted.
    if found.iter().any(|block| block["type"] == "tool_result") {
        open.0.clear();
    }
    let mut record = json!({"role": "user", "content": found});
    if let Some(Node::Number(time)) = message.get("ts") {
        record["ts"] = json!(time);
    }
    record
}

fn call(result: &TextResult<'_>, id: &str) -> Value {
    let key = if result.tool == "execute_command" { "command" } else { "path" };
    json!({"type": "tool_use", "id": id, "name": result.tool, "input": {key: result.argument}})
}

fn ended(id: &str, tool: &str, output: &str, is_error: bool) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "name": tool, "content": output, "is_error": is_error})
}

pub(super) const EDITS: [&str; 6] =
    ["write_to_file", "replace_in_file", "new_rule", "apply_patch", "editor", "edit_file"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextResult<'a> {
    pub(super) tool: &'a str,
    /// The main argument of the call: a path or a command.
    pub(super) argument: &'a str,
    /// Empty if it is in the next block.
    pub(super) output: &'a str,
}

/// Parses a result that the editor writes as a user's text: `[write_to_file for 'a.ts'] Result:` and the output,
/// without an id.
pub(super) fn parse(text: &str) -> Option<TextResult<'_>> {
    let (call, output) = text.trim_start().strip_prefix('[')?.split_once("] Result:")?;
    let (tool, argument) = call.split_once(" for ").unwrap_or((call, ""));
    let is_name = !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let argument = argument.strip_prefix('\'').unwrap_or(argument);
    let argument = argument.strip_suffix('\'').unwrap_or(argument);
    is_name.then_some(TextResult { tool, argument, output: output.trim() })
}

pub(super) fn outcome(tool: &str, output: &str) -> Option<Outcome> {
    let failed = ["The user denied this operation", "The tool execution failed", "[ERROR]"];
    if failed.iter().any(|beginning| output.starts_with(beginning)) {
        return Some(action::exit_code(output).map_or(Outcome::NotRun, Outcome::Exit));
    }
    match tool {
        // Its outcome is not logged.
        "execute_command" => None,
        tool if EDITS.contains(&tool) => {
            let saved = ["successfully saved to", "The user made the following updates"];
            let is_saved = saved.iter().any(|words| output.contains(words));
            Some(if is_saved { Outcome::Exit(0) } else { Outcome::NotRun })
        }
        _ => Some(Outcome::Exit(0)),
    }
}

const TASK: &str = "api_conversation_history.json";
/// The file next to it with what is shown, requests among it.
pub(crate) const SHOWN: &str = "ui_messages.json";
const MESSAGES: &str = ".messages.json";

/// Finds sessions: `tasks/<id>/api_conversation_history.json` of the editor, `sessions/<id>/<id>.messages.json` of the
/// CLI, and those of sub-agents in the same folder. The root may be the folder of sessions itself.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (task, id) in entries(&root.join("tasks"), budget) {
        let log = LogFile::stat(task.join(TASK), &id, false, false);
        files.extend(log.map(|log| log.changes_with(&task.join(SHOWN))));
    }
    for sessions in [root.join("sessions"), root.to_owned()] {
        for (session, _) in entries(&sessions, budget) {
            for (path, name) in entries(&session, budget) {
                let Some(stem) = name.strip_suffix(MESSAGES) else { continue };
                let is_subagent_log = is_subagent_log(&path);
                files.extend(LogFile::stat(path, stem, is_subagent_log, false));
            }
        }
    }
    files
}

/// Returns the other file of a task, or the manifest of a session.
pub(super) fn beside(log: &Path) -> Vec<PathBuf> {
    vec![manifest(log).unwrap_or_else(|| log.with_file_name(SHOWN))]
}

/// Returns whether a log is from the CLI, which marks results and prompts differently from the editor.
pub(super) fn is_cli_log(log: &Path) -> bool {
    log.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(MESSAGES))
}

pub(super) fn is_subagent_log(log: &Path) -> bool {
    manifest(log).is_some_and(|manifest| manifest.with_extension("messages.json") != log)
}

pub(super) fn manifest(log: &Path) -> Option<PathBuf> {
    let folder = log.parent().filter(|_| is_cli_log(log))?;
    Some(folder.join(format!("{}.json", folder.file_name()?.to_str()?)))
}

const EXTENSION: &str = "User/globalStorage/saoudrizwan.claude-dev";
const EDITORS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
/// Folders of editors that are used from another computer.
const SERVERS: [&str; 4] =
    [".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"];
/// Where editors keep their data on macOS.
const MACOS: &str = "Library/Application Support";

pub(super) fn root(environment: &Environment<'_>) -> Option<PathBuf> {
    let home = || environment.folder_or("CLINE_DIR", ".cline");
    environment.folder("CLINE_DATA_DIR").or_else(|| Some(home()?.join("data")))
}

pub(super) fn other_roots(environment: &Environment<'_>) -> Vec<PathBuf> {
    let linux = environment.folder_or("XDG_CONFIG_HOME", ".config");
    let data = linux.into_iter().chain(environment.beneath_home(MACOS));
    let editors = data.flat_map(|data| EDITORS.map(|editor| data.join(editor)));
    let servers = SERVERS.iter().filter_map(|server| Some(environment.beneath_home(server)?.join("data")));
    let extensions = editors.chain(servers).map(|editor| editor.join(EXTENSION));
    environment.folder("CLINE_SESSION_DATA_DIR").into_iter().chain(extensions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ids of results in `messages`, and of calls that were added.
    fn ids(messages: &Value) -> Vec<String> {
        let records = unfolded(&messages.to_string());
        let users = records.numbered().into_iter().filter_map(|(_, line)| {
            let record: Value = serde_json::from_str(line).unwrap();
            (record["role"] == "user").then(|| record["content"].as_array().unwrap().clone())
        });
        let id = |block: &Value| block.get("id").or(block.get("tool_use_id"))?.as_str().map(str::to_owned);
        users.flatten().filter_map(|block| id(&block)).collect()
    }

    #[test]
    fn results_match_calls_in_order() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let (a, b) = (text("[read_file for 'a'] Result:\nx"), text("[read_file for 'b'] Result:\nx"));
        let user = |blocks: &[&Value]| json!({"role": "user", "content": blocks});
        let calls = |ids: &[&str]| {
            let call = |id: &&str| json!({"type": "tool_use", "id": id, "name": "read_file", "input": {}});
            json!({"role": "assistant", "content": ids.iter().map(call).collect::<Vec<_>>()})
        };
        let rows: [(Value, &[&str]); 4] = [
            (json!([calls(&["1", "2"]), user(&[&a, &b])]), &["1", "2"]),
            // Of two calls, one was interrupted.
            (json!([calls(&["1", "2"]), user(&[&a]), calls(&["3"]), user(&[&b])]), &["1", "3"]),
            (json!([calls(&["1"]), user(&[&text("wait")]), user(&[&a])]), &["1"]),
            (json!([user(&[&a])]), &["0-0", "0-0"]),
        ];
        for (messages, expected) in rows {
            assert_eq!(ids(&messages), expected, "{messages}");
        }
    }

    #[test]
    fn parse_reads_every_text_result() {
        let rows = [
            ("[write_to_file for 'a.ts'] Result:\nsaved", Some(("write_to_file", "a.ts", "saved"))),
            (
                "[execute_command for 'echo \"[x]\"\nls'] Result:",
                Some(("execute_command", "echo \"[x]\"\nls", "")),
            ),
            (
                "[attempt_completion] Result:\n<feedback>no</feedback>",
                Some(("attempt_completion", "", "<feedback>no</feedback>")),
            ),
            ("[search_files for 'a' in '*.ts'] Result:\nx", Some(("search_files", "a' in '*.ts", "x"))),
            ("[not a tool] Result: x", None),
            ("[ERROR] You did not use a tool", None),
            ("words", None),
        ];
        for (text, expected) in rows {
            let expected = expected.map(|(tool, argument, output)| TextResult { tool, argument, output });
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
