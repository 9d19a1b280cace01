//! What agents ask for, as clients see it: ours in the log, any other ACP client by the protocol's own request.

use super::to_wire;
use crate::{
    access::Scope,
    rpc::{self, Id},
};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, PROTOCOL_LEVEL_METHOD_NAMES, RequestPermissionOutcome, RequestPermissionResponse,
};
use openagents_core::approval::Approval;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Params of `_openagents/approvals/answer`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) session_id: String,
    pub(crate) approval_id: String,
    pub(crate) option_id: String,
}

/// Params of `_openagents/approvals/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resume {
    pub(crate) session_id: String,
    pub(crate) approval_id: String,
}

/// What one client was asked. Both halves of its connection know it.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// It finds approvals in the log.
    reads_the_log: AtomicBool,
    /// By approval, whose id is that of the request as well.
    asked: Mutex<HashMap<String, Request>>,
}

#[derive(Debug)]
struct Request {
    session_id: Arc<str>,
    /// No answer came yet.
    open: bool,
}

impl Requests {
    /// The client has said in `initialize` whether it finds approvals in the log.
    pub(super) fn client_reads_the_log(&self, reads: bool) {
        self.reads_the_log.store(reads, Ordering::Relaxed);
    }

    /// Returns the frames that bring the client up to date with what is waited for in a session.
    pub(super) fn update(&self, session_id: &Arc<str>, pending: &[Approval], scope: Scope) -> Vec<String> {
        // Whoever may not answer is not asked, and whom nobody asks any more is told so.
        let pending = if scope < Scope::Approve { &[] } else { pending };
        if self.reads_the_log.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut asked = self.asked();
        let mut frames = Vec::new();
        asked.retain(|id, request| {
            let is_over = request.session_id == *session_id && pending.iter().all(|known| known.id != *id);
            if is_over && request.open {
                let params = json!({"requestId": id});
                frames.push(rpc::notification(PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, &params));
            }
            !is_over
        });
        for approval in pending {
            // Who follows the delegate as well is asked once.
            if asked.contains_key(&approval.id) {
                continue;
            }
            let request = Request { session_id: session_id.clone(), open: true };
            asked.insert(approval.id.clone(), request);
            let params = to_wire::permission(session_id, approval);
            frames.push(rpc::request(&approval.id, CLIENT_METHOD_NAMES.session_request_permission, &params));
        }
        frames
    }

    /// Reads the answer to a request of ours; `None` for what is no answer, or answers nothing that was asked.
    pub(super) fn answer(&self, id: &Id, result: Value) -> Option<Answer> {
        let id: String = serde_json::from_str(id.as_str()).ok()?;
        let mut asked = self.asked();
        let request = asked.get_mut(&id).filter(|request| request.open)?;
        let response =
            serde_json::from_value::<RequestPermissionResponse>(result).map(|response| response.outcome);
        let Ok(RequestPermissionOutcome::Selected(selected)) = response else {
            // See `forget`.
            asked.remove(&id);
            return None;
        };
        request.open = false;
        let option_id = selected.option_id.0.to_string();
        Some(Answer { session_id: request.session_id.to_string(), approval_id: id, option_id })
    }

    /// The answer was none that could be taken: the next time that this client follows the session it is asked again.
    pub(super) fn forget(&self, approval_id: &str) {
        self.asked().remove(approval_id);
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<String, Request>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
