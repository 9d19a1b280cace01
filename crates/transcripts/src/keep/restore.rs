//! Writes kept copies back to files.

use super::{copies::KeptCopies, rows};
use crate::history::{HistoryRoots, Provider, below};
use openagents_core::folders::create_folder;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub files: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("no copy of session {0} is kept")]
    Unknown(String),
    #[error("session {1} has no version {0}; choose one of the listed versions")]
    NoVersion(usize, String),
    #[error("{} is not an absolute path", .0.display())]
    Relative(PathBuf),
    #[error("{} is not empty; choose a new folder", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} is in the folder of an agent, which would take the copy for its own; choose another folder", .0.display())]
    InAgent(PathBuf),
    #[error("{} exists; nothing is overwritten", .0.display())]
    Exists(PathBuf),
    #[error("a session of {} cannot be restored into its folder; restore it to another folder", .0.display_name())]
    NotInAgent(Provider),
    #[error(transparent)]
    File(#[from] io::Error),
}

impl KeptCopies {
    /// Writes the files of a session to a new or empty folder, with a version of its log or the newest one; see
    /// [`KeptCopies::versions`]. Blocks.
    pub fn restore_to(
        &self,
        provider: Provider,
        id: &str,
        version: Option<usize>,
        to: &Path,
        agents: &HistoryRoots,
    ) -> Result<Restored, RestoreError> {
        let session = self.find(provider, id).ok_or_else(|| RestoreError::Unknown(id.to_owned()))?;
        if !to.is_absolute() {
            return Err(RestoreError::Relative(to.to_owned()));
        }
        let real = openagents_core::git::real_path(to);
        if agents.contains(&real) {
            return Err(RestoreError::InAgent(to.to_owned()));
        }
        if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) || to.is_file() {
            return Err(RestoreError::NotEmpty(to.to_owned()));
        }
        let files = self.files_at(&session, version).map_err(io::Error::other)?;
        let files =
            files.ok_or_else(|| RestoreError::NoVersion(version.unwrap_or_default(), id.to_owned()))?;
        create_folder(to)?;
        Ok(Restored { files: self.write_files(&files, to)? })
    }

    /// Writes the files of a session to where its agent finds them again. Their time is now: otherwise Claude Code
    /// deletes them at its next start. Blocks.
    pub fn restore_into_agent(&self, provider: Provider, id: &str) -> Result<Restored, RestoreError> {
        let session = self.find(provider, id).ok_or_else(|| RestoreError::Unknown(id.to_owned()))?;
        if !matches!(provider, Provider::ClaudeCode | Provider::Codex | Provider::Qwen | Provider::Pi) {
            return Err(RestoreError::NotInAgent(provider));
        }
        let (root, log) = (&session.log.root, &session.log.file.path);
        let place = restored_place(provider, root, log);
        if place.symlink_metadata().is_ok() {
            return Err(RestoreError::Exists(place));
        }
        let unpacked = self.temporary_folder()?;
        let mut written = Vec::new();
        let files = self.store.files(session.id, false).map_err(io::Error::other)?;
        for from in self.write_files(&files, unpacked.path())? {
            let own = below(root, &from, unpacked.path());
            let to = if own == *log { place.clone() } else { own };
            // The log may have had other places, and outputs may have outlived it.
            let is_elsewhere = to != place && to.file_name() == log.file_name();
            if is_elsewhere || is_description(&to) || to.symlink_metadata().is_ok() {
                continue;
            }
            copy_new(&from, &to)?;
            written.push(to);
        }
        Ok(Restored { files: written })
    }
}

/// Returns where an agent finds a log: Codex opens no archived one.
fn restored_place(provider: Provider, root: &Path, log: &Path) -> PathBuf {
    let name = log.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let day = name.strip_prefix("rollout-").and_then(|rest| rest.get(..10));
    match day.map(|day| day.split('-').collect::<Vec<_>>()) {
        Some(day) if provider == Provider::Codex && log.starts_with(root.join("archived_sessions")) => {
            root.join("sessions").join(day.join("/")).join(name)
        }
        _ => log.to_owned(),
    }
}

/// Copies a file to a path at which there is none; what is there is whole at any time. Its time is now.
fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().ok_or(io::ErrorKind::NotFound)?;
    create_folder(folder)?;
    let part = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut File::open(from)?, &mut part.as_file())?;
    part.as_file().set_modified(SystemTime::now())?;
    part.as_file().sync_all()?;
    part.persist_noclobber(to).map_err(|error| error.error)?;
    Ok(())
}

/// Returns whether a file is made by us, or describes a folder rather than a session.
fn is_description(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(&rows::name("")) || name == ".project_root" || name == "projects.json"
}
