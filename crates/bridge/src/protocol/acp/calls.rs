//! The calls of one ACP connection, run in order.

use super::{
    approvals::{self, ApprovalAnswer, PermissionAnswer, PermissionRequests},
    from_wire::{self, Call},
    to_wire,
};
use crate::{
    base::{
        error::Fault,
        feed::Feed,
        pass::Who,
        rpc::{self, Id},
        scope::Scope,
    },
    connection::{
        inspect::Peer,
        outbox::dialect::{Out, Outbox, ReadFrom},
    },
    devices::{audit_rows::Actor, registry::ConnectionLease},
    protocol::{markdown, services::Services},
};
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as ACP, PromptRequest, PromptResponse, SessionModeState, StopReason,
};
use openagents_core::update::RunState;
use openagents_sessions::{Answerer, ListWatch, Sender, Session, Ticket, TurnEnd, TurnRequest};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum bytes of a prompt; longer text belongs in a file in the workspace.
const PROMPT_BYTES: usize = 1 << 20;

/// The method that answers an approval.
const ANSWER: &str = "_openagents/approvals/answer";

/// Prefix of the device methods.
const DEVICES: &str = "_openagents/devices/";

/// The state that the calls of one connection need.
pub(super) struct Methods {
    pub(super) services: Arc<Services>,
    pub(super) peer: Arc<Peer>,
    pub(super) outbox: Outbox,
    pub(super) requests: Arc<PermissionRequests>,
    pub(super) lease: Arc<ConnectionLease>,
}

impl Methods {
    pub(super) fn new(
        services: Arc<Services>,
        peer: Arc<Peer>,
        outbox: Outbox,
        requests: Arc<PermissionRequests>,
        lease: Arc<ConnectionLease>,
    ) -> Self {
        if matches!(lease.pass.who, Who::Device(_)) {
            // A device appears under the name that the user gave it, not under its own.
            peer.introduce(&lease.pass.name());
        }
        Self { services, peer, outbox, requests, lease }
    }

    /// Queues a frame for the client. Does nothing once the client is gone.
    pub(super) async fn send(&self, out: Out) {
        let _ = self.outbox.send(out).await;
    }

    /// Returns the caller, for the audit log.
    pub(super) fn actor(&self) -> Actor {
        let ConnectionLease { pass, address, .. } = &*self.lease;
        self.services.devices.actor(&pass.who, &self.peer.client(), *address)
    }

    pub(super) async fn modes(&self, session: &Session) -> SessionModeState {
        let modes = self.services.turns.modes().await;
        to_wire::modes(&session.mode(), &modes)
    }

    pub(super) fn by(&self, prompt_id: Option<String>) -> Sender {
        Sender {
            connection: self.peer.id.to_string(),
            client: self.peer.client().to_string(),
            prompt_id,
            shows_cards: true,
        }
    }

    /// Finds a session, live or stored.
    pub(super) async fn session(&self, id: &str) -> Result<Arc<Session>, Fault> {
        let found = self.services.sessions.find(id).await?;
        found.ok_or_else(|| {
            Fault::not_found(format!("There is no session {}.", openagents_sessions::prune::head(id, 128)))
        })
    }

    /// Checks, records and parses a call.
    pub(super) async fn admit(&self, name: &str, params: Value) -> Result<Call, Fault> {
        let pass = &self.lease.pass;
        if pass.is_revoked() {
            return Err(Fault::invalid_request("This device was removed."));
        }
        self.lease.touch();
        let method = from_wire::method(name)?;
        // Device and approval decisions and deletions are audited where they happen.
        let is_audited = name.starts_with(DEVICES) || [ANSWER, ACP.session_delete].contains(&name);
        if method.needs > Scope::View && pass.who != Who::Local {
            if !pass.may(method.needs) {
                self.services.devices.refused_call(&self.actor(), name).await;
            } else if !is_audited {
                let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
                self.services.devices.record(&self.actor(), name, session).await;
            }
        }
        method.call(params, pass.scope())
    }

    pub(super) async fn notification(&mut self, method: &str, params: Value) {
        // A notification has no answer, not even an error.
        if let Ok(Call::Cancel(cancel)) = self.admit(method, params).await
            && let Ok(Some(session)) = self.services.sessions.find(&cancel.session_id.0).await
        {
            session.cancel();
        }
    }

