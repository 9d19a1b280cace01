//! What changes in a repository, read from git's files without running git: commits, the files that change most, who
//! works where, and what is not committed.

use super::{evidence::Fact, files::THREADS};
use crate::repository::plain;
use gix::{
    ObjectId, Repository,
    bstr::{BStr, ByteSlice},
    diff::tree::{Recorder, State, Visit, visit::Change},
    objs::TreeRefIter,
    revision::walk::Sorting,
    traverse::commit::simple::CommitTimeOrder,
};
use jiff::Timestamp;
use openagents_core::{
    budget::Budget, git, parallel, text::cut_at_word, visible::code_span, workspace::Workspace,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::Read,
    ops::ControlFlow,
    path::Path,
    time::UNIX_EPOCH,
};

/// Maximum commits that are read.
const COMMITS: usize = 200;
/// Maximum files of a commit; one with more moves or formats everything, and counts as one without files.
const FILES: usize = 300;
/// Maximum entries of trees that are compared for a commit.
const COMPARISONS: usize = 3_000;
/// Maximum commits, files, authors, branches and uncommitted files that are listed.
const LAST: usize = 10;
const MOST_CHANGED: usize = 5;
const AUTHORS: usize = 3;
const BRANCHES: usize = 6;
const UNCOMMITTED: usize = 8;
/// With more files than this, uncommitted ones are not looked for.
const COMPARED: usize = 20_000;
/// Maximum bytes of a path.
const PATH: usize = 4 << 10;
/// Maximum bytes of a file that is compared with its commit by content.
const CONTENT: u64 = 1 << 20;
/// Maximum characters of a commit's title, and of a name.
const TITLE: usize = 100;
const NAME: usize = 60;

/// The history of a repository as far as it is read, and its state.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Newest first.
    commits: Vec<Commit>,
    branch: Option<String>,
    /// Other local branches.
    branches: Vec<String>,
    /// Paths of files that differ from the last commit; `None` if there are too many files to look.
    uncommitted: Option<Vec<String>>,
}

#[derive(Debug)]
struct Commit {
    id: String,
    title: String,
    author: String,
    /// `2026-11-27`.
    date: String,
    /// The paths of the files that it changes; empty for a merge.
    files: Vec<String>,
}

