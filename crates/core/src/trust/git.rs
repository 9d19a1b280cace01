//! Programs that git runs in a folder: agents call git as soon as they start. `core.fsmonitor` runs at the first
//! `git status`.
//!
//! The keys are those of git-config(1) and githooks(5), of git 2.51 and git-lfs. The user's configuration and the
//! computer's are not read.

use super::{
    files::{FolderReader, Reading},
    found::{Risk, file_digest, without_user},
};
use crate::{file::read_bounded, limits::trust as limits};
use std::{
    collections::BTreeSet,
    iter::Peekable,
    path::{Path, PathBuf},
    str::Chars,
};

/// Maximum nesting of files that include each other.
const INCLUDES: usize = 8;

/// Last parts of keys whose values are run.
const PROGRAMS: &str = "askpass alternaterefscommand cccmd clean cmd command defaultkeycommand diffcmd difffilter driver editor \
    external fsmonitor gitproxy headercmd helper hookspath httpd packobjectshook pager path process program receivepack \
    sendmailcmd smtpserver smudge sshcommand templatedir textconv tocmd tunnel uploadpack vcs";

const SECTIONS: &str = "alias hook pager";

/// Last parts of keys that redirect.
const REDIRECTS: &str =
    "cookiefile extraheader insteadof proxy pushinsteadof sslcainfo sslcapath sslverify worktree";

/// Reads the repository whose working tree or bare folder is `level`.
pub(super) fn read_repository(reader: &mut FolderReader, level: &Path, prefix: &str) {
    let folder = reader.top.root().join(level);
    let Some(repository) = Repository::find(&folder) else { return };
    let mut found = Found { folder: folder.clone(), ..Found::default() };
    for config in ["config", "config.worktree"] {
        for folder in repository.folders() {
            found.config(&folder.join(config), 0);
        }
    }
    let hooks = found
        .hooks
        .take()
        .map(|path| placed(&folder, &path))
        .unwrap_or_else(|| repository.common.join("hooks"));
    found.hooks(&hooks, reader);
    if found.is_cut {
        reader.cut();
    }
    if found.lines.is_empty() {
        return;
    }
    let (name, mut reading) =
        (repository.name, Reading { lines: found.lines, counts: found.counts, risk: None });
    if repository.is_elsewhere(&folder) {
        let line = format!("in {}", repository.common.display());
        // Not hashed: a worktree of the same repository runs the same programs.
        reading.lines.push((Risk::Instructions, line));
    }
    let does = "programs that git runs, and where it connects to";
    reader.add_as(format!("{prefix}{name}"), ".git", does, vec!["git, which agents run".to_owned()], reading);
}

/// The folders of a repository: gitrepository-layout(5).
struct Repository {
    name: &'static str,
    own: PathBuf,
    /// Shared by all worktrees.
    common: PathBuf,
}

impl Repository {
    fn find(folder: &Path) -> Option<Self> {
        let git = folder.join(".git");
        if git.is_dir() {
            return Some(Self { name: ".git", own: git.clone(), common: git });
        }
        if let Some(bytes) = read_bounded(&git, limits::GIT_LINK) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let own = folder.join(text.strip_prefix("gitdir:")?.trim());
            let common = read_bounded(&own.join("commondir"), limits::GIT_LINK);
            let common = common.map(|common| own.join(String::from_utf8_lossy(&common).trim()));
            let common = common.unwrap_or_else(|| own.clone());
            let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
            return Some(Self { name: ".git", own: real(own), common: real(common) });
        }
        // A folder that git treats as a bare repository.
        let is_bare = folder.join("HEAD").is_file()
            && ["objects", "refs"].iter().all(|part| folder.join(part).is_dir());
        is_bare.then(|| Self { name: "config", own: folder.to_owned(), common: folder.to_owned() })
    }

    fn folders(&self) -> BTreeSet<&Path> {
        BTreeSet::from([self.common.as_path(), &self.own])
    }

    fn is_elsewhere(&self, folder: &Path) -> bool {
        !self.common.starts_with(folder)
    }
}

#[derive(Default)]
struct Found {
    folder: PathBuf,
    lines: Vec<(Risk, String)>,
    counts: Vec<u8>,
    /// `core.hooksPath`.
    hooks: Option<String>,
    seen: BTreeSet<PathBuf>,
    is_cut: bool,
}

