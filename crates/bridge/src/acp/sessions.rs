//! The calls that create or delete a session, change its mode, and start or stop following it.

use super::{
    answer::{Answer, Following, LONG},
    calls::{Methods, now, served},
    editor_options,
    from_wire::{self, policy},
    history,
    history_calls::stopped,
    to_wire,
};
use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    ForkSessionRequest, ForkSessionResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOptionValue,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
};
use openagents_connection::{
    fault::Fault,
    feed::Feed,
    outbox::dialect::{Out, ReadFrom},
    pass::Who,
    rpc,
};
use openagents_core::{text::prefix, trust::AgentFiles};
use openagents_sessions::{
    KnownSession, Session, SessionError, SessionRegistry, TrustedWorkspaces, run_blocking, store,
};
use openagents_wire::{
    self as wire, AgentSession, AgentSessions, AgentSessionsQuery, AttachParams, AttachResult,
    ContinueSession, DeleteAgentSession, Method, NewSessionMeta, Scope, SessionRef, SnapshotMark,
    TrustResult, TrustSnapshot, TrustedWorkspace, methods,
};
use serde_json::json;
use std::{path::Path, sync::Arc};

impl Methods {
    pub(super) async fn new_session(&self, request: NewSessionRequest) -> Result<Answer, Fault> {
        // Only an admin may open an unknown folder; a device may use known ones.
        // Only an admin decides which data may leave this machine.
        let ours: NewSessionMeta = match self.lease.pass.scope() {
            Scope::Admin => wire::ours(request.meta.as_ref()),
            _ => NewSessionMeta::default(),
        };
        let cwd = match ours.open {
            true => self.services.sessions.open_workspace(&request.cwd).await?,
            false => self.services.sessions.admit(&request.cwd).await?,
        };
        let session = self.services.sessions.create_with(&cwd, policy(ours.policy)).await?;
        let response = NewSessionResponse::new(session.id().clone())
            .modes(self.modes(&session).await)
            .config_options(self.options(&session).await);
        let result = rpc::value(&response);
        Ok(Answer::AndFollow(result, Following::from_the_beginning(session)))
    }

    /// Deletes a session. Only an admin may delete a session that has prompts. A client that may prompt may delete an
    /// empty session that it could not start.
    pub(super) async fn delete(&self, method: &str, request: DeleteSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        let (scope, devices) = (self.lease.pass.scope(), &self.services.devices);
        let is_deleted = match scope {
            Scope::Admin => self.services.turns.delete(&session).await.map(|()| true)?,
            _ => self.services.turns.delete_unprompted(&session).await?,
        };
        if !is_deleted {
            devices.refused_call(&self.actor(), method).await;
            return Err(Fault::out_of_scope(scope));
        }
        if self.lease.pass.who != Who::Local {
            devices.record(&self.actor(), method, session.id()).await;
        }
        Ok(Answer::Now(rpc::value(&DeleteSessionResponse::new())))
    }

    /// Branches a session: creates one that starts with the same log.
    pub(super) async fn fork(&self, request: ForkSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        let branch = self.services.turns.branch(&session).await?;
        let response = ForkSessionResponse::new(branch.id().clone())
            .modes(self.modes(&branch).await)
            .config_options(self.options(&branch).await);
        Ok(Answer::Now(rpc::value(&response)))
    }

    /// Lists the sessions that an agent keeps itself. Later, because the agent has to start.
    pub(super) async fn agent_sessions(&self, query: AgentSessionsQuery) -> Result<Answer, Fault> {
        // A device that may not read other agents' sessions can't see their titles either.
        self.services.past_sessions.history_for(&self.lease.pass.who)?;
        let (turns, cwd) = (self.services.turns.clone(), self.services.sessions.admit(&query.cwd).await?);
        Ok(Answer::Later(Box::pin(async move {
            let sessions = turns.own_sessions(&query.agent, cwd).await?;
            let row = |KnownSession { own, session_id }| AgentSession {
                id: own.id,
                title: own.title,
                updated_at: own.updated_at,
                session_id,
            };
            Ok(rpc::value(&AgentSessions { sessions: sessions.into_iter().map(row).collect() }))
        })))
    }

    pub(super) async fn continue_session(&self, request: ContinueSession) -> Result<Answer, Fault> {
        let ContinueSession { agent, cwd, id, copy } = request;
        if copy && !self.can_fork(&agent).await? {
            return Err(Fault::invalid_params(format!(
                "{agent} cannot copy a session; exit it where it is open."
            )));
        }
        let history = self.services.past_sessions.history_for(&self.lease.pass.who)?;
        let cwd = self.services.sessions.admit(&cwd).await?;
        let wanted = (agent.clone(), cwd.clone(), id.clone());
        let rows = self.services.past_sessions.rows_for(&self.lease.pass.who);
        let find = move || history::find_own(&history, &rows, (&wanted.0, &wanted.1, &wanted.2), copy);
        let found = run_blocking(find).await.ok_or_else(stopped)??;
        if let Some(gone) = found.as_ref().filter(|row| row.gone.is_some()) {
            self.restore_for_agent(gone).await?;
        }
        let title = found.map(|row| row.title);
        let session = self.services.turns.continue_own_session(&agent, cwd, (&id, copy), title).await?;
        now::<methods::AgentsContinueSession>(SessionRef { session_id: session.id().to_string() })
    }

    async fn can_fork(&self, agent: &str) -> Result<bool, Fault> {
        let agents = served(&self.services.agents, methods::AgentsList::NAME)?.fresh_snapshot().await;
        let cards = agents["agents"].as_array().into_iter().flatten();
        let supports = cards.filter(|card| card["id"] == agent).flat_map(|card| card["supports"].as_array());
        Ok(supports.flatten().any(|what| what == "session/fork"))
    }

