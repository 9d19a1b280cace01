//! The calls that start or stop following a session.

use crate::{base::error::Fault, connection::outbox::follow::From, connection::outbox::orders::Out};
use crate::{
    protocol::acp::from_wire,
    protocol::acp::methods::{Answer, Methods, wire},
};
use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, LoadSessionRequest, LoadSessionResponse, ResumeSessionRequest,
    ResumeSessionResponse,
};
use openagents_sessions::Session;
use serde_json::json;
use std::sync::Arc;

/// Updates above which a client gets the folded log instead of every update it has missed.
const LONG: u64 = 2_000;

/// A session to follow once the answer is sent, and the starting position.
pub(super) struct Following {
    session: Arc<Session>,
    from: From,
    /// The queue change that the answer reports.
    queue: Option<u64>,
}

impl Following {
    /// Follows a new session from its first update.
    pub(super) fn from_the_beginning(session: Arc<Session>) -> Self {
        Self { session, from: From::Update(0), queue: None }
    }
}

impl Methods {
    /// A client that has missed many updates, or claims more than exist, gets the folded log.
    pub(super) async fn attach(&self, request: from_wire::Attach) -> Result<Answer, Fault> {
        let from_wire::Attach { session_id, since, snapshot } = request;
        let session = self.session(&session_id).await?;
        let (head, waits) = (session.head(), session.queue());
        let is_far = since > head.seq || head.seq - since > LONG;
        let is_folded = is_far && snapshot != Some(false);
        let result = json!({
            "sessionId": session.id(),
            "seq": head.seq,
            "running": waits.running,
            "mode": *session.mode(),
            "title": session.title(),
            "approvals": session.approvals(),
            "queue": waits.queued,
            "snapshot": is_folded.then(|| json!({"seq": head.seq, "since": since})),
        });
        let from = if is_folded { From::Folded(head.seq) } else { From::Update(since.min(head.seq)) };
        Ok(Answer::AndFollow(result, Following { session, from, queue: Some(waits.changes) }))
    }

    pub(super) async fn detach(&self, session_id: &str) -> Result<Answer, Fault> {
        let session = self.session(session_id).await?;
        self.send(Out::Leave(session)).await;
        Ok(Answer::Now(json!({})))
    }

    pub(super) async fn load(&self, request: LoadSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        let seq = session.head().seq;
        Ok(Answer::After(wire(&LoadSessionResponse::new().modes(self.modes(&session))), session, seq))
    }

    pub(super) async fn resume(&self, request: ResumeSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        let from = From::Update(session.head().seq);
        let response = ResumeSessionResponse::new().modes(self.modes(&session));
        Ok(Answer::AndFollow(wire(&response), Following { session, from, queue: None }))
    }

    pub(super) async fn close(&self, request: CloseSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        session.cancel();
        self.services().turns.close(&session);
        self.send(Out::Leave(session)).await;
        Ok(Answer::Now(wire(&CloseSessionResponse::new())))
    }

    pub(super) async fn answer_and_follow(&self, answer: String, following: Following) {
        let Following { session, from, queue } = following;
        self.send(Out::Follow { session, from, queue, answer: Some(answer) }).await;
    }

    /// Answers once the session has been sent up to `seq`.
    pub(super) async fn answer_after(&self, answer: String, session: Arc<Session>, seq: u64) {
        let from = if seq > LONG { From::Folded(seq) } else { From::Update(0) };
        self.send(Out::Follow { session: session.clone(), from, queue: None, answer: None }).await;
        self.send(Out::After { session, seq, text: answer }).await;
    }

    /// Finds a session, live or stored.
    pub(super) async fn session(&self, id: &str) -> Result<Arc<Session>, Fault> {
        let found = self.services().sessions.find(id).await?;
        found.ok_or_else(|| {
            Fault::not_found(format!("There is no session {}.", openagents_sessions::prune::head(id, 128)))
        })
    }
}
