//! Running turns: one at a time in each session, a bounded number at once.

use super::{
    context::{DELEGATES, StartTurn, TurnContext},
    mentions,
    own_question::{self, shown},
    run::{self, Words},
    runner::{Providers, Runner},
    trust::grant,
};
use crate::{
    blocking::run_blocking,
    error::SessionError,
    live::{
        Asker, Card, Choice, Delegation, Next, Prompt, PromptContent, Reply, Sender, Session, Slot, Ticket,
        Turn, TurnEnd, TurnRequest, Work,
    },
    modes::{self, DEFAULT_MODE, Mode},
    registry::SessionRegistry,
    store::{Store, StoreError},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider, SteerRequest, lowering_command},
    model::SettingsStore,
    trust::{AgentFiles, covers, scan_folder},
    update::{Inline, SessionUpdate},
};
use openagents_orchestration::route::{Route, question, route};
use serde_json::Value;
use std::{
    collections::HashMap,
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Maximum number of concurrent explorations; more wait, which bounds the load.
const RUNNING: usize = 8;

/// Maximum number of concurrent prompts. Separate from explorations, which must not wait behind slow answers.
const ANSWERING: usize = 64;

/// Maximum number of sessions with a running or waiting turn; more are refused, which bounds memory.
const BUSY_SESSIONS: usize = 256;

/// Maximum number of changes of the mode and the options in a session that counts as unprompted, so that one page of its log is enough to
/// decide.
const MODE_CHANGES: usize = 64;

const NO_IMAGES: &str =
    "OpenAgents cannot see images. Choose an agent for this prompt, such as Claude Code, and send it again.";

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
    /// The sessions of agents' own that were listed last, by agent and folder: their ids and titles.
    pub(super) listed: tokio::sync::Mutex<HashMap<(String, PathBuf), Titles>>,
}

