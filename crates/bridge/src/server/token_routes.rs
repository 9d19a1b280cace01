//! The requests that clients send before they connect. On this machine, for the proof that this bridge issued their
//! token, and for a tab to exchange its token for the tokens of this start. From a device without a token, one with the
//! pairing code, and one that polls for approval.

use super::{
    auth::{self, answer_with, read_json, refuse},
    state::Server,
};
use axum::{
    Extension, Router,
    extract::{Request, State},
    http::StatusCode,
    response::Response,
    routing::post,
};
use openagents_connection::{admission::unauthenticated::Caller, pass};
use openagents_remote::{
    devices::{audit_rows::Actor, pairing::CodeRefusal, registry::clean_name, requests::Outcome},
    token::{self, key_id, prove},
};
use serde::Deserialize;
use serde_json::json;
use std::{sync::Arc, time::Duration};

const POLL_TIMEOUT: Duration = Duration::from_secs(25);

pub(crate) fn local_routes() -> Router<Arc<Server>> {
    Router::new().route(token::PROOF, post(give_proof)).route("/tab", post(exchange_tab_token))
}

pub(crate) fn pairing_routes() -> Router<Arc<Server>> {
    Router::new().route("/pair", post(request_pairing)).route("/pair/wait", post(wait_for_approval))
}

#[derive(Deserialize)]
struct Question {
    /// The id of the token; see [`key_id`].
    token: String,
    nonce: String,
}

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
    let Question { token, nonce } = read_json(&server, &caller, request).await?;
    let own = Some(server.token.hash()).filter(|hash| key_id(hash) == token);
    let Some(hash) = own.or_else(|| server.services.devices.token_hash(&token)) else {
        return Ok(answer_with(StatusCode::OK, json!({})));
    };
    // Proves the bound port, because the client chooses the port in `Host`.
    let port = server.services.network.loopback.port();
    let proof = prove(&hash, &nonce, port)
        .ok_or_else(|| refuse(StatusCode::BAD_REQUEST, "invalid", "A nonce has 64 hexadecimal digits."))?;
    Ok(answer_with(StatusCode::OK, json!({"port": port, "proof": proof})))
}

async fn exchange_tab_token(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    let may_exchange = auth::may_exchange(&server, &caller, request.headers());
    let Empty {} = read_json(&server, &caller, request).await?;
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

#[derive(Deserialize)]
struct Ask {
    code: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Wait {
    request: String,
}

async fn request_pairing(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    let Ask { code, name } = read_json(&server, &caller, request).await?;
    let devices = &server.services.devices;
    let refusal = match devices.claim(&code, &name, caller.address) {
        Ok((request, compare, expires_at)) => {
            let actor = Actor { device: None, name: clean_name(&name), address: caller.address };
            devices.record(&actor, "pair.asked", "").await;
            let answer = json!({"request": request, "compare": compare, "computer": pass::computer_name(),
                "expiresAt": expires_at});
            return Ok(answer_with(StatusCode::OK, answer));
        }
        Err(refusal) => refusal,
    };
    devices.refused(caller.address, "pairing code");
    let (code, message) = match refusal {
        CodeRefusal::Random(error) => {
            tracing::error!(%error, "could not pair a device");
            let sentence = "This computer can't pair devices right now.";
            return Err(refuse(StatusCode::INTERNAL_SERVER_ERROR, "random", sentence));
        }
        // Not delayed, because it reveals nothing about the code.
        CodeRefusal::SlowDown(wait) => {
            let retry = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
            return Err(slow_down("Too many pairing attempts. Try again in a moment.", retry));
        }
        CodeRefusal::Expired => ("expired", "This code has expired. Show a new one on the desktop."),
        CodeRefusal::Used => {
            ("used", "Another device already used this code. Show a new one on the desktop.")
        }
        CodeRefusal::Wrong => ("wrong_code", "Wrong code. Check the code on the desktop."),
    };
    let _held = auth::delay_refusal(&server, &caller).await;
    Err(refuse(StatusCode::FORBIDDEN, code, message))
}

async fn wait_for_approval(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    let Wait { request } = read_json(&server, &caller, request).await?;
    let devices = &server.services.devices;
    let outcome = devices.state().pairing.outcome(&request);
    let Some(mut outcome) = outcome else {
        devices.refused(caller.address, "pairing request");
        let _held = auth::delay_refusal(&server, &caller).await;
        return Ok(ended("expired", "This request has ended. Send the code again."));
    };
    if outcome.get().is_none() {
        let Ok(_poll) = devices.polls.try_acquire() else {
            return Err(slow_down("Too many devices are waiting. Try again in a moment.", 1000));
        };
        let _hold = caller.unauthenticated.hold();
        if tokio::time::timeout(POLL_TIMEOUT, outcome.recv()).await.is_err() {
            return Ok(answer_with(StatusCode::OK, json!({"state": "waiting"})));
        }
    }
    let fetched = devices.state().pairing.fetch(&request);
    Ok(match fetched {
        Some((Outcome::Allowed, Some(grant))) => {
            let device = json!({"id": grant.device, "name": grant.name});
            let answer =
                json!({"state": "allowed", "token": grant.token, "device": device, "scope": grant.scope});
            answer_with(StatusCode::OK, answer)
        }
        Some((Outcome::Allowed, None)) => {
            ended("expired", "This device already has its token. Pair it again with a new code.")
        }
        Some((Outcome::Declined, _)) => {
            ended("declined", &format!("This device was not allowed on {}.", pass::computer_name()))
        }
        Some((Outcome::Expired | Outcome::Displaced, _)) | None => {
            ended("expired", &format!("This device was not approved on {} in time.", pass::computer_name()))
        }
    })
}

fn ended(state: &str, message: &str) -> Response {
    answer_with(StatusCode::OK, json!({"state": state, "message": message}))
}

fn slow_down(message: &str, retry_after_ms: u64) -> Response {
    let answer = json!({"code": "slow_down", "message": message, "retryAfterMs": retry_after_ms});
    answer_with(StatusCode::TOO_MANY_REQUESTS, answer)
}