    pub(super) async fn delete_agent_session(&self, request: DeleteAgentSession) -> Result<Answer, Fault> {
        let (turns, cwd) = (self.services.turns.clone(), self.services.sessions.admit(&request.cwd).await?);
        Ok(Answer::Later(Box::pin(async move {
            turns.delete_own_session(&request.agent, cwd, request.id).await?;
            Ok(json!({}))
        })))
    }

    pub(super) async fn set_mode(&self, request: SetSessionModeRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        self.choose_mode(&session, &request.mode_id.0).await?;
        Ok(Answer::Now(json!({})))
    }

    async fn choose_mode(&self, session: &Arc<Session>, wanted: &str) -> Result<(), Fault> {
        let modes = self.services.turns.modes().await;
        if modes.iter().all(|mode| mode.id != wanted) {
            let known: Vec<_> = modes.iter().map(|mode| mode.id.as_str()).collect();
            let wanted = prefix(wanted, 100);
            let message = format!("There is no mode {wanted}; there are {}.", known.join(", "));
            return Err(Fault::invalid_params(message));
        }
        if *session.mode() != *wanted {
            session.set_mode(wanted).await?;
        }
        Ok(())
    }

    /// Sets an option of an agent. Returns all options of that agent.
    pub(super) async fn set_option(
        &self,
        method: &str,
        request: SetSessionConfigOptionRequest,
    ) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        if let (editor_options::AGENT, SessionConfigOptionValue::ValueId { value }) =
            (&*request.config_id.0, &request.value)
        {
            self.choose_mode(&session, &value.0).await?;
            let options = self.options(&session).await;
            return Ok(Answer::Now(rpc::value(&SetSessionConfigOptionResponse::new(options))));
        }
        let change = from_wire::option_change(&request, self.lease.pass.may(Scope::Approve))?;
        let agent = change.agent.clone();
        let what = format!("{} = {}", request.config_id.0, prefix(&change.value.to_string(), 200));
        let options = match self.services.turns.set_option(&session, change).await {
            Err(error @ SessionError::Forbidden(_)) => {
                self.services.devices.refused_call(&self.actor(), method).await;
                return Err(error.into());
            }
            set => set?,
        };
        if self.lease.pass.who != Who::Local {
            self.services.devices.record(&self.actor(), method, &what).await;
        }
        let options = self.options_of(&session, &agent, options).await;
        Ok(Answer::Now(rpc::value(&SetSessionConfigOptionResponse::new(options))))
    }

    /// Follows a session. A client that has missed many updates, or claims to have more than exist, gets the folded
    /// log.
    pub(super) async fn attach(&self, request: AttachParams) -> Result<Answer, Fault> {
        let AttachParams { session_id, since, snapshot } = request;
        let session = self.session(&session_id).await?;
        let (head, waits) = (session.head(), session.queue());
        let is_far = since > head.seq || head.seq - since > LONG;
        let is_folded = is_far && snapshot != Some(false);
        let result = rpc::value(&AttachResult {
            session_id,
            seq: head.seq,
            running: waits.running,
            mode: session.mode().to_string(),
            title: session.title().map(|title| title.to_string()),
            approvals: session.approvals(),
            queue: to_wire::queued(&waits.queued),
            snapshot: is_folded.then_some(SnapshotMark { seq: head.seq, since }),
        });
        let from = if is_folded { ReadFrom::Folded(head.seq) } else { ReadFrom::Update(since.min(head.seq)) };
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
        let response = LoadSessionResponse::new()
            .modes(self.modes(&session).await)
            .config_options(self.options(&session).await);
        Ok(Answer::After(rpc::value(&response), session, seq))
    }

    pub(super) async fn resume(&self, request: ResumeSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        let from = ReadFrom::Update(session.head().seq);
        let response = ResumeSessionResponse::new()
            .modes(self.modes(&session).await)
            .config_options(self.options(&session).await);
        Ok(Answer::AndFollow(rpc::value(&response), Following { session, from, queue: None }))
    }

    pub(super) async fn close(&self, request: CloseSessionRequest) -> Result<Answer, Fault> {
        let session = self.session(&request.session_id.0).await?;
        session.cancel();
        self.services.turns.close(&session);
        self.send(Out::Leave(session)).await;
        Ok(Answer::Now(rpc::value(&CloseSessionResponse::new())))
    }
}

/// Creates the feed of the trusted workspaces.
pub(crate) fn feed(sessions: &SessionRegistry) -> Arc<Feed> {
    let (trusted, watched) = (sessions.trusted().clone(), sessions.trusted());
    let feed = Feed::new::<methods::TrustChanged>(Scope::View, move || snapshot(&trusted));
    watched.watch(feed.notifier());
    feed
}

impl Methods {
    /// Trusts a folder with its current agent settings, which the user has `seen`.
    pub(super) async fn trust(&self, path: &Path, seen: Option<AgentFiles>) -> Result<Answer, Fault> {
        if self.lease.pass.who != Who::Local {
            return Err(Fault::busy(
                "A folder can be trusted only on the computer itself. Run `openagents workspaces trust` there.",
            ));
        }
        let client = self.peer.client();
        let by = if client.is_empty() { "a client without a name" } else { &*client };
        let (brings, covered_by) = self.services.turns.trust(path, seen, by).await?;
        let snapshot = snapshot(self.services.sessions.trusted());
        now::<methods::TrustAdd>(TrustResult { snapshot, brings, covered_by })
    }
}

fn snapshot(trusted: &TrustedWorkspaces) -> TrustSnapshot {
    let row = |store::TrustedWorkspace { path, by, at, .. }| TrustedWorkspace { path, by, at };
    TrustSnapshot { workspaces: trusted.list().into_iter().map(row).collect() }
}
