//! Submitting, cancelling and removing turns.

use super::{
    closing,
    queue::{Next, QueueState, Slot},
    session::Session,
    turn::{Asker, Turn, TurnEnd},
};
use crate::{blocking::run_blocking, error::SessionError};
use openagents_core::{
    CancellationToken,
    approval::ApprovalState,
    update::{RunState, SessionUpdate, Title, UserMessage},
};
use std::sync::Arc;

impl Session {
    /// Stores the opening of a turn and queues the turn, or returns it if the caller has to run it now.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        turn: Turn,
        mut opening: Vec<SessionUpdate>,
        title: Title,
        stopping: &CancellationToken,
    ) -> Result<Option<Next>, SessionError> {
        let _order = self.submitting.lock().await;
        let (slot, had_failed) = {
            let mut state = self.lock();
            if state.retired {
                return Err(SessionError::not_found("This session was deleted."));
            }
            let slot = state.queue.admit()?;
            if !state.titled {
                state.titled = true;
                opening.push(SessionUpdate::Title(title));
            }
            state.used = true;
            (slot, state.failure.take().is_some())
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
        let next = state.queue.enqueue(turn, slot, stopping);
        state.watchers.wake();
        drop(state);
        self.update_list();
        Ok(next)
    }

    /// Closes a turn that stopped without a final message because the log could not be written. A turn that is still
    /// running closes itself.
    async fn close_what_failed(self: &Arc<Self>) {
        if self.lock().queue.is_running() {
            return;
        }
        let session = self.clone();
        let close = move || {
            let work = session.open_work();
            let reason = "the session could not be stored";
            let mut updates = closing::close(&work, reason, &ApprovalState::Expired);
            let text = format!("❌ This stopped: {reason}.");
            updates.extend(closing::final_messages(&work, &None, &text, RunState::Failed));
            if !updates.is_empty() {
                session.append(updates);
            }
        };
        run_blocking(close).await;
    }

    /// Returns whether a turn was ever submitted.
    pub fn is_used(&self) -> bool {
        self.lock().used
    }

    /// Ends the running turn and returns the next step; `None` if the session is idle.
    pub(crate) fn next(&self, stopping: &CancellationToken) -> Option<Next> {
        let mut state = self.lock();
        let next = state.queue.next(stopping);
        state.watchers.wake();
        drop(state);
        self.update_list();
        next
    }

    /// Cancels the running turn and clears the queue. Returns whether a turn was running.
    pub fn cancel(&self) -> bool {
        // Does not write to the log, since the log's writer also calls this method; the active run does.
        let mut state = self.lock();
        let running = state.queue.cancel();
        state.watchers.wake();
        running
    }

    /// Cancels the running turn, so that the first waiting prompt is sent; the others keep waiting.
    pub(crate) fn stop_for(&self, id: &str) -> Result<(), SessionError> {
        if self.lock().queue.stop_for(id) {
            return Ok(());
        }
        Err(SessionError::invalid(
            "Only the first prompt in the queue can be sent now; this one is not, or was sent.",
        ))
    }

    /// Returns the running and waiting turns.
    pub fn queue(&self) -> QueueState {
        self.lock().queue.state()
    }

    /// Returns a number that is incremented with every change of the queue.
    pub fn queue_changes(&self) -> u64 {
        self.lock().queue.changes()
    }

    /// Takes the first waiting prompt out of the queue if it is `id` and `wanted`, to give it to the running turn.
    pub(crate) fn take_first(&self, id: &str, wanted: impl Fn(&Turn) -> bool) -> Option<(Turn, Slot)> {
        let mut state = self.lock();
        let taken = state.queue.take_first(id, wanted);
        state.watchers.wake();
        taken
    }

    /// Puts a turn back that was taken out.
    pub(crate) fn put_back(&self, turn: Turn, slot: Slot) {
        let mut state = self.lock();
        state.queue.put_back(turn, slot);
        state.watchers.wake();
    }

    /// Records that a prompt was given to the running turn. Its sender hears when that turn ends. Blocks.
    pub(crate) fn record_steered(self: &Arc<Self>, turn: Turn) {
        let steered =
            UserMessage { message_id: Some(turn.queued.id), steered: true, ..UserMessage::default() };
        self.append(vec![SessionUpdate::UserMessage(steered)]);
        self.lock().queue.add_steered(turn.asker);
    }

    /// Returns those who wait for the end of the running turn because their prompt was given to it.
    pub(crate) fn take_steered(&self) -> Vec<Asker> {
        self.lock().queue.take_steered()
    }

    /// Removes a waiting prompt from the queue; `false` if it is no longer waiting. The removal is in the log when this
    /// returns.
    pub async fn remove(self: &Arc<Self>, id: &str) -> Result<bool, SessionError> {
        let removed = {
            let mut state = self.lock();
            let removed = state.queue.remove(id);
            state.watchers.wake();
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
            turn.asker.notify(end.clone());
            end.failure
        };
        match run_blocking(mark).await.flatten() {
            Some(failure) => Err(SessionError::internal(failure)),
            None => Ok(true),
        }
    }
}
