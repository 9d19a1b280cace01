//! Commands in settings of several agents, in words.

use serde_json::Value;
use std::path::Path;

/// Nesting of settings that is looked through.
const DEPTH: usize = 8;

/// Describes settings with MCP servers: one line for each server, and one for each other member.
pub(super) fn says(settings: &Value) -> Vec<String> {
    let Value::Object(members) = settings else { return vec![format!("not settings: {settings}")] };
    let mut lines = Vec::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            ("$schema", _) => {}
            ("mcpServers" | "mcp", Value::Object(servers)) => {
                lines.extend(
                    servers.iter().map(|(name, server)| format!("server {name}: {}", command(server))),
                );
            }
            (name, value) => lines.push(format!("{name}: {value}")),
        }
    }
    lines
}

/// Returns the commands in a file of an agent's folder, as far as its format is known. The digest of the file counts,
/// not these lines.
pub(super) fn commands(path: &Path, bytes: &[u8]) -> Vec<String> {
    let text = || std::str::from_utf8(bytes).ok();
    let value = match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => text().and_then(|text| toml::from_str::<Value>(text).ok()),
        Some("json") => serde_json::from_slice(bytes).ok(),
        _ => None,
    };
    let mut lines = Vec::new();
    if let Some(value) = value {
        collect(&value, "", 0, &mut lines);
    }
    lines
}

/// Collects everything that has a command or an address.
fn collect(value: &Value, name: &str, depth: usize, lines: &mut Vec<String>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        _ if depth > DEPTH => {}
        Value::Object(members) if members.contains_key("command") || members.contains_key("url") => {
            lines.push(format!("{name}: {}", self::command(value)));
        }
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(_) | Value::Array(_) if is_command(key) => {
                        lines.push(format!("{}: {}", below(key), words(value)));
                    }
                    value => collect(value, &below(key), depth + 1, lines),
                }
            }
        }
        Value::Array(values) => {
            values.iter().for_each(|value| collect(value, name, depth + 1, lines));
        }
        _ => {}
    }
}

/// Returns whether a setting is a command, or decides what runs without asking.
fn is_command(key: &str) -> bool {
    let key = key.to_lowercase();
    ["command", "notify", "plugin", "approval", "sandbox", "base_url", "baseurl"]
        .iter()
        .any(|part| key.contains(part))
}

/// Returns the command or the address of a server or hook; its whole description if it has neither.
pub(super) fn command(server: &Value) -> String {
    let arguments = server.get("args").map(words).filter(|arguments| !arguments.is_empty());
    let variables = ["env", "environment"].into_iter().find_map(|key| server.get(key)?.as_object());
    let mut parts: Vec<String> = Vec::new();
    parts.extend(variables.into_iter().flatten().map(|(name, value)| format!("{name}={}", word(value))));
    match (server.get("command"), ["url", "httpUrl"].into_iter().find_map(|key| server.get(key))) {
        (Some(command), _) => parts.push(words(command)),
        (None, Some(address)) => parts.push(words(address)),
        (None, None) => return server.to_string(),
    }
    parts.extend(arguments);
    parts.join(" ")
}

/// Returns the words of a command: a text is one already.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(word).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Returns one argument, quoted where a shell would need it.
fn word(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.clone(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
