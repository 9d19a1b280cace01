//! Transports between a client and its connection: a WebSocket, or the protocol's remote transport of requests and
//! event streams. Both implement [`Socket`].

/// Finds the stream of a frame.
#[cfg(any(test, fuzzing))]
pub(crate) fn sort(frame: &str) {
    super::event_stream::Streams::new("1", false).0.sort(&frame.into());
}

use super::remote::Remote;
use super::websocket::{self, WebSocket};
use futures::{Sink, SinkExt, Stream, StreamExt};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio_tungstenite::tungstenite::{
    Error, Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

/// A reader that takes no frame for this time ends its connection.
pub(crate) const STUCK: Duration = Duration::from_secs(30);
/// Time limit of the close handshake.
const GOOD_BYE: Duration = Duration::from_secs(1);

/// A source and sink of frames.
pub(crate) enum Socket {
    WebSocket(Box<WebSocket>),
    Remote(Remote),
}

impl Socket {
    /// Returns the write timeout of a frame.
    pub(crate) fn patience(&self) -> Duration {
        match self {
            Self::WebSocket(_) => STUCK,
            // Readers may reconnect, and each has its own timeout.
            Self::Remote(_) => Duration::MAX,
        }
    }

    /// Closes the socket with a reason, or completes the client's close.
    pub(crate) async fn close(self, closing: Option<&Closing>) {
        match (self, closing) {
            (Self::WebSocket(socket), Some(closing)) => websocket::close(*socket, closing).await,
            // The client may be gone already.
            (Self::WebSocket(mut socket), None) => {
                drop(tokio::time::timeout(GOOD_BYE, WebSocket::close(&mut socket, None)).await);
            }
            (Self::Remote(remote), closing) => remote.close(closing),
        }
    }
}

impl Stream for Socket {
    type Item = Result<Message, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.get_mut() {
            Self::WebSocket(socket) => socket.poll_next_unpin(context),
            Self::Remote(remote) => remote.poll_frame(context).map(|frame| frame.map(Ok)),
        }
    }
}

impl Sink<Message> for Socket {
    type Error = Error;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Self::WebSocket(socket) => socket.poll_ready_unpin(context),
            Self::Remote(remote) => remote.poll_written(context),
        }
    }

    fn start_send(self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        match self.get_mut() {
            Self::WebSocket(socket) => socket.start_send_unpin(message),
            Self::Remote(remote) => {
                remote.write(message);
                Ok(())
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Self::WebSocket(socket) => socket.poll_flush_unpin(context),
            Self::Remote(remote) => remote.poll_written(context),
        }
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self.get_mut() {
            Self::WebSocket(socket) => socket.poll_close_unpin(context),
            Self::Remote(remote) => remote.poll_written(context),
        }
    }
}

/// A close code and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closing {
    pub(crate) code: u16,
    pub(crate) reason: String,
}

impl Closing {
    pub(crate) fn going_away() -> Self {
        Self { code: 1001, reason: "OpenAgents is shutting down.".to_owned() }
    }

    pub(crate) fn too_big(limit: usize) -> Self {
        Self { code: 1009, reason: format!("A frame may have {limit} bytes at most.") }
    }

    pub(crate) fn not_text() -> Self {
        Self { code: 1003, reason: "Frames must be UTF-8 text.".to_owned() }
    }

    /// Codes from 4000 on are application-defined; the page handles this one.
    pub(crate) fn no_token() -> Self {
        Self { code: 4401, reason: "The token is missing or wrong.".to_owned() }
    }

    pub(crate) fn removed() -> Self {
        let reason = format!(
            "This device was removed on {}.",
            openagents_sessions::prune::head(crate::base::machine::name(), 64)
        );
        Self { code: 4403, reason }
    }

    /// For a socket that takes nothing. Updates up to `written` may have been read.
    pub(crate) fn too_slow(written: u64) -> Self {
        Self { code: 4408, reason: format!("Attach again from update {written}.") }
    }

    pub(crate) fn message(&self) -> Message {
        Message::Close(Some(CloseFrame {
            code: CloseCode::from(self.code),
            reason: self.reason.as_str().into(),
        }))
    }
}
