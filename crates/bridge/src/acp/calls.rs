//! The calls of one ACP connection, run in order.

use super::{
    answer::{Answer, Following, LONG},
    approvals::{self, PermissionAnswer, PermissionRequests},
    editor_options::EditorOptions,
    from_wire::{self, Call},
    images, to_wire,
};
use crate::{acp::services::Services, markdown};
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as ACP, ImageContent, PromptRequest, PromptResponse, SessionConfigOption,
    SessionModeState, StopReason,
};
use openagents_connection::{
    fault::Fault,
    feed::Feed,
    inspect::Peer,
    outbox::dialect::{Out, Outbox, ReadFrom},
    pass::Who,
    rpc::{self, Id},
};
use openagents_core::{
    approval::Approval,
    update::{PromptImage, RunState, SessionOption},
};
use openagents_orchestration::explore::PlannerChoice;
use openagents_remote::devices::{audit_rows::Actor, registry::ConnectionLease};
use openagents_sessions::{
    Answerer, GivenAnswer, Sender, Session, Ticket, TurnEnd, TurnRequest, run_blocking,
};
use openagents_wire::{
    self as wire, AgentOptions, AgentOptionsQuery, AnswerApproval, Command, Decisions, DelegateResult,
    DeviceCommand, Empty, EndMeta, ExploreParams, ExploreResult, Frames, Html, InspectParams, Method,
    PastDecision, Planner, Removed, Scope, StandingRules, Watch, methods,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum bytes of a prompt; longer text belongs in a file in the workspace.
const PROMPT_BYTES: usize = 1 << 20;

/// The state that the calls of one connection need.
pub(super) struct Methods {
    pub(super) services: Arc<Services>,
    pub(super) peer: Arc<Peer>,
    pub(super) outbox: Outbox,
    pub(super) requests: Arc<PermissionRequests>,
    pub(super) editor: Arc<EditorOptions>,
    pub(super) lease: Arc<ConnectionLease>,
}

impl Methods {
    pub(super) fn new(
        services: Arc<Services>,
        peer: Arc<Peer>,
        outbox: Outbox,
        (requests, editor): (Arc<PermissionRequests>, Arc<EditorOptions>),
        lease: Arc<ConnectionLease>,
    ) -> Self {
        if matches!(lease.pass.who, Who::Device(_)) {
            // A device appears under the name that the user gave it, not under its own.
            peer.introduce(&lease.pass.name());
        }
        Self { services, peer, outbox, requests, editor, lease }
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
        to_wire::modes(&session.mode(), &self.services.turns.modes().await)
    }

    pub(super) async fn options(&self, session: &Arc<Session>) -> Vec<SessionConfigOption> {
        let turns = &self.services.turns;
        let (agent, options) = turns.session_options(session).await;
        self.options_of(session, &agent, options).await
    }

    /// Returns the options of an agent in a session, as this client shows them.
    pub(super) async fn options_of(
        &self,
        session: &Session,
        agent: &str,
        options: Vec<SessionOption>,
    ) -> Vec<SessionConfigOption> {
        let modes = self.services.turns.modes().await;
        self.editor.answer(self.requests.client(), modes, &session.mode(), agent, options)
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
            Fault::not_found(format!("There is no session {}.", openagents_core::text::prefix(id, 128)))
        })
    }

    /// Checks, records and parses a call.
    pub(super) async fn admit(&self, name: &str, params: Value) -> Result<Call, Fault> {
        let pass = &self.lease.pass;
        if pass.is_revoked() {
            return Err(Fault::invalid_request("This device was removed."));
        }
        self.lease.touch();
        let needed = from_wire::needed_scope(name)?;
        // Device and approval decisions and deletions are audited where they happen.
        let is_audited = name.starts_with(DeviceCommand::PREFIX)
            || [methods::ApprovalsAnswer::NAME, ACP.session_delete].contains(&name);
        if needed > Scope::View && pass.who != Who::Local {
            if !pass.may(needed) {
                self.services.devices.refused_call(&self.actor(), name).await;
            } else if !is_audited {
                let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
                self.services.devices.record(&self.actor(), name, session).await;
            }
        }
        from_wire::call(name, params, pass.scope())
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

    async fn answer_approval(&self, answer: AnswerApproval) -> Result<Approval, Fault> {
        let AnswerApproval { session_id, approval_id, option_id, message, content } = answer;
        let client = self.peer.client();
        let by = if client.is_empty() { "a client without a name" } else { &*client };
        let is_here = self.lease.pass.who == Who::Local;
        let answerer = Answerer { by, connection: &self.peer.id, is_here };
        let (message, content) = (message.as_deref(), content.as_ref());
        let answer = GivenAnswer { option_id: &option_id, message, content };
        let approval = self.services.turns.answer(&session_id, &approval_id, answer, answerer).await?;
        if self.lease.pass.who != Who::Local {
            let detail = format!("{option_id}: {}", approval.shown());
            self.services.devices.record_answer(&self.actor(), &detail).await;
        }
        Ok(approval)
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
            Ok(Answer::Later(result)) => self.answer_later(id, result, Out::Text),
            Ok(Answer::LaterUnrecorded(result)) => self.answer_later(id, result, Out::Unrecorded),
            Ok(Answer::AndWatch(result, feed, output)) => {
                self.send(Out::Text(rpc::response(&id, &result))).await;
                self.send(Out::Watch(feed, output)).await;
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
        match call {
            Call::Initialize(request) => Ok(self.initialize(&request)),
            Call::NewSession(request) => self.new_session(request).await,
            Call::ListSessions(request) => self.list(request).await,
            Call::LoadSession(request) => self.load(request).await,
            Call::ResumeSession(request) => self.resume(request).await,
            Call::CloseSession(request) => self.close(request).await,
            Call::DeleteSession(request) => self.delete(method, request).await,
            Call::ForkSession(request) => self.fork(request).await,
            Call::Prompt(request) => self.prompt(request).await,
            Call::Cancel(cancel) => {
                self.session(&cancel.session_id.0).await?.cancel();
                Ok(Answer::Now(json!({})))
            }
            Call::SetMode(request) => self.set_mode(request).await,
            Call::SetOption(request) => self.set_option(method, request).await,
            Call::Ours(call) => self.run_ours(method, call).await,
        }
    }

    async fn run_ours(&self, method: &str, call: wire::Call) -> Result<Answer, Fault> {
        use wire::Call as Ours;
        let Services { sessions, turns, devices, trust, privacy, .. } = &*self.services;
        let scope = self.lease.pass.scope();
        match call {
            Ours::Explore(request) => self.explore(request).await,
            Ours::Attach(request) => self.attach(request).await,
            Ours::Detach(request) => self.detach(&request.session_id).await,
            Ours::QueueRemove(request) => {
                let removed = self.session(&request.session_id).await?.remove(&request.id).await?;
                now::<methods::QueueRemove>(Removed { removed })
            }
            Ours::QueueSendNow(request) => {
                let (session, turns) = (self.session(&request.session_id).await?, turns.clone());
                Ok(Answer::Later(Box::pin(async move {
                    turns.send_now(&session, &request.id).await?;
                    Ok(rpc::value(&Empty {}))
                })))
            }
            Ours::ImagesRead(request) => self.read_image(request).await,
            Ours::FilesFind(request) => self.find_files(request).await,
            Ours::ReadUpdate(request) => self.update(request).await,
            Ours::RenderMarkdown(request) => {
                let html = markdown::render(request.text).await;
                now::<methods::RenderMarkdown>(Html { html })
            }
            Ours::Workspaces(_) => self.workspaces().await,
            Ours::HistoryList(page) => self.list_history(page).await,
            Ours::HistoryRead(part) => self.read_history(part).await,
            Ours::HistoryLine(line) => self.read_history_line(line).await,
            Ours::HistoryFind(find) => self.find_in_history(find).await,
            Ours::HistoryWatch(_) => self.watch_history(),
            Ours::HistorySettings(Watch { watch }) => Ok(self.history_settings(watch)),
            Ours::HistoryConfigure(change) => self.configure_history(change).await,
            Ours::HistoryClear(_) => self.clear_history_index().await,
            Ours::KeepStatus(Watch { watch }) => Ok(self.kept(watch)),
            Ours::LiveList(Watch { watch }) => {
                let feed = self.past().live_for(&self.lease.pass.who)?;
                Ok(list_answer(watch, feed.snapshot_for(self.lease.pass.scope()), feed))
            }
            Ours::KeepConfigure(change) => self.configure_keeping(change).await,
            Ours::KeepVerify(_) => self.verify_copies(),
            Ours::KeepForget(which) => self.forget_copies(which),
            Ours::KeepRestore(restore) => self.restore_copy(restore).await,
            Ours::KeepVersions(session) => self.versions(session).await,
            Ours::UsageReport(query) => self.usage(query),
            Ours::ExportPrepare(wanted) => self.prepare_export(wanted).await,
            Ours::ExportRead(wanted) => self.read_export(&wanted),
            Ours::ContinueBrief(wanted) => self.brief(wanted),
            Ours::SessionsSearch(search) => self.search_sessions(search).await,
            Ours::SessionsExcerpt(query) => self.excerpt(query).await,
            Ours::SessionsLabel(label) => self.label(label).await,
            Ours::WorkspacesSuggest(query) => self.suggest_folders(query).await,
            Ours::WorkspacesMap(map) => self.map_folder(map).await,
            Ours::TrustList(Watch { watch }) => Ok(list_answer(watch, trust.snapshot(), trust)),
            Ours::TrustAdd(request) => self.trust(&request.path, request.seen).await,
            Ours::TrustRevoke(request) => {
                turns.revoke_trust(&request.path).await?;
                Ok(Answer::Now(trust.snapshot()))
            }
            Ours::ModelsList(Watch { watch }) => {
                let models = served(&self.services.models, method)?;
                let snapshot = models.fresh_snapshot().await;
                Ok(list_answer(watch, snapshot, models.feed()))
            }
            Ours::Model(command) => {
                Ok(Answer::Now(served(&self.services.models, method)?.command(command).await?))
            }
            Ours::AgentsList(Watch { watch }) => {
                let agents = served(&self.services.agents, method)?;
                Ok(list_answer(watch, agents.feed().snapshot_for(scope), agents.feed()))
            }
            Ours::Agent(command) => {
                Ok(Answer::Now(served(&self.services.agents, method)?.command(command).await?))
            }
            Ours::AgentsLoginScreen(query) => self.login_screen(query),
            Ours::AgentsOptions(AgentOptionsQuery { agent, cwd }) => {
                let options = turns.options(&agent, &cwd).await;
                let config_options = to_wire::options(&agent, &options);
                now::<methods::AgentsOptions>(AgentOptions { config_options })
            }
            Ours::AgentsSessions(query) => self.agent_sessions(query).await,
            Ours::AgentsContinueSession(request) => self.continue_session(request).await,
            Ours::AgentsDeleteSession(request) => self.delete_agent_session(request).await,
            Ours::AgentsDecisions(_) => {
                served(&self.services.agents, method)?;
                let decisions = sessions.with_store(|store| store.decisions()).await?;
                let decisions = decisions.into_iter().map(|routed| PastDecision {
                    ts: routed.ts,
                    session_id: routed.session_id,
                    prompt: routed.prompt,
                    decision: routed.decision,
                });
                let decisions = decisions.collect();
                now::<methods::AgentsDecisions>(Decisions { decisions })
            }
            Ours::PrivacyList(Watch { watch }) => {
                Ok(list_answer(watch, privacy.fresh_snapshot().await, privacy.feed()))
            }
            Ours::PrivacySet(change) => Ok(Answer::Now(privacy.command(change).await?)),
            Ours::ApprovalsAnswer(answer) => {
                now::<methods::ApprovalsAnswer>(self.answer_approval(answer).await?)
            }
            Ours::ApprovalsResume(resume) => {
                turns.resume(&resume.session_id, &resume.approval_id, &self.peer.id).await?;
                now::<methods::ApprovalsResume>(Empty {})
            }
            Ours::ApprovalsAskBeforeEdits(request) => {
                let session = self.session(&request.session_id).await?;
                turns.ask_before_edits(&session, &request.agent);
                now::<methods::ApprovalsAskBeforeEdits>(Empty {})
            }
            Ours::SubagentsStop(request) => {
                let session = self.session(&request.session_id).await?;
                turns.stop_subagent(&session, request.subagent).await?;
                now::<methods::SubagentsStop>(Empty {})
            }
            Ours::ApprovalsRules(_) => {
                let rules = sessions.with_store(|store| store.standing_rules()).await?;
                let rules = rules.into_iter().filter_map(approvals::rule).collect();
                now::<methods::ApprovalsRules>(StandingRules { rules })
            }
            Ours::ApprovalsRevoke(revocation) => {
                sessions.with_store(move |store| store.revoke_rules(revocation.approval_id)).await?;
                now::<methods::ApprovalsRevoke>(Empty {})
            }
            Ours::Delegate(request) => {
                let session = self.session(&request.session_id).await?;
                let (turn, tool_call_id) = turns.delegation(&session, request.arguments, &self.by(None));
                turns.submit(&session, turn).await?;
                now::<methods::Delegate>(DelegateResult { tool_call_id })
            }
            Ours::DevicesList(Watch { watch }) => {
                Ok(list_answer(watch, devices.feed().snapshot(), devices.feed()))
            }
            Ours::Device(command) => {
                Ok(Answer::Now(rpc::value(&devices.command(command, &self.actor()).await?)))
            }
            Ours::DevicesAudit(query) => now::<methods::DevicesAudit>(devices.audit(query).await?),
            Ours::DevicesMe(_) => now::<methods::DevicesMe>(self.lease.pass.access()),
            Ours::DevicesLeave(_) => self.leave().await,
            Ours::Inspect(InspectParams { watch: Some(false) }) => Ok(Answer::AndInspect(json!({}), None)),
            Ours::Inspect(_) => {
                let (frames, last) = self.services.inspector.snapshot();
                let frames = Frames { frames: frames.iter().map(|frame| frame.to_wire()).collect() };
                Ok(Answer::AndInspect(rpc::value(&frames), Some(last)))
            }
        }
    }

    async fn prompt(&self, request: PromptRequest) -> Result<Answer, Fault> {
        let mut content = from_wire::prompt_content(&request.prompt);
        content.may_change_approval_mode = self.lease.pass.may(Scope::Approve);
        let images = from_wire::images(request.prompt)?;
        if content.text.is_empty() && images.is_empty() {
            return Err(Fault::invalid_params("The prompt is empty."));
        }
        if content.text.len() > PROMPT_BYTES {
            return Err(Fault::invalid_params(format!("A prompt may have {PROMPT_BYTES} bytes at most.")));
        }
        let ours = from_wire::prompt_meta(request.meta.as_ref())?;
        let options = ours.options.unwrap_or_default();
        // Only a client on this machine may name files and the environment variables that hold keys.
        if options.model.is_some() && self.lease.pass.who != Who::Local {
            return Err(Fault::invalid_params("A paired device cannot name a model for one prompt."));
        }
        let session = self.session(&request.session_id.0).await?;
        if !images.is_empty() {
            content.images = self.keep_images(&session, images).await?;
        }
        let since = session.head().seq;
        self.send(Out::Join { session: session.clone(), since }).await;
        let by = self.by(from_wire::prompt_id(ours.prompt_id));
        let turn = self.services.turns.prompt(&session, session.cwd(), content, by).with_options(options);
        let ticket = self.services.turns.submit(&session, turn).await?;
        Ok(Answer::AtEnd(session, ticket))
    }

    /// Checks and stores the images of a prompt.
    async fn keep_images(
        &self,
        session: &Arc<Session>,
        images: Vec<ImageContent>,
    ) -> Result<Vec<PromptImage>, Fault> {
        let checked = run_blocking(move || images::check(&images))
            .await
            .ok_or_else(|| Fault::internal("The images could not be read."))?
            .map_err(|error| Fault::invalid_params(error.to_string()))?;
        let kept = checked.iter().map(|(image, _)| image.clone()).collect();
        let id = session.id().clone();
        self.services.sessions.with_store(move |store| store.keep_images(&id, checked)).await?;
        Ok(kept)
    }

    async fn leave(&self) -> Result<Answer, Fault> {
        let Who::Device(id) = &self.lease.pass.who else {
            return Err(Fault::invalid_request("This computer is not a paired device."));
        };
        self.services.devices.leave(id, &self.actor()).await?;
        now::<methods::DevicesLeave>(Empty {})
    }

    async fn explore(&self, request: ExploreParams) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        let root = match self.lease.pass.scope() {
            Scope::Admin => sessions.open_workspace(&request.root).await?,
            _ => sessions.admit(&request.root).await?,
        };
        let session = sessions.create(&root).await?;
        let turn = TurnRequest::exploration(root, request.goals, None).planned_by(match request.planner {
            Planner::Auto => PlannerChoice::Auto,
            Planner::Heuristic => PlannerChoice::Heuristic,
            Planner::Model => PlannerChoice::Model,
        });
        let turn = turn.asked_by(&self.peer.client());
        let result = ExploreResult {
            session_id: session.id().to_string(),
            plan_id: turn.plan_id().to_string(),
            status: "started".to_owned(),
        };
        self.services.turns.submit(&session, turn).await?;
        Ok(Answer::AndFollow(rpc::value(&result), Following::from_the_beginning(session)))
    }

    /// Sends the answer when it is ready. Does not block further requests.
    fn answer_later(
        &self,
        id: Id,
        result: impl Future<Output = Result<Value, Fault>> + Send + 'static,
        out: fn(String) -> Out,
    ) {
        let outbox = self.outbox.clone();
        self.services.answers.spawn(async move {
            let text = match result.await {
                Ok(result) => rpc::response(&id, &result),
                Err(fault) => rpc::error(Some(&id), &fault),
            };
            // The client may be gone.
            let _ = outbox.send(out(text)).await;
        });
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
                        let ours = wire::meta(&EndMeta { state: end.state.as_str().to_owned() });
                        let response = PromptResponse::new(stop_reason(&end)).meta(ours);
                        (end.seq, rpc::response(&id, &rpc::value(&response)))
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
pub(super) fn served<T>(service: &Option<Arc<T>>, method: &str) -> Result<Arc<T>, Fault> {
    service.clone().ok_or_else(|| Fault::method_not_found(method))
}

pub(super) fn now<M: Method>(answer: M::Answer) -> Result<Answer, Fault> {
    Ok(Answer::Now(rpc::value(&answer)))
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