impl Changes {
    /// Reads the repository whose root is the workspace; `None` without one, and if it is unreadable. `paths` are the
    /// files of the workspace.
    pub(super) fn read(workspace: &Workspace, paths: &[String], budget: &Budget) -> Option<Self> {
        let folder = git::git_folder(workspace.root())?;
        // Reads no settings apart from the repository's own, trusts none of these, and runs nothing.
        let options = gix::open::Options::isolated().with(gix::sec::Trust::Reduced);
        let repository = gix::open_opts(folder, options).ok()?;
        let head = repository.head_commit().ok()?;
        let walk =
            head.ancestors().sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst)).all().ok()?;
        let mut commits = Vec::new();
        for found in walk.take(COMMITS) {
            if budget.spent() {
                break;
            }
            let Some(commit) = found.ok().and_then(|found| found.object().ok()) else { break };
            commits.extend(read_commit(&repository, &commit, paths, budget));
        }
        let shown = |name: &BStr| name.to_str_lossy().into_owned();
        let branch = repository.head_name().ok().flatten().map(|name| shown(name.shorten()));
        let references = repository.references().ok();
        let local = references.as_ref().and_then(|references| references.local_branches().ok());
        let names = local.into_iter().flatten().flatten().map(|reference| shown(reference.name().shorten()));
        let branches = names.filter(|name| Some(name) != branch.as_ref()).take(1_000).collect();
        let uncommitted = (paths.len() <= COMPARED)
            .then(|| uncommitted(workspace, &repository, &head, paths, budget))
            .flatten();
        Some(Self { commits, branch, branches, uncommitted })
    }

    /// The state, the last commits, the files that change most, and who works where.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let mut facts = self.uncommitted_facts();
        facts.extend(self.last());
        facts.extend(self.most_changed());
        facts.extend(self.people());
        facts.extend(self.branch_fact());
        facts
    }

    pub(super) fn uncommitted_facts(&self) -> Vec<Fact> {
        let files = self.uncommitted.as_deref().unwrap_or_default();
        let mut facts: Vec<Fact> = files
            .iter()
            .take(UNCOMMITTED)
            .map(|path| Fact::new(format!("Not committed: `{}`", code_span(path))).within(path, 0, 0))
            .collect();
        if files.len() > UNCOMMITTED {
            facts.push(Fact::new(format!("Not committed: {} more files", files.len() - UNCOMMITTED)));
        }
        facts
    }

    /// Returns whether every file is known to be committed.
    pub(super) fn is_clean(&self) -> bool {
        self.uncommitted.as_ref().is_some_and(Vec::is_empty)
    }

    /// The last commits, each with the file that comes first in it.
    pub(super) fn last(&self) -> impl Iterator<Item = Fact> {
        self.commits.iter().take(LAST).map(|commit| {
            let Commit { id, title, author, date, files } = commit;
            let fact = Fact::new(format!("`{id}` {title} ({author}, {date})"));
            match files.first() {
                Some(path) => fact.within(path, 0, 0),
                None => fact,
            }
        })
    }

    /// The files in most commits, with who changed them most.
    pub(super) fn most_changed(&self) -> Vec<Fact> {
        let mut by_file: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for commit in &self.commits {
            for path in &commit.files {
                by_file.entry(path).or_default().push(&commit.author);
            }
        }
        let mut files: Vec<_> = by_file.into_iter().filter(|(_, authors)| authors.len() > 1).collect();
        files.sort_by_key(|(path, authors)| (std::cmp::Reverse(authors.len()), *path));
        let all = self.commits.len();
        let fact = |(path, authors): (&str, Vec<&str>)| {
            let by = most_frequent(&authors)
                .map(|(author, _)| format!(", mostly by {author}"))
                .unwrap_or_default();
            let text =
                format!("`{}` changed in {} of the last {all} commits{by}", code_span(path), authors.len());
            Fact::new(text).within(path, 0, 0)
        };
        files.into_iter().take(MOST_CHANGED).map(fact).collect()
    }

    /// The authors of most commits, with the folder where each works most.
    pub(super) fn people(&self) -> Vec<Fact> {
        let mut by_author: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
        for commit in &self.commits {
            let (commits, folders) = by_author.entry(&commit.author).or_default();
            *commits += 1;
            let own: BTreeSet<&str> = commit.files.iter().map(|path| folder_of(path)).collect();
            folders.extend(own);
        }
        let mut authors: Vec<_> = by_author.into_iter().collect();
        authors.sort_by_key(|(author, (commits, _))| (std::cmp::Reverse(*commits), *author));
        let all = self.commits.len();
        let fact = |(author, (commits, folders)): (&str, (usize, Vec<&str>))| {
            let most = most_frequent(&folders).filter(|(folder, _)| !folder.is_empty());
            let folder =
                most.map(|(folder, _)| format!(", mostly in `{}`", code_span(folder))).unwrap_or_default();
            Fact::new(format!("{author}: {commits} of the last {all} commits{folder}"))
        };
        authors.into_iter().take(AUTHORS).map(fact).collect()
    }

    /// The authors of the commits that change a file or what is in a folder, with the last commit of each.
    pub(super) fn who(&self, path: &str) -> Vec<Fact> {
        let is_within = |file: &String| file == path || path.ends_with('/') && file.starts_with(path);
        let mut by_author: BTreeMap<&str, Vec<&Commit>> = BTreeMap::new();
        for commit in self.commits.iter().filter(|commit| commit.files.iter().any(is_within)) {
            by_author.entry(&commit.author).or_default().push(commit);
        }
        let mut authors: Vec<_> = by_author.into_iter().collect();
        authors.sort_by_key(|(author, commits)| (std::cmp::Reverse(commits.len()), *author));
        let fact = |(author, commits): (&str, Vec<&Commit>)| {
            let last = commits.first()?;
            let times =
                if commits.len() == 1 { "once".to_owned() } else { format!("{} times", commits.len()) };
            let text = format!(
                "{author} changed `{}` {times} in the last {} commits, last in `{}` {} ({})",
                code_span(path),
                self.commits.len(),
                last.id,
                last.title,
                last.date
            );
            Some(Fact::new(text).within(path, 0, 0))
        };
        authors.into_iter().take(AUTHORS).filter_map(fact).collect()
    }

    fn branch_fact(&self) -> Option<Fact> {
        let branch = self.branch.as_ref()?;
        let others: Vec<String> =
            self.branches.iter().take(BRANCHES).map(|name| format!("`{}`", code_span(name))).collect();
        let others = match (others.len(), self.branches.len()) {
            (0, _) => String::new(),
            (shown, all) if all > shown => {
                format!("; others: {} and {} more", others.join(", "), all - shown)
            }
            _ => format!("; others: {}", others.join(", ")),
        };
        Some(Fact::new(format!("On branch `{}`{others}", code_span(branch))))
    }
}

/// Returns the folder that a path is counted for: two levels, because many projects have one for everything.
fn folder_of(path: &str) -> &str {
    let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).take(2).collect();
    ends.last().map_or("", |end| &path[..=*end])
}

fn most_frequent<'a>(items: &[&'a str]) -> Option<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    items.iter().for_each(|item| *counts.entry(item).or_default() += 1);
    counts.into_iter().max_by_key(|(item, count)| (*count, std::cmp::Reverse(*item)))
}

/// `paths` are the files of the workspace: those that are gone are left out.
fn read_commit(
    repository: &Repository,
    commit: &gix::Commit<'_>,
    paths: &[String],
    budget: &Budget,
) -> Option<Commit> {
    let author = commit.author().ok()?;
    let time = Timestamp::from_second(commit.time().ok()?.seconds).ok()?;
    let title = commit.message_raw_sloppy().to_str_lossy();
    let title = title.lines().next().unwrap_or_default();
    Some(Commit {
        id: commit.id().to_hex_with_len(8).to_string(),
        title: cut_at_word(&plain(title), TITLE),
        author: cut_at_word(&plain(&author.name.to_str_lossy()), NAME),
        date: time.strftime("%Y-%m-%d").to_string(),
        files: changed_files(repository, commit, paths, budget).unwrap_or_default(),
    })
}

