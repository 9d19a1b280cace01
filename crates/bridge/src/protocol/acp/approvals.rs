//! Approvals as clients see them: our clients read them from the log, other ACP clients get the protocol's permission
//! request.

use super::permission;
use crate::base::{rpc, rpc::Id, scope::Scope};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, PROTOCOL_LEVEL_METHOD_NAMES, RequestPermissionOutcome, RequestPermissionResponse,
};
use openagents_core::approval::Approval;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Params of `_openagents/approvals/answer`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalAnswer {
    pub(crate) session_id: String,
    pub(crate) approval_id: String,
    pub(crate) option_id: String,
    /// A message for the agent, sent with a denial.
    #[serde(default)]
    pub(crate) message: Option<String>,
}

/// A client's answer to a permission request.
#[derive(Debug)]
pub(super) enum PermissionAnswer {
    Chosen(ApprovalAnswer),
    /// The client's user has cancelled the turn.
    Cancelled {
        session_id: String,
        approval_id: String,
    },
}

/// Params of `_openagents/approvals/revoke`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleRevocation {
    /// The rule to revoke; `None` for all.
    #[serde(default)]
    pub(crate) approval_id: Option<String>,
}

/// Params of `_openagents/approvals/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalResume {
    pub(crate) session_id: String,
    pub(crate) approval_id: String,
}

/// The permission requests sent to one client. Shared by both halves of its connection.
#[derive(Debug, Default)]
pub(super) struct PermissionRequests {
    /// Whether the client reads approvals from the log.
    reads_the_log: AtomicBool,
    /// Requests by approval id, which is also the id of the request.
    asked: Mutex<HashMap<String, Request>>,
}

#[derive(Debug)]
struct Request {
    session_id: Arc<str>,
    /// Not answered yet.
    open: bool,
}

impl PermissionRequests {
    /// Sets whether the client reads approvals from the log, as declared in `initialize`.
    pub(super) fn client_reads_the_log(&self, reads: bool) {
        self.reads_the_log.store(reads, Ordering::Relaxed);
    }

    pub(super) fn reads_the_log(&self) -> bool {
        self.reads_the_log.load(Ordering::Relaxed)
    }

    /// Returns the frames that bring the client up to date with the pending approvals of a session.
    pub(super) fn update(&self, session_id: &Arc<str>, pending: &[Approval], scope: Scope) -> Vec<String> {
        // A client that may not answer gets no requests; open ones are cancelled.
        let pending = if scope < Scope::Approve { &[] } else { pending };
        if self.reads_the_log() {
            return Vec::new();
        }
        let mut asked = self.asked.lock();
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
            // A client that also follows the delegate gets one request.
            if asked.contains_key(&approval.id) {
                continue;
            }
            let request = Request { session_id: session_id.clone(), open: true };
            asked.insert(approval.id.clone(), request);
            let params = permission::request(session_id, approval);
            frames.push(rpc::request(&approval.id, CLIENT_METHOD_NAMES.session_request_permission, &params));
        }
        frames
    }

    /// Parses the answer to a request of ours. `None` if it is invalid or matches no open request.
    pub(super) fn answer(&self, id: &Id, result: Value) -> Option<PermissionAnswer> {
        let id: String = serde_json::from_str(id.as_str()).ok()?;
        let mut asked = self.asked.lock();
        let request = asked.get_mut(&id).filter(|request| request.open)?;
        let session_id = request.session_id.to_string();
        match serde_json::from_value::<RequestPermissionResponse>(result).map(|response| response.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => {
                request.open = false;
                let option_id = selected.option_id.0.to_string();
                let answer = ApprovalAnswer { session_id, approval_id: id, option_id, message: None };
                Some(PermissionAnswer::Chosen(answer))
            }
            Ok(RequestPermissionOutcome::Cancelled) => {
                request.open = false;
                Some(PermissionAnswer::Cancelled { session_id, approval_id: id })
            }
            // An invalid answer: see `forget`.
            _ => {
                asked.remove(&id);
                None
            }
        }
    }

    /// Forgets a request whose answer was rejected: it is sent again when the client next follows the session.
    pub(super) fn forget(&self, approval_id: &str) {
        self.asked.lock().remove(approval_id);
    }
}
