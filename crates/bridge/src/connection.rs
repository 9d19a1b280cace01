//! One WebSocket connection, whatever it speaks: reads frames in order, hands them to its door, ends cleanly.

use crate::{
    inspect::Line,
    outbox::{self, Dialect, Follow, Out, Outbox, Sender},
    shared::Shared,
    socket::{self, Closing, Socket},
};
use futures::StreamExt;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes, error::CapacityError};
use tokio_util::sync::CancellationToken;

/// How long a polite good-bye may take.
const GOOD_BYE: Duration = Duration::from_secs(1);

/// Understands the frames of one connection.
pub(crate) trait Door: Send {
    /// Handles one frame to its end before the next is read. An error closes the connection.
    fn frame(&mut self, text: &str) -> impl Future<Output = Result<(), Closing>> + Send;
}

/// How a connection ended.
pub(crate) struct Ended {
    pub(crate) follows: Vec<Follow>,
    /// The client said good-bye.
    pub(crate) polite: bool,
}

/// What is particular to a door.
pub(crate) struct Manner {
    pub(crate) line: Arc<Line>,
    /// Frames above this end the connection.
    pub(crate) frame_limit: usize,
    /// Binary frames are read as text.
    pub(crate) binary: bool,
}

/// Serves a connection until either side ends it. `open` makes the door from the queue of answers.
pub(crate) async fn serve<D: Dialect, H: Door>(
    shared: &Shared,
    socket: Socket,
    manner: Manner,
    dialect: D,
    open: impl FnOnce(Outbox) -> H,
) -> Ended {
    let (sink, mut stream) = socket.split();
    let (orders, queue) = outbox::queue();
    let (hangup, sent) = (CancellationToken::new(), CancellationToken::new());
    let heard = Arc::new(AtomicBool::new(true));
    let sender = Sender {
        sink,
        dialect,
        line: manner.line.clone(),
        inspector: shared.inspector.clone(),
        heard: heard.clone(),
        hangup: hangup.clone(),
        closing: shared.closing.clone(),
    };
    let sending = async {
        let remains = sender.run(queue).await;
        sent.cancel();
        remains
    };
    let receiving = async {
        let mut door = open(orders.clone());
        let end = loop {
            let message = tokio::select! {
                message = stream.next() => message,
                () = sent.cancelled() => break End::Suddenly,
            };
            heard.store(true, Ordering::Relaxed);
            let text = match read(message, &manner) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(end) => break end,
            };
            if let Err(closing) = door.frame(&text).await {
                break End::Badly(closing);
            }
        };
        match &end {
            End::Badly(closing) if orders.send(Out::Close(closing.clone())).await.is_ok() => {}
            _ => hangup.cancel(),
        }
        matches!(end, End::Politely)
    };
    let (remains, polite) = tokio::join!(sending, receiving);
    if let Ok(mut socket) = stream.reunite(remains.sink) {
        match remains.closing {
            Some(closing) => socket::close(socket, &closing).await,
            // Answers the good-bye; a client that is gone already hears nothing.
            None => drop(tokio::time::timeout(GOOD_BYE, socket.close(None)).await),
        }
    }
    Ended { follows: remains.follows, polite }
}

/// Why the receiving half stops.
enum End {
    /// The client said good-bye.
    Politely,
    /// The socket is gone.
    Suddenly,
    /// The client did something that ends the connection.
    Badly(Closing),
}

type Received = Option<Result<Message, tungstenite::Error>>;

fn read(message: Received, manner: &Manner) -> Result<Option<Utf8Bytes>, End> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        Some(Ok(Message::Binary(bytes))) if manner.binary => {
            Utf8Bytes::try_from(bytes).map(Some).map_err(|_| End::Badly(Closing::not_text()))
        }
        Some(Ok(Message::Binary(_))) => Err(End::Badly(Closing::not_text())),
        Some(Ok(Message::Close(_))) => Err(End::Politely),
        Some(Ok(_)) => Ok(None),
        Some(Err(tungstenite::Error::Capacity(CapacityError::MessageTooLong { .. }))) => {
            Err(End::Badly(Closing::too_big(manner.frame_limit)))
        }
        Some(Err(tungstenite::Error::Utf8(_))) => Err(End::Badly(Closing::not_text())),
        Some(Err(_)) | None => Err(End::Suddenly),
    }
}