/// The titles of an agent's own sessions, by the agent's id.
type Titles = HashMap<String, Option<String>>;

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
            listed: tokio::sync::Mutex::default(),
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
    pub fn prompt(
        &self,
        session: &Session,
        cwd: &Path,
        content: PromptContent,
        by: impl Into<Sender>,
    ) -> TurnRequest {
        let by = by.into();
        let turn = TurnRequest::prompt(cwd, content.clone(), &by);
        let mode = session.mode();
        if self.runner.serves(&mode) {
            turn.answered_by(&mode, cwd, content)
        } else if *mode == *DEFAULT_MODE {
            turn.answered_by_choice(content, by.shows_cards)
        } else if !content.images.is_empty() {
            turn.refusal(SessionError::invalid(NO_IMAGES))
        } else {
            turn
        }
    }

    /// Sends the first waiting prompt now: gives it to the running turn if the agent can take it there, and otherwise
    /// stops the turn. The others keep waiting.
    pub async fn send_now(self: &Arc<Self>, session: &Arc<Session>, id: &str) -> Result<(), SessionError> {
        let (this, session, id) = (self.clone(), session.clone(), id.to_owned());
        // In a separate task, so that the prompt is not lost if the caller disconnects.
        let (sender, sent) = tokio::sync::oneshot::channel();
        self.track(async move {
            let _steering = session.steering.lock().await;
            let is_taken = match session.take_first(&id, |turn| this.steered_agent(turn).is_some()) {
                Some((turn, slot)) => this.steer(&session, turn, slot).await,
                None => false,
            };
            // The caller may be gone.
            let _ = sender.send(if is_taken { Ok(()) } else { session.stop_for(&id) });
        });
        sent.await.unwrap_or_else(|_| Err(SessionError::internal("the prompt could not be sent")))
    }

    /// Returns the agent of a turn that is nothing but a prompt for it.
    fn steered_agent(&self, turn: &Turn) -> Option<Arc<dyn AgentProvider>> {
        match &turn.work {
            Ok(Work::Prompt(prompt)) if prompt.options.model.is_none() => self.runner.agent(&prompt.provider),
            _ => None,
        }
    }

    /// Gives a prompt to the running turn, or puts it back. Returns whether the agent took it.
    async fn steer(self: &Arc<Self>, session: &Arc<Session>, turn: Turn, slot: Slot) -> bool {
        let (this, session) = (self.clone(), session.clone());
        let give = move || {
            let (turns, agent) = (this.context(), this.steered_agent(&turn));
            let request = match &turn.work {
                Ok(Work::Prompt(prompt)) => steer_request(&turns, &session, &prompt.content),
                _ => None,
            };
            let is_taken = agent.zip(request).is_some_and(|(agent, request)| agent.steer(&request));
            match is_taken {
                true => session.record_steered(turn),
                false => session.put_back(turn, slot),
            }
            is_taken
        };
        run_blocking(give).await.unwrap_or_default()
    }

    /// Stops one sub-agent of the agent at work in a session.
    pub async fn stop_subagent(&self, session: &Session, subagent: String) -> Result<(), SessionError> {
        let (agents, id) = (self.runner.agents.clone(), session.id().to_owned());
        let stop = move || {
            let providers = agents.map(|agents| agents.providers()).unwrap_or_default();
            providers.iter().any(|agent| agent.stop_subagent(&id, &subagent))
        };
        match run_blocking(stop).await {
            Some(true) => Ok(()),
            _ => Err(SessionError::invalid(
                "This sub-agent can't be stopped on its own. Stop the turn to stop all of them.",
            )),
        }
    }

    /// Branches a session: creates one that starts with the same log.
    pub async fn branch(&self, session: &Arc<Session>) -> Result<Arc<Session>, SessionError> {
        if session.parent().is_some() {
            return Err(SessionError::invalid(
                "This is a delegate's session; branch the one that started it.",
            ));
        }
        // No turn begins meanwhile.
        let _submitting = session.submitting.lock().await;
        if session.head().running {
            return Err(SessionError::busy("A turn runs in this session; stop it or wait, then branch."));
        }
        let branch = self.sessions().create_branch(session).await?;
        branch.rename(&format!("{} (branch)", session.title().as_deref().unwrap_or("Untitled"))).await?;
        Ok(branch)
    }

    /// Creates a turn for one call of `delegate.run`. Returns it with the id of the call.
    pub fn delegation(&self, session: &Session, arguments: Value, by: &Sender) -> (TurnRequest, String) {
        let call_id = uuid::Uuid::new_v4().to_string();
        let description =
            ["description", "user_prompt"].iter().find_map(|name| arguments.get(name)?.as_str());
        let text = description.filter(|text| !text.trim().is_empty()).unwrap_or("Delegate").to_owned();
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

    async fn run(self: Arc<Self>, session: Arc<Session>, first: Next) {
        let mut next = Some(first);
        while let Some(work) = next {
            let ended = match work {
                Next::Run(turn, token) => {
                    let ended = self.run_turn(&session, turn, token).await;
                    // A prompt that is being given to this turn is taken, or is next.
                    let _steering = session.steering.lock().await;
                    let steered = session.take_steered();
                    ended.map(|(asker, end)| with_end(asker, steered, &end)).unwrap_or_default()
                }
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
            let has_images = !choice.content.images.is_empty();
            let chosen = run_blocking(move || route_prompt(&turns, choice, &session)).await;
            work = chosen.ok_or_else(|| SessionError::internal("routing the prompt failed unexpectedly"));
            if has_images && matches!(work, Ok(Work::Exploration(_) | Work::Choose(_) | Work::Inline(_))) {
                work = Err(SessionError::invalid(NO_IMAGES));
            }
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
        let words = Words::for_work(&work);
        let (runs_in, turns) = (session.clone(), self.context());
        let end = if slot.is_some() {
            run_blocking(move || run::run(&turns, &work, &runs_in, &token)).await
        } else {
            run_blocking(move || run::close_unstarted(&turns, &work, &runs_in, words.cancelled)).await
        };
        let end = match end {
            Some(end) => end,
            None => {
                let broken = session.clone();
                run_blocking(move || run::close_panicked(&broken, words)).await?
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
            (asker, run::close_unstarted(&context, &work, &session, run::DROPPED))
        };
        run_blocking(move || turns.into_iter().map(drop_one).collect()).await.unwrap_or_default()
    }

    /// Deletes a session and those of its delegates. Fails if one of them has a running turn.
    pub async fn delete(&self, session: &Arc<Session>) -> Result<(), SessionError> {
        self.delete_if(session, |_| Ok(true)).await.map(drop)
    }

    /// Deletes a session without prompts and turns: its log has only mode changes, and no agent delegated to it.
    /// Returns whether it was deleted.
    pub async fn delete_unprompted(&self, session: &Arc<Session>) -> Result<bool, SessionError> {
        if session.parent().is_some() {
            return Ok(false);
        }
        let (id, again) = (session.id().clone(), session.id().clone());
        // Checked before retiring the session: a retired session refuses prompts, even if only for a moment.
        if !self.sessions().with_store(move |store| is_unprompted(store, &id)).await? {
            return Ok(false);
        }
        self.delete_if(session, move |store| is_unprompted(store, &again)).await
    }

    /// Deletes a session if `may` allows it. `may` is called once no more turns can begin. Returns whether the session
    /// was deleted.
    async fn delete_if(
        &self,
        session: &Arc<Session>,
        may: impl FnOnce(&Store) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<bool, SessionError> {
        let id = session.id().clone();
        let mut family = self.sessions().with_store(move |store| store.family(&id)).await?;
        family.sort();
        // Keep them from being loaded meanwhile.
        let mut loading = Vec::new();
        for id in &family {
            loading.push(self.sessions().loading().begin(id).await);
        }
        let live: Vec<_> = family.iter().filter_map(|id| self.sessions().live(id)).collect();
        let mut retired: Vec<Arc<Session>> = Vec::new();
        for session in &live {
            if !session.retire().await {
                retired.iter().for_each(|session| session.unretire());
                return Err(SessionError::busy(
                    "A turn runs in this session; stop it, then delete the session.",
                ));
            }
            retired.push(session.clone());
        }
        let ids = family.clone();
        let delete = move |store: &Store| Ok(may(store)? && store.delete_sessions(ids).map(|()| true)?);
        match self.sessions().with_store(delete).await {
            Ok(true) => {}
            kept => {
                retired.iter().for_each(|session| session.unretire());
                return kept;
            }
        }
        self.sessions().forget(&family);
        for session in retired {
            self.close(&session);
            session.mark_deleted();
        }
        self.sessions().changes().remove(&family);
        Ok(true)
    }

    /// Stores that the user at this computer trusts a folder with its current agent settings. Fails if these differ
    /// from `seen`. Prompts that wait for this trust continue. Returns the settings, and the workspace that covers the
    /// folder.
    pub async fn trust(
        self: &Arc<Self>,
        folder: &Path,
        seen: Option<AgentFiles>,
        by: &str,
    ) -> Result<(AgentFiles, PathBuf), SessionError> {
        let (turns, folder, by) = (self.context(), folder.to_owned(), by.to_owned());
        let work = move || {
            let invalid =
                |error: &dyn std::fmt::Display| SessionError::invalid(format!("{}: {error}", shown(&folder)));
            let root = folder.canonicalize().map_err(|error| invalid(&error))?;
            let brings = scan_folder(&root).map_err(|error| invalid(&error))?;
            if !brings.complete {
                return Err(invalid(&brings.lines(false).join("\n")));
            }
            if seen.is_some_and(|seen| seen != brings) {
                return Err(invalid(&"it changed after it was shown; look again"));
            }
            let covered_by = grant(&turns.sessions, &root, &brings, &by)?;
            // The question whether to trust the folder already named these agents.
            let agents = turns.runner.agents.iter().flat_map(|agents| agents.providers());
            let unasked = agents.filter(|agent| agent.decides_what_it_asks());
            own_question::confirm(&turns, unasked.map(|agent| agent.id().to_owned()), &root);
            Ok((brings, covered_by))
        };
        run_blocking(work).await.unwrap_or_else(|| Err(SessionError::internal("the folder cannot be read")))
    }

    /// Revokes the trust in a workspace, and stops the agents that run in it. The next agent asks again.
    pub async fn revoke_trust(&self, folder: &Path) -> Result<(), SessionError> {
        let (sessions, given) = (self.sessions().clone(), folder.to_owned());
        let work = move || {
            // A trusted folder may be gone by now.
            let path = given.canonicalize().unwrap_or_else(|_| given.clone());
            let trusted = sessions.trusted();
            if trusted.revoke(&path)? || trusted.revoke(&given)? {
                let live = sessions.all_live().into_iter();
                let is_below = |folder: &Path| covers(&path, folder) || folder.starts_with(&given);
                return Ok(live.filter(|session| is_below(session.cwd())).collect());
            }
            let given_name = shown(&given);
            Err(match trusted.list().into_iter().find(|row| covers(&row.path, &path)) {
                Some(row) => SessionError::not_found(format!(
                    "{given_name} is covered by the trust in {}; revoke that one.",
                    shown(&row.path)
                )),
                None => SessionError::not_found(format!("{given_name} is not trusted.")),
            })
        };
        let stopped: Result<Vec<Arc<Session>>, _> = run_blocking(work)
            .await
            .unwrap_or_else(|| Err(SessionError::internal("the trusted workspaces cannot be changed")));
        stopped?.iter().for_each(|session| self.close(session));
        Ok(())
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

/// Returns those who hear of the end of a turn, the one that it began with last.
fn with_end(asker: Asker, steered: Vec<Asker>, end: &TurnEnd) -> Vec<Ended> {
    steered.into_iter().chain([asker]).map(|asker| (asker, end.clone())).collect()
}

/// Returns a prompt for an agent at work; `None` if it has to begin a turn, where it is checked. Blocks.
fn steer_request(turns: &TurnContext, session: &Session, content: &PromptContent) -> Option<SteerRequest> {
    if lowering_command(&content.text).is_some() {
        return None;
    }
    let images = turns.store().images_of(session.id(), &content.images);
    Some(SteerRequest {
        session_id: session.id().to_string(),
        text: content.text.clone(),
        links: mentions::named_files(session.cwd(), content.words()),
        images: images
            .inspect_err(|error| tracing::warn!(%error, "could not read the images of a prompt"))
            .ok()?,
    })
}

fn is_unprompted(store: &Store, id: &str) -> Result<bool, StoreError> {
    let log = store.updates_after(id, 0, MODE_CHANGES + 1)?;
    let is_choice =
        |update: &SessionUpdate| matches!(update, SessionUpdate::Mode(_) | SessionUpdate::AgentState(_));
    Ok(log.len() <= MODE_CHANGES && log.iter().all(|row| is_choice(&row.update)))
}

/// Routes a prompt, and records the decision in the session. Blocks.
pub(crate) fn route_prompt(turns: &TurnContext, choice: Choice, session: &Arc<Session>) -> Work {
    let Choice { content, exploration, shows_cards, options } = choice;
    if options.model.is_some() {
        return Work::Prompt(Prompt { provider: String::new(), root: exploration.root, content, options });
    }
    if options.question {
        let (decision, only_findings) = (question(), true);
        let root = exploration.root;
        return Work::Inline(Box::new(Reply { content, root, decision, only_findings }));
    }
    if !turns.agent_settings().choose {
        return Work::Exploration(exploration);
    }
    let situation = turns.situation(session);
    // Attachments are not the user's words and do not affect routing.
    let Route { decision, prompt } = route(content.words(), &situation);
    // Without models and agents there is nothing to choose, except for small talk.
    if !turns.runner.has_any() && decision.inline != Some(Inline::Answer) {
        return Work::Exploration(exploration);
    }
    session.append(vec![SessionUpdate::Routed(decision.clone())]);
    if let Err(error) = turns.store().record_decision(session.id(), content.words(), &decision) {
        tracing::warn!(%error, "could not store a routing decision");
    }
    let root = exploration.root;
    // Only an agent can see images.
    let needs_agent = !content.images.is_empty();
    match (decision.inline, decision.target.mode()) {
        (Some(inline), _) if shows_cards && (needs_agent || inline == Inline::Card) => {
            Work::Card(Box::new(Card { content, root, decision }))
        }
        (None, Some(provider)) => {
            let content = without_mention(&content, prompt);
            Work::Prompt(Prompt { provider, root, content, options })
        }
        _ => Work::Inline(Box::new(Reply { content, root, decision, only_findings: false })),
    }
}

/// Returns the prompt without its leading `@agent`; `rest` is the part of the user's words after it.
fn without_mention(content: &PromptContent, rest: &str) -> PromptContent {
    let words = content.words();
    match content.text.strip_prefix(words) {
        Some(attached) if rest != words => {
            let words = content.words.is_some().then(|| rest.to_owned());
            PromptContent { text: format!("{rest}{attached}"), words, ..content.clone() }
        }
        _ => content.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_strips_leading_mention() {
        let content = |text: &str, words: Option<&str>| PromptContent {
            words: words.map(str::to_owned),
            ..PromptContent::from(text.to_owned())
        };
        let text = |content: &PromptContent, rest: &str| without_mention(content, rest).text;
        assert_eq!(text(&content("@codex fix it", None), "fix it"), "fix it");
        assert_eq!(
            text(&content("@codex fix it\n\nfn a() {}", Some("@codex fix it")), "fix it"),
            "fix it\n\nfn a() {}"
        );
        assert_eq!(text(&content("fix it", None), "fix it"), "fix it");
    }
}
