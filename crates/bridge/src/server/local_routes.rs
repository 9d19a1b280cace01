//! The requests that clients on this machine send before they connect: for the proof that this bridge issued their
//! token, and for a tab to exchange its token for the tokens of this start.

use super::{
    auth,
    json::{answer_with, read, refuse},
    state::Server,
};
use crate::{
    admission::caller::Caller,
    base::proof::{self, key_id, prove},
};
use axum::{
    Extension, Router,
    extract::{Request, State},
    http::StatusCode,
    response::Response,
    routing::post,
};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Routes of the loopback listener.
pub(crate) fn routes() -> Router<Arc<Server>> {
    Router::new().route(proof::PROOF, post(give_proof)).route("/tab", post(exchange))
}

#[derive(Deserialize)]
struct Question {
    /// The id of the token; see [`key_id`].
    token: String,
    nonce: String,
}

/// An empty body.
#[derive(Deserialize)]
struct Empty {}

/// Returns the proof. Needs no token and is not delayed, because it reveals nothing about the token.
async fn give_proof(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    if !auth::is_local(&server, &caller, request.headers()) {
        let sentence = "A connection through a proxy is protected by its certificate.";
        return Err(refuse(StatusCode::FORBIDDEN, "proxied", sentence));
    }
    let Question { token, nonce } = read(&server, &caller, request).await?;
    let own = Some(server.token.hash()).filter(|hash| key_id(hash) == token);
    let Some(hash) = own.or_else(|| server.services.devices.hash_of(&token)) else {
        return Ok(answer_with(StatusCode::OK, json!({})));
    };
    // Proves the bound port, because the client chooses the port in `Host`.
    let port = server.services.network.loopback.port();
    let proof = prove(&hash, &nonce, port)
        .ok_or_else(|| refuse(StatusCode::BAD_REQUEST, "invalid", "A nonce has 64 hexadecimal digits."))?;
    Ok(answer_with(StatusCode::OK, json!({"port": port, "proof": proof})))
}

/// Gives a tab its tokens; see [`crate::devices::tabs`].
async fn exchange(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    let may_exchange = auth::may_exchange(&server, &caller, request.headers());
    let Empty {} = read(&server, &caller, request).await?;
    if !may_exchange {
        server.services.devices.refused(caller.address, "token");
        let _held = auth::delay_refusal(&server, &caller).await;
        return Err(refuse(StatusCode::UNAUTHORIZED, "token", "The token is missing or wrong."));
    }
    match server.services.devices.tabs.tokens().await {
        Ok(tokens) => Ok(answer_with(StatusCode::OK, json!(tokens))),
        Err(fault) => {
            tracing::error!(%fault, "could not give a browser tab its tokens");
            Err(refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal", &fault.message))
        }
    }
}
