//! All sessions: finding, creating, listing and watching them, and their workspaces.

use crate::{
    blocking::run_blocking,
    changes::{Changes, ListWatch, Listed, Wanted},
    error::SessionError,
    labels::TranscriptLabels,
    live::{self, Session},
    modes::DEFAULT_MODE,
    policy::Policy,
    store::{NewSession, Parent, SessionRow, Store, StoreError},
    trusted::TrustedWorkspaces,
};
use openagents_core::{CancellationToken, agent::AccessLimits, approval::ApprovalState, budget::Budget};
use openagents_transcripts::history::{History, RecentWorkspace};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::OwnedMutexGuard;

/// The longest id that a client may choose for a session.
const ID_BYTES: usize = 128;

/// All sessions: those in memory, and those in the store.
#[derive(Debug)]
pub struct SessionRegistry {
    store: Store,
    history: Arc<History>,
    known: Arc<KnownWorkspaces>,
    trusted: Arc<TrustedWorkspaces>,
    labels: Arc<TranscriptLabels>,
    root: PathBuf,
    /// Weak, so that a session without readers or a turn is dropped.
    live: Mutex<HashMap<Arc<str>, Weak<Session>>>,
    /// Ensures that unfinished work in a session is closed only once.
    loading: Loading,
    changes: Arc<Changes>,
    /// Cancelled when the program shuts down.
    stopping: CancellationToken,
}

