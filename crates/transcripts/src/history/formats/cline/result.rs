//! Results that the editor writes as a user's text: `[write_to_file for 'a.ts'] Result:` and the output, without an id.

use crate::history::action::{self, Outcome};

/// Tools that change a file.
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

pub(super) fn parse(text: &str) -> Option<TextResult<'_>> {
    let (call, output) = text.trim_start().strip_prefix('[')?.split_once("] Result:")?;
    let (tool, argument) = call.split_once(" for ").unwrap_or((call, ""));
    let is_name = !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let argument = argument.strip_prefix('\'').unwrap_or(argument);
    let argument = argument.strip_suffix('\'').unwrap_or(argument);
    is_name.then_some(TextResult { tool, argument, output: output.trim() })
}

/// Returns the outcome of a call of the editor.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
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
