//! The two requests of a device without a token: one sends the code, the other polls for approval.

use super::{
    auth,
    json::{answer_with, read, refuse},
    state::Server,
};
use crate::{
    admission::caller::Caller,
    base::machine,
    devices::{audit_rows::Actor, pairing::CodeRefusal, registry::clean_name, requests::Outcome},
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
use std::{sync::Arc, time::Duration};

/// Longest time a poll is held open.
const POLL: Duration = Duration::from_secs(25);

/// Routes that need no token.
pub(crate) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/pair", post(ask)).route("/pair/wait", post(wait))
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

async fn ask(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    let Ask { code, name } = read(&server, &caller, request).await?;
    let devices = &server.services.devices;
    let refusal = match devices.claim(&code, &name, caller.address) {
        Ok((request, compare, expires_at)) => {
            let actor = Actor { device: None, name: clean_name(&name), address: caller.address };
            devices.record(&actor, "pair.asked", "").await;
            let answer = json!({"request": request, "compare": compare, "computer": machine::name(),
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

async fn wait(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    let Wait { request } = read(&server, &caller, request).await?;
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
        if tokio::time::timeout(POLL, outcome.recv()).await.is_err() {
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
            ended("declined", &format!("This device was not allowed on {}.", machine::name()))
        }
        Some((Outcome::Expired | Outcome::Displaced, _)) | None => {
            ended("expired", &format!("This device was not approved on {} in time.", machine::name()))
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
