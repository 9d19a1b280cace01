//! Transports between a client and its connection: a WebSocket, or the protocol's remote transport of requests and
//! event streams. Both are variants of [`Socket`].

use crate::{
    event_stream::Streams,
    mailbox::{Closing, Target},
};
use crate::{
    headers::list_items,
    limits::{SOCKET_BUFFER, STUCK},
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{Sink, SinkExt, Stream, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{io::AsyncReadExt, sync::mpsc};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

const GOOD_BYE: Duration = Duration::from_secs(1);

pub enum Socket {
    WebSocket(Box<WebSocket>),
    Remote(Remote),
}

impl Socket {
    pub(crate) fn write_timeout(&self) -> Duration {
        match self {
            Self::WebSocket(_) => STUCK,
            // Readers may reconnect, and each has its own timeout.
            Self::Remote(_) => Duration::MAX,
        }
    }

    /// Closes the socket with a reason, or completes the client's close.
    pub async fn close(self, closing: Option<&Closing>) {
        match (self, closing) {
            (Self::WebSocket(socket), Some(closing)) => close(*socket, closing).await,
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

pub struct Remote {
    posted: mpsc::Receiver<Utf8Bytes>,
    streams: Arc<Streams>,
    next: Option<(Target, Utf8Bytes)>,
    /// A pong to return. Pings are answered here; the streams detect whether the client is alive.
    pong: bool,
    waker: Option<Waker>,
}

impl Remote {
    /// `posted` yields the client's frames; outgoing frames go to `streams`.
    pub fn new(posted: mpsc::Receiver<Utf8Bytes>, streams: Arc<Streams>) -> Self {
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
            if !self.streams.try_queue(target, frame, context) {
                return Poll::Pending;
            }
            self.next = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Accepts the next frame; the previous one must be written.
    pub(crate) fn write(&mut self, message: Message) {
        match message {
            Message::Text(frame) => self.next = self.streams.route(&frame).map(|target| (target, frame)),
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

/// Routes a frame as an event stream does. Must never panic; see the fuzz target `acp_frame`.
#[doc(hidden)]
pub fn route_frame(frame: &str) {
    Streams::new("1", false).0.route(&frame.into());
}

pub(crate) type WebSocket = WebSocketStream<TokioIo<Upgraded>>;

/// Limits for draining a socket after the close frame.
const DRAIN_TIME: Duration = Duration::from_secs(2);
const DRAIN_BYTES: u64 = 256 << 20;

pub fn is_upgrade(headers: &HeaderMap) -> bool {
    let has = |name, word| list_items(headers, name).any(|item| item.eq_ignore_ascii_case(word));
    has(&header::CONNECTION, "upgrade") && has(&header::UPGRADE, "websocket")
}

/// Answers an upgrade. The second value resolves to the socket once the response is written.
///
/// Axum's extractor isn't used, because a frame over the limit must be answered with close code 1009, and a client
/// reads that code only if the server keeps reading the bytes that the client is still sending.
pub fn upgrade(mut request: Request, protocol: Option<&'static str>) -> (Response, Option<OnUpgrade>) {
    let headers = request.headers();
    if request.method() != Method::GET || headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|v| v != "13")
    {
        let supported = [(header::SEC_WEBSOCKET_VERSION, "13")];
        return (
            (StatusCode::UPGRADE_REQUIRED, supported, "WebSocket version 13 is needed.\n").into_response(),
            None,
        );
    }
    let Some(key) = headers.get(header::SEC_WEBSOCKET_KEY) else {
        return ((StatusCode::BAD_REQUEST, "The upgrade has no Sec-WebSocket-Key.\n").into_response(), None);
    };
    let accept = derive_accept_key(key.as_bytes());
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    answer.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    answer.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&accept) {
        answer.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(protocol) = protocol {
        answer.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    (response, Some(hyper::upgrade::on(&mut request)))
}

/// Waits for the upgraded stream and wraps it in a WebSocket.
pub async fn open(upgrade: OnUpgrade, frame_limit: usize) -> Option<WebSocket> {
    let stream = upgrade.await.ok()?;
    let config = WebSocketConfig::default()
        .read_buffer_size(SOCKET_BUFFER)
        .write_buffer_size(SOCKET_BUFFER)
        .max_message_size(Some(frame_limit))
        .max_frame_size(Some(frame_limit));
    Some(WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, Some(config)).await)
}

/// Sends a close frame and drains the socket briefly, so that the client receives it.
pub async fn close(mut socket: WebSocket, closing: &Closing) {
    let ending = async {
        if socket.send(closing.message()).await.is_err() {
            return;
        }
        let mut rest = socket.get_mut().take(DRAIN_BYTES);
        let mut buffer = vec![0; SOCKET_BUFFER];
        while rest.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    };
    // Give up on a client that does not close.
    let _ = tokio::time::timeout(DRAIN_TIME, ending).await;
}
