//! Lists every setting of a file by name, or the text of the file.

use super::{
    digests::whole,
    files::{FolderReader, Reading},
    found::Risk,
    lines::{SettingLine, shown_value},
    scripts,
};
use crate::visible::on_one_line;
use serde_json::{Map, Value};
use std::path::Path;

/// Members of settings that name files that the model reads or may read. These files do not run.
const INSTRUCTIONS: &[&str] =
    &["context", "contextFileName", "instructions", "permissions", "project_doc_fallback_filenames"];

/// Members of front matter that only name and describe.
const DESCRIPTIONS: &[&str] =
    &["argument-hint", "color", "description", "license", "model", "name", "version"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Json,
    Toml,
    /// Any other syntax; the text is shown.
    Text,
    /// Text for the model, with settings before it and commands in it.
    Markdown,
}

/// Returns whether the settings of a file are listed, not only its name.
pub(super) fn is_listed(path: &Path) -> bool {
    syntax(path).is_some()
}

/// Returns whether a file is text for the model, without settings of its own.
pub(super) fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["md", "mdx", "mdc", "txt"].contains(&extension.to_ascii_lowercase().as_str())
}

fn syntax(path: &Path) -> Option<Syntax> {
    // npm writes it next to plugins.
    if path.file_name().is_some_and(|name| name == "package-lock.json") {
        return None;
    }
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "json" | "jsonc" | "json5" => Syntax::Json,
        "toml" => Syntax::Toml,
        "yaml" | "yml" | "rules" => Syntax::Text,
        "md" | "mdx" | "mdc" => Syntax::Markdown,
        _ => return None,
    })
}

/// Lists the settings in a file. All of them are hashed, with the scripts in the folder that they name.
pub(super) fn read(reader: &mut FolderReader, level: &Path, path: &Path, bytes: &[u8]) -> Reading {
    let Ok(text) = std::str::from_utf8(bytes) else {
        reader.cut();
        return Reading::line("not text: remove it".to_owned());
    };
    let listed = match syntax(path) {
        Some(Syntax::Json) => serde_json::from_str(text).ok().map(|value| values(&value)),
        Some(Syntax::Toml) => toml::from_str(text).ok().map(|value| values(&value)),
        Some(Syntax::Markdown) => Some(raw(front_matter(text).chain(inline_commands(text)))),
        Some(Syntax::Text) | None => None,
    };
    // Agents accept comments and more. How they read such a file is not known here, so the text itself is shown.
    let lines = listed.unwrap_or_else(|| raw(text.lines().filter(|line| !line.trim().is_empty())));
    let counts = whole(bytes, None);
    from_lines(reader, level, path, lines, counts)
}

/// Shows lines, and hashes the scripts that they name.
pub(super) fn from_lines(
    reader: &mut FolderReader,
    level: &Path,
    path: &Path,
    lines: Vec<SettingLine>,
    mut counts: Vec<u8>,
) -> Reading {
    let scripts = scripts::read(reader, level, path, &lines);
    counts.extend(scripts.counts);
    let mut shown = Vec::new();
    for (line, missing) in lines.iter().zip(scripts.missing) {
        shown.push((line.risk(), line.text()));
        shown.extend(missing.into_iter().map(|word| {
            let name = if line.key.is_empty() { "command" } else { &line.key };
            (line.risk(), format!("{name}: script not found: {word}"))
        }));
    }
    let risk = is_document(path).then_some(Risk::Instructions).or(Some(Risk::Programs));
    Reading { lines: shown, counts, risk }
}

fn raw<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<SettingLine> {
    lines.into_iter().map(|line| SettingLine::raw(line.to_owned())).collect()
}

/// Lists every value: `mcpServers.db.command: node a.js`.
pub(super) fn values(settings: &Value) -> Vec<SettingLine> {
    let mut lines = Vec::new();
    match settings {
        Value::Object(members) => {
            for (name, value) in members {
                let from = lines.len();
                member(members, name, value, name, &mut lines);
                let runs = !INSTRUCTIONS.contains(&name.as_str());
                lines.iter_mut().skip(from).for_each(|line| line.may_run = runs);
            }
        }
        other => lines.push(SettingLine::raw(words(other))),
    }
    lines
}

/// Lists a member of an object. The arguments of a command are on its line, as they would be typed.
fn member(members: &Map<String, Value>, key: &str, value: &Value, name: &str, lines: &mut Vec<SettingLine>) {
    match (key, value, members.get("command"), members.get("args")) {
        ("command", Value::String(command), _, Some(arguments @ Value::Array(values)))
            if !values.is_empty() =>
        {
            lines.push(SettingLine::new(name, format!("{command} {}", words(arguments))));
        }
        ("args", Value::Array(_), Some(Value::String(_)), _) => {}
        (_, value, ..) => list(value, name, lines),
    }
}

fn list(value: &Value, name: &str, lines: &mut Vec<SettingLine>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                member(members, key, value, &format!("{name}.{key}"), lines);
            }
        }
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            values.iter().for_each(|value| list(value, name, lines));
        }
        value => lines.push(SettingLine::new(name, shown_value(name, &words(value)))),
    }
}

/// Returns a value on one line: a string without quotes, a list as the words of a command.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if !values.is_empty() => values.iter().map(word).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Returns one argument, quoted if a shell would need quotes.
fn word(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.clone(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Returns the front matter of a text, except lines that only name or describe; all of the text if the front matter
/// has no end.
fn front_matter(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let text = if text.starts_with("---") { text } else { "" };
    text.lines().skip(1).take_while(|line| line.trim_end() != "---").filter(|line| !is_description(line))
}

/// Returns the lines with commands that run when the text is loaded: `` !`date` ``, `!{date}`, and blocks that begin with
/// `` ```! ``.
fn inline_commands(text: &str) -> impl Iterator<Item = &str> {
    let mut is_block = false;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_block = !is_block && line.trim_start_matches(['`', '~']).trim_start().starts_with('!');
            return is_block;
        }
        is_block || line.contains("!`") || line.contains("!{")
    })
}

/// Returns whether a line of front matter is plain text that only names or describes.
fn is_description(line: &str) -> bool {
    let Some((name, text)) = line.split_once(": ") else { return line.trim().is_empty() };
    // Any other first character begins something that YAML does not read as plain text, or that continues on other
    // lines.
    let is_plain = text.starts_with(|c: char| c.is_alphanumeric() || "\"'[".contains(c));
    DESCRIPTIONS.contains(&name) && is_plain && on_one_line(line) == line
}
