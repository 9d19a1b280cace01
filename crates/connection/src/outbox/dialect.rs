//! The dialect of an endpoint: encodes session events as frames.

use crate::{feed::Feed, mailbox::Closing};
use openagents_core::{approval::Approval, model::Activity};
use openagents_sessions::{Folded, ListNews, ListWatch, QueueState, Session, store::Stored};
use openagents_wire::Scope;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Encodes session events for one connection. Methods that return `None` do not support the event.
pub trait Dialect: Send {
    /// Whether a page of frames is flushed as a whole. If false, each frame is flushed individually, followed by a call
    /// to [`Self::written`], for clients that cannot report what they have seen.
    const IN_PAGES: bool;

    const FOLLOWS: usize;

    /// Encodes a page of updates. `behind` is the number of unsent updates, this page included.
    fn project(&mut self, session: &Session, page: &[Arc<Stored>], behind: u64) -> Vec<Utf8Bytes>;

    /// Returns the frames that were held back, now that the session is idle.
    fn rest(&mut self, _session: &Session) -> Vec<Utf8Bytes> {
        Vec::new()
    }

    /// Records that the next frame of [`Self::project`] or [`Self::rest`] was written, or that there was no frame.
    fn written(&mut self, _session: &Session) {}

    fn activity(&mut self, _session: &Session, _activity: Option<Activity>) -> Option<String> {
        None
    }

    /// Encodes requests for new pending approvals, and cancels those that are no longer pending.
    fn approvals(&mut self, _session: &Session, _pending: &[Approval]) -> Vec<String> {
        Vec::new()
    }

    fn folded(&mut self, _session: &Session, _page: &[Folded]) -> Vec<Utf8Bytes> {
        Vec::new()
    }

    /// Encodes the end of the folded log, which covers updates up to `seq`.
    fn fold_ends(&mut self, _session: &Session, _seq: u64) -> Option<String> {
        None
    }

    /// Encodes whether a turn is running, and the queued prompts.
    fn queue(&mut self, _session: &Session, _state: &QueueState) -> Option<String> {
        None
    }

    fn left(&mut self, _session: &Session) -> Option<String> {
        None
    }

    fn sessions(&mut self, _news: &ListNews) -> Option<String> {
        None
    }

    fn scope(&self) -> Scope;

    fn failed(&mut self, session: &Session, message: &str) -> String;
}

/// Maximum number of queued orders. While the queue is full, no more requests are read from the client.
const ORDERS: usize = 64;
/// Maximum bytes of queued answers. A single answer may be larger.
const BYTES: u32 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    Update(u64),
    /// From the folded log up to this update.
    Folded(u64),
}

#[derive(Debug)]
pub enum Out {
    Text(String),
    /// A response hidden from the inspector, because it is about the inspector.
    Unrecorded(String),
    /// Follow a session after sending a response. Updates from an earlier follow are sent before the response. `queue`
    /// is the queue change that the response reports.
    Follow {
        session: Arc<Session>,
        from: ReadFrom,
        queue: Option<u64>,
        answer: Option<String>,
    },
    /// Follow a session after `since`, unless it is followed already.
    Join {
        session: Arc<Session>,
        since: u64,
    },
    /// A response to send after update `seq` of the session.
    After {
        session: Arc<Session>,
        seq: u64,
        text: String,
    },
    /// Send every frame of every connection after number `since`; without it, stop.
    Inspect {
        since: Option<u64>,
    },
    /// Watch a feed; the value is the snapshot that was just sent.
    Watch(Arc<Feed>, Value),
    WatchList(ListWatch, String),
    Leave(Arc<Session>),
    Ping,
    Close(Closing),
}

#[derive(Debug, Clone)]
pub struct Outbox {
    orders: mpsc::Sender<Order>,
    room: Arc<Semaphore>,
}

/// The receiving end. Orders left when it is dropped are discarded.
#[derive(Debug)]
pub(crate) struct Orders {
    queue: mpsc::Receiver<Order>,
    room: Arc<Semaphore>,
}

/// An order, and the bytes that it reserves until it is sent.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) out: Out,
    pub(super) room: Option<OwnedSemaphorePermit>,
}

/// The sending half has ended, or the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotTaken;

pub(crate) fn channel() -> (Outbox, Orders) {
    let (orders, queue) = mpsc::channel(ORDERS);
    let room = Arc::new(Semaphore::new(BYTES as usize));
    (Outbox { orders, room: room.clone() }, Orders { queue, room })
}

impl Outbox {
    /// Queues an order; waits while the queue is full.
    pub async fn send(&self, out: Out) -> Result<(), NotTaken> {
        let room = match u32::try_from(out.bytes()).unwrap_or(BYTES).min(BYTES) {
            0 => None,
            bytes => Some(self.room.clone().acquire_many_owned(bytes).await.map_err(|_| NotTaken)?),
        };
        self.orders.send(Order { out, room }).await.map_err(|_| NotTaken)
    }

    /// Queues an order that reserves no bytes. Fails if the queue is full.
    pub fn try_send(&self, out: Out) -> Result<(), NotTaken> {
        self.orders.try_send(Order { out, room: None }).map_err(|_| NotTaken)
    }
}

impl Orders {
    pub(super) fn try_recv(&mut self) -> Option<Order> {
        self.queue.try_recv().ok()
    }

    pub(super) async fn recv(&mut self) -> Option<Order> {
        self.queue.recv().await
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        self.room.close();
    }
}

impl Out {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text)
            | Self::Unrecorded(text)
            | Self::After { text, .. }
            | Self::WatchList(_, text) => text.len(),
            Self::Follow { answer, .. } => answer.as_ref().map_or(0, String::len),
            Self::Join { .. }
            | Self::Inspect { .. }
            | Self::Watch(..)
            | Self::Leave(_)
            | Self::Ping
            | Self::Close(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;

    #[tokio::test]
    async fn outbox_bounds_answers_by_bytes() {
        let (outbox, mut orders) = channel();
        let large = || outbox.send(Out::Text("x".repeat(6 << 20)));
        large().await.unwrap();
        let mut next = pin!(large());
        assert!(poll!(&mut next).is_pending(), "one alone may be large");
        outbox.send(Out::Ping).await.unwrap();
        let first = orders.recv().await.unwrap();
        assert!(poll!(&mut next).is_pending(), "it is not sent yet");
        drop(first);
        next.await.unwrap();
        let mut last = pin!(large());
        assert!(poll!(&mut last).is_pending());
        drop(orders);
        assert_eq!(last.await, Err(NotTaken));
    }
}