    /// Handles a client's answer to a request of ours. A late answer changes nothing.
    pub(super) async fn response(&mut self, id: &Id, result: Value) {
        let Some(answer) = self.requests.answer(id, result) else { return };
        if !self.lease.pass.may(Scope::Approve) {
            return;
        }
        let (approval_id, taken) = match answer {
            PermissionAnswer::Chosen(answer) => {
                (answer.approval_id.clone(), self.answer_approval(answer).await.map(drop))
            }
            PermissionAnswer::Cancelled { session_id, approval_id } => {
                let ended = self.services.turns.dismiss(&session_id, &approval_id).await;
                (approval_id, ended.map_err(Fault::from))
            }
        };
        if let Err(fault) = taken {
            tracing::warn!(%fault, "a client's answer was not taken");
            self.requests.forget(&approval_id);
        }
    }

    async fn answer_approval(&self, answer: ApprovalAnswer) -> Result<Value, Fault> {
        let ApprovalAnswer { session_id, approval_id, option_id, message } = answer;
        let client = self.peer.client();
        let by = if client.is_empty() { "a client without a name" } else { &*client };
        let is_here = self.lease.pass.who == Who::Local;
        let answerer = Answerer { by, connection: &self.peer.id, is_here };
        let answer = (option_id.as_str(), message.as_deref());
        let approval = self.services.turns.answer(&session_id, &approval_id, answer, answerer).await?;
        if self.lease.pass.who != Who::Local {
            let detail = format!("{option_id}: {}", approval.shown());
            self.services.devices.record_answer(&self.actor(), &detail).await;
        }
        Ok(wire(&approval))
    }

    pub(super) async fn request(&mut self, id: Id, method: &str, params: Value) {
        let answer = match self.admit(method, params).await {
            Ok(call) => self.run(method, call).await,
            Err(fault) => Err(fault),
        };
        match answer {
            Ok(Answer::Now(result)) => self.send(Out::Text(rpc::response(&id, &result))).await,
            Ok(Answer::AndFollow(result, following)) => {
                let (Following { session, from, queue }, answer) =
                    (following, Some(rpc::response(&id, &result)));
                self.send(Out::Follow { session, from, queue, answer }).await;
            }
            Ok(Answer::After(result, session, seq)) => {
                let from = if seq > LONG { ReadFrom::Folded(seq) } else { ReadFrom::Update(0) };
                self.send(Out::Follow { session: session.clone(), from, queue: None, answer: None }).await;
                self.send(Out::After { session, seq, text: rpc::response(&id, &result) }).await;
            }
            Ok(Answer::AtEnd(session, ticket)) => self.answer_at_end(id, session, ticket),
            Ok(Answer::AndWatch(result, feed, told)) => {
                self.send(Out::Text(rpc::response(&id, &result))).await;
                self.send(Out::Watch(feed, told)).await;
            }
            Ok(Answer::AndWatchList(result, watch)) => {
                self.send(Out::WatchList(watch, rpc::response(&id, &result))).await;
            }
            Ok(Answer::AndInspect(result, since)) => {
                self.send(Out::Unrecorded(rpc::response(&id, &result))).await;
                self.send(Out::Inspect { since }).await;
            }
            Err(fault) => self.send(Out::Text(rpc::error(Some(&id), &fault))).await,
        }
    }

