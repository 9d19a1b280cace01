//! Answers to approvals, and resuming agents.

use super::{context::card_prompt, delegate::DEPTH, executor::TurnExecutor, trust::waiting_prompt};
use crate::{
    blocking::run_blocking,
    error::SessionError,
    live::{Mirror, PromptContent, Sender, Session, Ticket, TurnRequest},
    prune,
    store::{ApprovalChange, Asked, Decided, StoreError},
};
use openagents_core::approval::{Approval, ApprovalState, ApprovalSubject, Form, FormAnswers};
use std::sync::Arc;

/// Maximum size of a denial's message, in bytes.
const MESSAGE: usize = 16 << 10;

/// Maximum size of the answers to a form, in bytes.
const ANSWERS: usize = 64 << 10;

/// A client that answers an approval.
#[derive(Debug, Clone, Copy)]
pub struct Answerer<'a> {
    /// The client's name.
    pub by: &'a str,
    pub connection: &'a str,
    /// The user at this computer answers, not a paired device.
    pub is_here: bool,
}

/// The answer to an approval.
#[derive(Debug, Clone, Copy)]
pub struct GivenAnswer<'a> {
    pub option_id: &'a str,
    /// With a denial: a message for the agent.
    pub message: Option<&'a str>,
    /// The answers to a form.
    pub content: Option<&'a FormAnswers>,
}

/// Checks the answers to the form of an approval.
fn check_answers(approval: &Approval, content: Option<&FormAnswers>) -> Result<FormAnswers, SessionError> {
    let form = approval.raw_input.clone().and_then(|form| serde_json::from_value::<Form>(form).ok());
    let form = form.ok_or_else(|| SessionError::internal("the question cannot be read"))?;
    let nothing = FormAnswers::new();
    let checked = form.check(content.unwrap_or(&nothing)).map_err(SessionError::invalid)?;
    let size: usize = checked.values().map(prune::size).sum();
    if size > ANSWERS {
        let most = ANSWERS >> 10;
        return Err(SessionError::invalid(format!("The answers may have {most} KB at most.")));
    }
    Ok(checked)
}

impl TurnExecutor {
    /// Asks again before an agent's edits in a session where they were allowed until the turn ends.
    pub fn ask_before_edits(self: &Arc<Self>, session: &Session, agent: &str) {
        if let Some(agent) = self.context().runner.agent(agent) {
            agent.ask_before_edits(session.id());
        }
    }

    /// Answers an approval of a session or of a delegate below it; a denial may carry a message for the agent. Returns
    /// the approval's new state: the first answer counts. An agent that has exited is resumed, so that it asks again
    /// and gets the answer.
    pub async fn answer(
        self: &Arc<Self>,
        session_id: &str,
        approval_id: &str,
        given: GivenAnswer<'_>,
        answerer: Answerer<'_>,
    ) -> Result<Approval, SessionError> {
        let GivenAnswer { option_id, message, content } = given;
        let Answerer { by, connection, is_here } = answerer;
        let (asked, session) = self.find_approval(session_id, approval_id).await?;
        if asked.approval.subject == ApprovalSubject::Trust && !is_here {
            return Err(SessionError::busy(
                "A folder can be trusted only on the computer itself. Answer there, or run `openagents workspaces trust` \
                 there.",
            ));
        }
        let Some(option) = asked.approval.options.iter().find(|option| option.id == option_id) else {
            let known: Vec<_> = asked.approval.options.iter().map(|option| option.id.as_str()).collect();
            let wanted = openagents_core::text::prefix(option_id, 100);
            let message = format!("Unknown option {wanted}. Options: {}.", known.join(", "));
            return Err(SessionError::invalid(message));
        };
        let message = message.map(str::trim).filter(|message| !message.is_empty());
        let is_denial = option.kind.denies();
        if message.is_some_and(|message| !is_denial || message.len() > MESSAGE) {
            let refused = format!("Only a denial can carry a message, of {} KB at most.", MESSAGE >> 10);
            return Err(SessionError::invalid(refused));
        }
        let content = match asked.approval.subject {
            ApprovalSubject::Question if !is_denial => Some(check_answers(&asked.approval, content)?),
            _ => None,
        };
        let (id, option_id, by) = (approval_id.to_owned(), option_id.to_owned(), by.to_owned());
        let message = message.map(str::to_owned);
        let change = ApprovalChange::Answer { id, option_id, by, message, content };
        let decided = self.decide(&session, change).await?;
        let is_unheard = decided.changed && decided.approval.as_ref().is_some_and(|known| known.unheard);
        if is_unheard && let Err(fault) = self.resume_agent(&asked, &session, connection).await {
            // The answer is stored, and the user can still resume the agent.
            tracing::warn!(%fault, "could not resume an agent");
        }
        Ok(decided.approval.unwrap_or(asked.approval))
    }

    /// Ends the turn that waits for an answer, when a client reports that its user cancelled the question. Has no
    /// effect if the approval is no longer pending.
    pub async fn dismiss(&self, session_id: &str, approval_id: &str) -> Result<(), SessionError> {
        let (asked, session) = self.find_approval(session_id, approval_id).await?;
        if asked.approval.state == ApprovalState::Pending {
            session.cancel();
        }
        Ok(())
    }

    /// Resumes the agent of a withdrawn approval, which may ask again.
    pub async fn resume(
        self: &Arc<Self>,
        session_id: &str,
        approval_id: &str,
        connection: &str,
    ) -> Result<(), SessionError> {
        let (asked, session) = self.find_approval(session_id, approval_id).await?;
        self.resume_agent(&asked, &session, connection).await
    }

