//! Finds sessions, starts turns, and stops them all at the end.

use super::{
    DEFAULT_MODE, choosing,
    known::{Known, Recent},
    listing::{Changes, Listed},
    loading::Loading,
    modes::{self, Mode},
    queue::Next,
    run_blocking,
    running::{self, Runner, Words},
    session::Session,
    turn::{Asker, By, Delegation, Said, Ticket, Turn, TurnEnd, TurnRequest, Work},
    unfinished,
};
use crate::{
    Providers,
    error::SessionError,
    policy::Policy,
    store::{NewSession, Parent, SessionRow, Store, StoreError},
};
use openagents_core::{
    CancellationToken,
    agent::{AGENT_SETTINGS, AccessLimits, AgentSettings},
    approval::ApprovalState,
    builtin,
    history::History,
    model::SettingsStore,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

/// Explorations that run at the same time; more wait, so that one machine is not asked for everything at once.
const RUNNING: usize = 8;

/// Prompts that a model has at the same time. It answers one after the other, in minutes; explorations do not wait.
const ANSWERING: usize = 64;

/// Delegates that work at the same time. More are refused: a model that hands everything on would never end.
pub(super) const DELEGATES: usize = 8;

/// Sessions with a running or waiting turn; more are refused, so that nobody fills the memory with them.
const BUSY_SESSIONS: usize = 256;

/// The longest id that a client may choose for a session.
const ID_BYTES: usize = 128;

/// What all connections share.
#[derive(Debug)]
pub struct Hub {
    store: Store,
    settings: Arc<dyn SettingsStore>,
    runner: Arc<Runner>,
    history: Arc<History>,
    known: Arc<Known>,
    root: PathBuf,
    /// Weak: a session without readers and without a turn costs nothing.
    live: Mutex<HashMap<Arc<str>, Weak<Session>>>,
    /// What was left open in a session is closed once.
    loading: Loading,
    changes: Arc<Changes>,
    turns: TaskTracker,
    stopping: CancellationToken,
    explorations: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    /// A place of their own: a delegate must not wait for the place of the one who waits for it.
    delegates: Arc<Semaphore>,
}

/// A turn that is over, but nobody knows yet.
type Ended = (Asker, TurnEnd);

impl Hub {
    /// Serves the sessions of `store`. `root` is the folder that the program was started on.
    pub fn new(
        store: Store,
        settings: Arc<dyn SettingsStore>,
        providers: Providers,
        history: Arc<History>,
        root: PathBuf,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            settings,
            runner: Arc::new(Runner {
                explorer: providers.explorer,
                models: providers.models,
                agents: providers.agents,
                foundation: providers.foundation,
                tools: builtin::toolbox(history.clone()),
            }),
            known: Arc::new(Known::new(&root, history.clone())),
            history,
            root,
            live: Mutex::default(),
            loading: Default::default(),
            changes: Arc::default(),
            turns: TaskTracker::new(),
            stopping: CancellationToken::new(),
            explorations: Arc::new(Semaphore::new(RUNNING)),
            answers: Arc::new(Semaphore::new(ANSWERING)),
            delegates: Arc::new(Semaphore::new(DELEGATES)),
        })
    }

    /// Returns the folder that the server was started on.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the workspace that a client is offered first: the server's own, unless that is a whole disk or home folder.
    pub fn offered(&self) -> Option<&Path> {
        self.known.root()
    }

    /// Returns the logs of other agents.
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// Runs `read` with the store, beside the event loop.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let store = self.store.clone();
        Ok(run_blocking(move || read(&store)).await.unwrap_or(Err(StoreError::Closed))?)
    }

    /// Creates a session, or finds the one that has this id already.
    pub async fn open(&self, id: &str, cwd: &Path) -> Result<Arc<Session>, SessionError> {
        if id.is_empty() || id.len() > ID_BYTES || id.chars().any(char::is_control) {
            return Err(SessionError::invalid("A session id has 1 to 128 printable characters."));
        }
        if let Some(session) = self.find(id).await? {
            return Ok(session);
        }
        let new = NewSession { id: id.to_owned(), cwd: cwd.to_owned(), mode: DEFAULT_MODE.to_owned() };
        self.read(move |store| store.create_session(new)).await?;
        self.find(id).await?.ok_or_else(|| SessionError::internal("the new session cannot be found"))
    }

    /// Creates a session with an id of its own.
    pub async fn create(&self, cwd: &Path) -> Result<Arc<Session>, SessionError> {
        self.open(&uuid::Uuid::new_v4().to_string(), cwd).await
    }

    /// Creates a session in which a person allows what `policy` says.
    pub async fn create_with(&self, cwd: &Path, policy: Policy) -> Result<Arc<Session>, SessionError> {
        let id = uuid::Uuid::new_v4().to_string();
        let new = NewSession { id: id.clone(), cwd: cwd.to_owned(), mode: DEFAULT_MODE.to_owned() };
        let set = id.clone();
        self.read(move |store| store.create_session(new).and_then(|()| store.set_policy(&set, policy)))
            .await?;
        self.find(&id).await?.ok_or_else(|| SessionError::internal("the new session cannot be found"))
    }

    /// Creates the session of a delegate.
    pub(super) async fn create_child(
        &self,
        cwd: &Path,
        mode: &str,
        parent: Parent,
        policy: Policy,
        limits: AccessLimits,
    ) -> Result<Arc<Session>, SessionError> {
        let id = uuid::Uuid::new_v4().to_string();
        let new = NewSession { id: id.clone(), cwd: cwd.to_owned(), mode: mode.to_owned() };
        self.read(move |store| store.create_child(new, parent, policy, &limits)).await?;
        self.find(&id).await?.ok_or_else(|| SessionError::internal("the delegate's session cannot be found"))
    }

    /// Finds a session, live or stored. What a process that is gone left open in it is closed before anybody sees it.
    pub async fn find(&self, id: &str) -> Result<Option<Arc<Session>>, SessionError> {
        if let Some(session) = self.live(id) {
            return Ok(Some(session));
        }
        let _loading = self.loading.begin(id).await;
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
        let session = Arc::new(Session::new(row, self.store.clone(), self.changes.clone()));
        live.insert(session.id().clone(), Arc::downgrade(&session));
        Ok(Some(session))
    }

    /// Returns what is loaded or deleted now.
    pub(super) fn loading(&self) -> &Loading {
        &self.loading
    }

    /// Finds these sessions no more.
    pub(super) fn forget(&self, ids: &[String]) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        ids.iter().for_each(|id| drop(live.remove(id.as_str())));
    }

    /// Returns what changes in the list.
    pub(super) fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Returns a row with what only the living know.
    pub(super) fn listed(&self, row: SessionRow) -> Listed {
        let live = self.live(&row.id);
        let running = live.as_ref().is_some_and(|session| session.head().running);
        let waiting = live.map_or(0, |session| session.approvals().len());
        Listed { running, waiting, row }
    }

    pub(super) fn live(&self, id: &str) -> Option<Arc<Session>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).get(id).and_then(Weak::upgrade)
    }

    /// Lists sessions, last changed first, from `after` on.
    pub async fn list(
        &self,
        limit: usize,
        after: Option<(i64, String)>,
        cwd: Option<PathBuf>,
        children: bool,
    ) -> Result<Vec<Listed>, SessionError> {
        let rows = self
            .read(move |store| {
                let after = after.as_ref().map(|(ts, id)| (*ts, id.as_str()));
                match children {
                    true => store.sessions_and_children(limit, after, cwd.as_deref()),
                    false => store.sessions(limit, after, cwd.as_deref()),
                }
            })
            .await?;
        Ok(rows.into_iter().map(|row| self.listed(row)).collect())
    }

    /// Returns the directory that a client named, if it may be used.
    pub async fn admit(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let (known, path) = (self.known.clone(), path.to_owned());
        run_blocking(move || known.admit(&path))
            .await
            .unwrap_or_else(|| Err(SessionError::internal("history cannot be read")))
    }

    /// Makes a directory known that the person at this machine named.
    pub async fn open_workspace(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let (known, path) = (self.known.clone(), path.to_owned());
        run_blocking(move || known.open(&path))
            .await
            .unwrap_or_else(|| Err(SessionError::internal("the folder cannot be read")))
    }

    /// Lists the workspaces of history, last active first.
    pub async fn workspaces(&self) -> Vec<Recent> {
        let known = self.known.clone();
        run_blocking(move || known.recent()).await.unwrap_or_default()
    }

    /// Returns the modes that a session can be in.
    pub fn modes(&self) -> Vec<Mode> {
        modes::available(self.runner.models.as_deref(), self.runner.agents.as_deref())
    }

    /// Makes a turn of a prompt. Who answers is settled when the prompt is sent: a mode that is set while it waits is for
    /// later ones. A mode that nobody here serves explores.
    pub fn prompt(&self, session: &Session, cwd: &Path, said: Said, by: impl Into<By>) -> TurnRequest {
        let by = by.into();
        let turn = TurnRequest::prompt(cwd, said.clone(), &by);
        let mode = session.mode();
        if self.runner.serves(&mode) {
            turn.answered_by(&mode, cwd, said)
        } else if *mode == *DEFAULT_MODE {
            turn.answered_by_choice(said, by.shows_cards)
        } else {
            turn
        }
    }

    /// Makes a turn of one call of `delegate.run`. Returns it with the id that the call will have.
    pub fn delegation(&self, session: &Session, arguments: Value, by: &By) -> (TurnRequest, String) {
        let call_id = uuid::Uuid::new_v4().to_string();
        let said = ["description", "user_prompt"].iter().find_map(|name| arguments.get(name)?.as_str());
        let text = said.filter(|text| !text.trim().is_empty()).unwrap_or("Delegate").to_owned();
        let root = session.cwd().to_owned();
        let delegation = Delegation { root, call_id: call_id.clone(), text, arguments };
        (TurnRequest::delegation(delegation, by), call_id)
    }

    /// Ends what agents keep running for a session; its next prompt starts them again.
    pub fn close(&self, session: &Session) {
        for agent in self.runner.agents.iter().flat_map(|agents| agents.providers()) {
            agent.close(session.id());
        }
    }

    /// Returns who explores and answers.
    pub(super) fn runner(&self) -> &Arc<Runner> {
        &self.runner
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns what a person chose about agents.
    pub(super) fn agent_settings(&self) -> AgentSettings {
        match self.settings.get(AGENT_SETTINGS) {
            Ok(settings) => {
                settings.and_then(|settings| serde_json::from_value(settings).ok()).unwrap_or_default()
            }
            Err(error) => {
                tracing::warn!(%error, "what was chosen about agents cannot be read");
                AgentSettings::default()
            }
        }
    }

    /// Takes a place among the delegates; `None` when there are too many.
    pub(super) fn place_for_a_delegate(&self) -> Option<OwnedSemaphorePermit> {
        self.delegates.clone().try_acquire_owned().ok()
    }

    /// Starts a turn, or queues it behind the running one. Its prompt is in the log when this returns.
    pub async fn submit(
        self: &Arc<Self>,
        session: &Arc<Session>,
        request: TurnRequest,
    ) -> Result<Ticket, SessionError> {
        // Counts as a turn from here on: a shutdown waits for what it did not see yet.
        let _turn = self.turns.token();
        if self.stopping.is_cancelled() {
            return Err(SessionError::busy("OpenAgents is shutting down."));
        }
        if self.turns.len() > BUSY_SESSIONS {
            return Err(SessionError::busy("Too many sessions are at work already; cancel some or wait."));
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
                Next::Drop(turns) => self.drop_turns(&session, turns).await,
            };
            next = session.next(&self.stopping);
            // Told only now: whoever hears it finds the session ready.
            ended.into_iter().for_each(|(asker, end)| asker.tell(end));
        }
    }

    /// `None` only when the runtime is going down.
    async fn run_turn(
        self: &Arc<Self>,
        session: &Arc<Session>,
        turn: Turn,
        token: CancellationToken,
    ) -> Option<Ended> {
        let Turn { mut work, delegated, asker, .. } = turn;
        if let Ok(Work::Choose(choice)) = work {
            let (hub, session) = (self.clone(), session.clone());
            let chosen = run_blocking(move || choosing::choose(&hub, choice, &session)).await;
            work = chosen.ok_or_else(|| SessionError::internal("the choice who answers ended unexpectedly"));
        }
        let slots = match &work {
            _ if delegated => None,
            Ok(Work::Prompt(_) | Work::Delegate(_) | Work::Inline(_) | Work::Card(_)) => Some(&self.answers),
            Ok(Work::Exploration(_) | Work::Choose(_)) | Err(_) => Some(&self.explorations),
        };
        let slot = async {
            match slots {
                Some(slots) => slots.clone().acquire_owned().await.ok().map(Some),
                None => Some(None),
            }
        };
        let slot = tokio::select! {
            biased;
            () = token.cancelled() => None,
            slot = slot => slot,
        };
        let words = Words::of(&work);
        let (runs_in, hub) = (session.clone(), self.clone());
        let end = if slot.is_some() {
            run_blocking(move || hub.runner.run(&hub, &work, &runs_in, &token)).await
        } else {
            run_blocking(move || running::never_began(&hub, &work, &runs_in, words.cancelled)).await
        };
        let end = match end {
            Some(end) => end,
            None => {
                let broken = session.clone();
                run_blocking(move || running::broken(&broken, words)).await?
            }
        };
        Some((asker, end))
    }

    /// Returns how an approval stands that nobody waits for any more.
    pub(super) fn given_up(&self) -> ApprovalState {
        // The agent goes down with us; a person may let it go on.
        if self.stopping.is_cancelled() { ApprovalState::Withdrawn } else { ApprovalState::Expired }
    }

    /// Returns the token that ends every turn.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Cancels every turn and waits until its last update is stored.
    pub async fn stop(&self) {
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

    async fn drop_turns(self: &Arc<Self>, session: &Arc<Session>, turns: Vec<Turn>) -> Vec<Ended> {
        let (hub, session) = (self.clone(), session.clone());
        let drop_one = move |Turn { work, asker, .. }| {
            (asker, running::never_began(&hub, &work, &session, running::DROPPED))
        };
        run_blocking(move || turns.into_iter().map(drop_one).collect()).await.unwrap_or_default()
    }
}
