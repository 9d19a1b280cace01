//! The queue of a session: one turn runs, the others wait where everybody sees them.

use super::turn::{Queued, Turn};
use crate::error::SessionError;
use openagents_core::CancellationToken;
use std::collections::VecDeque;

/// Turns that wait behind the running one.
const WAITING: usize = 8;

/// The running turn's token and the turns behind it. Where turns wait or were dropped, a run is under way that gets to
/// them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    running: Option<CancellationToken>,
    waiting: VecDeque<Turn>,
    /// Cancelled while they waited; the log does not say so yet.
    dropped: Vec<Turn>,
    /// How often somebody has cancelled.
    cancels: u64,
    /// How often has changed whether a turn runs, and which ones wait.
    changes: u64,
}

/// Whether a turn runs, and which ones wait behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// Grows with every change.
    pub changes: u64,
    /// A turn runs.
    pub running: bool,
    /// In their order.
    pub queued: Vec<Queued>,
}

/// The place of a turn in the queue from the moment its prompt is shown: whoever sees it may cancel it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    cancels: u64,
}

/// What a session has to do next.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "almost all are turns, and none is kept")]
pub(crate) enum Next {
    /// Run a turn until it ends or the token is cancelled.
    Run(Turn, CancellationToken),
    /// Say of these turns that they were dropped.
    Drop(Vec<Turn>),
}

impl Queue {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns a number that grows with every change of what runs and waits.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns what is shown of it.
    pub(crate) fn waits(&self) -> Waits {
        let queued = self.waiting.iter().map(|turn| turn.queued.clone()).collect();
        Waits { changes: self.changes, running: self.is_running(), queued }
    }

    /// Takes out one that waits.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Turn> {
        let place = self.waiting.iter().position(|turn| turn.queued.id == id)?;
        self.changes += 1;
        self.waiting.remove(place)
    }

    /// Refuses what would not fit.
    pub(crate) fn admit(&self) -> Result<Place, SessionError> {
        if self.waiting.len() >= WAITING {
            return Err(SessionError::busy(format!(
                "{WAITING} prompts are waiting already; cancel or wait."
            )));
        }
        Ok(Place { cancels: self.cancels })
    }

    /// Queues a turn, or returns it when nobody is at work: then the caller is, until [`Queue::next`] has nothing more.
    pub(crate) fn enqueue(&mut self, turn: Turn, place: Place, stopping: &CancellationToken) -> Option<Next> {
        let is_cancelled = self.cancels != place.cancels;
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

    /// Ends what ran and returns what comes next; `None` when there is nothing to do any more.
    pub(crate) fn next(&mut self, stopping: &CancellationToken) -> Option<Next> {
        // What was cancelled is answered before what was asked for after the cancel.
        if !self.dropped.is_empty() {
            return Some(Next::Drop(std::mem::take(&mut self.dropped)));
        }
        let next = self.waiting.pop_front().map(|turn| (turn, stopping.child_token()));
        self.changes += u64::from(next.is_some() || self.running.is_some());
        self.running = next.as_ref().map(|(_, token)| token.clone());
        next.map(|(turn, token)| Next::Run(turn, token))
    }

    /// Cancels the running turn and drops those that wait. Returns whether there was anything to cancel.
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
    fn a_cancel_between_the_prompt_and_its_place_in_the_queue_is_not_lost() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let place = queue.admit().unwrap();
        assert!(!queue.cancel(), "nothing runs yet");
        let Some(Next::Run(_, token)) = queue.enqueue(turn(), place, &stopping) else {
            panic!("nothing runs")
        };
        assert!(token.is_cancelled());
        // Behind one that runs.
        let place = queue.admit().unwrap();
        queue.cancel();
        assert!(queue.enqueue(turn(), place, &stopping).is_none());
        assert!(matches!(queue.next(&stopping), Some(Next::Drop(turns)) if turns.len() == 1));
        // What is asked for after the cancel runs.
        let place = queue.admit().unwrap();
        assert!(queue.enqueue(turn(), place, &stopping).is_none());
        assert!(matches!(queue.next(&stopping), Some(Next::Run(_, token)) if !token.is_cancelled()));
    }

    #[test]
    fn one_that_waits_is_taken_out_and_the_others_keep_their_order() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let turns = [turn(), turn(), turn(), turn()];
        let ids: Vec<String> = turns.iter().map(|turn| turn.queued.id.clone()).collect();
        for turn in turns {
            let place = queue.admit().unwrap();
            queue.enqueue(turn, place, &stopping);
        }
        let waiting =
            |queue: &Queue| queue.waits().queued.into_iter().map(|turn| turn.id).collect::<Vec<_>>();
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
    fn whether_a_turn_runs_is_a_change_too() {
        let (mut queue, stopping) = (Queue::default(), CancellationToken::new());
        let shown = |queue: &Queue| (queue.changes(), queue.waits().running);
        assert_eq!(shown(&queue), (0, false));
        let place = queue.admit().unwrap();
        queue.enqueue(turn(), place, &stopping);
        assert_eq!(shown(&queue), (1, true));
        queue.next(&stopping);
        assert_eq!(shown(&queue), (2, false));
    }
}
