//! One live session: the tail of its log in memory, the rest on disk.

use super::{
    agent_states::AgentStates,
    folding::{Folding, StoredLog},
    mirror::{Mirror, ShownIn},
    queue::Queue,
};
use crate::{
    blocking::run_blocking,
    changes::{Changes, Listed},
    error::SessionError,
    policy::Policy,
    store::{Appended, Marks, OpenWork, Parent, SessionRow, Store, StoreError, Stored},
    wake::{Wake, Watchers},
};
use openagents_core::{
    CancellationToken,
    agent::{AccessLimits, Conversation, conversation_excerpt},
    approval::{Approval, ApprovalOutcome, ApprovalState},
    model::Activity,
    update::{AgentState, ModeChange, SessionOption, SessionUpdate, Title},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{HashMap, VecDeque},
    path::Path,
    sync::{Arc, mpsc::sync_channel},
};
use tokio::sync::oneshot;

/// Maximum number of updates in [`Tail`].
const TAIL_UPDATES: usize = 4_096;

/// Maximum bytes of the updates in [`Tail`], as stored.
const TAIL_BYTES: usize = 4 << 20;

/// Updates per page read from the store.
const PAGE: usize = 256;

/// Maximum number of updates in a model's conversation; more than fits its context.
const TRANSCRIPT: u64 = 20_000;

/// A session in memory, while it has readers or a turn.
#[derive(Debug)]
pub struct Session {
    id: Arc<str>,
    row: SessionRow,
    pub(super) store: Store,
    /// Receives the row after every change.
    changes: Arc<Changes>,
    state: Mutex<SessionState>,
    /// Held from storing a prompt until it is queued, so that the log has the order of the queue.
    pub(crate) submitting: tokio::sync::Mutex<()>,
    /// Held while a waiting prompt is given to the running turn, which does not end before.
    pub(crate) steering: tokio::sync::Mutex<()>,
    /// Held while a mode is set and its update is queued, so that the log ends with the current mode.
    setting_mode: Mutex<()>,
    /// Held while the marks are changed in the store and in the state, so that the last change wins.
    marking: Mutex<()>,
    /// Read from the log when first needed.
    agent_states: Mutex<Option<AgentStates>>,
    /// Held while a title is set.
    naming: Mutex<()>,
    /// Held while updates are queued for the log, so that the copy has the same order.
    pub(super) mirror: Mutex<Option<Mirror>>,
    /// Receivers of approval answers, by approval id.
    pub(super) waiting: Mutex<HashMap<String, oneshot::Sender<ApprovalOutcome>>>,
}

#[derive(Debug, Default)]
pub(crate) struct SessionState {
    /// Number of the last update on disk; no later one has been shown.
    seq: u64,
    /// Time when that update was stored, in milliseconds since the epoch.
    last_ts: i64,
    /// Ends at `seq`.
    tail: Tail,
    /// A title is stored or about to be stored.
    pub(crate) titled: bool,
    /// The user has set the title.
    is_named: bool,
    pub(crate) title: Option<String>,
    mode: Arc<str>,
    pub(super) marks: Marks,
    /// Change counter, and current activity.
    pub(super) activity: (u64, Option<Activity>),
    /// Open work of this session and its delegates. Starts empty: the work of an earlier process has been closed.
    work: Arc<OpenWork>,
    approval_changes: u64,
    pub(crate) used: bool,
    pub(crate) queue: Queue,
    pub(super) watchers: Watchers,
    pub(crate) failure: Option<Failure>,
    /// About to be deleted: accepts no more turns.
    pub(crate) retired: bool,
    pub(crate) deleted: bool,
    failures: u64,
}

/// A failure to write the log. Sent once to each connection, since it cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Incremented with each failure, so that a connection sends each one once.
    pub number: u64,
    /// One sentence.
    pub message: String,
}

/// The end of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of the last update; 0 if there is none.
    pub seq: u64,
    pub running: bool,
    /// The last failure to write the log.
    pub failure: Option<Failure>,
}

