//! Commands in approvals: what would run, and how it is shown. Clients show [`ApprovalCommand::text`] and never build
//! their own text from the parts.

use crate::visible::{escaped, on_one_line, shell_word};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;

/// Maximum bytes of a command that are shown. A longer one can only be denied: the user would not read it.
pub const SHOWN_COMMAND: usize = 16 << 10;

/// A command that an agent wants to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalCommand {
    /// The text for the user: a command line that bash parses into exactly the arguments that run, or the agent's own
    /// words with invisible characters escaped. At most [`SHOWN_COMMAND`] bytes.
    #[serde(default)]
    pub text: String,
    /// Bytes of the text that are not shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// The text is what the agent asks in addition to file changes, which are shown as diffs or in the raw input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside_changes: bool,
    /// The command that runs here if it is approved; `None` if the agent runs it itself and only reports it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[ts(skip)]
    pub exact: Option<FrozenCommand>,
}

/// The exact command that was shown; an approval runs only this command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FrozenCommand {
    /// The executable, canonical and absolute.
    pub program: PathBuf,
    /// The path by which it was found, which is its `argv[0]`; `None` if it is the canonical one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Working directory, canonical and inside the workspace.
    pub cwd: PathBuf,
    /// Variables added to the environment, in order; shown, because one may change what a program does. The names are
    /// identifiers.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// The files of the workspace that the command names, as they were when it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<ContentDigest>,
    /// Programs that run other files, and words whose value only the shell knows: what they run may still change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpinned: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ContentDigest {
    /// Canonical and absolute.
    pub path: PathBuf,
    /// SHA-256 in hex.
    pub sha256: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ApprovalCommand {
    /// Returns a command that runs here, exactly as shown.
    pub fn exact(command: FrozenCommand) -> Self {
        Self { exact: Some(command.clone()), ..Self::shown(&command.line()) }
    }

    /// Returns a command that an agent reports and runs itself.
    pub fn reported(words: &str) -> Self {
        Self::shown(&escaped(words))
    }

    /// Like [`Self::reported`], for what an agent asks in addition to file changes.
    pub fn beside_changes(words: &str) -> Self {
        Self { beside_changes: true, ..Self::reported(words) }
    }

    fn shown(text: &str) -> Self {
        let end = text.floor_char_boundary(SHOWN_COMMAND);
        let (text, omitted) = (text[..end].to_owned(), text.len() - end);
        Self { text, omitted, beside_changes: false, exact: None }
    }

    /// Returns whether all of it can be shown. If not, it can only be denied.
    pub fn is_whole(&self) -> bool {
        self.omitted == 0
    }
}

impl FrozenCommand {
    /// Returns a sentence about what may still change before it runs; `None` if nothing is known to change.
    pub fn caution(&self) -> Option<String> {
        let words: Vec<_> = self.unpinned.iter().map(|word| on_one_line(word)).collect();
        (!words.is_empty()).then(|| format!("May run files that can still change: {}.", words.join(", ")))
    }

    pub fn line(&self) -> String {
        let program = self.program.to_string_lossy();
        let called = self.called.as_deref().unwrap_or(&program);
        let mut line = String::new();
        for (name, value) in &self.environment {
            line += &format!("{name}={} ", shell_word(value));
        }
        line += &shell_word(called);
        for argument in &self.args {
            line.push(' ');
            line += &shell_word(argument);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn command(program: &str, args: Vec<String>, environment: Vec<(String, String)>) -> FrozenCommand {
        let (program, cwd) = (program.into(), "/".into());
        FrozenCommand {
            program,
            called: None,
            args,
            cwd,
            environment,
            digests: Vec::new(),
            unpinned: Vec::new(),
        }
    }

    fn run(line: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, line).unwrap();
        let output = Command::new("bash").arg(&script).output().unwrap();
        assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Any text without NUL, the one character that an argument cannot contain.
    fn any_text() -> impl Strategy<Value = String> {
        let sign = prop_oneof![
            any::<char>(),
            prop::char::range('\u{1}', '\u{7f}'),
            prop::sample::select(vec![
                '\'', '\\', '\n', '\u{202e}', '\u{200b}', '\u{301}', '$', '`', '"', '!'
            ]),
        ];
        prop::collection::vec(sign.prop_filter("no argument has it", |c| *c != '\0'), 0..40)
            .prop_map(|signs| signs.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bash_parses_shown_text_into_exact_arguments(
            args in prop::collection::vec(any_text(), 1..12), times in prop_oneof![9 => Just(1_usize), 1 => Just(600)],
        ) {
            let args: Vec<_> = args.into_iter().map(|argument| argument.repeat(times)).collect();
            prop_assume!(args.iter().map(String::len).sum::<usize>() <= 100 << 10);
            let mut all = vec!["%s\\0".to_owned()];
            all.extend(args.clone());
            let line = command("/usr/bin/printf", all, Vec::new()).line();
            let read: String = args.iter().map(|argument| format!("{argument}\0")).collect();
            prop_assert_eq!(run(&line), read);
        }

        #[test]
        fn bash_parses_shown_variables_as_set(value in any_text()) {
            let args = vec!["SHOWN".to_owned()];
            let line = command("/usr/bin/printenv", args, vec![("SHOWN".to_owned(), value.clone())]).line();
            prop_assert_eq!(run(&line), format!("{value}\n"));
        }

        #[test]
        fn shown_command_hides_nothing(argument in any_text()) {
            let text = ApprovalCommand::exact(command("/bin/echo", vec![argument.clone()], Vec::new())).text;
            let text = text.replace('\n', "");
            prop_assert_eq!(escaped(&text).into_owned(), text.clone());
            prop_assert!(text.chars().all(|c| c != '\t'));
            let reported = ApprovalCommand::reported(&argument).text;
            prop_assert!(reported.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')));
        }
    }

    #[test]
    fn long_command_is_not_whole() {
        let long = |bytes: usize| command("/bin/echo", vec!["x".repeat(bytes)], Vec::new());
        let fits = ApprovalCommand::exact(long(SHOWN_COMMAND - "/bin/echo ".len()));
        assert!(fits.is_whole() && fits.text.len() == SHOWN_COMMAND);
        let cut = ApprovalCommand::exact(long(SHOWN_COMMAND));
        assert_eq!((cut.is_whole(), cut.text.len(), cut.omitted), (false, SHOWN_COMMAND, "/bin/echo ".len()));
    }

    #[test]
    fn stored_command_format_is_stable() {
        let exact = ApprovalCommand::exact(command("/bin/echo", vec!["a b".to_owned()], Vec::new()));
        let written = serde_json::to_value(&exact).unwrap();
        insta::assert_json_snapshot!(written, @r#"
        {
          "text": "/bin/echo 'a b'",
          "program": "/bin/echo",
          "args": [
            "a b"
          ],
          "cwd": "/",
          "environment": []
        }
        "#);
        assert_eq!(serde_json::from_value::<ApprovalCommand>(written).unwrap(), exact);
        let reported = ApprovalCommand::reported("make \u{202e}");
        let written = serde_json::to_value(&reported).unwrap();
        assert_eq!(written, serde_json::json!({"text": "make \\u{202e}"}));
        assert_eq!(serde_json::from_value::<ApprovalCommand>(written).unwrap(), reported);
        // Written before commands had a `text`.
        let old = serde_json::json!({"program": "/bin/ls", "args": [], "cwd": "/"});
        let read: ApprovalCommand = serde_json::from_value(old).unwrap();
        assert!(read.text.is_empty() && read.exact.is_some());
    }
}
