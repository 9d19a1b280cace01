//! The calls that start or stop following a session.

use super::{answer::Answer, answer::Following, answer::LONG, answer::wire, from_wire, methods::Methods};
use crate::{
    base::error::Fault,
    connection::{outbox::follow::From, outbox::orders::Out},
};
use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, LoadSessionRequest, LoadSessionResponse, ResumeSessionRequest,
    ResumeSessionResponse,
};
use serde_json::json;

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
}