impl Session {
    pub(crate) fn new(row: SessionRow, store: Store, changes: Arc<Changes>) -> Self {
        let state = SessionState {
            seq: row.last_seq,
            last_ts: row.last_ts,
            titled: row.title.is_some(),
            is_named: row.is_named,
            title: row.title.clone(),
            mode: row.mode.as_str().into(),
            marks: row.marks,
            used: row.last_seq > 0,
            ..SessionState::default()
        };
        Self {
            id: row.id.as_str().into(),
            row,
            store,
            changes,
            state: Mutex::new(state),
            submitting: Default::default(),
            steering: Default::default(),
            setting_mode: Mutex::default(),
            marking: Mutex::default(),
            agent_states: Mutex::default(),
            naming: Mutex::default(),
            mirror: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the workspace.
    pub fn cwd(&self) -> &Path {
        &self.row.cwd
    }

    pub fn parent(&self) -> Option<&Parent> {
        self.row.parent.as_ref()
    }

    /// Returns its permissions.
    pub fn policy(&self) -> Policy {
        self.row.policy
    }

    pub(crate) fn limits(&self) -> &AccessLimits {
        &self.row.limits
    }

    /// Returns the end of its log, and whether a turn is running.
    pub fn head(&self) -> Head {
        let state = self.lock();
        Head { seq: state.seq, running: state.queue.is_running(), failure: state.failure.clone() }
    }

    /// Returns the title, if it has one yet.
    pub fn title(&self) -> Option<String> {
        self.lock().title.clone()
    }

    /// Returns the folded log up to `until`.
    pub fn folding(&self, until: u64) -> Folding<StoredLog> {
        Folding::new(StoredLog { store: self.store.clone(), session_id: self.id.clone() }, until)
    }

    /// Returns the mode for the next prompt.
    pub fn mode(&self) -> Arc<str> {
        self.lock().mode.clone()
    }

    /// Sets the mode from the next prompt on. It is stored when this returns; on an error nothing has changed.
    pub async fn set_mode(self: &Arc<Self>, mode: &str) -> Result<(), SessionError> {
        let (session, mode) = (self.clone(), mode.to_owned());
        Ok(run_blocking(move || session.store_mode(&mode)).await.unwrap_or(Err(StoreError::Closed))?)
    }

    fn store_mode(self: &Arc<Self>, mode: &str) -> Result<(), StoreError> {
        let _order = self.setting_mode.lock();
        // Set before it is stored, because the next prompt may arrive earlier.
        let before = std::mem::replace(&mut self.lock().mode, mode.into());
        let change = SessionUpdate::Mode(ModeChange { mode_id: mode.to_owned() });
        self.append_and_wait(change).inspect_err(|_| self.lock().mode = before)?;
        self.append_states(|states| states.switch_to(mode));
        Ok(())
    }

    /// Appends an update and waits until it is on disk. Blocks.
    fn append_and_wait(self: &Arc<Self>, update: SessionUpdate) -> Result<(), StoreError> {
        let (done, stored) = sync_channel(1);
        // Cannot fail: the channel has room for the only answer.
        self.append_then(vec![update], move |result| drop(done.try_send(result)));
        stored.recv().unwrap_or(Err(StoreError::Closed))
    }

    pub fn approvals(&self) -> Vec<Approval> {
        self.lock().work.approvals().cloned().collect()
    }

    /// Returns the pending approvals with a number that is incremented with every change; `None` if it is still
    /// `known`.
    pub fn approvals_since(&self, known: u64) -> Option<(u64, Vec<Approval>)> {
        let state = self.lock();
        let changes = state.approval_changes;
        (changes != known).then(|| (changes, state.work.approvals().cloned().collect()))
    }

    /// Returns the number of connections that are woken by every change.
    pub fn readers(&self) -> u32 {
        u32::try_from(self.lock().watchers.count()).unwrap_or(u32::MAX)
    }

    /// Wakes `wake` whenever the session changes.
    pub fn watch(&self, wake: &Wake) {
        self.lock().watchers.add(wake);
    }

    /// Returns at most `limit` updates after `since`, stopping once they total `bytes` bytes.
    pub async fn read_after(
        &self,
        since: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        {
            let state = self.lock();
            if since >= state.seq {
                return Ok(Vec::new());
            }
            if let Some(page) = state.tail.after(since, limit, bytes) {
                return Ok(page);
            }
        }
        let (store, id) = (self.store.clone(), self.id.clone());
        run_blocking(move || store.page_after(&id, since, limit, bytes))
            .await
            .unwrap_or(Err(StoreError::Closed))
    }

    /// Queues updates for the log; readers see them once they are on disk. Blocks while the store's queue is full.
    pub fn append(self: &Arc<Self>, updates: Vec<SessionUpdate>) {
        self.append_then(updates, drop);
    }

    /// Like [`Session::append`]. `done` receives the result, unless the store is closed.
    pub(super) fn append_then(
        self: &Arc<Self>,
        updates: Vec<SessionUpdate>,
        done: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        let mirror = self.mirror.lock();
        let copy = mirror.as_ref().map(|mirror| mirror.copy(&updates));
        let session = self.clone();
        let queued = self.store.append_then(self.id.clone(), updates, move |appended| {
            let stored = appended.as_ref().map(drop).map_err(Clone::clone);
            session.publish_or_fail(appended);
            done(stored);
        });
        if let Err(error) = queued {
            self.fail(&error);
        }
        if let (Some(mirror), Some(copy)) = (&*mirror, copy) {
            mirror.show(copy);
        }
    }

    /// Waits until all appended updates are on disk and published. Blocks.
    pub(crate) fn settle(&self) {
        if let Err(error) = self.store.flush() {
            self.fail(&error);
        }
    }

    /// Returns the open work, once all appended updates are on disk. Blocks.
    pub(crate) fn open_work(&self) -> Arc<OpenWork> {
        self.settle();
        self.lock().work.clone()
    }

    /// Returns the first prompt and the newest messages as text, without what only this computer may read; `None` if there
    /// are none. Blocks.
    pub fn excerpt(&self) -> Result<Option<String>, StoreError> {
        let transcript = self.transcript(&CancellationToken::new())?;
        Ok(conversation_excerpt(&transcript.for_reader_elsewhere(&self.mode())))
    }

    /// Passes all updates to `visit`, in order. Blocks.
    pub fn each_update(&self, visit: &mut dyn FnMut(&Stored)) -> Result<(), StoreError> {
        let mut since = 0;
        loop {
            let page = self.store.updates_after(&self.id, since, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            since = last.seq;
            page.iter().for_each(|stored| visit(stored));
        }
    }

    /// Returns the session as a conversation for a model; incomplete if cancelled. Blocks.
    ///
    /// Reads forwards from a fixed start, so that the model's prefix stays the same between turns.
    pub(crate) fn transcript(&self, cancel: &CancellationToken) -> Result<Conversation, StoreError> {
        let mut transcript = Conversation::default();
        // The start moves in steps, for the same reason.
        let mut since = self.head().seq.saturating_sub(TRANSCRIPT).next_multiple_of(TRANSCRIPT / 4);
        if since > 0 {
            transcript.starts_late();
        }
        while !cancel.is_cancelled() {
            let page = self.store.updates_after(&self.id, since, PAGE)?;
            let Some(last) = page.last() else { break };
            since = last.seq;
            page.iter().for_each(|stored| transcript.push(&stored.update));
        }
        Ok(transcript)
    }

    /// Publishes the appended updates, or the error. Called on the writer's thread.
    pub(super) fn publish_or_fail(&self, appended: Result<Appended, StoreError>) {
        match appended {
            Ok(appended) => self.publish(appended),
            Err(error) => self.fail(&error),
        }
    }

    fn publish(&self, Appended { rows, work, .. }: Appended) {
        let mut state = self.lock();
        if !Arc::ptr_eq(&state.work, &work) {
            state.approval_changes += u64::from(!state.work.approvals().eq(work.approvals()));
            state.work = work;
        }
        for row in rows {
            (state.seq, state.last_ts) = (row.seq, row.ts);
            if let SessionUpdate::Title(title) = &row.update {
                state.title = Some(title.title.clone());
                state.is_named |= title.by_user;
            }
            state.tail.push(row);
        }
        state.watchers.wake();
        drop(state);
        self.update_list();
    }

    /// Must not be called with the state locked.
    pub(crate) fn update_list(&self) {
        self.changes.record(|| {
            let state = self.lock();
            let row = SessionRow {
                title: state.title.clone(),
                mode: state.mode.to_string(),
                last_ts: state.last_ts,
                last_seq: state.seq,
                marks: state.marks,
                is_named: state.is_named,
                ..self.row.clone()
            };
            let (running, waiting) = (state.queue.is_running(), state.work.approvals().count());
            (state.seq > 0 && !state.deleted).then_some(Listed { row, running, waiting })
        });
    }

    fn fail(&self, error: &StoreError) {
        {
            let mut state = self.lock();
            // One disk failure fails everything in the queue; report it once.
            if state.failure.is_none() {
                state.failures += 1;
                let message = format!("This session has stopped: {error}.");
                state.failure = Some(Failure { number: state.failures, message });
            }
            state.watchers.wake();
        }
        self.cancel();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    /// Returns the activity of the running turn, and a number that is incremented with every change.
    pub fn activity(&self) -> (u64, Option<Activity>) {
        self.lock().activity
    }

    pub(crate) fn set_activity(&self, activity: Option<Activity>) {
        let mut state = self.lock();
        if state.activity.1 != activity {
            state.activity = (state.activity.0 + 1, activity);
            state.watchers.wake();
        }
    }

    /// Appends a part of an agent's state if the log does not end with it.
    pub(crate) fn report(self: &Arc<Self>, state: AgentState) {
        self.append_states(|states| states.report(state, &self.mode()).into_iter().collect());
    }

    /// Returns the options that an agent has reported here; `None` if it has not. Blocks.
    pub(crate) fn offered_options(&self, agent: &str) -> Option<Vec<SessionOption>> {
        let mut states = self.agent_states.lock();
        self.known_states(&mut states).options(agent).map(<[_]>::to_vec)
    }

    fn append_states(self: &Arc<Self>, change: impl FnOnce(&mut AgentStates) -> Vec<AgentState>) {
        // Held until the entries are queued, so that the log has the order of the reports.
        let mut states = self.agent_states.lock();
        let entries = change(self.known_states(&mut states));
        if !entries.is_empty() {
            self.append(entries.into_iter().map(SessionUpdate::AgentState).collect());
        }
    }

    fn known_states<'a>(&self, states: &'a mut Option<AgentStates>) -> &'a mut AgentStates {
        states.get_or_insert_with(|| {
            let logged = self.store.agent_states(&self.id).unwrap_or_else(|error| {
                tracing::warn!(%error, "could not read what the agents reported");
                Vec::new()
            });
            AgentStates::from_log(logged)
        })
    }

    /// Stops accepting turns. Returns false if one is running or waiting.
    pub(crate) async fn retire(&self) -> bool {
        let _order = self.submitting.lock().await;
        let mut state = self.lock();
        let is_idle = !state.queue.is_running();
        state.retired |= is_idle;
        is_idle
    }

    pub(crate) fn unretire(&self) {
        self.lock().retired = false;
    }

    pub(crate) fn mark_deleted(&self) {
        let mut state = self.lock();
        state.deleted = true;
        state.watchers.wake();
    }

    pub fn is_deleted(&self) -> bool {
        self.lock().deleted
    }

    /// Sets the title that an agent gives the session, unless the user has set one.
    pub(crate) fn suggest_title(self: &Arc<Self>, title: String) {
        // Held until the title is queued, so that it cannot come after the user's.
        let _naming = self.naming.lock();
        let is_wanted = {
            let mut state = self.lock();
            let is_wanted = !state.is_named && state.title.as_deref() != Some(&title);
            state.titled |= is_wanted;
            is_wanted
        };
        if is_wanted {
            self.append(vec![SessionUpdate::Title(Title { title, by_user: false })]);
        }
    }

    /// Sets the title. It is logged like an agent's title update, and no later prompt replaces it.
    pub async fn rename(self: &Arc<Self>, title: &str) -> Result<(), SessionError> {
        let (session, title) = (self.clone(), title.to_owned());
        let rename = move || {
            let _naming = session.naming.lock();
            {
                let mut state = session.lock();
                (state.titled, state.is_named) = (true, true);
            }
            session.append_and_wait(SessionUpdate::Title(Title { title, by_user: true }))
        };
        Ok(run_blocking(rename).await.unwrap_or(Err(StoreError::Closed))?)
    }

    pub async fn mark(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Marks) + Send + 'static,
    ) -> Result<(), SessionError> {
        let session = self.clone();
        let mark = move || {
            let _order = session.marking.lock();
            let mut marks = session.lock().marks;
            change(&mut marks);
            session.store.mark_session(session.id(), marks)?;
            session.lock().marks = marks;
            session.update_list();
            Ok(())
        };
        Ok(run_blocking(mark).await.unwrap_or(Err(StoreError::Closed))?)
    }

    /// Mirrors this session from now on. Returns false if it was already mirrored.
    pub(crate) fn mirror_to(&self, mirror: Mirror) -> bool {
        let mut known = self.mirror.lock();
        let is_first = known.is_none();
        known.get_or_insert(mirror);
        is_first
    }

    /// Stops mirroring this session. Closes everything open in the parent with `reason`, and gives pending approvals
    /// the state `approvals`. Blocks while the store's queue is full.
    pub(crate) fn stop_mirroring(&self, reason: &str, approvals: &ApprovalState) {
        if let Some(mirror) = self.mirror.lock().take() {
            mirror.close(reason, approvals);
        }
    }

    pub(crate) fn is_mirrored(&self) -> bool {
        self.mirror.lock().is_some()
    }
}

impl ShownIn for Session {
    fn append(self: Arc<Self>, updates: Vec<SessionUpdate>) {
        Session::append(&self, updates);
    }

