//! Files of variables: `.env`, `.npmrc`. Most values are secrets, so only values that run something or redirect are
//! shown.

use super::{
    digests::whole,
    files::{FolderReader, Reading},
    found::Risk,
    lines::{SettingLine, is_secret, without_user},
    settings,
};
use std::path::Path;

/// Returns whether a file in a folder of settings holds variables.
pub(super) fn are_in(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == ".env" || name.starts_with(".env.") || name == ".npmrc"
}

/// Reads `NAME=value` lines. All of them are hashed.
pub(super) fn read(reader: &mut FolderReader, level: &Path, path: &Path, bytes: &[u8]) -> Reading {
    let text = String::from_utf8_lossy(bytes);
    let (mut lines, mut others) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let (name, value) = (name.trim(), value.trim());
        let quoted =
            ['"', '\'', '`'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        let line = SettingLine::variable(name, without_user(quoted.unwrap_or(value)));
        match line.risk() {
            Risk::Programs | Risk::Redirects if !is_secret(name) => lines.push(line),
            _ => others.push(name.to_owned()),
        }
    }
    let mut reading = settings::from_lines(reader, level, path, lines, whole(bytes, None));
    if !others.is_empty() {
        reading.lines.push((Risk::Instructions, format!("other variables: {}", others.join(", "))));
    }
    // A key decides whose account is used.
    reading.risk = Some(Risk::Redirects);
    reading
}
