//! Lists every setting of a file by name, or the text of the file.

use super::{
    catalogue::ENTRIES,
    files::{Content, FolderReader, Reading},
    found::{Risk, SettingLine, file_digest, is_secret, shown_value, without_user},
};
use crate::{
    git::may_track,
    limits::trust as limits,
    shell_line::{LineScene, NamedPaths},
    visible::on_one_line,
    workspace::Workspace,
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

/// Members of settings that name files that the model reads or may read. These files do not run.
const INSTRUCTIONS: &[&str] =
    &["context", "contextFileName", "instructions", "permissions", "project_doc_fallback_filenames"];

/// Members of front matter that only name and describe.
const DESCRIPTIONS: &[&str] =
    &["argument-hint", "color", "description", "license", "model", "name", "version"];

/// Extensions of files that a command runs.
const SCRIPTS: &[&str] = &[
    "bash", "cjs", "cts", "fish", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "rb", "sh",
    "ts", "tsx", "zsh",
];

/// Folders in folders of settings that are not followed, each with the line that is shown for it; no line if agents
/// load nothing from it.
const SKIPPED: &[(&str, Option<&str>)] = &[
    // Checkouts. An agent that starts in one has its own question.
    (".claude/worktrees", None),
    (".qwen/worktrees", None),
    (".cline/worktrees", None),
    // Notes that agents write there themselves.
    (".claude/agent-memory", Some("notes of Claude Code, not shown")),
    (".claude/agent-memory-local", Some("notes of Claude Code, not shown")),
    // Packages that agents install for plugins. Like the other files that a script uses, they are not followed.
    (".opencode/node_modules", Some("packages of plugins, not shown")),
    (".pi/npm/node_modules", Some("packages of extensions, not shown")),
];

/// Claude Code's settings for appearance and preferences. They neither run anything nor decide what may run.
const CLAUDE_HARMLESS: &str = "$schema alwaysThinkingEnabled attribution cleanupPeriodDays \
    companyAnnouncements effortLevel includeCoAuthoredBy language model outputStyle respectGitignore \
    showTurnDuration spinnerTipsEnabled spinnerVerbs";

/// Lists that Claude Code itself extends in the user's own file.
const CLAUDE_ANSWERS: &[&str] = &["allow", "ask", "deny"];

/// Part of the lower-case path of the user's own file, also behind links. No other character has one of these as its lower
/// case.
const OWN_PATH_PART: &str = ".local.j";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Json,
    Toml,
    /// Any other syntax; the text is shown.
    Text,
    /// Text for the model, with settings before it and commands in it.
    Markdown,
}

/// Returns whether the settings of a file are listed, not only its name.
pub(super) fn is_listed(path: &Path) -> bool {
    syntax(path).is_some()
}

/// Returns whether a file is text for the model, without settings of its own.
pub(super) fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["md", "mdx", "mdc", "txt"].contains(&extension.to_ascii_lowercase().as_str())
}

fn syntax(path: &Path) -> Option<Syntax> {
    // npm writes it next to plugins.
    if path.file_name().is_some_and(|name| name == "package-lock.json") {
        return None;
    }
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "json" | "jsonc" | "json5" => Syntax::Json,
        "toml" => Syntax::Toml,
        "yaml" | "yml" | "rules" => Syntax::Text,
        "md" | "mdx" | "mdc" => Syntax::Markdown,
        _ => return None,
    })
}

/// Lists the settings in a file. All of them are hashed, with the scripts in the folder that they name.
pub(super) fn read_settings(reader: &mut FolderReader, level: &Path, path: &Path, bytes: &[u8]) -> Reading {
    let Ok(text) = std::str::from_utf8(bytes) else {
        reader.cut();
        return Reading::line("not text: remove it".to_owned());
    };
    let listed = match syntax(path) {
        Some(Syntax::Json) => serde_json::from_str(text).ok().map(|value| values(&value)),
        Some(Syntax::Toml) => toml::from_str(text).ok().map(|value| values(&value)),
        Some(Syntax::Markdown) => Some(raw(front_matter(text).chain(inline_commands(text)))),
        Some(Syntax::Text) | None => None,
    };
    // Agents accept comments and more. How they read such a file is not known here, so the text itself is shown.
    let lines = listed.unwrap_or_else(|| raw(text.lines().filter(|line| !line.trim().is_empty())));
    let counts = file_digest(bytes, None);
    from_lines(reader, level, path, lines, counts)
}

