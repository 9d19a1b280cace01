//! The ACP endpoint: an upgrade opens a WebSocket; `POST` sends a frame, `GET` opens an event stream and `DELETE` ends
//! the connection.
//!
//! This is ACP's RFD "Streamable HTTP & WebSocket transport" as its official clients implement it, also over HTTP/1.1
//! and through proxies. Requests are authenticated before they get here, and find only the connections of their own
//! device. One addition: a client whose `initialize` has `clientCapabilities._meta.openagents.oneStream` gets
//! everything on the connection's stream, because browsers limit the number of sockets.

use super::{
    auth::{self, SUBPROTOCOL},
    state::{RemoteConnection, Server},
};
use crate::acp::{
    self,
    connection::{ACP_FRAME, Opening},
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures::StreamExt;
use openagents_connection::{
    admission::unauthenticated::Caller,
    event_stream::StreamRefusal,
    fault::Fault,
    headers::{is_json, list_items, without_parameters},
    inspect::Peer,
    pass::Pass,
    rpc::{self, Incoming, Malformed},
    socket::{self, Socket},
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");
const SESSION_ID: HeaderName = HeaderName::from_static("acp-session-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A body with more bytes than this needs a permit. Bounds the memory that one device can use.
const LONG_BODY: usize = 64 << 10;
const BODY_TIME: Duration = Duration::from_secs(60);
/// Limits for draining a body that is too long: the client reads the response only after it has sent the body.
const DRAIN_TIME: Duration = Duration::from_secs(2);
const DRAIN_BYTES: usize = 256 << 20;
const ANSWER_TIME: Duration = Duration::from_secs(30);
const ALIVE: Duration = Duration::from_secs(15);

const SESSION_METHODS: &[&str] = &[
    "session/cancel",
    "session/close",
    "session/delete",
    "session/fork",
    "session/load",
    "session/prompt",
    "session/resume",
    "session/set_config_option",
    "session/set_mode",
    "session/set_model",
];

pub(crate) async fn answer(
    server: Arc<Server>,
    request: Request,
    caller: Caller,
    pass: Arc<Pass>,
) -> Response {
    let answer = match *request.method() {
        _ if socket::is_upgrade(request.headers()) => open_socket(server, request, caller, pass),
        Method::POST => post(&server, request, &caller, pass).await,
        Method::GET => open_stream(&server, request.headers(), &pass, caller.cut),
        Method::DELETE => find_connection(&server, request.headers(), &pass).map(|connection| {
            connection.end();
            StatusCode::ACCEPTED.into_response()
        }),
        _ => {
            let allowed = [(header::ALLOW, "GET, POST, DELETE")];
            Ok((StatusCode::METHOD_NOT_ALLOWED, allowed, "Use POST to send frames.\n").into_response())
        }
    };
    answer.unwrap_or_else(|refusal| *refusal)
}

type Answer = Result<Response, Box<Response>>;

fn open_socket(server: Arc<Server>, request: Request, caller: Caller, pass: Arc<Pass>) -> Answer {
    let lease = server.lease(pass, caller.address).ok_or_else(too_many_connections)?;
    let protocol = auth::offers_protocol(request.headers()).then_some(SUBPROTOCOL);
    let (mut response, upgrade) = socket::upgrade(request, protocol);
    if let Some(upgrade) = upgrade {
        let peer = Peer::new("acp");
        insert_header(response.headers_mut(), CONNECTION_ID, &peer.id);
        let connections = server.connections.clone();
        connections.spawn(async move {
            if let Some(socket) = socket::open(upgrade, ACP_FRAME).await {
                let (cut, closing) = (CancellationToken::new(), caller.closing.clone());
                let opening = Opening { peer, lease, cut, closing };
                acp::serve(server.services.clone(), Socket::WebSocket(Box::new(socket)), opening).await;
            }
            drop(caller);
        });
    }
    Ok(response)
}

async fn post(server: &Arc<Server>, request: Request, caller: &Caller, pass: Arc<Pass>) -> Answer {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "The content type must be application/json."));
    }
    // Check the connection before reading a body of up to 16 MiB.
    let connection = match parts.headers.contains_key(&CONNECTION_ID) {
        true => Some(find_connection(server, &parts.headers, &pass)?),
        false => None,
    };
    let text = read_body(&server.remotes.long_bodies(&pass.who), &parts.headers, body).await?;
    let message = rpc::parse(&text).map_err(|malformed| unreadable(&malformed))?;
    let Some(connection) = connection else {
        return match message {
            Incoming::Request { id, method, params } if method == "initialize" => {
                initialize(server, caller, pass, (id.as_str(), text.clone()), &params).await
            }
            _ => Err(missing_connection()),
        };
    };
    let in_header = header_text(&parts.headers, &SESSION_ID);
    match &message {
        Incoming::Request { id, method, params } => {
            if let Some(session) = session_of(method, params, in_header)? {
                connection.await_answer(id.as_str(), session);
            }
        }
        Incoming::Notification { method, params } => drop(session_of(method, params, in_header)?),
        Incoming::Response { .. } => {}
    }
    // Bound the long frames that wait for a slow connection.
    let _permit = match text.len() > LONG_BODY {
        true => Some(connection.long_frame().ok_or_else(too_fast)?),
        false => None,
    };
    match connection.post(text).await {
        true => Ok(StatusCode::ACCEPTED.into_response()),
        false => Err(unknown_connection()),
    }
}