/// Returns the paths that differ from the parent; nothing for a merge, and for the first commit, which has everything.
fn changed_files(
    repository: &Repository,
    commit: &gix::Commit<'_>,
    paths: &[String],
    budget: &Budget,
) -> Option<Vec<String>> {
    let mut parents = commit.parent_ids();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let (old, new) = (parent.object().ok()?.try_into_commit().ok()?.tree().ok()?, commit.tree().ok()?);
    let kind = new.id.kind();
    let (old, new) = (TreeRefIter::from_bytes(&old.data, kind), TreeRefIter::from_bytes(&new.data, kind));
    let mut found = Comparison { recorder: Recorder::default(), entries: 0, files: Vec::new(), budget };
    // Stopped: a commit with too many files.
    gix::diff::tree(old, new, State::default(), &repository.objects, &mut found).ok()?;
    found.files.retain(|path| paths.binary_search(path).is_ok());
    Some(found.files)
}

/// Collects the files of a comparison of two trees, which ends early if they are too many.
struct Comparison<'a> {
    /// Only for its path.
    recorder: Recorder,
    entries: usize,
    files: Vec<String>,
    budget: &'a Budget,
}

impl Visit for Comparison<'_> {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: Change) -> ControlFlow<()> {
        self.entries += 1;
        let (Change::Addition { entry_mode, .. }
        | Change::Deletion { entry_mode, .. }
        | Change::Modification { entry_mode, .. }) = change;
        if !entry_mode.is_tree() {
            self.files.push(self.recorder.path().to_str_lossy().into_owned());
        }
        let is_over = self.entries > COMPARISONS || self.files.len() > FILES || self.budget.spent();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the files of the workspace that differ from the last commit: changed, staged, or new. `None` if there are too
/// many to look.
fn uncommitted(
    workspace: &Workspace,
    repository: &Repository,
    head: &gix::Commit<'_>,
    paths: &[String],
    budget: &Budget,
) -> Option<Vec<String>> {
    let index = repository.open_index().ok()?;
    if index.entries().len() > COMPARED {
        return None;
    }
    let committed = committed(repository, head, budget)?;
    let submodules = index.entries().iter().filter(|entry| entry.mode.is_submodule());
    let submodules: Vec<String> = submodules.map(|entry| format!("{}/", entry.path(&index))).collect();
    let differs = |(): &mut (), at: usize| {
        let path = paths[at].as_str();
        if submodules.iter().any(|submodule| path.starts_with(submodule.as_str())) {
            return Some(false);
        }
        let Some(entry) = index.entry_by_path(path.as_bytes().as_bstr()) else { return Some(true) };
        let is_staged = committed.get(path) != Some(&entry.id);
        Some(is_staged || is_changed(workspace, Path::new(path), entry).unwrap_or(false))
    };
    let differs = parallel::map(paths.len(), THREADS, || !budget.spent(), || (), differs);
    if budget.spent() {
        return None;
    }
    let changed = paths.iter().zip(differs).filter(|(_, differs)| *differs == Some(true));
    Some(changed.map(|(path, _)| path.clone()).collect())
}

/// Returns the files of a commit with the ids of their contents; `None` if they are too many.
fn committed(
    repository: &Repository,
    commit: &gix::Commit<'_>,
    budget: &Budget,
) -> Option<HashMap<String, ObjectId>> {
    let mut files = HashMap::new();
    let mut folders = vec![(String::new(), commit.tree_id().ok()?.detach())];
    let mut entries = 0;
    while let Some((folder, id)) = folders.pop() {
        let tree = repository.find_tree(id).ok()?;
        for entry in TreeRefIter::from_bytes(&tree.data, id.kind()).flatten() {
            entries += 1;
            let path = format!("{folder}{}", entry.filename);
            if entries > 2 * COMPARED || path.len() > PATH || budget.spent() {
                return None;
            }
            match entry.mode.is_tree() {
                true => folders.push((format!("{path}/"), entry.oid.to_owned())),
                false => drop(files.insert(path, entry.oid.to_owned())),
            }
        }
    }
    Some(files)
}

/// Returns whether a file differs from git's index: its size and time first, then its content.
fn is_changed(workspace: &Workspace, path: &Path, entry: &gix::index::Entry) -> Option<bool> {
    let mut file = workspace.open_file(path).ok()?.file;
    let metadata = file.metadata().ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    // Git keeps 32 bits of both.
    if metadata.len() as u32 != entry.stat.size {
        return Some(true);
    }
    if modified.as_secs() as u32 == entry.stat.mtime.secs || metadata.len() > CONTENT {
        return Some(false);
    }
    let mut content = Vec::new();
    file.by_ref().take(CONTENT).read_to_end(&mut content).ok()?;
    let id: ObjectId = gix::objs::compute_hash(entry.id.kind(), gix::objs::Kind::Blob, &content).ok()?;
    Some(id != entry.id)
}
