//! The queue of a session: one turn runs, the others wait and are visible to clients.

use super::turn::{Asker, Queued, Turn};
use crate::error::SessionError;
use openagents_core::CancellationToken;
use std::collections::VecDeque;

/// Maximum number of waiting turns.
const WAITING: usize = 8;

/// The running turn's token and the turns behind it. While turns are waiting or dropped, an active run handles them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    running: Option<CancellationToken>,
    waiting: VecDeque<Turn>,
    /// Cancelled while waiting; not in the log yet.
    dropped: Vec<Turn>,
    /// Those who sent prompts that were given to the running turn.
    steered: Vec<Asker>,
    cancels: u64,
    changes: u64,
}

/// Whether a turn is running, and the turns waiting behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueState {
    /// Incremented with every change.
    pub changes: u64,
    pub running: bool,
    /// The waiting turns, in queue order.
    pub queued: Vec<Queued>,
}

/// An admission to the queue. It is taken before the prompt is shown, so that a cancel in between applies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    cancels: u64,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "almost all are turns, and none is kept")]
pub(crate) enum Next {
    /// Run a turn until it ends or the token is cancelled.
    Run(Turn, CancellationToken),
    /// Report these turns as dropped.
    Drop(Vec<Turn>),
}

impl Queue {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) fn state(&self) -> QueueState {
        let queued = self.waiting.iter().map(|turn| turn.queued.clone()).collect();
        QueueState { changes: self.changes, running: self.is_running(), queued }
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Turn> {
        let index = self.waiting.iter().position(|turn| turn.queued.id == id)?;
        self.changes += 1;
        self.waiting.remove(index)
    }

    /// Cancels the running turn, so that the first waiting one runs. Returns false if that is not the turn `id`: the log
    /// has the prompts in the order in which they run.
    pub(crate) fn stop_for(&self, id: &str) -> bool {
        let is_first = self.waiting.front().is_some_and(|turn| turn.queued.id == id);
        if is_first && let Some(running) = &self.running {
            running.cancel();
        }
        is_first
    }

    /// Takes the first waiting turn out if it is `id` and `wanted`. The slot puts it back.
    pub(crate) fn take_first(&mut self, id: &str, wanted: impl Fn(&Turn) -> bool) -> Option<(Turn, Slot)> {
        let first = self.waiting.pop_front_if(|turn| turn.queued.id == id && wanted(turn))?;
        self.changes += 1;
        Some((first, Slot { cancels: self.cancels }))
    }

    /// Puts a turn back that was taken out, unless it was cancelled meanwhile.
    pub(crate) fn put_back(&mut self, turn: Turn, slot: Slot) {
        match self.cancels == slot.cancels {
            true => {
                self.changes += 1;
                self.waiting.push_front(turn);
            }
            false => self.dropped.push(turn),
        }
    }

    /// Has the end of the running turn reported for a prompt that was given to it.
    pub(crate) fn add_steered(&mut self, asker: Asker) {
        self.steered.push(asker);
    }

    pub(crate) fn take_steered(&mut self) -> Vec<Asker> {
        std::mem::take(&mut self.steered)
    }

    /// Returns a slot, or an error if the queue is full.
    pub(crate) fn admit(&self) -> Result<Slot, SessionError> {
        if self.waiting.len() >= WAITING {
            return Err(SessionError::busy(format!(
                "{WAITING} prompts are waiting already; cancel or wait."
            )));
        }
        Ok(Slot { cancels: self.cancels })
    }

    /// Queues a turn, or returns it if none is running: the caller then runs it, and the next ones until
    /// [`Queue::next`] returns `None`.
    pub(crate) fn enqueue(&mut self, turn: Turn, slot: Slot, stopping: &CancellationToken) -> Option<Next> {
        let is_cancelled = self.cancels != slot.cancels;
        if self.running.is_some() {
            match is_cancelled {
                true => self.dropped.push(turn),
                false => {
                    self.changes += 1;
                    self.waiting.push_back(turn);
                }
            }
            return None;
        }
        let token = stopping.child_token();
        if is_cancelled {
            token.cancel();
        }
        self.running = Some(token.clone());
        self.changes += 1;
        Some(Next::Run(turn, token))
    }

    /// Ends the running turn and returns the next step; `None` if there is nothing to do.
    pub(crate) fn next(&mut self, stopping: &CancellationToken) -> Option<Next> {
        // Report cancelled turns before running those submitted after the cancel.
        if !self.dropped.is_empty() {
            return Some(Next::Drop(std::mem::take(&mut self.dropped)));
        }
        let next = self.waiting.pop_front().map(|turn| (turn, stopping.child_token()));
        self.changes += u64::from(next.is_some() || self.running.is_some());
        self.running = next.as_ref().map(|(_, token)| token.clone());
        next.map(|(turn, token)| Next::Run(turn, token))
    }

