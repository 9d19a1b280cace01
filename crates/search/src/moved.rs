//! Where a folder that no longer exists may be now.

use gix::bstr::ByteSlice as _;
use openagents_core::{budget::Budget, git};
use openagents_transcripts::history::{History, Query};
use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// Maximum folders that are compared.
const FOLDERS: usize = 3_000;
/// Maximum folders beside a known one that are compared.
const BESIDE: usize = 500;
/// Maximum folders that are suggested.
const SUGGESTED: usize = 5;
/// Sessions of the folder that are read, newest first.
const SESSIONS: usize = 20;
/// Files that a folder with the same name has to share with the old one.
const SHARED_FILES: usize = 3;

/// A folder that may be the one that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedTo {
    pub path: PathBuf,
    /// The strongest first.
    pub evidence: Vec<MoveEvidence>,
}

/// Why a folder may be the one that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveEvidence {
    /// The old folder was a worktree of its repository, and was removed.
    RemovedWorktree,
    /// Its repository has a commit that a session started from.
    Commit(String),
    /// Its repository has the same remote: host and path.
    Remote(String),
    /// It has the same name, and this many files that the sessions used.
    Files(usize),
}

impl MoveEvidence {
    /// The strongest first.
    fn rank(&self) -> (u8, Reverse<usize>) {
        match self {
            Self::RemovedWorktree => (0, Reverse(0)),
            Self::Commit(_) => (1, Reverse(0)),
            Self::Remote(_) => (2, Reverse(0)),
            Self::Files(count) => (3, Reverse(*count)),
        }
    }
}

/// Returns folders that may be the one that `old` was moved to, the best first. Only folders beside `old`, the `known` ones
/// and those beside them are looked at. Blocks.
pub fn moved_to(old: &Path, history: &History, known: &[PathBuf], budget: &Budget) -> Vec<MovedTo> {
    if old.exists() {
        return Vec::new();
    }
    // The topmost one that is missing may be the one that was moved, or the last one to be emptied.
    let mut tops: Vec<&Path> = old.ancestors().take_while(|folder| !folder.exists()).collect();
    tops.reverse();
    let Some(topmost) = tops.first() else { return Vec::new() };
    let traces = Traces::read(topmost, history, budget);
    let mut found = Vec::new();
    for folder in candidates(topmost, known) {
        if budget.spent() {
            break;
        }
        let moved = tops.iter().find_map(|top| traces.moved(old, top, &folder));
        if let Some(moved) = moved.filter(|moved| !history.excludes_folder(&moved.path))
            && found.iter().all(|known: &MovedTo| known.path != moved.path)
        {
            found.push(moved);
        }
    }
    // Clones of one remote are alike.
    let only_remote = |moved: &MovedTo| matches!(moved.evidence[..], [MoveEvidence::Remote(_)]);
    if found.iter().filter(|moved| only_remote(moved)).count() > 1 {
        found.retain(|moved| !only_remote(moved));
    }
    found.sort_by_cached_key(|moved| {
        let strongest = moved.evidence.first().map(MoveEvidence::rank);
        (strongest, Reverse(moved.evidence.len()), moved.path.clone())
    });
    found.truncate(SUGGESTED);
    found
}

/// What the sessions of a folder say about it.
#[derive(Debug, Default)]
struct Traces {
    repositories: Vec<Repository>,
    /// Absolute paths as they were.
    files: BTreeSet<PathBuf>,
}

/// What a session says about the repository of its folder.
#[derive(Debug)]
struct Repository {
    cwd: PathBuf,
    commit: Option<String>,
    /// As host and path.
    remote: Option<String>,
}

impl Traces {
    /// Reads the newest sessions that ran in a folder or below it.
    fn read(folder: &Path, history: &History, budget: &Budget) -> Self {
        let mut traces = Self::default();
        let listing = history.list(&Query { all: true, ..Query::default() }, budget);
        let own = listing
            .rows
            .into_iter()
            .filter(|row| row.cwd.as_deref().is_some_and(|cwd| cwd.starts_with(folder)));
        for row in own.take(SESSIONS) {
            let trace = history.repository_trace(&row, budget);
            let digest = history.digest(&row, budget).unwrap_or_default();
            let cwd = row.cwd.unwrap_or_default();
            traces.files.extend(digest.files.keys().map(|path| cwd.join(path)));
            let remote = trace.remote.as_deref().and_then(host_and_path);
            if trace.commit.is_some() || remote.is_some() {
                traces.repositories.push(Repository { cwd, commit: trace.commit, remote });
            }
        }
        traces
    }

