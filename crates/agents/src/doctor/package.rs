//! The npm package that contains a program.

use crate::{
    capture::capture,
    limits::{ASK_NPM, PACKAGE_BYTES, PACKAGE_LEVELS},
    shell::Environment,
};
use openagents_core::CancellationToken;
use serde_json::Value;
use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

/// The fields of a `package.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// The minimum Node version, if the program runs on Node and the package declares one.
    pub(super) node: Option<[u32; 3]>,
}

impl Package {
    /// Finds the package of a program, through npm's symbolic link.
    pub(super) fn of(program: &Path) -> Option<Self> {
        let program = fs::canonicalize(program).ok()?;
        let description = program.ancestors().skip(1).take(PACKAGE_LEVELS).find_map(|folder| {
            let mut text = Vec::new();
            File::open(folder.join("package.json")).ok()?.take(PACKAGE_BYTES).read_to_end(&mut text).ok()?;
            serde_json::from_slice::<Value>(&text).ok()
        })?;
        let text = |key: &str| Some(description[key].as_str()?.to_owned());
        let needs = description["engines"]["node"].as_str().and_then(at_least);
        Some(Self {
            name: text("name")?,
            version: text("version")?,
            node: needs.filter(|_| runs_on_node(&program)),
        })
    }
}

/// Checks for a Node shebang, since a package may also hold a program that does not need Node.
fn runs_on_node(program: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(program).and_then(|file| file.take(64).read_to_end(&mut first));
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    read.is_ok() && line.starts_with(b"#!") && line.windows(4).any(|word| word == b"node")
}

/// Parses `>=22` and `>= 22.12.0`. Other ranges are left to npm.
fn at_least(range: &str) -> Option<[u32; 3]> {
    let version = range.trim().strip_prefix(">=")?.trim();
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| numbers(version))
}

/// Parses `v20.19.2`; ignores suffixes.
pub(super) fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = version.trim().trim_start_matches('v').split(['.', '-', '+']).map(|part| part.parse());
    [(); 3].map(|()| numbers.next().and_then(Result::ok).unwrap_or_default())
}

/// Finds a program in npm's global folder, which need not be in the PATH.
pub(super) fn find_global(
    program: &str,
    environment: &Environment,
    cancel: &CancellationToken,
) -> Option<PathBuf> {
    let npm = environment.find("npm")?;
    let mut command = environment.command(&npm);
    command.args(["prefix", "-g", "--no-update-notifier"]).current_dir("/");
    let captured = capture(&mut command, ASK_NPM, cancel).ok().filter(|captured| captured.succeeded())?;
    let prefix = String::from_utf8(captured.stdout).ok()?;
    let program = Path::new(prefix.trim()).join("bin").join(program);
    environment.find(program.to_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_package_is_found_through_the_link_of_npm() {
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
        assert_eq!(Package::of(&link).as_ref(), Some(&expected));
        expected.node = None;
        assert_eq!(Package::of(&native), Some(expected));
        assert_eq!(Package::of(&program(folder.path(), "alone", "")), None);
    }

    #[test]
    fn versions_of_node_are_numbers() {
        let rows = [
            (">=22", Some([22, 0, 0])),
            (">= 20.19.1 ", Some([20, 19, 1])),
            ("^20 || >=22", None),
            (">=20 <23", None),
            ("*", None),
        ];
        for (range, expected) in rows {
            assert_eq!(at_least(range), expected, "{range}");
        }
        assert_eq!(numbers("v24.1.0-nightly\n"), [24, 1, 0]);
        assert_eq!(numbers("none"), [0, 0, 0]);
        assert!(numbers("v20.20.2") < [22, 0, 0]);
    }

    #[test]
    fn npm_knows_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        program(path, "npm", &format!("echo {}/global", path.display()));
        let adapter = program(path, "global/bin/x-acp", "exit 0");
        let environment = Environment::default().with_path(path);
        let cancel = CancellationToken::new();
        assert_eq!(find_global("x-acp", &environment, &cancel), Some(adapter));
        assert_eq!(find_global("y-acp", &environment, &cancel), None);
        program(path, "npm", "exit 1");
        assert_eq!(find_global("x-acp", &environment, &cancel), None);
    }
}