impl Found {
    /// Reads a configuration, and the files that it includes.
    fn config(&mut self, path: &Path, depth: usize) {
        if path.symlink_metadata().is_err() || !self.seen.insert(path.to_owned()) {
            return;
        }
        let Some(bytes) = read_bounded(path, limits::FILE) else {
            self.is_cut = true;
            self.lines.push((Risk::Programs, format!("{}: unreadable or too large", path.display())));
            return;
        };
        for entry in config_entries(&String::from_utf8_lossy(&bytes)) {
            let ConfigEntry { key, value } = &entry;
            let is_own_tree = key == "core.worktree" && self.is_own_tree(path, value);
            let Some(risk) = risk(&entry).filter(|_| !is_own_tree) else { continue };
            let line = format!("{key}: {}", without_user(value));
            self.counts.extend(file_digest(line.as_bytes(), None));
            self.lines.push((risk, line));
            if key == "core.hookspath" {
                self.hooks = Some(value.clone());
            }
            if key == "include.path" || key.starts_with("includeif.") {
                if depth < INCLUDES {
                    self.config(&placed(path.parent().unwrap_or(path), value), depth + 1);
                } else {
                    self.is_cut = true;
                }
            }
        }
    }

    /// Returns whether a working tree is the folder itself, as in a submodule.
    fn is_own_tree(&self, config: &Path, value: &str) -> bool {
        let tree = config.parent().and_then(|folder| folder.join(value).canonicalize().ok());
        tree.is_some_and(|tree| tree == self.folder)
    }

    fn hooks(&mut self, folder: &Path, reader: &mut FolderReader) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.take(limits::ENTRIES + 1).map(|entry| entry.path()).collect();
        self.is_cut |= paths.len() > limits::ENTRIES;
        paths.retain(|path| path.extension().is_none_or(|extension| extension != "sample") && path.is_file());
        paths.sort();
        self.is_cut |= paths.len() > limits::HOOKS;
        paths.truncate(limits::HOOKS);
        for path in paths {
            let name = path.file_name().unwrap_or_default();
            self.lines.push((Risk::Programs, format!("hooks/{}", name.to_string_lossy())));
            self.counts.extend(file_digest(name.as_encoded_bytes(), None));
            match read_bounded(&path, limits::FILE.min(reader.bytes)) {
                Some(bytes) => {
                    reader.bytes = reader.bytes.saturating_sub(bytes.len() as u64);
                    self.counts.extend(file_digest(&bytes, None));
                }
                None => self.is_cut = true,
            }
        }
    }
}

fn placed(folder: &Path, path: &str) -> PathBuf {
    match path.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest))) {
        Some(path) => path,
        None => folder.join(path),
    }
}

