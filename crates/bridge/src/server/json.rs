//! Requests and answers with a JSON body, for our own pages and for programs.

use super::state::Server;
use crate::{admission::caller::Caller, base::headers::is_json};
use axum::{
    Json,
    body::to_bytes,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use openagents_core::json_text;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Maximum bytes of a body.
const BODY: usize = 4 << 10;

/// Reads a request from one of our own pages or from a program.
pub(super) async fn read<T: DeserializeOwned>(
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
