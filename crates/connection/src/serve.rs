//! One connection, independent of dialect and transport: reads frames in order, passes them to a handler, ends cleanly.

use crate::pass::Pass;
use crate::{
    inspect::{Inspector, Peer},
    mailbox::Closing,
    outbox::{
        dialect::{self, Dialect, Out, Outbox},
        pump::Sender,
    },
    socket::Socket,
};
use futures::StreamExt;
use openagents_sessions::SessionRegistry;
use openagents_wire::Scope;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::watch, task::JoinHandle};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes, error::CapacityError};
use tokio_util::sync::CancellationToken;

pub trait FrameHandler: Send {
    /// Handles one frame; the next one waits. `cancelled` is set if the frame cancels a turn that was already cancelled
    /// ahead of its order. An error closes the connection.
    fn frame(&mut self, text: &str, cancelled: bool) -> impl Future<Output = Result<(), Closing>> + Send;

    fn cancels(text: &str) -> Option<String>;
}

/// Maximum number of frames, and of their bytes, read ahead while an earlier one is handled.
const AHEAD: usize = 16;
const AHEAD_BYTES: usize = 64 << 10;
/// Longest frame that is checked for a cancel, in bytes.
const CANCEL_BYTES: usize = 4 << 10;

/// Lets other tasks end a connection and observe its activity.
#[derive(Debug, Default)]
pub struct ConnectionControl {
    pub cut: CancellationToken,
    /// Notified whenever a frame arrives.
    pub signs: watch::Sender<()>,
}

pub struct ConnectionOptions {
    pub peer: Arc<Peer>,
    /// Largest frame in bytes; a larger one ends the connection.
    pub frame_limit: usize,
    /// Whether binary frames are read as text.
    pub binary: bool,
    pub control: Arc<ConnectionControl>,
    /// The permissions of the client. If they are revoked, the connection is closed with a reason.
    pub pass: Arc<Pass>,
    /// Cancelled when the listener closes or the bridge shuts down; pending frames are sent first.
    pub closing: CancellationToken,
    /// Frames received before the connection was served; handled first.
    pub held: Vec<Utf8Bytes>,
}

/// Serves a connection until either side ends it. `open` creates the handler. Returns whether the client sent a close
/// frame.
pub async fn serve<D: Dialect, H: FrameHandler>(
    (inspector, sessions): (&Arc<Inspector>, &Arc<SessionRegistry>),
    socket: Socket,
    mut options: ConnectionOptions,
    dialect: D,
    open: impl FnOnce(Outbox) -> H,
) -> bool {
    let stuck = socket.write_timeout();
    let held = std::mem::take(&mut options.held);
    let (sink, mut stream) = socket.split();
    let (orders, queue) = dialect::channel();
    let (hangup, sent) = (CancellationToken::new(), CancellationToken::new());
    let heard = Arc::new(AtomicBool::new(true));
    let sender = Sender {
        sink,
        dialect,
        peer: options.peer.clone(),
        inspector: inspector.clone(),
        heard: heard.clone(),
        stuck,
        hangup: hangup.clone(),
        closing: options.closing.clone(),
    };
    let sending = async {
        let remains = sender.run(queue).await;
        sent.cancel();
        remains
    };
    let (cut, revoked) = (&options.control.cut, &options.pass.revoked);
    let is_cut = || async {
        tokio::select! { () = cut.cancelled() => {}, () = revoked.cancelled() => {} }
    };
    let receiving = async {
        let mut handler = open(orders.clone());
        let receive = |message| {
            heard.store(true, Ordering::Relaxed);
            options.control.signs.send_replace(());
            frame_text(message, &options)
        };
        let mut ahead = Ahead::from_frames(held);
        let end = loop {
            let (text, cancelled) = match ahead.next().await {
                Some(Ok(frame)) => frame,
                Some(Err(end)) => break end,
                None => {
                    let message = tokio::select! {
                        message = stream.next() => message,
                        () = sent.cancelled() => break End::Disconnected,
                        () = is_cut() => break End::Disconnected,
                    };
                    match receive(message) {
                        Ok(Some(text)) => (text, false),
                        Ok(None) => continue,
                        Err(end) => break end,
                    }
                }
            };
            let mut handling = std::pin::pin!(handler.frame(&text, cancelled));
            let handled = loop {
                tokio::select! {
                    biased;
                    handled = &mut handling => break handled,
                    // Never leaves a turn half started: a handler that waits for the sending half continues once the
                    // sending half has ended.
                    () = is_cut(), if !hangup.is_cancelled() => hangup.cancel(),
                    message = stream.next(), if ahead.has_room() => match receive(message) {
                        Ok(Some(text)) => {
                            let may = options.pass.may(Scope::Prompt);
                            ahead.push(text, if may { H::cancels } else { |_| None }, sessions);
                        }
                        Ok(None) => {}
                        Err(end) => ahead.end = Some(end),
                    },
                }
            };
            if let Err(closing) = handled {
                break End::Failed(closing);
            }
        };
        match &end {
            End::Failed(closing) if orders.send(Out::Close(closing.clone())).await.is_ok() => {}
            _ => hangup.cancel(),
        }
        matches!(end, End::Closed)
    };
    let (remains, polite) = tokio::join!(sending, receiving);
    if let Ok(socket) = stream.reunite(remains.sink) {
        let closing = remains.closing.or_else(|| revoked.is_cancelled().then(Closing::removed));
        if closing.is_some() || !cut.is_cancelled() {
            socket.close(closing.as_ref()).await;
        }
    }
    polite
}

