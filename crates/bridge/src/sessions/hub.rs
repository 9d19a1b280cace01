//! Finds sessions, starts turns, and stops them all at the end.

use super::{
    DEFAULT_MODE, beside,
    known::{Known, Recent},
    modes::{self, Mode},
    running::{self, Runner, Words},
    session::Session,
    turn::{Asker, Next, Ticket, Turn, TurnEnd, TurnRequest, Work},
    unfinished,
};
use crate::{
    Providers,
    error::Fault,
    store::{NewSession, SessionRow, Store, StoreError},
};
use openagents_core::{CancellationToken, history::History, model::LOCAL_MODEL, tool::Toolbox};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Explorations that run at the same time; more wait, so that one machine is not asked for everything at once.
const RUNNING: usize = 8;

/// Prompts that a model has at the same time. It answers one after the other, in minutes; explorations do not wait.
const ANSWERING: usize = 64;

/// Sessions with a running or waiting turn; more are refused, so that nobody fills the memory with them.
const BUSY_SESSIONS: usize = 256;

/// The longest id that a client may choose for a session.
const ID_BYTES: usize = 128;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Hub {
    store: Store,
    runner: Arc<Runner>,
    history: Arc<History>,
    known: Arc<Known>,
    root: PathBuf,
    /// Weak: a session without readers and without a turn costs nothing.
    live: Mutex<HashMap<Arc<str>, Weak<Session>>>,
    /// Held while a session is loaded: what was left open in it is closed once.
    loading: tokio::sync::Mutex<()>,
    turns: TaskTracker,
    stopping: CancellationToken,
    explorations: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// A session in a list, with what only the living know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) row: SessionRow,
    pub(crate) running: bool,
}

/// A turn that is over, but nobody knows yet.
type Ended = (Asker, TurnEnd);

impl Hub {
    pub(crate) fn new(store: Store, providers: Providers, history: Arc<History>, root: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            store,
            runner: Arc::new(Runner {
                explorer: providers.explorer,
                models: providers.models,
                tools: Toolbox::exploration(history.clone()),
            }),
            known: Arc::new(Known::new(&root, history.clone())),
            history,
            root,
            live: Mutex::default(),
            loading: Default::default(),
            turns: TaskTracker::new(),
            stopping: CancellationToken::new(),
            explorations: Arc::new(Semaphore::new(RUNNING)),
            answers: Arc::new(Semaphore::new(ANSWERING)),
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

    /// Finds a session, live or stored. What a process that is gone left open in it is closed before anybody sees it.
    pub(crate) async fn find(&self, id: &str) -> Result<Option<Arc<Session>>, Fault> {
        if let Some(session) = self.live(id) {
            return Ok(Some(session));
        }
        let _loading = self.loading.lock().await;
        // Another connection may have been faster.
        if let Some(session) = self.live(id) {
            return Ok(Some(session));
        }
        let wanted = id.to_owned();
        let Some(row) = self.read(move |store| unfinished::load(store, &wanted)).await? else {
            return Ok(None);
        };
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Returns the modes that a session can be in.
    pub(crate) fn modes(&self) -> Vec<Mode> {
        modes::available(self.runner.models.as_deref())
    }

    /// Makes a turn of a prompt. Who answers is settled when the prompt is sent: a mode that is set while it waits is for
    /// later ones. A mode that nobody here serves explores.
    pub(crate) fn prompt(
        &self,
        session: &Session,
        cwd: &Path,
        text: String,
        connection: &str,
    ) -> TurnRequest {
        let turn = TurnRequest::prompt(cwd, text.clone(), connection);
        let by_model = self.runner.models.is_some() && *session.mode() == *LOCAL_MODEL;
        if by_model { turn.for_the_model(cwd, text) } else { turn }
    }

    /// Starts a turn, or queues it behind the running one. Its prompt is in the log when this returns.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        session: &Arc<Session>,
        request: TurnRequest,
    ) -> Result<Ticket, Fault> {
        // Counts as a turn from here on: a shutdown waits for what it did not see yet.
        let _turn = self.turns.token();
        if self.stopping.is_cancelled() {
            return Err(Fault::busy("OpenAgents is shutting down."));
        }
        if self.turns.len() > BUSY_SESSIONS {
            return Err(Fault::busy("Too many sessions are at work already; cancel some or wait."));
        }
        let (turn, ticket, opening, title) = Turn::new(request);
        if let Some(first) = session.ask(turn, opening, title, &self.stopping).await? {
            self.turns.spawn(self.clone().run(session.clone(), first));
        }
        Ok(ticket)
    }

    /// Runs a turn and all that queue up behind it.
    async fn run(self: Arc<Self>, session: Arc<Session>, first: Next) {
        let mut next = Some(first);
        while let Some(work) = next {
            let ended = match work {
                Next::Run(turn, token) => self.run_turn(&session, turn, token).await.into_iter().collect(),
                Next::Drop(turns) => drop_turns(&session, turns).await,
            };
            next = session.next(&self.stopping);
            // Told only now: whoever hears it finds the session ready.
            ended.into_iter().for_each(|(asker, end)| asker.tell(end));
        }
    }

    /// `None` only when the runtime is going down.
    async fn run_turn(&self, session: &Arc<Session>, turn: Turn, token: CancellationToken) -> Option<Ended> {
        let Turn { work, asker } = turn;
        let slots = match &work {
            Ok(Work::Prompt { .. }) => &self.answers,
            Ok(Work::Exploration(_)) | Err(_) => &self.explorations,
        };
        let slot = tokio::select! {
            biased;
            () = token.cancelled() => None,
            slot = slots.clone().acquire_owned() => slot.ok(),
        };
        let words = Words::of(&work);
        let (runs_in, runner) = (session.clone(), self.runner.clone());
        let end = if slot.is_some() {
            beside(move || runner.run(&work, &runs_in, &token)).await
        } else {
            beside(move || running::never_started(&runs_in, words)).await
        };
        let end = match end {
            Some(end) => end,
            None => {
                let broken = session.clone();
                beside(move || running::broken(&broken, words)).await?
            }
        };
        Some((asker, end))
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

async fn drop_turns(session: &Arc<Session>, turns: Vec<Turn>) -> Vec<Ended> {
    let session = session.clone();
    let drop_all = move || turns.into_iter().map(|turn| (turn.asker, running::dropped(&session))).collect();
    beside(drop_all).await.unwrap_or_else(Vec::new)
}
