//! Finds what the user typed in a message.

use crate::history::noise;

/// Tags around typed text, in the editor.
const TYPED: [&str; 4] = ["task", "feedback", "answer", "user_message"];
/// Tools that ask the user.
const ASKING: [&str; 6] = [
    "ask_followup_question",
    "plan_mode_respond",
    "attempt_completion",
    "new_task",
    "condense",
    "report_bug",
];

/// Returns the typed texts of a text of the editor.
pub(super) fn in_text(text: &str) -> Vec<&str> {
    let mut typed = Vec::new();
    let mut rest = noise::strip(text);
    while let Some((_, inside, after)) = first(rest) {
        typed.push(inside);
        rest = after;
    }
    typed
}

/// Returns the user's answer in a result of the editor. Files may contain the same tags.
pub(super) fn in_result<'a>(tool: &str, text: &'a str) -> Option<&'a str> {
    let (before, inside, _) = first(text)?;
    let is_answer = ASKING.contains(&tool) || before.trim_end().ends_with("feedback:");
    is_answer.then_some(inside)
}

/// Returns the typed part of a CLI text.
pub(super) fn of_command(text: &str) -> &str {
    let text = noise::strip(text);
    let Some(inside) = text.strip_prefix("<user_input").and_then(|rest| Some(rest.split_once('>')?.1)) else {
        return text;
    };
    noise::strip(inside.split_once("</user_input>").map_or(inside, |(inside, _)| inside))
}

/// Returns the first text in tags, with what is before and after it.
fn first(text: &str) -> Option<(&str, &str, &str)> {
    let opened = |tag: &str| Some((text.find(&format!("<{tag}>"))?, tag.len()));
    let (at, length) = TYPED.into_iter().filter_map(opened).min()?;
    let inside = &text[at + length + 2..];
    let close = format!("</{}>", &text[at + 1..at + 1 + length]);
    let (inside, after) = inside.split_once(&close).unwrap_or((inside, ""));
    Some((&text[..at], inside, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row() {
        let rows: [(&str, &[&str]); 6] = [
            ("<task>\nadd login\n</task>", &["\nadd login\n"]),
            ("<task>a</task>\n<feedback>b</feedback>", &["a", "b"]),
            ("[TASK RESUMPTION] x\n<user_message>\ngo on", &["\ngo on"]),
            ("<environment_details>\n<task>x</task>\n</environment_details>", &[]),
            ("# task_progress List", &[]),
            ("<tasks>x</tasks>", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(in_text(text), expected, "{text}");
        }
        let results = [
            ("ask_followup_question", "<answer>\nblue\n</answer>", Some("\nblue\n")),
            (
                "write_to_file",
                "The user denied it and provided the following feedback:\n<feedback>no</feedback>",
                Some("no"),
            ),
            ("read_file", "<task>x</task>", None),
            ("attempt_completion", "", None),
        ];
        for (tool, text, expected) in results {
            assert_eq!(in_result(tool, text), expected, "{tool}");
        }
        let commands = [
            ("<user_input mode=\"act\">go</user_input>\n<file_content path=\"a\">x</file_content>", "go"),
            ("<user_input mode=\"act\"><mode_notice>now act</mode_notice>go</user_input>", "go"),
            ("<mode_notice>x</mode_notice><user_input mode=\"plan\">go</user_input>", "go"),
            ("plain", "plain"),
        ];
        for (text, expected) in commands {
            assert_eq!(of_command(text), expected, "{text}");
        }
    }
}
