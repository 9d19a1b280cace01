//! The version that a program reports, and the version of Node that it needs.

use crate::{
    capture::{Captured, capture},
    limits::{ASK_VERSION, PACKAGE_BYTES, PACKAGE_LEVELS, VERSION_CHARS},
    process::exit_in_words,
    shell::Environment,
};
use openagents_core::CancellationToken;
use serde_json::Value;
use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

/// Runs `PROGRAM --version`, or returns the reason it failed.
pub(crate) fn version_of(
    program: &Path,
    environment: &Environment,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let mut command = environment.command(program);
    let captured = capture(command.arg("--version").current_dir("/"), ASK_VERSION, cancel)
        .map_err(|error| format!("it does not start: {error}"))?;
    if captured.succeeded() {
        let reply = [&captured.stdout, &captured.stderr].into_iter().find_map(|text| version_in(text));
        return reply.ok_or_else(|| "it prints nothing".to_owned());
    }
    Err(failure_reason(&captured))
}

fn failure_reason(captured: &Captured) -> String {
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
    Some(display_text(line.split_whitespace().find(is_version).unwrap_or(line)))
}

pub(crate) fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(display_text)
}

fn display_text(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(VERSION_CHARS).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The minimum Node version, if the program runs on Node and the package declares one.
    pub(crate) node: Option<[u32; 3]>,
}

impl Package {
    pub(crate) fn containing(program: &Path) -> Option<Self> {
        let program = fs::canonicalize(program).ok()?;
        let description = program.ancestors().skip(1).take(PACKAGE_LEVELS).find_map(|folder| {
            let mut text = Vec::new();
            File::open(folder.join("package.json")).ok()?.take(PACKAGE_BYTES).read_to_end(&mut text).ok()?;
            serde_json::from_slice::<Value>(&text).ok()
        })?;
        let text = |key: &str| Some(description[key].as_str()?.to_owned());
        let needs = description["engines"]["node"].as_str().and_then(minimum_version);
        Some(Self {
            name: text("name")?,
            version: text("version")?,
            node: needs.filter(|_| runs_on_node(&program)),
        })
    }
}

/// Checks for a Node shebang, since a package may also hold a program that does not need Node.
pub(crate) fn runs_on_node(program: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(program).and_then(|file| file.take(64).read_to_end(&mut first));
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    read.is_ok() && line.starts_with(b"#!") && line.windows(4).any(|word| word == b"node")
}

/// Parses `>=22` and `>= 22.12.0`. Other ranges are left to npm.
pub(crate) fn minimum_version(range: &str) -> Option<[u32; 3]> {
    let version = range.trim().strip_prefix(">=")?.trim();
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| parse_version(version))
}

/// Parses `v20.19.2`; ignores suffixes.
pub(crate) fn parse_version(version: &str) -> [u32; 3] {
    let mut numbers = version.trim().trim_start_matches('v').split(['.', '-', '+']).map(|part| part.parse());
    [(); 3].map(|()| numbers.next().and_then(Result::ok).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;
    use std::os::unix::fs::symlink;

    #[test]
    fn version_in_finds_version_in_output() {
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
    fn version_of_explains_failure() {
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
            let reply = version_of(
                &path,
                &Environment::default().with_path("/usr/bin:/bin"),
                &CancellationToken::new(),
            );
            assert_eq!(reply.as_deref().map_err(String::as_str), expected, "{script}");
        }
    }

    #[test]
    fn package_is_found_through_npm_link() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules/@a/b");
        let script = program(&package, "dist/index.js", "#!/usr/bin/env node\n");
        let native = program(&package, "dist/native", "exit 0");
        fs::write(
            package.join("package.json"),
            r#"{"name":"@a/b","version":"1.2.3","engines":{"node":">=22.12"}}"#,
        )
        .unwrap();
        let link = folder.path().join("b");
        symlink(script, &link).unwrap();
        let mut expected =
            Package { name: "@a/b".to_owned(), version: "1.2.3".to_owned(), node: Some([22, 12, 0]) };
        assert_eq!(Package::containing(&link).as_ref(), Some(&expected));
        expected.node = None;
        assert_eq!(Package::containing(&native), Some(expected));
        assert_eq!(Package::containing(&program(folder.path(), "alone", "")), None);
    }

    #[test]
    fn parse_version_reads_node_versions() {
        let rows = [
            (">=22", Some([22, 0, 0])),
            (">= 20.19.1 ", Some([20, 19, 1])),
            ("^20 || >=22", None),
            (">=20 <23", None),
            ("*", None),
        ];
        for (range, expected) in rows {
            assert_eq!(minimum_version(range), expected, "{range}");
        }
        assert_eq!(parse_version("v24.1.0-nightly\n"), [24, 1, 0]);
        assert_eq!(parse_version("none"), [0, 0, 0]);
        assert!(parse_version("v20.20.2") < [22, 0, 0]);
    }
}
