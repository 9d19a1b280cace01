//! Reads files within shared limits, and collects the lines to show.

use super::{
    catalogue::CatalogueEntry,
    found::{AgentFile, AgentFiles, Risk, hash_parts},
};
use crate::{
    limits::trust as limits,
    visible::on_one_line,
    workspace::{PathError, Workspace},
};
use std::{
    collections::BTreeSet,
    io::Read,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// Reads folders one after the other, within shared limits.
pub(super) struct FolderReader {
    /// Paths are relative to it: the root of the repository, the folder itself outside a repository, or one of the
    /// folders above.
    pub(super) top: Workspace,
    /// The folder that agents run in.
    pub(super) own: PathBuf,
    found: AgentFiles,
    pub(super) owners: Owners,
    pub(super) bytes: u64,
    pub(super) entries: usize,
    /// Paths in commands left to look up.
    pub(super) paths: usize,
    /// Lines and bytes left to show.
    lines: usize,
    text: usize,
}

pub(super) enum Content {
    /// The beginning of a file; all of it unless `rest` has its size and modification time.
    Bytes { bytes: Vec<u8>, rest: Option<(u64, u128)> },
    /// A description of anything else, whose effect on agents is unknown.
    Other(String),
}

/// The lines to show of a file, and the bytes to hash.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) lines: Vec<(Risk, String)>,
    /// Empty if a change needs no new answer.
    pub(super) counts: Vec<u8>,
    /// The risk of a file whose lines do not show it.
    pub(super) risk: Option<Risk>,
}

impl Reading {
    pub(super) fn line(line: String) -> Self {
        Self { counts: line.clone().into_bytes(), lines: vec![(Risk::Programs, line)], risk: None }
    }
}

impl FolderReader {
    pub(super) fn new(top: Workspace, own: PathBuf) -> Self {
        Self {
            owners: Owners::new(top.owner(&own)),
            top,
            own,
            found: AgentFiles { files: Vec::new(), complete: true },
            bytes: limits::BYTES,
            entries: limits::ENTRIES,
            paths: limits::PATHS,
            lines: limits::LINES,
            text: limits::TEXT,
        }
    }

    /// Continues above the folders read so far.
    pub(super) fn go_up(&mut self, top: Workspace, own: PathBuf) {
        (self.top, self.own) = (top, own);
    }

    /// Records that something could not be read or shown in full, so that the folder cannot be trusted.
    pub(super) fn cut(&mut self) {
        self.found.complete = false;
    }

    pub(super) fn end(mut self) -> AgentFiles {
        self.found.files.sort_by_key(|file| file.risk);
        self.found
    }

    /// Adds an entry of the catalogue that is shown as `path`.
    pub(super) fn add(&mut self, path: String, entry: &CatalogueEntry, reading: Reading) {
        let agents = entry.loaders.iter().map(|loader| loader.name.to_owned()).collect();
        self.add_as(path, entry.path, entry.does, agents, reading);
    }

    /// Adds a file called `name`, wherever it is.
    pub(super) fn add_as(
        &mut self,
        path: String,
        name: &str,
        does: &str,
        agents: Vec<String>,
        mut reading: Reading,
    ) {
        reading.lines.sort_by_key(|(risk, _)| *risk);
        let risk = reading.lines.first().map(|(risk, _)| *risk).into_iter().chain(reading.risk).min();
        let risk = risk.unwrap_or(Risk::Instructions);
        for owner in self.owners.take() {
            let line = format!("owned by {owner}, who can change it at any time");
            reading.counts.extend(line.as_bytes());
            reading.lines.insert(0, (risk, line));
        }
        let says = self.shown(&reading.lines);
        let digest = (!reading.counts.is_empty()).then(|| hash_parts(&[name.as_bytes(), &reading.counts]));
        let does = does.to_owned();
        self.found.files.push(AgentFile {
            path: on_one_line(&path),
            risk,
            does,
            agents,
            says,
            digest,
            changed: false,
        });
    }

    fn shown(&mut self, lines: &[(Risk, String)]) -> Vec<String> {
        let mut shown = Vec::new();
        for line in lines.iter().map(|(_, line)| on_one_line(line)) {
            if self.lines == 0 || line.len() > self.text {
                break;
            }
            (self.lines, self.text) = (self.lines.saturating_sub(1), self.text.saturating_sub(line.len()));
            shown.push(line);
        }
        if shown.len() < lines.len() {
            self.cut();
            shown.push(format!("and {} more, too long to show", lines.len().saturating_sub(shown.len())));
        }
        shown
    }

    /// Describes a link that leaves the repository; `None` if `path` stays inside.
    pub(super) fn leads_out(&self, path: &Path) -> Option<String> {
        matches!(self.top.open_file(path), Err(PathError::Outside(_))).then(|| {
            let target = std::fs::canonicalize(self.top.root().join(path));
            let target = target.map(|target| target.display().to_string());
            format!(
                "link that leaves the folder, to {}",
                target.unwrap_or_else(|_| "a missing path".to_owned())
            )
        })
    }

    /// Reads a file. Never blocks, and never follows a link out of the repository.
    pub(super) fn read_content(&mut self, path: &Path) -> Content {
        self.owners.note(self.top.owner(path));
        let opened = match self.top.open_file(path) {
            Ok(opened) => opened,
            Err(error) => {
                self.cut();
                return Content::Other(match error {
                    PathError::Outside(_) => {
                        let link =
                            self.leads_out(path).unwrap_or_else(|| "link that leaves the folder".to_owned());
                        format!("{link}: remove it")
                    }
                    PathError::NotFound(_) => "broken link: remove it".to_owned(),
                    PathError::WrongKind(_) => "not a regular file: remove it".to_owned(),
                    PathError::Denied(_) | PathError::Io(_) => "unreadable: remove it".to_owned(),
                });
            }
        };
        let most = limits::FILE.min(self.bytes);
        let mut bytes = Vec::new();
        // One byte more than is kept, so that a file that grows meanwhile is not mistaken for whole.
        if opened.file.take(most.saturating_add(1)).read_to_end(&mut bytes).is_err() {
            self.cut();
            return Content::Other("unreadable: remove it".to_owned());
        }
        let is_whole = bytes.len() as u64 <= most;
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        self.bytes = self.bytes.saturating_sub(bytes.len() as u64);
        let modified = opened.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.unwrap_or_else(|| SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default());
        Content::Bytes { bytes, rest: (!is_whole).then_some((opened.size, modified.as_nanos())) }
    }
}

/// The owners of the files and folders that are read: another user can change their own files at any time.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Ids of users who are not named: the current user, the superuser, and the owner of the folder that agents start
    /// in.
    usual: BTreeSet<u32>,
    others: BTreeSet<u32>,
}

impl Owners {
    pub(super) fn new(folder: Option<u32>) -> Self {
        Self { usual: folder.into_iter().chain([0, current_user()]).collect(), others: BTreeSet::new() }
    }

    pub(super) fn note(&mut self, owner: Option<u32>) {
        self.others.extend(owner.filter(|owner| !self.usual.contains(owner)));
    }

    /// Returns the names of the other users recorded since the last call.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.others).into_iter().map(user_name).collect()
    }
}

/// Returns the name of the user who owns a folder, unless it is the current user or the superuser.
pub(super) fn other_user(owner: Option<u32>) -> Option<String> {
    owner.filter(|owner| *owner != 0 && *owner != current_user()).map(user_name)
}

fn current_user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

fn user_name(id: u32) -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(id));
    user.ok().flatten().map_or_else(|| format!("user {id}"), |user| user.name)
}
