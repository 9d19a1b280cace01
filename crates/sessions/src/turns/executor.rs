//! Running turns: one at a time in each session, a bounded number at once.

use super::{
    context::{DELEGATES, StartTurn, TurnContext},
    providers::Providers,
    run::{self, Words},
    runner::Runner,
    select,
};
use crate::{
    blocking::run_blocking,
    error::SessionError,
    live::{Asker, By, Delegation, Next, Said, Session, Ticket, Turn, TurnEnd, TurnRequest, Work},
    modes::{self, DEFAULT_MODE, Mode},
    registry::SessionRegistry,
};
use openagents_core::{CancellationToken, model::SettingsStore};
use serde_json::Value;
use std::{future::Future, path::Path, pin::Pin, sync::Arc};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Maximum number of concurrent explorations; more wait, which bounds the load.
const RUNNING: usize = 8;

/// Maximum number of concurrent prompts. Separate from explorations, which must not wait behind slow answers.
const ANSWERING: usize = 64;

/// Maximum number of sessions with a running or waiting turn; more are refused, which bounds memory.
const BUSY_SESSIONS: usize = 256;

/// Runs the turns of all sessions.
#[derive(Debug)]
pub struct TurnExecutor {
    sessions: Arc<SessionRegistry>,
    runner: Arc<Runner>,
    settings: Arc<dyn SettingsStore>,
    tracker: TaskTracker,
    explorations: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    delegates: Arc<Semaphore>,
}

/// An ended turn whose outcome is not sent yet.
type Ended = (Asker, TurnEnd);

impl TurnExecutor {
    /// Creates an executor for the turns of `sessions`.
    pub fn new(
        sessions: Arc<SessionRegistry>,
        settings: Arc<dyn SettingsStore>,
        providers: Providers,
    ) -> Arc<Self> {
        let runner = Arc::new(Runner::new(providers, sessions.history().clone()));
        Arc::new(Self {
            sessions,
            runner,
            settings,
            tracker: TaskTracker::new(),
            explorations: Arc::new(Semaphore::new(RUNNING)),
            answers: Arc::new(Semaphore::new(ANSWERING)),
            delegates: Arc::new(Semaphore::new(DELEGATES)),
        })
    }

