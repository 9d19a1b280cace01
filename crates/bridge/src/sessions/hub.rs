//! Finds sessions, starts turns, and stops them all at the end.

use super::{
    DEFAULT_MODE, beside,
    known::{Known, Recent},
    running::Explore,
    session::Session,
    turn::{Ticket, Turn, TurnRequest},
};
use crate::{
    error::Fault,
    store::{NewSession, SessionRow, Store, StoreError},
};
use openagents_core::{CancellationToken, history::History};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Explorations that run at the same time; more wait, so that one machine is not asked for everything at once.
const RUNNING: usize = 8;

/// The longest id that a client may choose for a session.
const ID_BYTES: usize = 128;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Hub {
    store: Store,
    explorer: Arc<dyn Explore>,
    history: Arc<History>,
    known: Arc<Known>,
    root: PathBuf,
    /// Weak: a session without readers and without a turn costs nothing.
    live: Mutex<HashMap<Arc<str>, Weak<Session>>>,
    turns: TaskTracker,
    stopping: CancellationToken,
    slots: Arc<Semaphore>,
}

/// A session in a list, with what only the living know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) row: SessionRow,
    pub(crate) running: bool,
}

impl Hub {
    pub(crate) fn new(
        store: Store,
        explorer: Arc<dyn Explore>,
        history: Arc<History>,
        root: PathBuf,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            explorer,
            known: Arc::new(Known::new(&root, history.clone())),
            history,
            root,
            live: Mutex::default(),
            turns: TaskTracker::new(),
            stopping: CancellationToken::new(),
            slots: Arc::new(Semaphore::new(RUNNING)),
        })
    }

    /// Returns the folder that the server was started on.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the workspace that a client is offered first: the server's own, unless that is a whole disk or home folder.
    pub(crate) fn offered(&self) -> Option<&Path> {
        self.known.root()
    }

    /// Returns the logs of other agents.
    pub(crate) fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// Runs `read` with the store, beside the event loop.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        let store = self.store.clone();
        Ok(beside(move || read(&store)).await.unwrap_or(Err(StoreError::Closed))?)
    }

    /// Creates a session, or finds the one that has this id already.
    pub(crate) async fn open(&self, id: &str, cwd: &Path) -> Result<Arc<Session>, Fault> {
        if id.is_empty() || id.len() > ID_BYTES || id.chars().any(char::is_control) {
            return Err(Fault::invalid_params("A session id has 1 to 128 printable characters."));
        }
        if let Some(session) = self.find(id).await? {
            return Ok(session);
        }
        let new = NewSession { id: id.to_owned(), cwd: cwd.to_owned(), mode: DEFAULT_MODE.to_owned() };
        self.read(move |store| store.create_session(new)).await?;
        self.find(id).await?.ok_or_else(|| Fault::internal("the new session cannot be found"))
    }

    /// Creates a session with an id of its own.
    pub(crate) async fn create(&self, cwd: &Path) -> Result<Arc<Session>, Fault> {
        self.open(&uuid::Uuid::new_v4().to_string(), cwd).await
    }

    /// Finds a session, live or stored.
    pub(crate) async fn find(&self, id: &str) -> Result<Option<Arc<Session>>, Fault> {
        if let Some(session) = self.live(id) {
            return Ok(Some(session));
        }
        let wanted = id.to_owned();
        let Some(row) = self.read(move |store| store.session(&wanted)).await? else { return Ok(None) };
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        // Another connection may have been faster.
        if let Some(session) = live.get(id).and_then(Weak::upgrade) {
            return Ok(Some(session));
        }
        live.retain(|_, session| session.strong_count() > 0);
        let session = Arc::new(Session::new(row, self.store.clone()));
        live.insert(session.id().clone(), Arc::downgrade(&session));
        Ok(Some(session))
    }

    fn live(&self, id: &str) -> Option<Arc<Session>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).get(id).and_then(Weak::upgrade)
    }

    /// Lists sessions, last changed first, from `after` on.
    pub(crate) async fn list(
        &self,
        limit: usize,
        after: Option<(i64, String)>,
        cwd: Option<PathBuf>,
    ) -> Result<Vec<Listed>, Fault> {
        let rows = self
            .read(move |store| {
                let after = after.as_ref().map(|(ts, id)| (*ts, id.as_str()));
                store.sessions(limit, after, cwd.as_deref())
            })
            .await?;
        let running = |id: &str| self.live(id).is_some_and(|session| session.head().running);
        Ok(rows.into_iter().map(|row| Listed { running: running(&row.id), row }).collect())
    }

    /// Returns the directory that a client named, if it may be used.
    pub(crate) async fn admit(&self, path: &Path) -> Result<PathBuf, Fault> {
        let (known, path) = (self.known.clone(), path.to_owned());
        beside(move || known.admit(&path))
            .await
            .unwrap_or_else(|| Err(Fault::internal("history cannot be read")))
    }

    /// Makes a directory known that the person at this machine named.
    pub(crate) async fn open_workspace(&self, path: &Path) -> Result<PathBuf, Fault> {
        let (known, path) = (self.known.clone(), path.to_owned());
        beside(move || known.open(&path))
            .await
            .unwrap_or_else(|| Err(Fault::internal("the folder cannot be read")))
    }

    /// Lists the workspaces of history, last active first.
    pub(crate) async fn workspaces(&self) -> Vec<Recent> {
        let known = self.known.clone();
        beside(move || known.recent()).await.unwrap_or_default()
    }

    /// Starts a turn, or queues it behind the running one.
    pub(crate) fn submit(
        self: &Arc<Self>,
        session: &Arc<Session>,
        request: TurnRequest,
    ) -> Result<Ticket, Fault> {
        if self.stopping.is_cancelled() {
            return Err(Fault::busy("OpenAgents is shutting down."));
        }
        let (turn, ticket) = Turn::new(request);
        if let Some(turn) = session.enqueue(turn, &self.stopping)? {
            self.turns.spawn(self.clone().run(session.clone(), turn));
        }
        Ok(ticket)
    }

    /// Runs a turn and all that queue up behind it.
    async fn run(self: Arc<Self>, session: Arc<Session>, first: Turn) {
        let mut next = Some(first);
        while let Some(turn) = next {
            let slot = self.slots.clone().acquire_owned().await;
            let (runner, explorer) = (session.clone(), self.explorer.clone());
            let ran = beside(move || turn.run(&runner, explorer.as_ref())).await;
            if ran.is_none() {
                // The ticket is lost with the turn; the log says why.
                let broken = session.clone();
                beside(move || Turn::broken(&broken)).await;
            }
            drop(slot);
            next = session.next_turn(&self.stopping);
            if let Some(ended) = ran {
                ended.tell();
            }
        }
    }

    /// Returns the token that ends every turn.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Cancels every turn and waits until its last update is stored.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        let sessions: Vec<_> = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.values().filter_map(Weak::upgrade).collect()
        };
        for session in sessions {
            session.cancel();
        }
        self.turns.close();
        self.turns.wait().await;
    }
}
