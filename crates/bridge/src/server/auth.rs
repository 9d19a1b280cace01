//! Authentication of a request by its token. All tokens are compared in constant time.

use super::state::Server;
use axum::{
    Json,
    body::to_bytes,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use openagents_connection::{
    admission::{DelayedRefusal, unauthenticated::Caller},
    headers::{is_json, list_items},
    pass::Pass,
};
use openagents_core::json_text;
use openagents_wire::Listener;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const SUBPROTOCOL: &str = "openagents.v1";

/// Prefix of the token as a subprotocol: a browser cannot send a header with an upgrade, so it offers the token as a
/// second subprotocol.
const TOKEN_PROTOCOL: &str = "openagents.token.";

/// Returns the pass for the token of a request. The local token and tab tokens are valid only on this machine, not
/// through a proxy.
pub(crate) fn authenticate(server: &Server, caller: &Caller, headers: &HeaderMap) -> Option<Arc<Pass>> {
    let (token, devices) = (bearer_token(headers)?, &server.services.devices);
    if server.token.matches(token) || devices.tabs.is_tab_token(token) {
        return is_local(server, caller, headers).then(|| devices.local.clone());
    }
    devices.authenticate(token)
}

/// Returns whether a request may be exchanged for the tokens of a tab: it comes from this machine and has the local
/// token, a tab token or the reload token.
pub(crate) fn may_exchange(server: &Server, caller: &Caller, headers: &HeaderMap) -> bool {
    let tabs = &server.services.devices.tabs;
    let is_known =
        |token: &str| server.token.matches(token) || tabs.is_tab_token(token) || tabs.is_reload_token(token);
    bearer_token(headers).is_some_and(is_known) && is_local(server, caller, headers)
}

/// Returns whether a request comes from this machine, not through a proxy.
pub(crate) fn is_local(server: &Server, caller: &Caller, headers: &HeaderMap) -> bool {
    caller.listener == Listener::Loopback && !server.hosts().is_proxied(headers)
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
    match given {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Some(token.trim()),
        _ => list_items(headers, &header::SEC_WEBSOCKET_PROTOCOL)
            .find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL)),
    }
}

/// Returns whether the client offered our subprotocol, which the server must then select.
pub(crate) fn offers_protocol(headers: &HeaderMap) -> bool {
    list_items(headers, &header::SEC_WEBSOCKET_PROTOCOL).any(|protocol| protocol == SUBPROTOCOL)
}

/// Delays the refusal of a failed authentication, longer each time, unless too many refusals are delayed already. Frees
/// the connection's slot.
pub(crate) async fn delay_refusal(server: &Server, caller: &Caller) -> Option<DelayedRefusal> {
    let delay = server.back_off.failed(caller.address);
    caller.unauthenticated.refuse();
    let refusal = server.limits.delayed_refusal(caller.address)?;
    tokio::time::sleep(delay).await;
    Some(refusal)
}

const BODY: usize = 4 << 10;

pub(super) async fn read_json<T: DeserializeOwned>(
    server: &Server,
    caller: &Caller,
    request: Request,
) -> Result<T, Response> {
    let headers = request.headers();
    if !server.hosts().allow_origin(headers, caller.listener) {
        return Err(refuse(StatusCode::FORBIDDEN, "origin", "This page may not connect."));
    }
    if !is_json(headers) {
        let sentence = "The content type must be application/json.";
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", sentence));
    }
    let body = to_bytes(request.into_body(), BODY).await.map_err(|_| {
        refuse(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &format!("The body is larger than {BODY} bytes."))
    })?;
    json_text::from_slice(&body)
        .map_err(|error| refuse(StatusCode::BAD_REQUEST, "invalid", &format!("Invalid body: {error}.")))
}

pub(super) fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    answer_with(status, json!({"code": code, "message": message}))
}

pub(super) fn answer_with(status: StatusCode, answer: Value) -> Response {
    (status, [(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use openagents_remote::token::Token;

    fn token() -> Token {
        Token { text: "ab".repeat(32), file: "token".into() }
    }

    #[test]
    fn tokens_are_read_from_headers() {
        let good = "ab".repeat(32);
        for (name, value, expected) in [
            (header::AUTHORIZATION, format!("Bearer {good}"), true),
            (header::AUTHORIZATION, format!("bearer {good}"), true),
            (header::AUTHORIZATION, format!("Basic {good}"), false),
            (header::AUTHORIZATION, format!("Bearer {}", "AB".repeat(32)), false),
            (header::AUTHORIZATION, "Bearer ".to_owned(), false),
            (header::AUTHORIZATION, format!("Bearer {}", &good[1..]), false),
            (header::SEC_WEBSOCKET_PROTOCOL, format!("openagents.v1, openagents.token.{good}"), true),
            (header::SEC_WEBSOCKET_PROTOCOL, format!("openagents.token.{good},openagents.v1"), true),
            (header::SEC_WEBSOCKET_PROTOCOL, "openagents.v1".to_owned(), false),
            (header::SEC_WEBSOCKET_PROTOCOL, format!("openagents.v1, openagents.token.{good}0"), false),
            (header::COOKIE, format!("token={good}"), false),
        ] {
            let headers: HeaderMap = [(name, HeaderValue::from_str(&value).unwrap())].into_iter().collect();
            assert_eq!(
                bearer_token(&headers).is_some_and(|given| token().matches(given)),
                expected,
                "{value}"
            );
        }
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
