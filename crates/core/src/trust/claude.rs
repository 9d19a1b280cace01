//! Claude Code's settings: hooks, and everything else that runs or decides what may run.

use super::{
    files::{FolderReader, Reading},
    settings,
};
use crate::git::may_track;
use serde_json::Value;
use std::path::Path;

/// Settings for appearance and preferences. They neither run anything nor decide what may run.
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

/// Lists that Claude Code itself extends in the user's own file.
const ANSWERS: &[&str] = &["allow", "ask", "deny"];

/// Part of the path of the user's own file, even if a link leads to it or its name has letters of either case. No other
/// character is equivalent to one of these.
const OWN: &str = ".local.j";

/// Reads settings, and the scripts in the folder that the settings name.
///
/// The user's `own` file is shown once when it appears. After that, the rules that Claude Code writes there when the
/// user answers "always" do not count, unless git may track such a file: then the repository writes them.
pub(super) fn read(
    reader: &mut FolderReader,
    level: &Path,
    path: &Path,
    mut value: Value,
    own: bool,
) -> Reading {
    if let Value::Object(members) = &mut value {
        members.retain(|name, _| !HARMLESS.contains(&name.as_str()));
        if members.is_empty() {
            return Reading::default();
        }
    }
    let lines = settings::values(&value);
    let is_tracked = || reader.top.exists(&level.join(".claude/.git")) || may_track(reader.top.root(), OWN);
    if own
        && let Some(permissions) = value.get_mut("permissions").and_then(Value::as_object_mut)
        && !is_tracked()
    {
        permissions.retain(|name, _| !ANSWERS.contains(&name.as_str()));
    }
    settings::from_lines(reader, level, path, lines, sorted(value).to_string().into_bytes())
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
