//! From a socket to requests: who may wait, TLS, and the version of HTTP.

use crate::{
    http::{self, Caller, Listener},
    limits::{SOCKET_BUFFER, UNAUTHENTICATED_TIME, Unauthenticated},
    shared::Shared,
};
use axum::{Router, body::Body};
use hyper::{body::Incoming, rt::Executor, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

/// Bytes that a client may send ahead on one stream of HTTP/2, and on all of them.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
/// Requests of one connection of HTTP/2 at the same time.
const STREAMS: u32 = 64;
/// A connection of HTTP/2 that does not answer is dead.
const PING: Duration = Duration::from_secs(20);
/// How long a connection that has to go may take to finish what it is being sent.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// The first byte of every TLS connection: a handshake.
const HANDSHAKE: u8 = 22;
const NOT_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 59\r\nConnection: close\r\n\r\nThis port is encrypted: write https:// before its address.\n";

/// A way in: what is served there, and how it is closed.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) kind: Listener,
    /// Cancelled when nobody new is let in.
    pub(crate) accepting: CancellationToken,
    /// Cancelled when the connections have to end: this way in is closed, or the bridge goes down.
    pub(crate) closing: CancellationToken,
}

impl Gate {
    /// Lets nobody in any more, and ends the connections.
    pub(super) fn close(&self) {
        self.accepting.cancel();
        self.closing.cancel();
    }
}

/// Accepts connections until the gate closes.
pub(crate) async fn listen(listener: TcpListener, gate: Gate, shared: Arc<Shared>) {
    let router = http::router(shared.clone(), gate.kind);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gate.accepting.cancelled() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let Some(unauthenticated) = shared.limits.unauthenticated(address.ip(), gate.kind) else {
                    tracing::warn!("there are too many connections; one was cut");
                    continue;
                };
                let connection = Connection {
                    address,
                    unauthenticated,
                    gate: gate.clone(),
                    shared: shared.clone(),
                    router: router.clone(),
                };
                let exchange = connection.serve(stream);
                shared.connections.spawn(gate.closing.clone().run_until_cancelled_owned(exchange));
                // Whoever has said already what it wants is heard before the next one could take its place.
                tokio::task::yield_now().await;
            }
            // Out of file handles, most likely: those in use come back.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One socket, until it is upgraded, has been answered or has stayed for too long.
struct Connection {
    address: SocketAddr,
    unauthenticated: Unauthenticated,
    gate: Gate,
    shared: Arc<Shared>,
    router: Router,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        // Updates are small and wanted now.
        let _ = stream.set_nodelay(true);
        if self.gate.kind != Listener::Web {
            return self.http1(stream).await;
        }
        let shaken = tokio::select! {
            shaken = shake_hands(stream, &self.shared) => shaken,
            () = self.unauthenticated.overstayed() => None,
        };
        match shaken {
            Some(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => self.http2(stream).await,
            Some(stream) => self.http1(stream).await,
            None => {}
        }
    }

    /// One request: an upgrade, or a file and good-bye.
    async fn http1(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let cut = CancellationToken::new();
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(UNAUTHENTICATED_TIME)
            .max_buf_size(SOCKET_BUFFER)
            .serve_connection(TokioIo::new(stream), self.service(&cut))
            .with_upgrades();
        tokio::select! {
            result = connection => if let Err(error) = result {
                tracing::debug!(%error, "a connection ended early");
            },
            () = self.unauthenticated.overstayed() => {}
            () = cut.cancelled() => {}
        }
    }

    /// Many requests; when none of them showed who it is, it has to go as well.
    async fn http2(self, stream: TlsStream<TcpStream>) {
        self.unauthenticated.has_more_requests();
        let tasks = Tasks { tracker: self.shared.connections.clone(), closing: self.gate.closing.clone() };
        let cut = CancellationToken::new();
        let connection = hyper::server::conn::http2::Builder::new(tasks)
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(STREAMS)
            .max_send_buf_size(SOCKET_BUFFER)
            .max_header_list_size(16 << 10)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .serve_connection(TokioIo::new(stream), self.service(&cut));
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            result = &mut connection => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            () = self.unauthenticated.overstayed() => {}
            // Its reader takes nothing: what it is being sent would never end.
            () = cut.cancelled() => return,
        }
        if self.unauthenticated.makes_room() {
            return;
        }
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(LAST_ANSWERS, connection).await;
    }

    fn service(
        &self,
        cut: &CancellationToken,
    ) -> impl hyper::service::Service<
        hyper::Request<Incoming>,
        Response = axum::response::Response,
        Error = std::convert::Infallible,
        Future = impl Future<Output = Result<axum::response::Response, std::convert::Infallible>> + Send + 'static,
    > + Send
    + 'static {
        let caller = Caller {
            listener: self.gate.kind,
            address: self.address.ip().to_canonical(),
            unauthenticated: self.unauthenticated.clone(),
            closing: self.gate.closing.clone(),
            cut: cut.clone(),
        };
        let router = self.router.clone();
        service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(caller.clone());
            router.clone().oneshot(request)
        })
    }
}

/// `None` when the other end speaks no TLS, or not ours.
async fn shake_hands(mut stream: TcpStream, shared: &Shared) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 1 && first[0] != HANDSHAKE {
        // A person who left out the `s`, most likely.
        let _ = stream.write_all(NOT_TLS).await;
        let _ = stream.shutdown().await;
        return None;
    }
    let acceptor = TlsAcceptor::from(shared.network.tls()?);
    let small = |connection: &mut rustls::ServerConnection| connection.set_buffer_limit(Some(SOCKET_BUFFER));
    match acceptor.accept_with(stream, small).await {
        Ok(stream) => Some(stream),
        Err(error) => {
            tracing::debug!(%error, "a handshake failed");
            None
        }
    }
}

/// Where the requests of a connection of HTTP/2 run.
#[derive(Clone)]
struct Tasks {
    tracker: TaskTracker,
    closing: CancellationToken,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, request: F) {
        self.tracker.spawn(self.closing.clone().run_until_cancelled_owned(request));
    }
}
