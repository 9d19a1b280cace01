//! People's answers to what agents ask, whichever client they come from.

use super::{beside, hub::Hub, session::Session, turn::TurnRequest};
use crate::{
    error::Fault,
    store::{ApprovalChange, Asked, Parent, StoreError},
};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{Delegated, SessionUpdate},
};
use std::sync::Arc;

impl Hub {
    /// Takes a person's answer to an approval of a session, or of its delegate. Returns how the approval stands then: of
    /// two answers the first counts.
    pub(crate) async fn answer(
        &self,
        session_id: &str,
        approval_id: &str,
        option_id: &str,
        by: &str,
    ) -> Result<Approval, Fault> {
        let (asked, session) = self.asked(session_id, approval_id).await?;
        if asked.approval.options.iter().all(|option| option.id != option_id) {
            let known: Vec<_> = asked.approval.options.iter().map(|option| option.id.as_str()).collect();
            let wanted = crate::prune::head(option_id, 100);
            let message = format!("There is no option {wanted}; there are {}.", known.join(", "));
            return Err(Fault::invalid_params(message));
        }
        let (id, option_id, by) = (approval_id.to_owned(), option_id.to_owned(), by.to_owned());
        let answering = session.clone();
        let decided = beside(move || answering.decide(ApprovalChange::Answer { id, option_id, by })).await;
        let decided = decided.unwrap_or(Err(StoreError::Closed))?;
        let approval = decided.approval.unwrap_or(asked.approval);
        // Its delegation is over: nobody else tells the session that delegated.
        if decided.changed
            && !session.is_shown_elsewhere()
            && let Some(Parent { session_id, call_id }) = session.parent().cloned()
            && let Some(parent) = self.find(&session_id).await?
        {
            let update = SessionUpdate::Delegated(Delegated {
                parent_call_id: call_id,
                child_session_id: session.id().to_string(),
                update: Box::new(SessionUpdate::Approval(approval.clone())),
            });
            beside(move || parent.append(vec![update])).await;
        }
        Ok(approval)
    }

    /// Lets the agent go on whose question was withdrawn: it may ask again.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        session_id: &str,
        approval_id: &str,
        connection: &str,
    ) -> Result<Arc<Session>, Fault> {
        let (asked, session) = self.asked(session_id, approval_id).await?;
        if asked.approval.state == ApprovalState::Pending && session.head().running {
            return Err(Fault::invalid_params(
                "The agent still waits for an answer; there is nothing to resume.",
            ));
        }
        let text = "Continue.".to_owned();
        let turn = TurnRequest::prompt(session.cwd(), text.clone(), connection);
        let turn = turn.answered_by(&asked.agent_id, session.cwd(), text);
        self.submit(&session, turn).await?;
        Ok(session)
    }

    /// Finds an approval and the session in which it was asked: the one that is named, or that of its delegate.
    async fn asked(&self, session_id: &str, approval_id: &str) -> Result<(Asked, Arc<Session>), Fault> {
        let unknown = || {
            let id = crate::prune::head(approval_id, 100);
            Fault::not_found(format!("There is no approval {id} in this session."))
        };
        let find = |id: String| self.read(move |store| store.approval(&id));
        let asked = find(approval_id.to_owned()).await?.ok_or_else(unknown)?;
        let session = self.find(&asked.session_id).await?.ok_or_else(unknown)?;
        let is_in = *session_id == *asked.session_id
            || session.parent().is_some_and(|parent| parent.session_id == session_id);
        if !is_in {
            return Err(unknown());
        }
        // To find the session may have withdrawn it.
        Ok((find(approval_id.to_owned()).await?.ok_or_else(unknown)?, session))
    }
}
