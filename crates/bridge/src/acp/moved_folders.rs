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
    /// Suggests where a folder that no longer exists may be now.
    pub(super) async fn suggest_folders(&self, FolderQuery { from }: FolderQuery) -> Result<Answer, Fault> {
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
        if self.lease.pass.who != Who::Local {
            return Err(Fault::invalid_request(
                "Where a folder is now can be set only on the computer that stores the sessions.",
            ));
        }
        let from = absolute(from)?;
        let Some(to) = to else {
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
        let (from, to) = without_common_end(from, to);
        self.change_history(move |past| past.map_folder(from, Some(to))).await
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

/// Returns the folders above `from` and `to` that differ: what is beside the session's folder was moved with it.
fn without_common_end(mut from: PathBuf, mut to: PathBuf) -> (PathBuf, PathBuf) {
    while from.file_name() == to.file_name()
        && let Some((old, now)) = from.parent().zip(to.parent())
        && !old.exists()
        && now.parent().is_some()
    {
        (from, to) = (old.to_owned(), now.to_owned());
    }
    (from, to)
}

fn sentence(evidence: &MoveEvidence) -> String {
    match evidence {
        MoveEvidence::RemovedWorktree => "The removed worktree belonged to it".to_owned(),
        MoveEvidence::Commit(id) => format!("Has the commit {}", prefix(id, 10)),
        MoveEvidence::Remote(remote) => format!("Same remote: {remote}"),
        MoveEvidence::Files(count) => format!("Same name, and {count} files of the sessions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_moved_folder_is_mapped() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let case = |from: &str, to: &str| without_common_end(base.join(from), base.join(to));
        std::fs::create_dir(base.join("work")).unwrap();
        assert_eq!(case("gone/shop/src", "new/shop/src"), (base.join("gone"), base.join("new")));
        assert_eq!(case("work/shop", "new/shop"), (base.join("work/shop"), base.join("new/shop")));
        assert_eq!(case("work/shop", "work/store"), (base.join("work/shop"), base.join("work/store")));
    }
}