async fn initialize(
    server: &Arc<Server>,
    caller: &Caller,
    pass: Arc<Pass>,
    frame: (&str, Utf8Bytes),
    params: &Value,
) -> Answer {
    let lease = server.lease(pass.clone(), caller.address).ok_or_else(too_many_connections)?;
    let meta = params["clientCapabilities"]["_meta"].as_object();
    let openagents_wire::ClientMeta { one_stream, .. } = openagents_wire::ours(meta);
    let opening = Opening {
        peer: Peer::new("acp"),
        lease,
        cut: CancellationToken::new(),
        closing: caller.closing.clone(),
    };
    let (services, tasks) = (server.services.clone(), &server.connections);
    let (id, answered) = server.remotes.open(services, tasks, opening, frame, one_stream);
    let connection = server.remotes.find(&id, &pass);
    let Ok(Ok(answer)) = timeout(ANSWER_TIME, answered).await else {
        connection.iter().for_each(|connection| connection.end());
        return Err(refuse(StatusCode::INTERNAL_SERVER_ERROR, "The connection ended during initialize."));
    };
    let mut response = ([(header::CONTENT_TYPE, JSON)], answer.as_str().to_owned()).into_response();
    if serde_json::from_str::<Outcome<'_>>(&answer).is_ok_and(|outcome| outcome.error.is_some()) {
        connection.iter().for_each(|connection| connection.end());
        return Ok(response);
    }
    insert_header(response.headers_mut(), CONNECTION_ID, &id);
    Ok(response)
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

fn open_stream(server: &Server, headers: &HeaderMap, pass: &Pass, cut: CancellationToken) -> Answer {
    if !accepts_events(headers) {
        return Err(refuse(StatusCode::NOT_ACCEPTABLE, "The request must accept text/event-stream."));
    }
    let connection = find_connection(server, headers, pass)?;
    let session = header_text(headers, &SESSION_ID);
    let reader = connection.open_stream(session.map(Into::into), cut).map_err(|refusal| match refusal {
        StreamRefusal::Taken => refuse(StatusCode::CONFLICT, "This stream is already open."),
        StreamRefusal::TooMany => refuse(StatusCode::SERVICE_UNAVAILABLE, "There are too many streams."),
        StreamRefusal::Over => unknown_connection(),
    })?;
    // An initial event makes proxies and browsers forward the headers.
    let opened = futures::stream::once(async { Ok(Event::default().comment("")) });
    let alive = KeepAlive::new().interval(ALIVE);
    let mut response = Sse::new(opened.chain(reader)).keep_alive(alive).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    for echoed in [CONNECTION_ID, SESSION_ID] {
        if let Some(value) = headers.get(&echoed) {
            answer.insert(echoed, value.clone());
        }
    }
    Ok(response)
}

fn find_connection(
    server: &Server,
    headers: &HeaderMap,
    pass: &Pass,
) -> Result<Arc<RemoteConnection>, Box<Response>> {
    let id = headers.get(&CONNECTION_ID).ok_or_else(missing_connection)?;
    let found = id.to_str().ok().and_then(|id| server.remotes.find(id, pass));
    found.ok_or_else(unknown_connection)
}

/// Returns the session of a message. The header and the params must agree.
fn session_of<'a>(
    method: &str,
    params: &'a Value,
    in_header: Option<&'a str>,
) -> Result<Option<&'a str>, Box<Response>> {
    let in_params = params["sessionId"].as_str();
    match (in_params, in_header) {
        (Some(in_params), Some(in_header)) if in_params != in_header => {
            Err(refuse(StatusCode::BAD_REQUEST, "Acp-Session-Id and params.sessionId differ."))
        }
        (None, None) if SESSION_METHODS.contains(&method) => {
            Err(refuse(StatusCode::BAD_REQUEST, "Acp-Session-Id is missing."))
        }
        _ => Ok(in_params),
    }
}

