//! Writes kept copies back to files.

use super::{copies::KeptCopies, rows};
use crate::history::{HistoryRoots, Provider, below};
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
    /// Writes the files of a session to a new or empty folder. Blocks.
    pub fn restore_to(
        &self,
        provider: Provider,
        id: &str,
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
        fs::create_dir_all(to)?;
        Ok(Restored { files: self.write_files(&session, to)? })
    }

    /// Writes the files of a session to where its agent finds them again. Their time is now: otherwise Claude Code
    /// deletes them at its next start. Blocks.
    pub fn restore_into_agent(&self, provider: Provider, id: &str) -> Result<Restored, RestoreError> {
        let session = self.find(provider, id).ok_or_else(|| RestoreError::Unknown(id.to_owned()))?;
        if !matches!(provider, Provider::ClaudeCode | Provider::Codex | Provider::Qwen | Provider::Pi) {
            return Err(RestoreError::NotInAgent(provider));
        }
        let root = &session.log.root;
        let unpacked = tempfile::tempdir_in(self.store.folder())?;
        let files = self.write_files(&session, unpacked.path())?;
        let places = files.iter().map(|file| (file, below(root, file, unpacked.path())));
        let places: Vec<(&PathBuf, PathBuf)> = places.filter(|(_, to)| !is_description(to)).collect();
        if let Some((_, exists)) = places.iter().find(|(_, to)| to.symlink_metadata().is_ok()) {
            return Err(RestoreError::Exists(exists.clone()));
        }
        let mut written = Vec::new();
        for (from, to) in places {
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut source = File::open(from)?;
            let mut file = File::options().write(true).create_new(true).open(&to)?;
            io::copy(&mut source, &mut file)?;
            file.set_modified(SystemTime::now())?;
            file.sync_all()?;
            written.push(to);
        }
        Ok(Restored { files: written })
    }
}

/// Returns whether a file is made by us, or describes a folder rather than a session.
fn is_description(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(&rows::name("")) || name == ".project_root" || name == "projects.json"
}
