//! From a socket to HTTP requests: admission, TLS and the HTTP version.

use super::{router as http, state::Server};
use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    rt::Executor,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use openagents_connection::{
    admission::unauthenticated::{Caller, UNAUTHENTICATED_TIME, Unauthenticated},
    limits::SOCKET_BUFFER,
};
use openagents_remote::prefix::Prefix;
use openagents_wire::Listener;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

/// Flow-control windows of one HTTP/2 stream and of the connection, in bytes.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
const STREAMS: u32 = 64;
const PING: Duration = Duration::from_secs(20);
/// Time that a closing connection has to finish its responses.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// The first byte of a TLS connection: a handshake record.
const HANDSHAKE: u8 = 22;
const NOT_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 59\r\nConnection: close\r\n\r\nThis port is encrypted: write https:// before its address.\n";

#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) kind: Listener,
    /// The peers that may connect; `None` means any peer.
    pub(crate) members: Option<Prefix>,
    /// Cancelled when no new connections are accepted.
    pub(crate) accepting: CancellationToken,
    /// Cancelled when open connections must end: the listener closes, or the bridge shuts down.
    pub(crate) closing: CancellationToken,
}

impl Gate {
    fn admits(&self, peer: IpAddr) -> bool {
        self.members.is_none_or(|members| members.contains(peer))
    }

    /// Stops accepting connections and ends the open ones.
    pub(crate) fn close(&self) {
        self.accepting.cancel();
        self.closing.cancel();
    }
}

pub(crate) async fn listen(listener: TcpListener, gate: Gate, server: Arc<Server>) {
    let router = http::router(server.clone(), gate.kind);
    let at = listener.local_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |at| at.ip());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gate.accepting.cancelled() => return,
        };
        match accepted {
            Ok((_, address)) if !gate.admits(address.ip()) => {
                tracing::debug!(%address, "refused a connection from another network");
            }
            Ok((stream, address)) => {
                let Some(unauthenticated) = server.limits.unauthenticated(address.ip(), gate.kind) else {
                    tracing::warn!("too many connections; dropped one");
                    continue;
                };
                let connection = Connection {
                    address,
                    at,
                    unauthenticated,
                    gate: gate.clone(),
                    server: server.clone(),
                    router: router.clone(),
                };
                let exchange = connection.serve(stream);
                server.connections.spawn(gate.closing.clone().run_until_cancelled_owned(exchange));
                // Lets a connection that has already sent its request run before the next one can evict it.
                tokio::task::yield_now().await;
            }
            // Most likely out of file handles: retry after a pause.
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One socket, until it is upgraded, answered or past its idle deadline.
struct Connection {
    address: SocketAddr,
    at: IpAddr,
    unauthenticated: Unauthenticated,
    gate: Gate,
    server: Arc<Server>,
    router: Router,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        // Updates are small and latency matters.
        let _ = stream.set_nodelay(true);
        if self.gate.kind != Listener::Web {
            return self.http1(stream).await;
        }
        let handshake = tokio::select! {
            tls = tls_handshake(stream, &self.server) => tls,
            () = self.unauthenticated.expired() => None,
        };
        match handshake {
            Some(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => self.http2(stream).await,
            Some(stream) => self.http1(stream).await,
            None => {}
        }
    }

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
            () = self.unauthenticated.expired() => {}
            () = cut.cancelled() => {}
        }
    }

    /// Serves HTTP/2. The connection closes at the idle deadline unless a request has authenticated it.
    async fn http2(self, stream: TlsStream<TcpStream>) {
        self.unauthenticated.has_more_requests();
        let tasks = Tasks { tracker: self.server.connections.clone(), closing: self.gate.closing.clone() };
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
            () = self.unauthenticated.expired() => {}
            // The reader is stuck, so a graceful shutdown would never finish.
            () = cut.cancelled() => return,
        }
        if self.unauthenticated.is_evicted() {
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
            at: self.at,
            unauthenticated: self.unauthenticated.clone(),
            closing: self.gate.closing.clone(),
            cut: cut.clone(),
        };
        let router = self.router.clone();
        service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(caller.clone());
            let (router, connection) = (router.clone(), caller.unauthenticated.clone());
            async move { Ok(router.oneshot(request).await?.map(|body| Body::new(Progress { body, connection }))) }
        })
    }
}