enum End {
    Closed,
    Disconnected,
    /// The client broke a rule of the connection.
    Failed(Closing),
}

#[derive(Default)]
struct Ahead {
    frames: VecDeque<(Utf8Bytes, Option<JoinHandle<bool>>)>,
    bytes: usize,
    /// Applies after the frames.
    end: Option<End>,
}

impl Ahead {
    fn from_frames(frames: Vec<Utf8Bytes>) -> Self {
        let bytes = frames.iter().map(|text| text.len()).sum();
        Self { frames: frames.into_iter().map(|text| (text, None)).collect(), bytes, end: None }
    }

    fn has_room(&self) -> bool {
        self.end.is_none() && self.frames.len() < AHEAD && self.bytes < AHEAD_BYTES
    }

    /// Queues a frame. A cancel runs at once, and again in its order to cover prompts in between.
    fn push(
        &mut self,
        text: Utf8Bytes,
        cancels: fn(&str) -> Option<String>,
        sessions: &Arc<SessionRegistry>,
    ) {
        self.bytes += text.len();
        let session = Some(&text).filter(|text| text.len() <= CANCEL_BYTES).and_then(|text| cancels(text));
        let cancelling = session.map(|id| {
            let sessions = sessions.clone();
            tokio::spawn(async move {
                let found = sessions.find(&id).await;
                found.ok().flatten().is_some_and(|session| session.cancel())
            })
        });
        self.frames.push_back((text, cancelling));
    }

    /// Returns the next frame and whether its cancel is already done, or the end.
    async fn next(&mut self) -> Option<Result<(Utf8Bytes, bool), End>> {
        let Some((text, cancelling)) = self.frames.pop_front() else { return self.end.take().map(Err) };
        self.bytes -= text.len();
        let cancelled = match cancelling {
            Some(cancelling) => cancelling.await.unwrap_or(false),
            None => false,
        };
        Some(Ok((text, cancelled)))
    }
}

type Received = Option<Result<Message, tungstenite::Error>>;

fn frame_text(message: Received, options: &ConnectionOptions) -> Result<Option<Utf8Bytes>, End> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        Some(Ok(Message::Binary(bytes))) if options.binary => {
            Utf8Bytes::try_from(bytes).map(Some).map_err(|_| End::Failed(Closing::not_text()))
        }
        Some(Ok(Message::Binary(_))) => Err(End::Failed(Closing::not_text())),
        Some(Ok(Message::Close(_))) => Err(End::Closed),
        Some(Ok(_)) => Ok(None),
        Some(Err(tungstenite::Error::Capacity(CapacityError::MessageTooLong { .. }))) => {
            Err(End::Failed(Closing::too_big(options.frame_limit)))
        }
        Some(Err(tungstenite::Error::Utf8(_))) => Err(End::Failed(Closing::not_text())),
        Some(Err(_)) | None => Err(End::Disconnected),
    }
}