/// Reads a body. A long body holds a permit while it is read.
async fn read_body(permits: &Semaphore, headers: &HeaderMap, body: Body) -> Result<Utf8Bytes, Box<Response>> {
    let too_late = || refuse(StatusCode::REQUEST_TIMEOUT, "The body took too long.");
    let too_long =
        || refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("A frame may have {ACP_FRAME} bytes at most."));
    let length = header_text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    // With `Expect: 100-continue` the client has not sent the body yet.
    if length.is_some_and(|length| length > ACP_FRAME as u64) && headers.contains_key(header::EXPECT) {
        return Err(too_long());
    }
    let (mut chunks, mut bytes, deadline) = (body.into_data_stream(), Vec::new(), Instant::now() + BODY_TIME);
    let mut permit = None;
    loop {
        match timeout_at(deadline, chunks.next()).await {
            Ok(Some(Ok(chunk))) if bytes.len() + chunk.len() <= ACP_FRAME => {
                if permit.is_none() && bytes.len() + chunk.len() > LONG_BODY {
                    let free = timeout_at(deadline, permits.acquire()).await;
                    permit = free.map_err(|_| too_late())?.ok();
                }
                bytes.extend_from_slice(&chunk);
            }
            Ok(Some(Ok(_))) => break,
            Ok(Some(Err(_))) => return Err(refuse(StatusCode::BAD_REQUEST, "The body ended early.")),
            Ok(None) => {
                let no_text = || Malformed { id: None, fault: Fault::parse("The frame is not UTF-8 text.") };
                return Utf8Bytes::try_from(bytes).map_err(|_| unreadable(&no_text()));
            }
            Err(_) => return Err(too_late()),
        }
    }
    drop((bytes, permit));
    let draining = async {
        let mut read = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            read += chunk.len();
            if read > DRAIN_BYTES {
                break;
            }
        }
    };
    let _ = timeout(DRAIN_TIME, draining).await;
    Err(too_long())
}

fn accepts_events(headers: &HeaderMap) -> bool {
    list_items(headers, &header::ACCEPT).any(|kind| without_parameters(kind).eq_ignore_ascii_case(EVENTS))
}

fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn insert_header(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn unreadable(malformed: &Malformed) -> Box<Response> {
    let text = rpc::error(malformed.id.as_ref(), &malformed.fault);
    Box::new((StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, JSON)], text).into_response())
}

fn too_many_connections() -> Box<Response> {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "There are too many connections.")
}

fn too_fast() -> Box<Response> {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "Too many long frames are queued; try again later.")
}

fn missing_connection() -> Box<Response> {
    refuse(StatusCode::BAD_REQUEST, "Acp-Connection-Id is missing; a connection starts with initialize.")
}

fn unknown_connection() -> Box<Response> {
    refuse(StatusCode::NOT_FOUND, "There is no such connection; start a new one with initialize.")
}

fn refuse(status: StatusCode, sentence: &str) -> Box<Response> {
    Box::new((status, format!("{sentence}\n")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn endless_body_times_out() {
        let drop_by_drop = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::io::Error>("["), ()))
        });
        let begun = Instant::now();
        let refusal = read_body(&Semaphore::new(1), &HeaderMap::new(), Body::from_stream(drop_by_drop))
            .await
            .unwrap_err();
        assert_eq!((refusal.status(), begun.elapsed()), (StatusCode::REQUEST_TIMEOUT, BODY_TIME));
    }

    #[test]
    fn accept_and_content_type_headers_are_parsed() {
        for (value, events) in [
            ("text/event-stream", true),
            ("application/json, Text/Event-Stream; q=0.5", true),
            ("*/*", false),
            ("text/*", false),
            ("application/json", false),
            ("", false),
        ] {
            let headers = [(header::ACCEPT, HeaderValue::from_static(value))].into_iter().collect();
            assert_eq!(accepts_events(&headers), events, "{value}");
        }
        for (value, json) in [
            ("application/json", true),
            ("Application/JSON ;charset=utf-8", true),
            ("application/jsonp", false),
            ("text/plain", false),
            ("", false),
        ] {
            let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(value))].into_iter().collect();
            assert_eq!(is_json(&headers), json, "{value}");
        }
    }
}