    /// Runs a task that [`Self::stop`] waits for.
    pub(super) fn track(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    pub(crate) fn sessions(&self) -> &Arc<SessionRegistry> {
        &self.sessions
    }

    pub(super) fn context(self: &Arc<Self>) -> TurnContext {
        TurnContext {
            sessions: self.sessions.clone(),
            runner: self.runner.clone(),
            settings: self.settings.clone(),
            delegates: self.delegates.clone(),
            turns: self.clone(),
        }
    }

    /// Returns the available modes. Runs on its own thread, because a model reads its files and settings to determine
    /// whether it is available.
    pub async fn modes(&self) -> Vec<Mode> {
        let runner = self.runner.clone();
        let modes =
            run_blocking(move || modes::available(runner.models.as_deref(), runner.agents.as_deref()));
        modes.await.unwrap_or_default()
    }

    /// Creates a turn for a prompt. The mode is fixed when the prompt is sent; a change while it waits applies to later
    /// prompts. In a mode that is not served here, the prompt runs an exploration.
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

    /// Creates a turn for one call of `delegate.run`. Returns it with the id of the call.
    pub fn delegation(&self, session: &Session, arguments: Value, by: &By) -> (TurnRequest, String) {
        let call_id = uuid::Uuid::new_v4().to_string();
        let said = ["description", "user_prompt"].iter().find_map(|name| arguments.get(name)?.as_str());
        let text = said.filter(|text| !text.trim().is_empty()).unwrap_or("Delegate").to_owned();
        let root = session.cwd().to_owned();
        let delegation = Delegation { root, call_id: call_id.clone(), text, arguments };
        (TurnRequest::delegation(delegation, by), call_id)
    }

    /// Stops the agents of a session; its next prompt starts them again.
    pub fn close(&self, session: &Session) {
        for agent in self.runner.agents.iter().flat_map(|agents| agents.providers()) {
            agent.close(session.id());
        }
    }

    /// Starts a turn, or queues it behind the running one. Its prompt is in the log when this returns.
    pub async fn submit(
        self: &Arc<Self>,
        session: &Arc<Session>,
        request: TurnRequest,
    ) -> Result<Ticket, SessionError> {
        // Tracked from here on, so that a shutdown waits for it.
        let _turn = self.tracker.token();
        if self.sessions.stopping().is_cancelled() {
            return Err(SessionError::busy("OpenAgents is shutting down."));
        }
        if self.tracker.len() > BUSY_SESSIONS {
            return Err(SessionError::busy("Too many sessions are at work already; cancel some or wait."));
        }
        let (turn, ticket, opening, title) = Turn::new(request);
        if let Some(first) = session.submit(turn, opening, title, self.sessions.stopping()).await? {
            self.tracker.spawn(self.clone().run(session.clone(), first));
        }
        Ok(ticket)
    }

    /// Runs a turn and those queued behind it.
    async fn run(self: Arc<Self>, session: Arc<Session>, first: Next) {
        let mut next = Some(first);
        while let Some(work) = next {
            let ended = match work {
                Next::Run(turn, token) => self.run_turn(&session, turn, token).await.into_iter().collect(),
                Next::Drop(turns) => self.drop_turns(&session, turns).await,
            };
            next = session.next(self.sessions.stopping());
            // Notified only now, when the session is ready for the next turn.
            ended.into_iter().for_each(|(asker, end)| asker.notify(end));
        }
    }

    /// Runs one turn. `None` only if the runtime is shutting down.
    async fn run_turn(
        self: &Arc<Self>,
        session: &Arc<Session>,
        turn: Turn,
        token: CancellationToken,
    ) -> Option<Ended> {
        let Turn { mut work, delegated, asker, .. } = turn;
        if let Ok(Work::Choose(choice)) = work {
            let (turns, session) = (self.context(), session.clone());
            let chosen = run_blocking(move || select::select(&turns, choice, &session)).await;
            work = chosen.ok_or_else(|| SessionError::internal("routing the prompt failed unexpectedly"));
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
        let (runs_in, turns) = (session.clone(), self.context());
        let end = if slot.is_some() {
            run_blocking(move || run::run(&turns, &work, &runs_in, &token)).await
        } else {
            run_blocking(move || run::never_began(&turns, &work, &runs_in, words.cancelled)).await
        };
        let end = match end {
            Some(end) => end,
            None => {
                let broken = session.clone();
                run_blocking(move || run::broken(&broken, words)).await?
            }
        };
        Some((asker, end))
    }

    /// Returns whether no turn is running or waiting.
    pub fn is_idle(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Cancels every turn and waits until its last update is stored.
    pub async fn stop(&self) {
        self.sessions.stopping().cancel();
        for session in self.sessions.all_live() {
            session.cancel();
        }
        self.tracker.close();
        self.tracker.wait().await;
    }

    async fn drop_turns(self: &Arc<Self>, session: &Arc<Session>, turns: Vec<Turn>) -> Vec<Ended> {
        let (context, session) = (self.context(), session.clone());
        let drop_one = move |Turn { work, asker, .. }| {
            (asker, run::never_began(&context, &work, &session, run::DROPPED))
        };
        run_blocking(move || turns.into_iter().map(drop_one).collect()).await.unwrap_or_default()
    }
}

impl StartTurn for TurnExecutor {
    fn start(
        self: Arc<Self>,
        session: Arc<Session>,
        request: TurnRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Ticket, SessionError>> + Send>> {
        Box::pin(async move { self.submit(&session, request).await })
    }
}