    async fn run(&self, method: &str, call: Call) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        match call {
            Call::Initialize(request) => Ok(self.initialize(&request)),
            Call::NewSession(request) => self.new_session(request).await,
            Call::ListSessions(request) => self.list(request).await,
            Call::LoadSession(request) => self.load(request).await,
            Call::ResumeSession(request) => self.resume(request).await,
            Call::CloseSession(request) => self.close(request).await,
            Call::DeleteSession(request) => self.delete(method, request).await,
            Call::Prompt(request) => self.prompt(request).await,
            Call::Cancel(cancel) => {
                self.session(&cancel.session_id.0).await?.cancel();
                Ok(Answer::Now(json!({})))
            }
            Call::SetMode(request) => self.set_mode(request).await,
            Call::Explore(request) => self.explore(request).await,
            Call::Attach(request) => self.attach(request).await,
            Call::Detach(request) => self.detach(&request.session_id).await,
            Call::RemoveQueued(request) => {
                let session = self.session(&request.session_id).await?;
                Ok(Answer::Now(json!({"removed": session.remove(&request.id).await?})))
            }
            Call::Update(request) => self.update(request).await,
            Call::Markdown(request) => Ok(Answer::Now(json!({"html": markdown::render(request.text).await}))),
            Call::Workspaces => Ok(self.workspaces().await),
            Call::ListHistory(page) => self.list_history(page).await,
            Call::ReadHistory(part) => self.read_history(part).await,
            Call::ReadHistoryLine(line) => self.read_history_line(line).await,
            Call::FindInHistory(find) => self.find_in_history(find).await,
            Call::WatchHistory => self.watch_history(),
            Call::HistorySettings(list) => Ok(self.history_settings(list.watch)),
            Call::ConfigureHistory(change) => self.configure_history(change).await,
            Call::ClearHistoryIndex => self.clear_history_index().await,
            Call::SearchSessions(search) => self.search_sessions(search).await,
            Call::LabelSession(label) => self.label(label).await,
            Call::TrustedWorkspaces(list) => {
                let trust = &self.services.trust;
                Ok(list_answer(list.watch, trust.snapshot(), trust))
            }
            Call::TrustWorkspace(request) => self.trust(&request.path, request.seen).await,
            Call::RevokeTrust(request) => {
                self.services.turns.revoke_trust(&request.path).await?;
                Ok(Answer::Now(self.services.trust.snapshot()))
            }
            Call::Models(list) => {
                let models = served(&self.services.models, method)?;
                let snapshot = models.fresh_snapshot().await;
                Ok(list_answer(list.watch, snapshot, models.feed()))
            }
            Call::Model(command) => {
                Ok(Answer::Now(served(&self.services.models, method)?.command(command).await?))
            }
            Call::Agents(list) => {
                let agents = served(&self.services.agents, method)?;
                let snapshot = agents.feed().snapshot_for(self.lease.pass.scope());
                Ok(list_answer(list.watch, snapshot, agents.feed()))
            }
            Call::Agent(command) => {
                Ok(Answer::Now(served(&self.services.agents, method)?.command(command).await?))
            }
            Call::Decisions => {
                served(&self.services.agents, method)?;
                let decisions = sessions.with_store(|store| store.decisions()).await?;
                Ok(Answer::Now(json!({"decisions": decisions})))
            }
            Call::Privacy(list) => {
                let privacy = &self.services.privacy;
                Ok(list_answer(list.watch, privacy.fresh_snapshot().await, privacy.feed()))
            }
            Call::SetPrivacy(change) => Ok(Answer::Now(self.services.privacy.command(change).await?)),
            Call::AnswerApproval(answer) => Ok(Answer::Now(self.answer_approval(answer).await?)),
            Call::ResumeApproval(resume) => {
                self.services.turns.resume(&resume.session_id, &resume.approval_id, &self.peer.id).await?;
                Ok(Answer::Now(json!({})))
            }
            Call::Rules => {
                let rules = sessions.with_store(|store| store.standing_rules()).await?;
                Ok(Answer::Now(json!({"rules": rules.iter().map(approvals::rule).collect::<Vec<_>>()})))
            }
            Call::RevokeRules(revocation) => {
                sessions.with_store(move |store| store.revoke_rules(revocation.approval_id)).await?;
                Ok(Answer::Now(json!({})))
            }
            Call::Delegate(request) => {
                let session = self.session(&request.session_id).await?;
                let (turn, call_id) =
                    self.services.turns.delegation(&session, request.arguments, &self.by(None));
                self.services.turns.submit(&session, turn).await?;
                Ok(Answer::Now(json!({"toolCallId": call_id})))
            }
            Call::Devices(list) => {
                let devices = &self.services.devices;
                Ok(list_answer(list.watch, devices.feed().snapshot(), devices.feed()))
            }
            Call::Device(command) => {
                Ok(Answer::Now(self.services.devices.command(command, &self.actor()).await?))
            }
            Call::Audit(page) => Ok(Answer::Now(self.services.devices.audit(page.limit, page.before).await?)),
            Call::Me => Ok(Answer::Now(self.lease.pass.access())),
            Call::Leave => self.leave().await,
            Call::Inspect(inspect) if inspect.watch == Some(false) => Ok(Answer::AndInspect(json!({}), None)),
            Call::Inspect(_) => {
                let (frames, last) = self.services.inspector.snapshot();
                let frames: Vec<Value> = frames.iter().map(|frame| frame.to_wire()).collect();
                Ok(Answer::AndInspect(json!({"frames": frames}), Some(last)))
            }
        }
    }

    async fn prompt(&self, request: PromptRequest) -> Result<Answer, Fault> {
        let mut said = from_wire::said(&request.prompt);
        said.may_lower = self.lease.pass.may(Scope::Approve);
        if said.text.is_empty() {
            return Err(Fault::invalid_params("The prompt is empty."));
        }
        if said.text.len() > PROMPT_BYTES {
            return Err(Fault::invalid_params(format!("A prompt may have {PROMPT_BYTES} bytes at most.")));
        }
        let ours = request.meta.as_ref().and_then(|meta| meta.get("openagents"));
        let options = from_wire::prompt_options(ours)?;
        // Only a client on this machine may name files and the environment variables that hold keys.
        if options.model.is_some() && self.lease.pass.who != Who::Local {
            return Err(Fault::invalid_params("A paired device cannot name a model for one prompt."));
        }
        let session = self.session(&request.session_id.0).await?;
        let since = session.head().seq;
        self.send(Out::Join { session: session.clone(), since }).await;
        let by = self.by(from_wire::prompt_id(ours));
        let turn = self.services.turns.prompt(&session, session.cwd(), said, by).with_options(options);
        let ticket = self.services.turns.submit(&session, turn).await?;
        Ok(Answer::AtEnd(session, ticket))
    }

    async fn leave(&self) -> Result<Answer, Fault> {
        let Who::Device(id) = &self.lease.pass.who else {
            return Err(Fault::invalid_request("This computer is not a paired device."));
        };
        self.services.devices.leave(id, &self.actor()).await?;
        Ok(Answer::Now(json!({})))
    }

    async fn explore(&self, request: from_wire::Explore) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        let root = match self.lease.pass.scope() {
            Scope::Admin => sessions.open_workspace(&request.root).await?,
            _ => sessions.admit(&request.root).await?,
        };
        let session = sessions.create(&root).await?;
        let turn = TurnRequest::exploration(root, request.goals, None).planned_by(request.planner);
        let turn = turn.asked_by(&self.peer.client());
        let result = json!({"sessionId": session.id(), "planId": turn.plan_id(), "status": "started"});
        self.services.turns.submit(&session, turn).await?;
        Ok(Answer::AndFollow(result, Following::from_the_beginning(session)))
    }

    /// Sends the answer when the turn ends. Does not block further requests.
    fn answer_at_end(&self, id: Id, session: Arc<Session>, ticket: Ticket) {
        let outbox = self.outbox.clone();
        self.services.answers.spawn(async move {
            let (seq, text) = match ticket.await {
                Ok(end) => match end.failure {
                    Some(failure) => (end.seq, rpc::error(Some(&id), &Fault::internal(failure))),
                    None => {
                        // The protocol has no stop reason for a turn that failed.
                        let ours = to_wire::meta(json!({"state": end.state.as_str()}));
                        let response = PromptResponse::new(stop_reason(&end)).meta(ours);
                        (end.seq, rpc::response(&id, &wire(&response)))
                    }
                },
                Err(_) => {
                    let fault = Fault::internal("The turn ended unexpectedly.");
                    (session.head().seq, rpc::error(Some(&id), &fault))
                }
            };
            // The client may be gone.
            let _ = outbox.send(Out::After { session, seq, text }).await;
        });
    }
}