    /// Cancels the running turn and drops the waiting ones. Returns whether a turn was running.
    pub(crate) fn cancel(&mut self) -> bool {
        self.cancels += 1;
        self.changes += u64::from(!self.waiting.is_empty());
        self.dropped.extend(self.waiting.drain(..));
        self.running.as_ref().map(CancellationToken::cancel).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TurnRequest;

    fn turn() -> Turn {
        Turn::new(TurnRequest::exploration("/projects/demo".into(), Vec::new(), None)).0
    }

    #[test]
    fn cancel_between_admit_and_enqueue_applies() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let slot = queue.admit().unwrap();
        assert!(!queue.cancel(), "nothing runs yet");
        let Some(Next::Run(_, token)) = queue.enqueue(turn(), slot, &stopping) else {
            panic!("nothing runs")
        };
        assert!(token.is_cancelled());
        // Behind a running turn.
        let slot = queue.admit().unwrap();
        queue.cancel();
        assert!(queue.enqueue(turn(), slot, &stopping).is_none());
        assert!(matches!(queue.next(&stopping), Some(Next::Drop(turns)) if turns.len() == 1));
        // A turn submitted after the cancel runs.
        let slot = queue.admit().unwrap();
        assert!(queue.enqueue(turn(), slot, &stopping).is_none());
        assert!(matches!(queue.next(&stopping), Some(Next::Run(_, token)) if !token.is_cancelled()));
    }

    #[test]
    fn remove_keeps_order_of_waiting_turns() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let turns = [turn(), turn(), turn(), turn()];
        let ids: Vec<String> = turns.iter().map(|turn| turn.queued.id.clone()).collect();
        for turn in turns {
            let slot = queue.admit().unwrap();
            queue.enqueue(turn, slot, &stopping);
        }
        let waiting =
            |queue: &Queue| queue.state().queued.into_iter().map(|turn| turn.id).collect::<Vec<_>>();
        assert_eq!(waiting(&queue), ids[1..]);
        let before = queue.changes();
        assert!(queue.remove(&ids[0]).is_none(), "it runs");
        assert_eq!(queue.changes(), before);
        assert_eq!(queue.remove(&ids[2]).map(|turn| turn.queued.id).as_ref(), Some(&ids[2]));
        assert!(queue.remove(&ids[2]).is_none());
        assert_eq!((waiting(&queue), queue.changes()), (vec![ids[1].clone(), ids[3].clone()], before + 1));
        assert!(matches!(queue.next(&stopping), Some(Next::Run(turn, _)) if turn.queued.id == ids[1]));
        assert_eq!((waiting(&queue), queue.changes()), (vec![ids[3].clone()], before + 2));
    }

    #[test]
    fn running_turn_stops_for_the_first_waiting_one() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let turns = [turn(), turn(), turn()];
        let ids: Vec<String> = turns.iter().map(|turn| turn.queued.id.clone()).collect();
        let mut running = None;
        for turn in turns {
            let slot = queue.admit().unwrap();
            if let Some(Next::Run(_, token)) = queue.enqueue(turn, slot, &stopping) {
                running = Some(token);
            }
        }
        let running = running.unwrap();
        assert!(!queue.stop_for(&ids[0]) && !queue.stop_for(&ids[2]) && !running.is_cancelled());
        assert!(queue.stop_for(&ids[1]) && running.is_cancelled());
        for id in &ids[1..] {
            assert!(matches!(queue.next(&stopping), Some(Next::Run(turn, token))
                if turn.queued.id == *id && !token.is_cancelled()));
        }
    }

    #[test]
    fn prompt_taken_out_is_put_back_first_unless_it_was_cancelled() {
        for cancels in [false, true] {
            let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
            let turns = [turn(), turn(), turn()];
            let ids: Vec<String> = turns.iter().map(|turn| turn.queued.id.clone()).collect();
            for turn in turns {
                let slot = queue.admit().unwrap();
                queue.enqueue(turn, slot, &stopping);
            }
            assert!(
                queue.take_first(&ids[2], |_| true).is_none()
                    && queue.take_first(&ids[1], |_| false).is_none()
            );
            let (taken, slot) = queue.take_first(&ids[1], |_| true).unwrap();
            assert_eq!(queue.state().queued.len(), 1);
            if cancels {
                queue.cancel();
            }
            queue.put_back(taken, slot);
            let waiting: Vec<_> = queue.state().queued.into_iter().map(|turn| turn.id).collect();
            assert_eq!(waiting, if cancels { &[] } else { &ids[1..] });
        }
    }

    #[test]
    fn end_of_the_turn_is_for_those_whose_prompts_it_got() {
        let mut queue = Queue::default();
        queue.add_steered(Asker::new().0);
        assert_eq!((queue.take_steered().len(), queue.take_steered().len()), (1, 0));
    }

    #[test]
    fn turn_start_and_end_count_as_changes() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let shown = |queue: &Queue| (queue.changes(), queue.state().running);
        assert_eq!(shown(&queue), (0, false));
        let slot = queue.admit().unwrap();
        queue.enqueue(turn(), slot, &stopping);
        assert_eq!(shown(&queue), (1, true));
        queue.next(&stopping);
        assert_eq!(shown(&queue), (2, false));
    }
}
