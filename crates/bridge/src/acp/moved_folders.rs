//! The calls about folders that were moved: where they may be now, and where the user says they are.

use super::{
    answer::Answer,
    calls::{Methods, now},
    history::{LIST_TIME, within},
    history_calls::stopped,
};
use openagents_connection::{fault::Fault, pass::Who};
use openagents_core::{git::real_path, text::prefix};
use openagents_search::moved::{MoveEvidence, moved_to};
use openagents_sessions::run_blocking;
use openagents_wire::{FolderQuery, MapFolder, SuggestedFolder, SuggestedFolders, methods};
use std::path::{Path, PathBuf};

impl Methods {
    /// Suggests where a folder that no longer exists may be now. Devices get no paths that they have not seen.
    pub(super) async fn suggest_folders(&self, FolderQuery { from }: FolderQuery) -> Result<Answer, Fault> {
        self.check_is_here()?;
        let from = absolute(from)?;
        let history = self.past().history_for(&self.lease.pass.who)?;
        let sessions = &self.services.sessions;
        let mut known: Vec<PathBuf> = sessions.workspaces().await.into_iter().map(|row| row.path).collect();
        known.extend(sessions.trusted().list().into_iter().map(|row| row.path));
        let find = move || moved_to(&from, &history, &known, &within(LIST_TIME));
        let found = run_blocking(find).await.ok_or_else(stopped)?;
        let folders = found.into_iter().map(|moved| SuggestedFolder {
            path: moved.path.to_string_lossy().into_owned(),
            evidence: moved.evidence.iter().map(sentence).collect(),
        });
        now::<methods::WorkspacesSuggest>(SuggestedFolders { folders: folders.collect() })
    }

    /// Stores where a folder is now, or forgets it. Devices can't: a moved folder decides what an exploration reads.
    pub(super) async fn map_folder(&self, MapFolder { from, to }: MapFolder) -> Result<Answer, Fault> {
        self.check_is_here()?;
        let from = absolute(from)?;
        let Some(to) = to else {
            if self.past().moved(&from).is_none() {
                return Err(Fault::invalid_params(format!("{} was not moved.", shown(&from))));
            }
            return self.change_history(move |past| past.map_folder(from, None)).await;
        };
        let to = real_path(&absolute(to)?);
        if !to.is_dir() {
            return Err(Fault::invalid_params(format!("{} is not a folder.", shown(&to))));
        }
        if from.exists() {
            let from = shown(&from);
            return Err(Fault::invalid_params(format!("{from} exists, so its sessions belong to it.")));
        }
        if to.parent().is_none() || std::env::home_dir().is_some_and(|home| real_path(&home) == to) {
            return Err(Fault::invalid_params(format!("{} holds other projects too.", shown(&to))));
        }
        self.change_history(move |past| past.map_folder(from, Some(to))).await
    }

    fn check_is_here(&self) -> Result<(), Fault> {
        match self.lease.pass.who {
            Who::Local => Ok(()),
            _ => Err(Fault::invalid_request(
                "Folders are located only on the computer that stores the sessions.",
            )),
        }
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf, Fault> {
    match path.is_absolute() {
        true => Ok(path),
        false => Err(Fault::invalid_params(format!("{} is not an absolute path.", shown(&path)))),
    }
}

fn shown(path: &Path) -> String {
    prefix(&path.to_string_lossy(), 200).to_owned()
}

fn sentence(evidence: &MoveEvidence) -> String {
    match evidence {
        MoveEvidence::RemovedWorktree => "The removed worktree belonged to it".to_owned(),
        MoveEvidence::Commit(id) => format!("Has the commit {}", prefix(id, 10)),
        MoveEvidence::Remote(remote) => format!("Same remote: {remote}"),
        MoveEvidence::Files(count) => format!("Same name, and {count} files of the sessions"),
    }
}
