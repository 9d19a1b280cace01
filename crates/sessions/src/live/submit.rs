//! What is asked of a session: turns, one at a time, and those that wait.

use super::{
    queue::{Next, Waits},
    session::{Session, wake_all},
    turn::{Turn, TurnEnd},
};
use crate::{blocking::run_blocking, error::SessionError, store::StoreError};
use openagents_core::{
    CancellationToken,
    update::{RunState, SessionUpdate, Title, UserMessage},
};
use std::sync::Arc;

impl Session {
    /// Stores what a turn begins with, then queues the turn, or returns it when the caller has to run it now.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        turn: Turn,
        mut opening: Vec<SessionUpdate>,
        title: Title,
        stopping: &CancellationToken,
    ) -> Result<Option<Next>, SessionError> {
        let _order = self.asking.lock().await;
        let (place, had_failed) = {
            let mut state = self.lock();
            if state.retired {
                return Err(SessionError::not_found("This session was deleted."));
            }
            let place = state.queue.admit()?;
            if !state.titled {
                state.titled = true;
                opening.push(SessionUpdate::Title(title));
            }
            state.used = true;
            (place, state.failure.take().is_some())
        };
        if had_failed {
            self.close_what_failed().await;
        }
        if !opening.is_empty() {
            let session = self.clone();
            let stored = move || {
                session.append(opening);
                session.settle();
            };
            run_blocking(stored).await;
            if let Some(failure) = self.head().failure {
                let mut state = self.lock();
                state.titled = state.title.is_some();
                return Err(SessionError::internal(failure.message));
            }
        }
        let mut state = self.lock();
        let next = state.queue.enqueue(turn, place, stopping);
        wake_all(&mut state);
        self.changes.touch(self.id());
        Ok(next)
    }

    /// Closes what could not be closed when the log could not be written: a turn that stopped without a last word. It has
    /// been over for a while; one that is still at its end closes itself.
    async fn close_what_failed(self: &Arc<Self>) {
        if self.lock().queue.is_running() {
            return;
        }
        let session = self.clone();
        let close = move || {
            let unfinished = session.unfinished()?;
            if unfinished.is_inside_a_turn() {
                session.append(unfinished.stopped("the session could not be stored"));
            }
            Ok::<(), StoreError>(())
        };
        if let Some(Err(error)) = run_blocking(close).await {
            tracing::warn!(%error, "a turn that stopped was not closed");
        }
    }

    /// Returns whether a turn was ever asked for.
    pub fn is_used(&self) -> bool {
        self.lock().used
    }

    /// Ends what ran and returns what comes next; `None` when the session rests.
    pub(crate) fn next(&self, stopping: &CancellationToken) -> Option<Next> {
        let mut state = self.lock();
        let next = state.queue.next(stopping);
        wake_all(&mut state);
        self.changes.touch(self.id());
        next
    }

    /// Cancels the running turn and empties the queue. Returns whether there was anything to cancel.
    pub fn cancel(&self) -> bool {
        // The log is not written here but by the run under way: this is called by the writer of the log as well.
        let mut state = self.lock();
        let running = state.queue.cancel();
        wake_all(&mut state);
        running
    }

    /// Returns whether a turn runs, and which ones wait.
    pub fn queue(&self) -> Waits {
        self.lock().queue.waits()
    }

    /// Returns a number that grows with every change of what runs and waits.
    pub fn queue_changes(&self) -> u64 {
        self.lock().queue.changes()
    }

    /// Takes a prompt that waits out of the queue; `false` when it waits no longer. The log says so when this returns.
    pub async fn remove(self: &Arc<Self>, id: &str) -> Result<bool, SessionError> {
        let removed = {
            let mut state = self.lock();
            let removed = state.queue.remove(id);
            wake_all(&mut state);
            removed
        };
        let Some(turn) = removed else { return Ok(false) };
        let session = self.clone();
        let mark = move || {
            if turn.is_said {
                let message_id = Some(turn.queued.id);
                let mark = UserMessage { message_id, removed: true, ..UserMessage::default() };
                session.append(vec![SessionUpdate::UserMessage(mark)]);
            }
            session.settle();
            let head = session.head();
            let failure = head.failure.map(|failure| failure.message);
            let end = TurnEnd { state: RunState::Cancelled, cut_off: false, seq: head.seq, failure };
            turn.asker.tell(end.clone());
            end.failure
        };
        match run_blocking(mark).await.flatten() {
            Some(failure) => Err(SessionError::internal(failure)),
            None => Ok(true),
        }
    }
}