/// Returns a service. If this bridge does not have it, the method does not exist either.
fn served<T>(service: &Option<Arc<T>>, method: &str) -> Result<Arc<T>, Fault> {
    service.clone().ok_or_else(|| Fault::method_not_found(method))
}

pub(super) fn list_answer(watch: bool, snapshot: Value, feed: &Arc<Feed>) -> Answer {
    if watch { Answer::AndWatch(snapshot.clone(), feed.clone(), snapshot) } else { Answer::Now(snapshot) }
}

fn stop_reason(end: &TurnEnd) -> StopReason {
    match end.state {
        RunState::Complete if end.cut_off => StopReason::MaxTokens,
        RunState::Cancelled => StopReason::Cancelled,
        RunState::Running | RunState::Complete | RunState::Failed => StopReason::EndTurn,
    }
}

// The response to a call, and what the connection sends after it.

/// Number of missed updates above which a client gets the folded log instead of each update.
pub(super) const LONG: u64 = 2_000;

/// The response to a call, and what follows it.
pub(super) enum Answer {
    Now(Value),
    /// Followed by the updates of a session, from a position on.
    AndFollow(Value, Following),
    /// Sent after the updates of a session up to this number.
    After(Value, Arc<Session>, u64),
    /// Sent when the turn ends.
    AtEnd(Arc<Session>, Ticket),
    /// Followed by the feed's snapshot whenever it differs from the given one.
    AndWatch(Value, Arc<Feed>, Value),
    /// Followed by changes in the list of sessions.
    AndWatchList(Value, ListWatch),
    /// Hidden from the inspector; followed by every frame after this number, or by none.
    AndInspect(Value, Option<u64>),
}

/// A session to follow once the answer is sent, and the starting position.
pub(super) struct Following {
    pub(super) session: Arc<Session>,
    pub(super) from: ReadFrom,
    /// The queue change that the answer reports.
    pub(super) queue: Option<u64>,
}

impl Following {
    /// Follows a new session from its first update.
    pub(super) fn from_the_beginning(session: Arc<Session>) -> Self {
        Self { session, from: ReadFrom::Update(0), queue: None }
    }
}

pub(super) fn wire(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
