//! One turn of `openagents agent` with a model behind an address.

use crate::terminal::{TestEnv, json_lines};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::process::Command;

/// A prompt that takes one tool call.
pub const LIST: &str = "list files in current dir";

/// Creates a `TestEnv` with a small workspace.
pub fn env() -> Result<TestEnv> {
    TestEnv::new(
        "proj",
        &[("README.md", "# Proj\n\nProj counts tides.\n"), ("src/main.rs", "fn main() {}\n")],
    )
}

/// Returns an `openagents agent` command with a model of this server.
pub fn agent(env: &TestEnv, server: &str, prompt: &str, more: &[&str]) -> Result<Command> {
    let arguments = ["agent", prompt, "--model", "openai:scripted", "--base-url", server];
    let mut command = env.openagents(&[&arguments, more].concat())?;
    command.env_remove("OPENAI_API_KEY");
    Ok(command)
}

/// Runs a turn to its end; returns its updates and the `final` object.
pub fn turn(mut command: Command) -> Result<(Vec<Value>, Value)> {
    let output = command.output()?;
    let mut lines = json_lines(&output.stdout)?;
    let last = lines.pop().with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let updates = lines.into_iter().map(|mut line| line["update"].take()).collect();
    Ok((updates, last["final"].clone()))
}

pub fn of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

/// Returns the name, arguments, status and output of every call.
pub fn calls(updates: &[Value]) -> Vec<(String, Value, String, Value)> {
    let ends = of_kind(updates, "tool_call_update");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |call: &Value| {
        let id = &call["toolCallId"];
        let end = ends.iter().rfind(|end| end["toolCallId"] == *id).map_or(Value::Null, |end| (*end).clone());
        (text(&call["name"]), call["rawInput"].clone(), text(&end["status"]), end["rawOutput"].clone())
    };
    of_kind(updates, "tool_call").into_iter().map(row).collect()
}
