//! The connections of the remote transport: frames arrive as requests and leave as events.

use crate::{
    base::{pass::Pass, pass::Who},
    connection::{
        event_stream::Reader, event_stream::StreamRefusal, event_stream::Streams, mailbox::Target,
        remote::Remote, socket::Socket,
    },
    protocol::{acp, acp::connection::Opening, services::Services},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Maximum number of posted frames that are not read yet; the next request waits.
const POSTED: usize = 1;
/// Maximum number of long bodies read at the same time per device; further ones wait.
const LONG_BODIES: usize = 2;
/// Maximum number of queued long frames per connection; further ones are refused.
const LONG_FRAMES: usize = 4;
/// Time for readers to take the queued frames after a connection has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The remote connections of a bridge, by id.
#[derive(Debug, Default)]
pub(crate) struct Remotes {
    connections: Arc<Mutex<HashMap<Arc<str>, Arc<Connection>>>>,
    /// Permits for reading long bodies, by device.
    long_bodies: Mutex<HashMap<Who, Weak<Semaphore>>>,
}

/// A remote connection, as its requests find it.
#[derive(Debug)]
pub(crate) struct Connection {
    who: Who,
    posted: mpsc::Sender<Utf8Bytes>,
    streams: Arc<Streams>,
    cut: CancellationToken,
    /// Permits for queued long frames.
    long_frames: Semaphore,
}

impl Remotes {
    /// Returns the permits for long bodies of one device. Devices do not share them.
    pub(crate) fn long_bodies(&self, who: &Who) -> Arc<Semaphore> {
        let mut all = self.long_bodies.lock();
        if let Some(known) = all.get(who).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, known| known.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(LONG_BODIES));
        all.insert(who.clone(), Arc::downgrade(&permits));
        permits
    }

    /// Finds a connection of the same device.
    pub(crate) fn find(&self, id: &str, pass: &Pass) -> Option<Arc<Connection>> {
        self.connections.lock().get(id).filter(|connection| connection.who == pass.who).cloned()
    }

    /// Opens a connection with its first frame, `initialize`. Returns the connection's id, and the answer.
    pub(crate) fn open(
        &self,
        services: Arc<Services>,
        tasks: &TaskTracker,
        opening: Opening,
        initialize: (&str, Utf8Bytes),
        one_stream: bool,
    ) -> (Arc<str>, oneshot::Receiver<Utf8Bytes>) {
        let (id, frame) = initialize;
        let (streams, answer) = Streams::new(id, one_stream);
        let (posted, frames) = mpsc::channel(POSTED);
        // Cannot fail: the queue is empty.
        let _ = posted.try_send(frame);
        let (id, cut) = (opening.line.id.clone(), opening.cut.clone());
        let who = opening.lease.pass.who.clone();
        let connection = Connection {
            who,
            posted,
            streams: streams.clone(),
            cut: cut.clone(),
            long_frames: Semaphore::new(LONG_FRAMES),
        };
        self.connections.lock().insert(id.clone(), Arc::new(connection));
        let (line, connections) = (opening.line.clone(), self.connections.clone());
        tasks.spawn(async move {
            let remote = Remote::new(frames, streams.clone());
            let serving = async {
                acp::serve(services, Socket::Remote(remote), opening).await;
                streams.end(None);
            };
            let watching = async {
                streams.watch().await;
                cut.cancel();
            };
            tokio::join!(serving, watching);
            connections.lock().remove(&line.id);
            if streams.is_read() {
                tokio::time::sleep(LAST_WORDS).await;
                streams.cut();
            }
        });
        (id, answer)
    }
}

impl Connection {
    /// Queues a frame, in call order. Returns `false` if the connection has ended.
    pub(crate) async fn post(&self, frame: Utf8Bytes) -> bool {
        tokio::select! {
            taken = self.posted.send(frame) => taken.is_ok(),
            () = self.cut.cancelled() => false,
        }
    }

    /// Acquires a permit for a long frame; `None` if too many are queued.
    pub(crate) fn long_frame(&self) -> Option<SemaphorePermit<'_>> {
        self.long_frames.try_acquire().ok()
    }

    pub(crate) fn await_answer(&self, id: &str, session: &str) {
        self.streams.await_answer(id, session);
    }

    pub(crate) fn read(&self, session: Target, cut: CancellationToken) -> Result<Reader, StreamRefusal> {
        self.streams.read(session, cut)
    }

    pub(crate) fn end(&self) {
        self.cut.cancel();
    }
}
