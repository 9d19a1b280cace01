//! The version that a program reports.

use super::{
    package::{Package, numbers},
    trouble::Trouble,
};
use crate::{
    capture::{Captured, capture},
    limits::{ASK_VERSION, VERSION_CHARS},
    process::exit_in_words,
    shell::Environment,
};
use openagents_core::CancellationToken;
use std::path::Path;

/// Runs `PROGRAM --version`, or returns the reason it failed.
pub(super) fn version_of(
    program: &Path,
    environment: &Environment,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let mut command = environment.command(program);
    let captured = capture(command.arg("--version").current_dir("/"), ASK_VERSION, cancel)
        .map_err(|error| format!("it does not start: {error}"))?;
    if captured.succeeded() {
        let said = [&captured.stdout, &captured.stderr].into_iter().find_map(|text| version_in(text));
        return said.ok_or_else(|| "it prints nothing".to_owned());
    }
    Err(why(&captured))
}

fn why(captured: &Captured) -> String {
    let Some(status) = captured.status else {
        return format!("no answer within {} s", ASK_VERSION.time.as_secs());
    };
    let how = exit_in_words(status);
    match last_line(&captured.stderr).or_else(|| last_line(&captured.stdout)) {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

/// Finds `2.1.330` in `2.1.330 (Claude Code)` or `codex-cli 0.169.0`; without a number, returns the line.
fn version_in(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let is_version = |word: &&str| {
        let digits = word.strip_prefix('v').unwrap_or(word);
        digits.starts_with(|first: char| first.is_ascii_digit()) && digits.contains('.')
    };
    Some(shown(line.split_whitespace().find(is_version).unwrap_or(line)))
}

/// Returns the last line of a program's output, for a sentence.
pub(super) fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(shown)
}

/// Shortens foreign text and removes control characters.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(VERSION_CHARS).collect()
}

/// Returns the problem if this machine's Node is too old for the program.
pub(super) fn node_trouble(
    program: &str,
    package: &Package,
    environment: &Environment,
    cancel: &CancellationToken,
) -> Option<Trouble> {
    let needed = package.node?;
    let version = [needed[0], needed[1], needed[2]].map(|number| number.to_string()).join(".");
    let remedy = format!("install Node {} or newer from https://nodejs.org", needed[0]);
    let Some(node) = environment.find("node") else {
        return Some(Trouble::new(
            format!("the program {program} needs Node {version}, which is not installed"),
            remedy,
        ));
    };
    let has = version_of(&node, environment, cancel).ok()?;
    let is_old = numbers(&has) < needed;
    is_old.then(|| {
        let has = has.trim_start_matches('v');
        Trouble::new(
            format!("the program {program} needs Node {version}, but Node {has} is installed"),
            remedy,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        let rows = [
            ("codex-cli 0.169.0\n", Some("0.169.0")),
            ("2.1.330 (Claude Code)\n", Some("2.1.330")),
            ("\n v24.21.0\n", Some("v24.21.0")),
            ("GitHub Copilot CLI 1.0.80.\nmore", Some("1.0.80.")),
            ("nightly\u{1b}[0m build", Some("nightly[0m build")),
            ("\n \n", None),
        ];
        for (output, expected) in rows {
            assert_eq!(version_in(output.as_bytes()).as_deref(), expected, "{output:?}");
        }
    }

    #[test]
    fn a_missing_version_has_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let rows = [
            ("echo tool 1.2.3", Ok("1.2.3")),
            ("echo 4.5.6 >&2", Ok("4.5.6")),
            ("exit 0", Err("it prints nothing")),
            (
                "echo first >&2; echo 'cannot find libfoo' >&2; exit 127",
                Err("exit code 127: cannot find libfoo"),
            ),
            ("kill -9 $$", Err("SIGKILL")),
        ];
        for (script, expected) in rows {
            let path = program(folder.path(), "tool", script);
            let said = version_of(
                &path,
                &Environment::default().with_path("/usr/bin:/bin"),
                &CancellationToken::new(),
            );
            assert_eq!(said.as_deref().map_err(String::as_str), expected, "{script}");
        }
    }

    #[test]
    fn an_old_node_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let package = Package { name: "a".to_owned(), version: "1".to_owned(), node: Some([22, 0, 0]) };
        let environment = Environment::default().with_path(folder.path());
        let trouble = || {
            let trouble = node_trouble("a-acp", &package, &environment, &CancellationToken::new());
            trouble.map(|trouble| trouble.to_string())
        };
        assert!(trouble().unwrap().contains("is not installed"));
        program(folder.path(), "node", "echo v20.20.2");
        assert_eq!(
            trouble().unwrap(),
            "the program a-acp needs Node 22.0.0, but Node 20.20.2 is installed; install Node 22 or newer from https://nodejs.org"
        );
        program(folder.path(), "node", "echo v24.0.0");
        assert_eq!(trouble(), None);
    }
}