impl SessionRegistry {
    /// Creates a registry for the sessions of `store`. `root` is the folder that the program was started in.
    pub fn new(store: Store, history: Arc<History>, root: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            trusted: Arc::new(TrustedWorkspaces::load(store.clone())),
            labels: Arc::new(TranscriptLabels::load(store.clone())),
            store,
            known: Arc::new(KnownWorkspaces::new(&root, history.clone())),
            history,
            root,
            live: Mutex::default(),
            loading: Default::default(),
            changes: Arc::default(),
            stopping: CancellationToken::new(),
        })
    }

    /// Returns the folder that the program was started in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the default workspace: [`SessionRegistry::root`], unless that is a whole disk or home folder.
    pub fn default_workspace(&self) -> Option<&Path> {
        self.known.root()
    }

    pub fn trusted(&self) -> &Arc<TrustedWorkspaces> {
        &self.trusted
    }

    pub fn labels(&self) -> &Arc<TranscriptLabels> {
        &self.labels
    }

    /// Returns the transcripts of other agents.
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// Runs `read` with the store on a blocking thread.
    pub async fn with_store<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let store = self.store.clone();
        Ok(run_blocking(move || read(&store)).await.unwrap_or(Err(StoreError::Closed))?)
    }

    pub async fn open(&self, id: &str, cwd: &Path) -> Result<Arc<Session>, SessionError> {
        if id.is_empty() || id.len() > ID_BYTES || id.chars().any(char::is_control) {
            return Err(SessionError::invalid("A session id has 1 to 128 printable characters."));
        }
        if let Some(session) = self.find(id).await? {
            return Ok(session);
        }
        let new = NewSession { id: id.to_owned(), cwd: cwd.to_owned(), mode: DEFAULT_MODE.to_owned() };
        self.add(new, |store, new| store.create_session(new)).await
    }

    pub async fn create(&self, cwd: &Path) -> Result<Arc<Session>, SessionError> {
        self.add(new_session(cwd, DEFAULT_MODE), |store, new| store.create_session(new)).await
    }

    pub async fn create_with(&self, cwd: &Path, policy: Policy) -> Result<Arc<Session>, SessionError> {
        let create = move |store: &Store, new: NewSession| {
            let id = new.id.clone();
            store.create_session(new).and_then(|()| store.set_policy(&id, policy))
        };
        self.add(new_session(cwd, DEFAULT_MODE), create).await
    }

    /// Creates a session with the log of another.
    pub(crate) async fn create_branch(&self, of: &Session) -> Result<Arc<Session>, SessionError> {
        let (from, mode) = (of.id().to_string(), of.mode());
        self.add(new_session(of.cwd(), &mode), move |store, new| store.create_branch(new, &from)).await
    }

    pub(crate) async fn create_child(
        &self,
        cwd: &Path,
        mode: &str,
        parent: Parent,
        policy: Policy,
        limits: AccessLimits,
    ) -> Result<Arc<Session>, SessionError> {
        let create = move |store: &Store, new| store.create_child(new, parent, policy, &limits);
        self.add(new_session(cwd, mode), create).await
    }

    async fn add(
        &self,
        new: NewSession,
        create: impl FnOnce(&Store, NewSession) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<Arc<Session>, SessionError> {
        let id = new.id.clone();
        self.with_store(move |store| create(store, new)).await?;
        self.find(&id).await?.ok_or_else(|| SessionError::internal("the new session cannot be found"))
    }

    /// Finds a session, live or stored. Unfinished work of a dead process is closed first.
    pub async fn find(&self, id: &str) -> Result<Option<Arc<Session>>, SessionError> {
        if let Some(session) = self.live(id) {
            return Ok(Some(session));
        }
        let _loading = self.loading.begin(id).await;
        // Another connection may have loaded it meanwhile.
        if let Some(session) = self.live(id) {
            return Ok(Some(session));
        }
        let wanted = id.to_owned();
        let Some(row) = self.with_store(move |store| live::load(store, &wanted)).await? else {
            return Ok(None);
        };
        let mut live = self.live.lock();
        live.retain(|_, session| session.strong_count() > 0);
        let session = Arc::new(Session::new(row, self.store.clone(), self.changes.clone()));
        live.insert(session.id().clone(), Arc::downgrade(&session));
        Ok(Some(session))
    }

    pub(crate) fn loading(&self) -> &Loading {
        &self.loading
    }

    pub(crate) fn forget(&self, ids: &[String]) {
        let mut live = self.live.lock();
        ids.iter().for_each(|id| drop(live.remove(id.as_str())));
    }

    pub(crate) fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    pub fn watch_list(&self, wanted: Wanted) -> ListWatch {
        ListWatch::new(&self.changes, wanted)
    }

    fn listed(&self, row: SessionRow) -> Listed {
        let live = self.live(&row.id);
        let running = live.as_ref().is_some_and(|session| session.head().running);
        let waiting = live.map_or(0, |session| session.approvals().len());
        Listed { running, waiting, row }
    }

    pub(crate) fn live(&self, id: &str) -> Option<Arc<Session>> {
        self.live.lock().get(id).and_then(Weak::upgrade)
    }

    /// Lists the sessions after `after`, last changed first.
    pub async fn list(
        &self,
        limit: usize,
        after: Option<(i64, String)>,
        cwd: Option<PathBuf>,
        children: bool,
    ) -> Result<Vec<Listed>, SessionError> {
        let rows = self
            .with_store(move |store| {
                let after = after.as_ref().map(|(ts, id)| (*ts, id.as_str()));
                store.sessions(limit, after, cwd.as_deref(), children)
            })
            .await?;
        Ok(rows.into_iter().map(|row| self.listed(row)).collect())
    }

    /// Returns the canonical path of a directory, if it is in a known workspace.
    pub async fn admit(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let (known, path) = (self.known.clone(), path.to_owned());
        run_blocking(move || known.admit(&path))
            .await
            .unwrap_or_else(|| Err(SessionError::internal("history cannot be read")))
    }

    /// Adds a known workspace. For admins only.
    pub async fn open_workspace(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let (known, path) = (self.known.clone(), path.to_owned());
        run_blocking(move || known.open(&path))
            .await
            .unwrap_or_else(|| Err(SessionError::internal("the folder cannot be read")))
    }

    /// Lists the workspaces known from history, last active first.
    pub async fn workspaces(&self) -> Vec<RecentWorkspace> {
        let known = self.known.clone();
        run_blocking(move || known.recent()).await.unwrap_or_default()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the token that ends every turn.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Returns the state of an approval whose agent has exited. After a shutdown the agent can be resumed.
    pub(crate) fn given_up(&self) -> ApprovalState {
        if self.stopping.is_cancelled() { ApprovalState::Withdrawn } else { ApprovalState::Expired }
    }

    pub(crate) fn all_live(&self) -> Vec<Arc<Session>> {
        let live = self.live.lock();
        live.values().filter_map(Weak::upgrade).collect()
    }
}

fn new_session(cwd: &Path, mode: &str) -> NewSession {
    NewSession { id: uuid::Uuid::new_v4().to_string(), cwd: cwd.to_owned(), mode: mode.to_owned() }
}

type Lock = tokio::sync::Mutex<()>;

#[derive(Debug, Default)]
pub(crate) struct Loading(Mutex<HashMap<Arc<str>, Weak<Lock>>>);

impl Loading {
    /// Locks a session for loading or deleting. Lock several sessions in the order of their ids.
    pub(crate) async fn begin(&self, id: &str) -> OwnedMutexGuard<()> {
        self.lock_of(id).lock_owned().await
    }

    fn lock_of(&self, id: &str) -> Arc<Lock> {
        let mut locks = self.0.lock();
        if let Some(known) = locks.get(id).and_then(Weak::upgrade) {
            return known;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::<Lock>::default();
        locks.insert(id.into(), Arc::downgrade(&lock));
        lock
    }
}

/// Maximum number of workspaces from history.
const RECENT: usize = 200;

/// Time limit for reading them.
const TIME: Duration = Duration::from_secs(2);

/// The folders that a client may use: the default workspace, and those where an agent has worked before.
#[derive(Debug)]
struct KnownWorkspaces {
    /// The default workspace. Never a whole disk or the home folder, where a desktop app starts.
    root: Option<PathBuf>,
    /// Workspaces opened by an admin since the start.
    opened: Mutex<Vec<PathBuf>>,
    home: Option<PathBuf>,
    history: Arc<History>,
}

impl KnownWorkspaces {
    pub(crate) fn new(root: &Path, history: Arc<History>) -> Self {
        let home = std::env::home_dir().map(|home| canonical(&home));
        let mut known = Self { root: None, opened: Mutex::default(), home, history };
        known.root = known.directory(root).ok();
        known
    }

    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    pub(crate) fn admit(&self, path: &Path) -> Result<PathBuf, SessionError> {
        // The iOS app gets the same answer for every refusal; the response time must not reveal whether the folder
        // exists either.
        let found = self.directory(path).inspect_err(|_| drop(self.recent()))?;
        let known = self.root().is_some_and(|root| found.starts_with(root))
            || self.opened.lock().iter().any(|opened| found.starts_with(opened))
            || self.recent().iter().any(|recent| found.starts_with(&recent.path));
        if known { Ok(found) } else { Err(SessionError::UnknownWorkspace(path.display().to_string())) }
    }

    pub(crate) fn open(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let found = self.directory(path)?;
        let mut opened = self.opened.lock();
        if !opened.contains(&found) {
            opened.push(found.clone());
        }
        Ok(found)
    }

    fn directory(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let shown = path.display();
        if !path.is_absolute() {
            return Err(SessionError::invalid(format!("{shown} is not an absolute path")));
        }
        match path.canonicalize() {
            Ok(path) if path.is_dir() && self.is_too_large(&path) => Err(SessionError::invalid(format!(
                "{shown} is too large to be a workspace; choose a folder in it"
            ))),
            Ok(path) if path.is_dir() => Ok(path),
            _ => Err(SessionError::invalid("Invalid workspace: Path does not exist or is not a directory")),
        }
    }

    /// Returns whether a path is a whole disk, the home folder, or a parent of it.
    fn is_too_large(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_deref().is_some_and(|home| home.starts_with(path))
    }

    pub(crate) fn recent(&self) -> Vec<RecentWorkspace> {
        let mut found = self.history.workspaces(RECENT, &Budget::within(TIME, &CancellationToken::new()));
        // An agent that once ran in a parent of the home folder must not open that folder to every client.
        found.retain(|found| !self.is_too_large(&found.path));
        found
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;

    #[tokio::test]
    async fn slow_load_does_not_block_other_sessions() {
        let loading = Loading::default();
        let slow = loading.begin("slow").await;
        drop(loading.begin("other").await);
        let mut again = pin!(loading.begin("slow"));
        assert!(poll!(&mut again).is_pending());
        drop(slow);
        drop(again.await);
        drop(loading.begin("third").await);
        assert_eq!(loading.0.lock().len(), 1);
    }

    #[test]
    fn default_workspace_rejects_whole_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let known = |root: &Path| KnownWorkspaces::new(root, Arc::new(History::empty()));
        assert_eq!(known(&path).root(), Some(path.as_path()));
        assert_eq!(known(&path).admit(&path).ok(), Some(path.clone()));
        for root in [Path::new("/"), &path.join("missing")] {
            assert_eq!(known(root).root(), None);
            assert!(known(root).admit(&path).is_err());
        }
    }

    #[test]
    fn workspace_rejects_parents_of_home() {
        let folder = tempfile::tempdir().unwrap();
        let homes = folder.path().canonicalize().unwrap();
        let home = homes.join("me");
        let project = home.join("project");
        std::fs::create_dir_all(&project).unwrap();
        let mut known = KnownWorkspaces::new(&homes.join("missing"), Arc::new(History::empty()));
        known.home = Some(home.clone());
        for (path, expected) in [(&homes, false), (&home, false), (&project, true)] {
            assert_eq!(known.open(path).is_ok(), expected, "{}", path.display());
        }
        assert!(known.admit(&homes).is_err());
    }
}