/// Shows lines, and hashes the scripts that they name.
pub(super) fn from_lines(
    reader: &mut FolderReader,
    level: &Path,
    path: &Path,
    lines: Vec<SettingLine>,
    mut counts: Vec<u8>,
) -> Reading {
    let scripts = read_scripts(reader, level, path, &lines);
    counts.extend(scripts.counts);
    let mut shown = Vec::new();
    for (line, missing) in lines.iter().zip(scripts.missing) {
        shown.push((line.risk(), line.text()));
        shown.extend(missing.into_iter().map(|word| {
            let name = if line.key.is_empty() { "command" } else { &line.key };
            (line.risk(), format!("{name}: script not found: {word}"))
        }));
    }
    let risk = is_document(path).then_some(Risk::Instructions).or(Some(Risk::Programs));
    Reading { lines: shown, counts, risk }
}

fn raw<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<SettingLine> {
    lines.into_iter().map(|line| SettingLine::raw(line.to_owned())).collect()
}

/// Lists every value: `mcpServers.db.command: node a.js`.
pub(super) fn values(settings: &Value) -> Vec<SettingLine> {
    let mut lines = Vec::new();
    match settings {
        Value::Object(members) => {
            for (name, value) in members {
                let from = lines.len();
                member(members, name, value, name, &mut lines);
                let runs = !INSTRUCTIONS.contains(&name.as_str());
                lines.iter_mut().skip(from).for_each(|line| line.may_run = runs);
            }
        }
        other => lines.push(SettingLine::raw(words(other))),
    }
    lines
}

/// Lists a member of an object. The arguments of a command are on its line, as they would be typed.
fn member(members: &Map<String, Value>, key: &str, value: &Value, name: &str, lines: &mut Vec<SettingLine>) {
    match (key, value, members.get("command"), members.get("args")) {
        ("command", Value::String(command), _, Some(arguments @ Value::Array(values)))
            if !values.is_empty() =>
        {
            lines.push(SettingLine::new(name, format!("{command} {}", words(arguments))));
        }
        ("args", Value::Array(_), Some(Value::String(_)), _) => {}
        (_, value, ..) => list(value, name, lines),
    }
}

fn list(value: &Value, name: &str, lines: &mut Vec<SettingLine>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                member(members, key, value, &format!("{name}.{key}"), lines);
            }
        }
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            values.iter().for_each(|value| list(value, name, lines));
        }
        value => lines.push(SettingLine::new(name, shown_value(name, &words(value)))),
    }
}

/// Returns a value on one line: a string without quotes, a list as the words of a command.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if !values.is_empty() => values.iter().map(word).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Returns one argument, quoted if a shell would need quotes.
fn word(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.clone(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Returns the front matter of a text, except lines that only name or describe; all of the text if the front matter
/// has no end.
fn front_matter(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let text = if text.starts_with("---") { text } else { "" };
    text.lines().skip(1).take_while(|line| line.trim_end() != "---").filter(|line| !is_description(line))
}

/// Returns the lines with commands that run when the text is loaded: `` !`date` ``, `!{date}`, and blocks that begin with
/// `` ```! ``.
fn inline_commands(text: &str) -> impl Iterator<Item = &str> {
    let mut is_block = false;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_block = !is_block && line.trim_start_matches(['`', '~']).trim_start().starts_with('!');
            return is_block;
        }
        is_block || line.contains("!`") || line.contains("!{")
    })
}

/// Returns whether a line of front matter is plain text that only names or describes.
fn is_description(line: &str) -> bool {
    let Some((name, text)) = line.split_once(": ") else { return line.trim().is_empty() };
    // Any other first character begins something that YAML does not read as plain text, or that continues on other
    // lines.
    let is_plain = text.starts_with(|c: char| c.is_alphanumeric() || "\"'[".contains(c));
    DESCRIPTIONS.contains(&name) && is_plain && on_one_line(line) == line
}

/// The scripts that settings name: a hook or server that stays the same may run a script that changes.
pub(super) struct Scripts {
    /// Hashed; empty if there are none.
    pub(super) counts: Vec<u8>,
    /// For each line, the scripts in it that do not exist, and those that only the shell can find.
    pub(super) missing: Vec<Vec<String>>,
}

