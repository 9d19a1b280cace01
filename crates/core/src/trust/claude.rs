//! Claude Code's settings: hooks, and everything else that runs or decides what may run.

use super::{
    files::{Content, FolderReader, Said, whole},
    servers::command,
};
use crate::workspace::Workspace;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, path::PathBuf};

/// Settings of looks and habits. They neither run anything nor decide what may run.
const HARMLESS: &[&str] = &[
    "$schema",
    "alwaysThinkingEnabled",
    "attribution",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "effortLevel",
    "includeCoAuthoredBy",
    "language",
    "model",
    "outputStyle",
    "respectGitignore",
    "showTurnDuration",
    "spinnerTipsEnabled",
    "spinnerVerbs",
];

/// Lists that Claude Code itself extends in the person's own file.
const ANSWERS: &[&str] = &["allow", "ask", "deny"];

/// Reads settings, and the scripts in the folder that its hooks name. In the person's `own` file, the rules that Claude
/// Code writes there when they answer "always" do not count.
pub(super) fn said(reader: &mut FolderReader, folder: &Workspace, settings: Value, own: bool) -> Said {
    let Value::Object(mut members) = settings else {
        let text = settings.to_string();
        return Said { says: vec![format!("not settings: {text}")], counts: text.into_bytes() };
    };
    members.retain(|name, _| !HARMLESS.contains(&name.as_str()));
    let mut says = Vec::new();
    let mut scripts = BTreeSet::new();
    for (name, value) in &members {
        match (name.as_str(), value) {
            ("hooks", Value::Object(events)) => {
                for (event, matcher, hook) in hooks(events) {
                    let on = matcher.filter(|matcher| !matcher.is_empty() && *matcher != "*");
                    let on = on.map(|matcher| format!(" ({matcher})")).unwrap_or_default();
                    says.push(format!("hook {event}{on}: {}", command(hook)));
                    scripts.extend(
                        hook["command"].as_str().into_iter().flat_map(|text| named(reader, folder, text)),
                    );
                }
            }
            (name, Value::Object(fields)) if fields.contains_key("command") => {
                says.push(format!("{name}: {}", command(value)));
            }
            (name, Value::String(text)) => says.push(format!("{name}: {text}")),
            (name, value) => says.push(format!("{name}: {value}")),
        }
    }
    if own && let Some(permissions) = members.get_mut("permissions").and_then(Value::as_object_mut) {
        permissions.retain(|name, _| !ANSWERS.contains(&name.as_str()));
        if permissions.is_empty() {
            members.remove("permissions");
        }
    }
    if members.is_empty() {
        return Said { says, counts: Vec::new() };
    }
    let mut counts = sorted(Value::Object(members)).to_string().into_bytes();
    for script in scripts {
        if let Content::Bytes { bytes, rest } = reader.read(folder, &script) {
            counts.extend(whole(script.as_os_str().as_encoded_bytes(), None));
            counts.extend(whole(&bytes, rest));
        }
    }
    Said { says, counts }
}

/// Returns every hook with its event and matcher.
fn hooks(events: &Map<String, Value>) -> impl Iterator<Item = (&str, Option<&str>, &Value)> {
    events.iter().flat_map(|(event, groups)| {
        let groups = groups.as_array().into_iter().flatten();
        groups.flat_map(move |group| {
            let matcher = group["matcher"].as_str();
            let hooks = group["hooks"].as_array().into_iter().flatten();
            hooks.map(move |hook| (event.as_str(), matcher, hook))
        })
    })
}

/// Returns the files of the folder that a command names: a hook that stays the same may run a script that does not.
fn named(reader: &mut FolderReader, folder: &Workspace, command: &str) -> Vec<PathBuf> {
    let command = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"]
        .iter()
        .fold(command.to_owned(), |text, variable| text.replace(variable, "."));
    let words = command.split(|c: char| c.is_whitespace() || "\"'`;&|()<>=$".contains(c));
    let mut paths = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let Some(left) = reader.words.checked_sub(1) else {
            reader.cut();
            break;
        };
        reader.words = left;
        paths.extend(folder.resolve(word).ok().filter(|path| folder.is_file(path)));
    }
    paths
}

/// Sorts the members of objects: their order does not count.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        other => other,
    }
}