/// Returns the risk of an entry; `None` if it neither runs nor redirects anything.
fn risk(entry: &ConfigEntry) -> Option<Risk> {
    let ConfigEntry { key, value } = entry;
    let is_in = |word: &str, list: &str| list.split_whitespace().any(|listed| listed == word);
    let section = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    let is_switch = ["true", "false", "yes", "no", "on", "off", "1", "0", ""]
        .contains(&value.to_ascii_lowercase().as_str());
    // `url = ext::sh -c …`, `update = !…`.
    let is_command = value.starts_with('!') || value.contains("::");
    match () {
        () if last == "worktree" && section != "core" => None,
        () if is_in(last, REDIRECTS) => Some(Risk::Redirects),
        () if is_command => Some(Risk::Programs),
        // `core.fsmonitor = true` is git's own monitor.
        () if is_switch => None,
        () if is_in(last, PROGRAMS) || is_in(section, SECTIONS) => Some(Risk::Programs),
        () => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigEntry {
    /// `remote.Origin.url`: section and variable in lower case, the subsection as written.
    pub(super) key: String,
    /// `true` if the variable has no value.
    pub(super) value: String,
}

/// Returns the variables of a configuration file: the section "Syntax" of git-config(1). Where git stops at an error,
/// this parser continues with the next line.
pub(super) fn config_entries(text: &str) -> Vec<ConfigEntry> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let (mut characters, mut section, mut found) = (text.chars().peekable(), String::new(), Vec::new());
    while let Some(character) = characters.next() {
        match character {
            '#' | ';' => skip_line(&mut characters),
            '[' => match read_section(&mut characters) {
                Some(name) => section = name,
                None => skip_line(&mut characters),
            },
            character if character.is_ascii_alphabetic() => {
                let mut name = String::from(character.to_ascii_lowercase());
                while let Some(character) =
                    characters.next_if(|character| character.is_ascii_alphanumeric() || *character == '-')
                {
                    name.push(character.to_ascii_lowercase());
                }
                while characters.next_if(|character| matches!(character, ' ' | '\t')).is_some() {}
                let value = match characters.next() {
                    Some('=') => read_value(&mut characters),
                    None | Some('\n') => "true".to_owned(),
                    Some(_) => {
                        skip_line(&mut characters);
                        continue;
                    }
                };
                found.push(ConfigEntry { key: format!("{section}.{name}"), value });
            }
            character if character.is_whitespace() => {}
            _ => skip_line(&mut characters),
        }
    }
    found
}

fn skip_line(characters: &mut Peekable<Chars<'_>>) {
    for character in characters {
        if character == '\n' {
            break;
        }
    }
}

/// Reads `core]` or `remote "origin"]`.
fn read_section(characters: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut name = String::new();
    loop {
        match characters.next_if(|character| *character != '\n')? {
            ']' => return Some(name),
            ' ' | '\t' | '\r' => {}
            '"' => break,
            character => name.push(character.to_ascii_lowercase()),
        }
    }
    name.push('.');
    loop {
        match characters.next_if(|character| *character != '\n')? {
            '"' => break,
            '\\' => name.push(characters.next_if(|character| *character != '\n')?),
            character => name.push(character),
        }
    }
    (characters.next_if(|character| *character == ']')).map(|_| name)
}

/// Reads the rest of a line, and its continuation lines.
fn read_value(characters: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut spaces, mut is_quoted, mut is_comment) = (String::new(), String::new(), false, false);
    while let Some(character) = characters.next() {
        match character {
            '\n' => break,
            _ if is_comment => {}
            ' ' | '\t' | '\r' if !is_quoted => {
                if !value.is_empty() {
                    spaces.push(character);
                }
            }
            '#' | ';' if !is_quoted => is_comment = true,
            '"' => is_quoted = !is_quoted,
            character => {
                let character = match character {
                    '\\' => match characters.next() {
                        Some('\n') => continue,
                        Some('t') => '\t',
                        Some('b') => '\u{8}',
                        Some('n') => '\n',
                        Some(other) => other,
                        None => break,
                    },
                    other => other,
                };
                value.push_str(&spaces);
                spaces.clear();
                value.push(character);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// Returns the entries that git reads; `None` if it rejects the file.
    fn as_git_reads(text: &str) -> Option<Vec<(String, String)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let output = Command::new("git")
            .args(["config", "--no-includes", "--list", "-z", "--file"])
            .arg(&path)
            .output()
            .unwrap();
        let listed = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        let entries = listed.split_terminator('\0').map(|entry| {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            (key.to_owned(), value.to_owned())
        });
        Some(entries.collect())
    }

    fn parsed(text: &str) -> Vec<(String, String)> {
        config_entries(text).into_iter().map(|ConfigEntry { key, value }| (key, value)).collect()
    }

    #[test]
    fn config_parses_as_in_git() {
        for text in [
            "[core]\n\tfsmonitor = curl evil # x\n",
            "[core]fsmonitor=a;b\n[CORE] FSMonitor = \"a;b\" c ; d\n",
            "[alias \"a\\\"b\\\\c\"]\n x = !sh \\\n  -c 'y'\n[a.B] c\n",
            "\u{feff}[a]\r\n b = c\r\n d\r\n",
            "; only\n# comments\n",
            "[a]\n b = \"c  \" d   \n e = \\t\\n\\\"\n",
            "[remote \"o\"]url=ext::sh -c x\n\tfetch = +a:b\n",
        ] {
            let expected = as_git_reads(text).unwrap_or_else(|| panic!("git refuses {text:?}"));
            assert_eq!(parsed(text), expected, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// No entry that git sees is missed, whatever the file looks like.
        #[test]
        fn config_misses_no_entry_of_git(characters in prop::collection::vec(prop::sample::select("[]\"\\=;#.-!\t\n ab1:core\r".chars().collect::<Vec<_>>()), 0..60)) {
            let text = format!("[core]\n{}", characters.into_iter().collect::<String>());
            let read = parsed(&text);
            for entry in as_git_reads(&text).unwrap_or_default() {
                prop_assert!(read.contains(&entry), "{:?} in {:?}: {:?}", entry, text, read);
            }
        }

        #[test]
        fn config_accepts_any_text(text in any::<String>()) {
            config_entries(&text);
        }
    }
}