/// Reads the scripts that the settings in `file` name. They run in `level`, in the agent's folder, or next to `file`.
pub(super) fn read_scripts(
    reader: &mut FolderReader,
    level: &Path,
    file: &Path,
    lines: &[SettingLine],
) -> Scripts {
    let top = reader.top.root().to_owned();
    let beside = file.ancestors().skip(1).take(2).take_while(|folder| folder.starts_with(level));
    let folders: BTreeSet<_> = [level, &reader.own].into_iter().chain(beside).collect();
    let folders: Vec<PathBuf> = folders.into_iter().map(|folder| top.join(folder)).collect();
    let (mut paths, mut missing) = (BTreeSet::new(), Vec::new());
    for line in lines {
        let mut named = NamedPaths::default();
        if line.may_run {
            let scene = LineScene { folders: &folders, project: &top, most: reader.paths };
            named.add_line(&line.value, scene);
        }
        reader.paths = reader.paths.saturating_sub(named.paths.len());
        if named.is_cut {
            reader.cut();
        }
        let found: BTreeSet<&PathBuf> = named
            .paths
            .iter()
            .filter(|path| {
                let inside = inside(reader, path).filter(|path| reader.top.is_file(path));
                let is_found = inside.is_some();
                paths.extend(inside);
                is_found
            })
            .collect();
        missing.push(match line.is_command() {
            true => {
                let is_missing = |paths: &BTreeSet<PathBuf>| {
                    !paths.iter().any(|path| found.contains(path) || path.exists())
                };
                let scripts = named.words.iter().filter(|(word, paths)| is_script(word) && is_missing(paths));
                scripts.map(|(word, _)| word).chain(&named.unknown).cloned().collect()
            }
            false => Vec::new(),
        });
    }
    let mut counts = Vec::new();
    for path in paths {
        let counted = match reader.read_content(&path) {
            Content::Bytes { bytes, rest } => file_digest(&bytes, rest),
            Content::Other(why) => why.into_bytes(),
        };
        counts.extend(file_digest(path.as_os_str().as_encoded_bytes(), None));
        counts.extend(file_digest(&counted, None));
    }
    Scripts { counts, missing }
}

/// Returns a path relative to the top; `None` if it is elsewhere.
fn inside(reader: &FolderReader, path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    if let Ok(inside) = plain.strip_prefix(reader.top.root()) {
        return Some(inside.to_owned());
    }
    // `/tmp` is `/private/tmp` on macOS.
    let real = plain.canonicalize().ok()?;
    real.strip_prefix(reader.top.root()).ok().map(Path::to_owned)
}

/// Returns whether a word of a command can only refer to a script.
fn is_script(word: &str) -> bool {
    let is_path = !word.starts_with(['-', '@', '~']) && !word.contains("://");
    let is_one = !word.contains(|c: char| c.is_whitespace() || "=;|&<>()*?[]{}$`,".contains(c));
    let is_rooted = ["./", "../"].iter().any(|begin| word.starts_with(begin));
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    is_path && is_one && (is_rooted || extension.is_some_and(|extension| SCRIPTS.contains(&extension)))
}

/// Returns whether a file in a folder of settings holds variables: `.env`, `.npmrc`.
pub(super) fn is_variables_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == ".env" || name.starts_with(".env.") || name == ".npmrc"
}

/// Reads `NAME=value` lines. All of them are hashed; most values are secrets, so only those that run something or
/// redirect are shown.
pub(super) fn read_variables(reader: &mut FolderReader, level: &Path, path: &Path, bytes: &[u8]) -> Reading {
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
    let mut reading = from_lines(reader, level, path, lines, file_digest(bytes, None));
    if !others.is_empty() {
        reading.lines.push((Risk::Instructions, format!("other variables: {}", others.join(", "))));
    }
    // A key decides whose account is used.
    reading.risk = Some(Risk::Redirects);
    reading
}

