//! Opening and closing WebSockets.
//!
//! Axum's extractor isn't used, because a frame over the limit must be answered with close code 1009, and a client
//! reads that code only if the server keeps reading the bytes that the client is still sending.

use super::closing::Closing;
use crate::base::{headers::items, limits::SOCKET_BUFFER};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::SinkExt;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

pub(crate) type WebSocket = WebSocketStream<TokioIo<Upgraded>>;

/// Limits for draining a socket after the close frame.
const DRAIN_TIME: Duration = Duration::from_secs(2);
const DRAIN_BYTES: u64 = 256 << 20;

/// Returns whether a request is a WebSocket upgrade.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let has = |name, word| items(headers, name).any(|item| item.eq_ignore_ascii_case(word));
    has(&header::CONNECTION, "upgrade") && has(&header::UPGRADE, "websocket")
}

/// Answers an upgrade. The second value resolves to the socket once the response is written.
pub(crate) fn upgrade(mut request: Request, protocol: Option<&'static str>) -> (Response, Option<OnUpgrade>) {
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
pub(crate) async fn open(upgrade: OnUpgrade, frame_limit: usize) -> Option<WebSocket> {
    let stream = upgrade.await.ok()?;
    let config = WebSocketConfig::default()
        .read_buffer_size(SOCKET_BUFFER)
        .write_buffer_size(SOCKET_BUFFER)
        .max_message_size(Some(frame_limit))
        .max_frame_size(Some(frame_limit));
    Some(WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, Some(config)).await)
}

/// Sends a close frame and drains the socket briefly, so that the client receives it.
pub(crate) async fn close(mut socket: WebSocket, closing: &Closing) {
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