    /// Returns where `old` is if `top`, which is above it, was moved to `folder`.
    fn moved(&self, old: &Path, top: &Path, folder: &Path) -> Option<MovedTo> {
        let mut evidence = Vec::new();
        let inside = old.strip_prefix(top).ok()?;
        let mut path: PathBuf = folder.join(inside).components().collect();
        if git::repository_root(folder).as_deref() == Some(folder) {
            if let Some(main) = git::in_main_worktree(old, folder) {
                path = main;
                evidence.push(MoveEvidence::RemovedWorktree);
            }
            // What is beside it may be another repository.
            let own: Vec<&Repository> =
                self.repositories.iter().filter(|it| it.cwd.starts_with(top)).collect();
            if !own.is_empty()
                && let Some(repository) = open(folder)
            {
                evidence.extend(common_commit(&own, &repository).map(MoveEvidence::Commit));
                evidence.extend(common_remote(&own, &repository).map(MoveEvidence::Remote));
            }
        }
        if folder.file_name() == top.file_name() {
            let inside = self.files.iter().filter_map(|file| file.strip_prefix(top).ok());
            let plain =
                inside.filter(|file| file.components().all(|part| matches!(part, Component::Normal(_))));
            let shared = plain.filter(|file| folder.join(file).is_file()).count();
            evidence.extend((shared >= SHARED_FILES).then_some(MoveEvidence::Files(shared)));
        }
        (!evidence.is_empty() && path.is_dir()).then_some(MovedTo { path, evidence })
    }
}

fn common_commit(own: &[&Repository], repository: &gix::Repository) -> Option<String> {
    let has = |commit: &&String| {
        gix::ObjectId::from_hex(commit.as_bytes()).is_ok_and(|id| repository.has_object(id))
    };
    own.iter().filter_map(|it| it.commit.as_ref()).find(has).cloned()
}

fn common_remote(own: &[&Repository], repository: &gix::Repository) -> Option<String> {
    // Only compared: settings of the repository that are not trusted otherwise.
    let config = repository.config_snapshot();
    let remotes = config.plumbing().sections_by_name("remote").into_iter().flatten();
    let mut urls = remotes.filter_map(|remote| host_and_path(&remote.value("url")?.to_str_lossy()));
    urls.find(|url| own.iter().any(|it| it.remote.as_ref() == Some(url)))
}

fn open(folder: &Path) -> Option<gix::Repository> {
    // Reads no settings apart from the repository's own, trusts none of these, and runs nothing.
    let options = gix::open::Options::isolated().with(gix::sec::Trust::Reduced);
    gix::open_opts(git::git_folder(folder)?, options).ok()
}

/// Returns the host and the path of a repository's URL in lower case, without credentials, port and `.git`.
fn host_and_path(url: &str) -> Option<String> {
    let url = gix::url::parse(url).ok()?;
    let path = url.path.to_str().ok()?.trim_matches('/').to_lowercase();
    Some(format!("{}/{}", url.host()?.to_lowercase(), path.strip_suffix(".git").unwrap_or(&path)))
}

/// Returns the folders to compare: the known ones, and those beside them and beside the old one.
fn candidates(old: &Path, known: &[PathBuf]) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let mut found: Vec<PathBuf> = known.iter().filter(|folder| folder.is_dir()).cloned().collect();
    let parents = known.iter().map(PathBuf::as_path).chain([old]).filter_map(Path::parent);
    let mut parents: Vec<&Path> = parents.collect();
    parents.sort_unstable();
    parents.dedup();
    for parent in parents {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| {
            // A link may lead anywhere.
            entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !entry.file_name().as_encoded_bytes().starts_with(b".")
        });
        found.extend(folders.take(BESIDE).map(|entry| entry.path()));
    }
    found.retain(|folder| folder.parent().is_some() && seen.insert(folder.clone()));
    found.truncate(FOLDERS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_one_remote_are_equal() {
        for url in [
            "https://github.com/Acme/Shop.git",
            "https://me:token@github.com/acme/shop",
            "git@github.com:acme/shop.git",
            "ssh://git@github.com:22/acme/shop/",
        ] {
            assert_eq!(host_and_path(url).as_deref(), Some("github.com/acme/shop"), "{url}");
        }
        assert_eq!(host_and_path("/srv/shop.git"), None, "a folder has no host");
    }
}
