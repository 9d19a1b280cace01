//! The options of an agent's question.

use crate::{limits::PERMISSION_OPTIONS, output::one_line};
use openagents_core::approval::{ApprovalOption, OptionKind};
use serde_json::Value;

/// Reads the options of a question, in the agent's order. What has no id cannot be chosen, and of two with one id the second
/// would never be.
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

/// Returns whether an agent may ask less from now on, because the user has chosen this: what is allowed always, and a plan
/// that Claude Code carries out in a mode that the option names (`exit-plan-auto`).
pub(super) fn lowers(option: &ApprovalOption) -> bool {
    !option.kind.denies() && (option.kind != OptionKind::AllowOnce || option.id.starts_with("exit-plan-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