    fn open_work(&self) -> Arc<OpenWork> {
        Session::open_work(self)
    }
}

/// The last updates of a log, without gaps, so that readers a few seconds behind do not read from disk.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    updates: VecDeque<Arc<Stored>>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn push(&mut self, update: Arc<Stored>) {
        self.bytes += update.bytes;
        self.updates.push_back(update);
        while self.updates.len() > TAIL_UPDATES || self.bytes > TAIL_BYTES {
            let Some(oldest) = self.updates.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// Returns at most `limit` updates after `since`, stopping once they total `bytes` bytes; `None` if the tail begins
    /// later.
    pub(crate) fn after(&self, since: u64, limit: usize, bytes: usize) -> Option<Vec<Arc<Stored>>> {
        let first = self.updates.front().filter(|first| first.seq <= since + 1)?;
        let skip = usize::try_from(since + 1 - first.seq).unwrap_or(usize::MAX);
        let mut taken = 0;
        let fits = |update: &&Arc<Stored>| {
            let fits = taken < bytes;
            taken += update.bytes;
            fits
        };
        Some(self.updates.iter().skip(skip).take(limit).take_while(fits).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewSession;
    use std::time::Duration;

    /// Regression: marking held the state while it waited for the writer, which needs the state to publish updates.
    #[test]
    fn session_is_marked_while_updates_are_stored() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let new = NewSession { id: "s".to_owned(), cwd: "/projects/demo".into(), mode: "codex".to_owned() };
        store.create_session(new).unwrap();
        let session = Arc::new(Session::new(store.session("s").unwrap().unwrap(), store, Arc::default()));
        let (done, finished) = sync_channel(1);
        let (writing, marking) = (session.clone(), session);
        std::thread::spawn(move || {
            for number in 0..2_000 {
                let title = openagents_core::update::Title { title: number.to_string(), by_user: false };
                Session::append(&writing, vec![SessionUpdate::Title(title)]);
            }
        });
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for pinned in [true, false].repeat(50) {
                runtime.block_on(marking.mark(move |marks| marks.pinned = pinned)).unwrap();
            }
            done.send(()).unwrap();
        });
        finished.recv_timeout(Duration::from_secs(30)).unwrap();
    }
}