/// Reads every file below `top`, in the order of their names. Settings are listed, other files are only named. Returns
/// `None` if it has only files that other entries show.
pub(super) fn read_tree(reader: &mut FolderReader, level: &Path, top: &Path) -> Option<Reading> {
    let (mut reading, mut open) = (Reading::default(), vec![top.to_owned()]);
    let (mut files, mut is_own) = (0_usize, true);
    let mut risk = None;
    while let Some(path) = open.pop() {
        let depth = path.strip_prefix(level).unwrap_or(&path).components().count();
        let inside = path.strip_prefix(top).unwrap_or(&path);
        let shown = Workspace::shown(if path == top {
            path.file_name().map(Path::new).unwrap_or(top)
        } else {
            inside
        });
        if let Some((_, note)) = SKIPPED.iter().find(|(skipped, _)| path == level.join(skipped)) {
            reading.lines.extend(note.map(|note| (Risk::Instructions, format!("{shown}: {note}"))));
            is_own |= note.is_some();
            continue;
        }
        match names(reader, &path) {
            // Pushed in reverse, so that the first one is next.
            Some(names) if depth <= limits::DEPTH => {
                let has_entry = |path: &Path| ENTRIES.iter().any(|entry| path == level.join(entry.path));
                let paths: Vec<_> = names.into_iter().rev().map(|name| path.join(name)).collect();
                let count = paths.len();
                let paths: Vec<_> = paths.into_iter().filter(|path| !has_entry(path)).collect();
                is_own &= !(path == top && paths.is_empty() && count > 0);
                open.extend(paths);
                continue;
            }
            Some(_) => {
                reader.cut();
                reading.lines.push((Risk::Programs, format!("{shown}: too deep to show")));
                continue;
            }
            None => {}
        }
        let file = match reader.read_content(&path) {
            Content::Bytes { bytes, rest: None } if is_variables_file(&path) => {
                read_variables(reader, level, &path, &bytes)
            }
            Content::Bytes { bytes, rest: None } if is_listed(&path) => {
                read_settings(reader, level, &path, &bytes)
            }
            Content::Bytes { .. } if is_listed(&path) => {
                reader.cut();
                Reading::line("too large to show: shorten it".to_owned())
            }
            Content::Bytes { bytes, rest } => {
                let risk = is_document(&path).then_some(Risk::Instructions);
                Reading {
                    lines: Vec::new(),
                    counts: file_digest(&bytes, rest),
                    risk: risk.or(Some(Risk::Programs)),
                }
            }
            Content::Other(why) => Reading::line(why),
        };
        let of_file = file.risk.unwrap_or(Risk::Programs);
        risk = Some(risk.map_or(of_file, |risk: Risk| risk.min(of_file)));
        if file.lines.is_empty() {
            reading.lines.push((of_file, shown.clone()));
        }
        reading.lines.extend(file.lines.into_iter().map(|(risk, line)| (risk, format!("{shown}: {line}"))));
        files += 1;
        reading.counts.extend(file_digest(inside.as_os_str().as_encoded_bytes(), None));
        reading.counts.extend(file_digest(&file.counts, None));
    }
    reading.risk = risk;
    if files > 0 {
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let least = reading.lines.iter().map(|(risk, _)| *risk).chain(risk).min();
        reading.lines.insert(0, (least.unwrap_or_default(), files));
    } else if reading.lines.is_empty() {
        if !is_own {
            return None;
        }
        reading.lines.push((Risk::Instructions, "empty".to_owned()));
    }
    Some(reading)
}

/// Returns the sorted names in a directory; `None` if `path` is not a directory or cannot be opened.
fn names(reader: &mut FolderReader, path: &Path) -> Option<Vec<OsString>> {
    let directory = reader.top.open_dir(path).ok()?;
    reader.owners.note(reader.top.owner(path));
    let mut names = Vec::new();
    let Ok(entries) = directory.entries() else {
        reader.cut();
        return Some(names);
    };
    for entry in entries {
        let Some(left) = reader.entries.checked_sub(1) else {
            reader.cut();
            break;
        };
        reader.entries = left;
        match entry {
            Ok(entry) => names.push(entry.file_name()),
            Err(_) => reader.cut(),
        }
    }
    names.sort();
    Some(names)
}

/// Reads Claude Code's settings, and the scripts in the folder that they name.
///
/// The user's `own` file is shown once when it appears. After that, the rules that Claude Code writes there when the
/// user answers "always" do not count, unless git may track such a file: then the repository writes them.
pub(super) fn read_claude(
    reader: &mut FolderReader,
    level: &Path,
    path: &Path,
    mut value: Value,
    own: bool,
) -> Reading {
    if let Value::Object(members) = &mut value {
        members.retain(|name, _| CLAUDE_HARMLESS.split(' ').all(|harmless| harmless != name));
        if members.is_empty() {
            return Reading::default();
        }
    }
    let lines = values(&value);
    let is_tracked =
        || reader.top.exists(&level.join(".claude/.git")) || may_track(reader.top.root(), OWN_PATH_PART);
    if own
        && let Some(permissions) = value.get_mut("permissions").and_then(Value::as_object_mut)
        && !is_tracked()
    {
        permissions.retain(|name, _| !CLAUDE_ANSWERS.contains(&name.as_str()));
    }
    // The order of members does not count.
    value.sort_all_objects();
    from_lines(reader, level, path, lines, value.to_string().into_bytes())
}
