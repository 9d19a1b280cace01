//! The listener and the doors: who asks, what for, and may they.

use crate::{
    IosDoor,
    access::Pass,
    acp,
    auth::{self, SUBPROTOCOL},
    guard::{self, Verdict},
    ios,
    limits::{SOCKET_BUFFER, STRANGER_FRAME, STRANGER_TIME, Stranger},
    page,
    shared::Shared,
    transport::{Closing, websocket},
};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::any,
};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Which doors a request may knock at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listener {
    /// This machine: every door.
    Loopback,
    /// The network, encrypted: the page and ACP.
    Web,
    /// The network, in clear text: the iOS app and nothing else.
    App,
}

/// Where a request comes from.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) listener: Listener,
    pub(crate) address: IpAddr,
    pub(crate) stranger: Stranger,
}

/// Accepts connections until `stop`.
pub(crate) async fn listen(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let router = router(shared.clone());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let Some(stranger) = shared.limits.stranger() else {
                    tracing::warn!("there are too many connections; one was cut");
                    continue;
                };
                let (exchange, closing) =
                    (exchange(stream, address, stranger, router.clone()), &shared.closing);
                shared.connections.spawn(closing.clone().run_until_cancelled_owned(exchange));
                // Whoever has said already what it wants is heard before the next one could take its place.
                tokio::task::yield_now().await;
            }
            // Out of file handles, most likely: those in use come back.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

/// One request on one connection: an upgrade, or a file and good-bye.
async fn exchange(stream: TcpStream, address: SocketAddr, stranger: Stranger, router: Router) {
    // Updates are small and wanted now.
    let _ = stream.set_nodelay(true);
    let address = address.ip().to_canonical();
    let caller = Caller { listener: Listener::Loopback, address, stranger: stranger.clone() };
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(caller.clone());
        router.clone().oneshot(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(STRANGER_TIME)
        .max_buf_size(SOCKET_BUFFER)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        result = connection => if let Err(error) = result {
            tracing::debug!(%error, "a connection ended early");
        },
        () = stranger.overstayed() => {}
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", any(root))
        .route("/acp", any(acp_door))
        .fallback(files)
        .layer(middleware::from_fn_with_state(shared.clone(), check_host))
        .with_state(shared)
}

/// A name that somebody else pointed at this machine gets nothing, not even the page.
async fn check_host(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match guard::host(request.headers()) {
        Verdict::Welcome => next.run(request).await,
        _ => refuse(StatusCode::FORBIDDEN, "This address is not served here."),
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        page::secure(response.headers_mut(), shared.port);
        // An idle connection of a browser tab would keep a place that somebody else needs.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn root(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !websocket::is_upgrade(request.headers()) {
        return files(State(shared), request).await;
    }
    // The app is no page: whoever has an Origin is something else.
    if guard::is_page(request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "This door is for the OpenAgents iOS app, not for web pages.");
    }
    if shared.ios == IosDoor::Off {
        return refuse(
            StatusCode::FORBIDDEN,
            "The door of the OpenAgents iOS app is closed. Open it with --ios allow.",
        );
    }
    let Some(caller) = caller(&request) else { return no_caller() };
    let Some(place) = shared.limits.ios(caller.address) else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "There are too many connections.");
    };
    let (response, upgrade) = websocket::upgrade(request, None);
    if let Some(upgrade) = upgrade {
        let connections = shared.connections.clone();
        connections.spawn(async move {
            ios::serve(shared, upgrade, caller).await;
            drop(place);
        });
    }
    response
}

async fn acp_door(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !websocket::is_upgrade(request.headers()) {
        return refuse(StatusCode::UPGRADE_REQUIRED, "ACP is spoken over a WebSocket here.");
    }
    let Some(caller) = caller(&request) else { return no_caller() };
    if guard::origin(request.headers(), shared.port) != Verdict::Welcome {
        return refuse(StatusCode::FORBIDDEN, "This page may not connect.");
    }
    if !shared.token.admits(request.headers()) {
        return refuse_token(shared, request, caller).await;
    }
    let Some(place) = shared.limits.acp() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "There are too many connections.");
    };
    caller.stranger.leave();
    let protocol = auth::offers_protocol(request.headers()).then_some(SUBPROTOCOL);
    let (response, upgrade) = websocket::upgrade(request, protocol);
    if let Some(upgrade) = upgrade {
        let connections = shared.connections.clone();
        connections.spawn(async move {
            acp::serve(shared, upgrade, Pass::local()).await;
            drop((place, caller));
        });
    }
    response
}

/// Refuses whoever has no token, later each time. A page cannot see why an upgrade failed: it gets its socket, and with
/// it the reason, and nothing else.
async fn refuse_token(shared: Arc<Shared>, request: Request, caller: Caller) -> Response {
    let delay = shared.back_off.failed(caller.address);
    // Those who wait for a refusal take no place from those who are welcome, and are not many.
    caller.stranger.leave();
    let refusal = shared.limits.refusal();
    let refused = || refuse(StatusCode::UNAUTHORIZED, "The token is missing or wrong.");
    let Some(refusal) = refusal else { return refused() };
    tokio::time::sleep(delay).await;
    if !auth::offers_protocol(request.headers()) {
        return refused();
    }
    let (response, upgrade) = websocket::upgrade(request, Some(SUBPROTOCOL));
    if let Some(upgrade) = upgrade {
        let connections = shared.connections.clone();
        connections.spawn(async move {
            if let Some(socket) = websocket::open(upgrade, STRANGER_FRAME).await {
                websocket::close(socket, &Closing::no_token()).await;
            }
            drop((refusal, caller));
        });
    }
    response
}

async fn files(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match *request.method() {
        Method::GET | Method::HEAD => page::file(request.uri().path(), request.headers(), shared.port),
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "Only GET is answered here."),
    }
}

fn caller(request: &Request) -> Option<Caller> {
    request.extensions().get::<Caller>().cloned()
}

fn no_caller() -> Response {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, "The connection is not known.")
}

fn refuse(status: StatusCode, sentence: &str) -> Response {
    (status, format!("{sentence}\n")).into_response()
}