    async fn resume_agent(
        self: &Arc<Self>,
        asked: &Asked,
        session: &Arc<Session>,
        connection: &str,
    ) -> Result<(), SessionError> {
        if session.head().running {
            return Err(SessionError::busy("The agent is at work already; resume when it is done."));
        }
        let waiting = waiting_prompt(&asked.approval);
        if waiting.as_ref().is_some_and(Option::is_none) {
            return Err(SessionError::invalid("The prompt was not kept; send it again."));
        }
        let decided = self.decide(session, ApprovalChange::Resume { id: asked.approval.id.clone() }).await?;
        if !decided.changed {
            return Err(SessionError::invalid("There is nothing to resume."));
        }
        let shown = self.mirror_above(session).await?;
        let turn = match card_prompt(asked) {
            // The same prompt asks again and gets the answer.
            Some(prompt) => {
                let by = Sender { shows_cards: true, ..Sender::from(connection) };
                self.prompt(session, session.cwd(), prompt, by)
            }
            None => {
                // An agent that had not started yet never received its prompt.
                let content =
                    waiting.flatten().unwrap_or_else(|| PromptContent::from("Continue.".to_owned()));
                let turn = TurnRequest::prompt(session.cwd(), content.clone(), &connection.into());
                turn.answered_by(&asked.agent_id, session.cwd(), content)
            }
        };
        match self.submit(session, turn).await {
            Ok(ticket) => {
                self.track(hide_at_end(self.clone(), shown, Some(ticket)));
                Ok(())
            }
            Err(fault) => {
                self.decide(session, ApprovalChange::NotResumed { id: asked.approval.id.clone() }).await?;
                hide_at_end(self.clone(), shown, None).await;
                Err(fault)
            }
        }
    }

    /// Mirrors a delegate in the sessions above it again, although their calls have ended, because clients follow it
    /// there. Returns the sessions that were not mirrored before, from the delegate up.
    async fn mirror_above(&self, session: &Arc<Session>) -> Result<Vec<Arc<Session>>, SessionError> {
        let (mut shown, mut below) = (Vec::new(), session.clone());
        while let Some(link) = below.parent().cloned() {
            let Some(above) = self.sessions().find(&link.session_id).await? else { break };
            let (showing, mirror) = (below.clone(), Mirror::new(above.clone(), &link.call_id, below.id()));
            if run_blocking(move || showing.mirror_to(mirror)).await == Some(true) {
                shown.push(below);
            }
            below = above;
        }
        Ok(shown)
    }

    /// Changes an approval, and shows it in those sessions above whose delegation has ended and that no longer mirror
    /// it.
    async fn decide(&self, session: &Arc<Session>, change: ApprovalChange) -> Result<Decided, SessionError> {
        let deciding = session.clone();
        let decided =
            run_blocking(move || deciding.decide(change)).await.unwrap_or(Err(StoreError::Closed))?;
        let (mut news, mut below) = (decided.update().into_iter().collect::<Vec<_>>(), session.clone());
        while !news.is_empty()
            && let Some(link) = below.parent().cloned()
            && let Some(above) = self.sessions().find(&link.session_id).await?
        {
            let mirror = Mirror::new(above.clone(), &link.call_id, below.id());
            let shown_above = run_blocking(move || {
                // An active mirror shows it already, as do those above.
                if below.is_mirrored() {
                    return Vec::new();
                }
                let copy = mirror.copy(&news);
                mirror.show(copy.clone());
                copy
            });
            (news, below) = (shown_above.await.unwrap_or_default(), above);
        }
        Ok(decided)
    }

    /// Finds an approval and its session: the named one, or that of a delegate below it.
    async fn find_approval(
        &self,
        session_id: &str,
        approval_id: &str,
    ) -> Result<(Asked, Arc<Session>), SessionError> {
        let unknown = || {
            let id = openagents_core::text::prefix(approval_id, 100);
            SessionError::not_found(format!("There is no approval {id} in this session."))
        };
        let find = |id: String| self.sessions().with_store(move |store| store.approval(&id));
        let asked = find(approval_id.to_owned()).await?.ok_or_else(unknown)?;
        let session = self.sessions().find(&asked.session_id).await?.ok_or_else(unknown)?;
        let (mut at, mut parent) = (asked.session_id.clone(), session.parent().cloned());
        for _ in 0..DEPTH {
            let Some(above) = parent.filter(|_| at != session_id) else { break };
            let id = above.session_id.clone();
            parent =
                self.sessions().with_store(move |store| store.session(&id)).await?.and_then(|row| row.parent);
            at = above.session_id;
        }
        if at != session_id {
            return Err(unknown());
        }
        // Read again: loading the session may have withdrawn it.
        Ok((find(approval_id.to_owned()).await?.ok_or_else(unknown)?, session))
    }
}

/// Ends the mirroring started by [`TurnExecutor::mirror_above`] when the turn has ended.
async fn hide_at_end(turns: Arc<TurnExecutor>, shown: Vec<Arc<Session>>, ticket: Option<Ticket>) {
    if let Some(ticket) = ticket {
        // A turn that panicked has ended too.
        let _ = ticket.await;
    }
    let hide = move || {
        for session in shown {
            session.stop_mirroring("the turn ended before this finished", &turns.sessions().given_up());
        }
    };
    run_blocking(hide).await;
}
