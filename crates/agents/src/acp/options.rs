//! The options of a permission request and the commands that an agent offers. They are read from the raw JSON, so
//! that one bad entry is skipped instead of failing all of them.

use crate::{
    limits::{COMMAND_NAME, COMMAND_WORDS, OFFERED_COMMANDS, PERMISSION_OPTIONS},
    output::one_line,
};
use openagents_core::{
    agent::OfferedCommand,
    approval::{ApprovalOption, OptionKind},
    text::clip_bytes,
};
use serde_json::Value;

/// Reads the commands of an update; `None` if it is another kind of update.
pub(super) fn commands(update: &Value) -> Option<Vec<OfferedCommand>> {
    if update["sessionUpdate"] != "available_commands_update" {
        return None;
    }
    let text = |value: &Value, bytes| value.as_str().and_then(one_line).map(|text| clip_bytes(&text, bytes));
    let command = |command: &Value| {
        Some(OfferedCommand {
            name: text(&command["name"], COMMAND_NAME)?,
            description: text(&command["description"], COMMAND_WORDS).unwrap_or_default(),
            hint: text(&command["input"]["hint"], COMMAND_WORDS),
        })
    };
    let stated = update["availableCommands"].as_array().into_iter().flatten();
    Some(stated.filter_map(command).take(OFFERED_COMMANDS).collect())
}

/// Reads the options of a permission request, in the agent's order. An option without an id cannot be chosen, and of
/// two with the same id only the first could be, so both kinds are skipped.
pub(super) fn options(stated: &Value) -> Vec<ApprovalOption> {
    let mut options: Vec<ApprovalOption> = Vec::new();
    for option in stated.as_array().into_iter().flatten() {
        let Some(id) = option["optionId"].as_str() else { continue };
        if options.len() == PERMISSION_OPTIONS || options.iter().any(|known| known.id == id) {
            continue;
        }
        let kind = match option["kind"].as_str() {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") => OptionKind::AllowAlways,
            Some("reject_once") => OptionKind::RejectOnce,
            Some("reject_always") => OptionKind::RejectAlways,
            _ => OptionKind::Other,
        };
        let name = option["name"].as_str().and_then(one_line).unwrap_or_else(|| id.to_owned());
        options.push(ApprovalOption { id: id.to_owned(), name, kind });
    }
    options
}

/// Returns whether choosing an option lets the agent ask less from now on: it is allowed always, or it approves a
/// plan that Claude Code carries out in a mode that the option names (`exit-plan-auto`).
pub(super) fn lowers(option: &ApprovalOption) -> bool {
    !option.kind.denies() && (option.kind != OptionKind::AllowOnce || option.id.starts_with("exit-plan-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commands_are_bounded_and_bad_ones_left_out() {
        let list = json!([
            {"name": "init", "description": "Sets up", "input": {"hint": "[folder]"}},
            {"name": "memory show", "description": "a\nb", "input": null, "_meta": {"x": "y"}},
            {"description": "no name"},
            {"name": 7},
            "text",
        ]);
        let read =
            commands(&json!({"sessionUpdate": "available_commands_update", "availableCommands": list}))
                .unwrap();
        let rows: Vec<_> =
            read.iter().map(|it| (it.name.as_str(), it.description.as_str(), it.hint.as_deref())).collect();
        assert_eq!(rows, [("init", "Sets up", Some("[folder]")), ("memory show", "a b", None)]);
        let many: Value = (0..10_000).map(|n| json!({"name": format!("{n}{}", "x".repeat(1_000))})).collect();
        let read =
            commands(&json!({"sessionUpdate": "available_commands_update", "availableCommands": many}))
                .unwrap();
        assert!(
            read.len() == OFFERED_COMMANDS
                && read.iter().all(|command| command.name.len() <= COMMAND_NAME + 3)
        );
        assert_eq!(commands(&json!({"sessionUpdate": "plan", "availableCommands": []})), None);
    }

    #[test]
    fn options_keep_their_order_names_and_ids() {
        let stated = json!([
            {"optionId": "b", "name": "No", "kind": "reject_once"},
            {"optionId": "a", "name": "Until\nnoon", "kind": "allow_until"},
            {"optionId": "b", "name": "Yes", "kind": "allow_once"},
            {"name": "Nothing", "kind": "allow_once"},
            {"optionId": "c", "kind": "allow_always"},
            {"optionId": "", "name": "Never", "kind": "reject_always"},
            {"optionId": "d"},
            7,
        ]);
        let read: Vec<_> =
            options(&stated).into_iter().map(|option| (option.id, option.name, option.kind)).collect();
        let row = |id: &str, name: &str, kind| (id.to_owned(), name.to_owned(), kind);
        assert_eq!(
            read,
            [
                row("b", "No", OptionKind::RejectOnce),
                row("a", "Until noon", OptionKind::Other),
                row("c", "c", OptionKind::AllowAlways),
                row("", "Never", OptionKind::RejectAlways),
                row("d", "d", OptionKind::Other),
            ]
        );
        let many: Value = (0..40).map(|id| json!({"optionId": id.to_string(), "name": "x"})).collect();
        assert_eq!(options(&many).len(), PERMISSION_OPTIONS);
        for none in [Value::Null, json!([]), json!({"optionId": "a"})] {
            assert_eq!(options(&none), []);
        }
    }

    #[test]
    fn an_option_that_lasts_may_change_what_is_asked() {
        let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: String::new(), kind };
        let rows = [
            (option("proceed_once", OptionKind::AllowOnce), false),
            (option("allow-with-updates", OptionKind::AllowAlways), true),
            (option("exit-plan-accept-edits", OptionKind::AllowOnce), true),
            (option("odd", OptionKind::Other), true),
            (option("exit-plan-no", OptionKind::RejectOnce), false),
            (option("never", OptionKind::RejectAlways), false),
        ];
        for (option, expected) in rows {
            assert_eq!(lowers(&option), expected, "{option:?}");
        }
    }
}
