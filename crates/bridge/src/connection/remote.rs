//! A connection of the remote transport: frames arrive as requests and leave as events.

use super::{closing::Closing, event_stream::Streams, mailbox::Target};
use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

/// The socket of a remote connection.
pub(crate) struct Remote {
    posted: mpsc::Receiver<Utf8Bytes>,
    streams: Arc<Streams>,
    /// A frame that waits for room in its stream.
    next: Option<(Target, Utf8Bytes)>,
    /// A pong to return. Pings are answered here; the streams detect whether the client is alive.
    pong: bool,
    waker: Option<Waker>,
}

impl Remote {
    /// `posted` yields the client's frames; outgoing frames go to `streams`.
    pub(crate) fn new(posted: mpsc::Receiver<Utf8Bytes>, streams: Arc<Streams>) -> Self {
        Self { posted, streams, next: None, pong: false, waker: None }
    }

    pub(crate) fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Message>> {
        if std::mem::take(&mut self.pong) {
            return Poll::Ready(Some(Message::Pong(Default::default())));
        }
        self.waker = Some(context.waker().clone());
        self.posted.poll_recv(context).map(|frame| frame.map(Message::Text))
    }

    pub(crate) fn poll_written(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if let Some((target, frame)) = &self.next {
            if !self.streams.put(target, frame, context) {
                return Poll::Pending;
            }
            self.next = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Accepts the next frame; the previous one must be written.
    pub(crate) fn write(&mut self, message: Message) {
        match message {
            Message::Text(frame) => self.next = self.streams.sort(&frame).map(|target| (target, frame)),
            Message::Ping(_) => {
                self.pong = true;
                if let Some(waker) = self.waker.take() {
                    waker.wake();
                }
            }
            _ => {}
        }
    }

    pub(crate) fn close(self, closing: Option<&Closing>) {
        self.streams.end(closing);
    }
}
