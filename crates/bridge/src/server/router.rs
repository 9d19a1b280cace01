//! HTTP routes, and the checks on every request.

use super::{
    auth::{self, SUBPROTOCOL},
    endpoint, origin, page,
    state::Server,
    token_routes,
};
use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, Version, header},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::any,
};
use openagents_connection::{
    admission::unauthenticated::Caller, limits::UNAUTHENTICATED_FRAME, mailbox::Closing, socket,
};
use openagents_remote::tls::profile;
use openagents_wire::Listener;
use std::sync::Arc;

pub(crate) fn router(server: Arc<Server>, listener: Listener) -> Router {
    let routes = match listener {
        Listener::Loopback => pages().merge(token_routes::local_routes()).route("/", any(root)),
        Listener::Web => pages(),
        Listener::App => Router::new().route("/", any(ios_endpoint)).fallback(not_found),
    };
    routes.layer(middleware::from_fn_with_state(server.clone(), check_host)).with_state(server)
}

fn pages() -> Router<Arc<Server>> {
    Router::new()
        .merge(token_routes::pairing_routes())
        .route("/acp", any(acp_endpoint))
        .route(profile::PROFILE, any(authority))
        .route(profile::CERTIFICATE, any(authority))
        .fallback(files)
}

/// Refuses every request with a foreign `Host`, even for the page, to prevent DNS rebinding.
async fn check_host(
    State(server): State<Arc<Server>>,
    Extension(mut caller): Extension<Caller>,
    mut request: Request,
    next: Next,
) -> Response {
    let (listener, is_http2) = (caller.listener, request.version() == Version::HTTP_2);
    // HTTP/2 sends the host in `:authority`.
    if is_http2
        && let Some(authority) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(header::HOST, host);
    }
    if listener == Listener::Loopback
        && server.hosts().is_proxied(request.headers())
        && let Some(address) = origin::forwarded_for(request.headers())
    {
        caller.address = address;
        request.extensions_mut().insert(caller);
    }
    let (mut response, host) = if server.hosts().allow_host(request.headers(), listener) {
        let host = request.headers().get(header::HOST).cloned();
        (next.run(request).await, host)
    } else {
        (refuse(StatusCode::FORBIDDEN, "This address is not served here."), None)
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        page::add_security_headers(response.headers_mut(), host.as_ref().and_then(|host| host.to_str().ok()));
        // An idle connection of a browser tab would keep a slot.
        if !is_http2 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
    response
}

async fn root(server: State<Arc<Server>>, caller: Extension<Caller>, request: Request) -> Response {
    if !socket::is_upgrade(request.headers()) {
        return files(server, caller, request).await;
    }
    ios_endpoint(server, caller, request).await
}

async fn ios_endpoint(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    if !socket::is_upgrade(request.headers()) {
        return not_found().await;
    }
    // The app sends no `Origin` and uses no proxy.
    if request.headers().contains_key(header::ORIGIN) || server.hosts().is_proxied(request.headers()) {
        let sentence = "This endpoint is for the OpenAgents iOS app, not for web pages.";
        return refuse(StatusCode::FORBIDDEN, sentence);
    }
    let entry = match openagents_ios::connection::check_access(&server.services.ios, &caller) {
        Ok(entry) => entry,
        Err(sentence) => return refuse(StatusCode::FORBIDDEN, &sentence),
    };
    let Some(slot) = server.limits.ios_slot(caller.address) else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "There are too many connections.");
    };
    let (response, upgrade) = socket::upgrade(request, None);
    if let Some(upgrade) = upgrade {
        let connections = server.connections.clone();
        connections.spawn(async move {
            openagents_ios::connection::serve(server.services.ios.clone(), upgrade, caller, entry).await;
            drop(slot);
        });
    }
    response
}

async fn acp_endpoint(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    if !server.hosts().allow_origin(request.headers(), caller.listener) {
        return refuse(StatusCode::FORBIDDEN, "This page may not connect.");
    }
    let Some(pass) = auth::authenticate(&server, &caller, request.headers()) else {
        return refuse_token(server, request, caller).await;
    };
    if !server.limits.authenticate(&caller.unauthenticated, &pass) {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "There are too many connections.");
    }
    endpoint::answer(server, request, caller, pass).await
}

/// Refuses a request without a valid token, with a growing delay. A page cannot see why an upgrade failed, so its
/// socket is opened and closed with the reason.
async fn refuse_token(server: Arc<Server>, request: Request, caller: Caller) -> Response {
    server.services.devices.refused(caller.address, "token");
    let refused = || refuse(StatusCode::UNAUTHORIZED, "The token is missing or wrong.");
    let Some(refusal) = auth::delay_refusal(&server, &caller).await else { return refused() };
    if !auth::offers_protocol(request.headers()) {
        return refused();
    }
    let (response, upgrade) = socket::upgrade(request, Some(SUBPROTOCOL));
    if let Some(upgrade) = upgrade {
        let connections = server.connections.clone();
        connections.spawn(async move {
            if let Some(socket) = socket::open(upgrade, UNAUTHENTICATED_FRAME).await {
                socket::close(socket, &Closing::no_token()).await;
            }
            drop((refusal, caller));
        });
    }
    response
}

async fn files(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    if let Some(address) = server.hosts().literal_url(request.headers(), caller.listener) {
        // The browser keeps the fragment, and with it the token.
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        return Redirect::temporary(&format!("{address}{path}")).into_response();
    }
    match *request.method() {
        Method::GET | Method::HEAD => page::serve_file(request.uri().path(), request.headers()),
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are supported."),
    }
}

async fn authority(State(server): State<Arc<Server>>, request: Request) -> Response {
    let Some((pem, profile)) = server.services.network.installable() else {
        return refuse(StatusCode::NOT_FOUND, "There is no certificate until the network is switched on.");
    };
    let (kind, name, text) = if request.uri().path() == profile::PROFILE {
        (profile::PROFILE_TYPE, "openagents.mobileconfig", profile)
    } else {
        (profile::CERTIFICATE_TYPE, "openagents.pem", pem)
    };
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, text).into_response()
}

async fn not_found() -> Response {
    refuse(StatusCode::NOT_FOUND, "There is nothing at this address.")
}

fn refuse(status: StatusCode, sentence: &str) -> Response {
    (status, format!("{sentence}\n")).into_response()
}