/// A response body that extends its connection's deadline with every part: the next part is polled only after the peer
/// has read enough of the earlier ones.
struct Progress {
    body: Body,
    connection: Unauthenticated,
}

impl HttpBody for Progress {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let part = Pin::new(&mut self.body).poll_frame(context);
        if part.is_ready() {
            self.connection.progress();
        }
        part
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns `None` if the peer does not speak TLS or the handshake fails.
async fn tls_handshake(mut stream: TcpStream, server: &Server) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 1 && first[0] != HANDSHAKE {
        // Most likely http:// instead of https://.
        let _ = stream.write_all(NOT_TLS).await;
        let _ = stream.shutdown().await;
        return None;
    }
    let acceptor = TlsAcceptor::from(server.services.network.tls()?);
    let small = |connection: &mut rustls::ServerConnection| connection.set_buffer_limit(Some(SOCKET_BUFFER));
    match acceptor.accept_with(stream, small).await {
        Ok(stream) => Some(stream),
        Err(error) => {
            tracing::debug!(%error, "the TLS handshake failed");
            None
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::tests::started;
    use futures::stream;
    use tokio::io::AsyncReadExt as _;

    /// A file of the page on a slow network: every part that the client reads extends the deadline.
    #[tokio::test]
    async fn download_outlives_deadline_only_while_it_is_read() {
        const PARTS: usize = 256;
        /// Bytes that the client reads at a time: more than the buffers hold, so that the next part is polled.
        const READ: usize = 2 * SOCKET_BUFFER;
        let (bridge, _home) = started().await;
        let part = || Ok::<_, std::convert::Infallible>(Bytes::from_static(&[b'x'; 1024]));
        let file = move || async move { Body::from_stream(stream::iter((0..PARTS).map(move |_| part()))) };
        let router = Router::new().route("/", axum::routing::get(file));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let gate = Gate {
            kind: Listener::Loopback,
            members: None,
            accepting: CancellationToken::new(),
            closing: CancellationToken::new(),
        };
        tokio::time::pause();
        for pause in [UNAUTHENTICATED_TIME / 2, UNAUTHENTICATED_TIME * 3] {
            let unauthenticated = bridge.server.limits.unauthenticated(address.ip(), gate.kind).unwrap();
            let connection = Connection {
                address,
                at: address.ip(),
                unauthenticated,
                gate: gate.clone(),
                server: bridge.server.clone(),
                router: router.clone(),
            };
            let (mut client, peer) = tokio::io::duplex(1024);
            let serving = tokio::spawn(connection.http1(peer));
            client
                .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .await
                .unwrap();
            let (mut read, mut paused, mut buffer) = (0, 0, vec![0; 4096]);
            loop {
                match client.read(&mut buffer).await.unwrap_or_default() {
                    0 => break,
                    bytes => read += bytes,
                }
                if read / READ > paused {
                    paused += 1;
                    tokio::time::sleep(pause).await;
                }
            }
            serving.await.unwrap();
            let is_whole = read > PARTS * 1024;
            assert_eq!(is_whole, pause < UNAUTHENTICATED_TIME, "{read} bytes were read");
        }
    }

    #[test]
    fn gate_admits_only_members_of_its_network() {
        let gate = |members| Gate {
            kind: Listener::Web,
            members,
            accepting: CancellationToken::new(),
            closing: CancellationToken::new(),
        };
        let [here, public] = [[192, 168, 1, 7], [203, 0, 113, 9]].map(IpAddr::from);
        let members = gate(Some(Prefix::new(here, 24)));
        assert!(members.admits(here) && !members.admits(public));
        assert!(gate(None).admits(public), "by choice, anyone");
    }
}
