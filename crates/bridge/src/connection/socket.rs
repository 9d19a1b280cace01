//! Transports between a client and its connection: a WebSocket, or the protocol's remote transport of requests and
//! event streams. Both are variants of [`Socket`].

/// Finds the stream of a frame.
#[cfg(any(test, fuzzing))]
pub(crate) fn sort(frame: &str) {
    super::event_stream::Streams::new("1", false).0.sort(&frame.into());
}

use super::{closing::Closing, remote::Remote, websocket, websocket::WebSocket};
use crate::base::limits::STUCK;
use futures::{Sink, SinkExt, Stream, StreamExt};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio_tungstenite::tungstenite::{Error, Message};

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
