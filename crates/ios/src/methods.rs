//! Runs the calls of one connection in order.

use crate::services::Services;
use crate::{
    from_wire::IosCall,
    phone::{Naming, Phone},
    resume::Live,
    threads, to_wire,
};
use openagents_connection::{
    fault::Fault,
    inspect::Peer,
    outbox::dialect::{Out, Outbox, ReadFrom},
    pass::Pass,
    rpc::{self, Id},
};
use openagents_core::update::{AgentMessage, SessionUpdate};
use openagents_sessions::{Session, SessionError, SessionRegistry, TurnRequest, run_blocking};
use openagents_wire::Scope;
use serde_json::{Value, json};
use std::{collections::HashMap, net::IpAddr, path::Path, sync::Arc};

const NOTE: usize = 1024;

pub(super) struct IosClient {
    pub(super) pass: Arc<Pass>,
    pub(super) peer: Arc<Peer>,
    pub(super) address: IpAddr,
    /// `initialize` was answered while the connection waited for approval.
    pub(super) greeted: bool,
}

pub(super) struct IosMethods {
    services: Arc<Services>,
    client: IosClient,
    phone: Arc<Phone>,
    live: Arc<Live>,
    outbox: Outbox,
    /// The last mode this connection set, per session.
    modes: HashMap<Arc<str>, String>,
}

impl IosMethods {
    pub(super) fn new(
        services: Arc<Services>,
        client: IosClient,
        phone: Arc<Phone>,
        live: Arc<Live>,
        outbox: Outbox,
    ) -> Self {
        Self { services, client, phone, live, outbox, modes: HashMap::new() }
    }

    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    pub(super) async fn send(&self, out: Out) {
        let _ = self.outbox.send(out).await;
    }

    /// Runs a call. `cancelled` is set if the call cancels a turn and the turn is already cancelled.
    pub(super) async fn request(&mut self, id: &Id, call: Result<IosCall, Fault>, cancelled: bool) {
        let result = match call {
            Ok(call) => match self.authorize(&call).await {
                Ok(()) => self.run(id, call, cancelled).await,
                Err(fault) => Err(fault),
            },
            Err(fault) => Err(fault),
        };
        match result {
            Ok(Some(result)) => self.respond(id, &result).await,
            Ok(None) => {}
            Err(fault) => self.send(Out::Text(rpc::error(Some(id), &fault))).await,
        }
    }

    /// Checks the scope of a call, and records it. Checked on every call, because the scope can change.
    pub(super) async fn authorize(&self, call: &IosCall) -> Result<(), Fault> {
        if self.client.pass.is_revoked() {
            return Err(Fault::busy("This phone was removed."));
        }
        let needed = call.needs();
        if needed == Scope::View {
            return Ok(());
        }
        let refused = needed > self.client.pass.scope();
        if let Some(action) = call.action() {
            let IosClient { pass, peer, address, .. } = &self.client;
            let actor = self.services.devices.actor(&pass.who, &peer.client(), *address);
            if refused {
                self.services.devices.refused_call(&actor, action).await;
            } else {
                self.services.devices.record(&actor, action, call.session_id().unwrap_or_default()).await;
            }
        }
        if refused {
            return Err(Fault::busy("This phone may only view; allow more on the desktop."));
        }
        Ok(())
    }

    async fn respond(&self, id: &Id, result: &Value) {
        self.send(Out::Text(rpc::response(id, result))).await;
    }

    /// Returns the result, or `None` if it was already sent because updates must follow it.
    async fn run(&mut self, id: &Id, call: IosCall, cancelled: bool) -> Result<Option<Value>, Fault> {
        let sessions = self.services.sessions.clone();
        match call {
            IosCall::Initialize { .. } => {
                if !std::mem::take(&mut self.client.greeted) {
                    self.respond(id, &to_wire::initialized(sessions.default_workspace())).await;
                }
                self.resume().await;
                return Ok(None);
            }
            IosCall::NewSession => {
                let session = sessions.create(own_folder(&sessions)).await?;
                self.follow(&session).await;
                Ok(json!({"session_id": session.id()}))
            }
            IosCall::SetMode { session_id, mode } => {
                let session_id = session_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
                let session = self.open(&session_id).await?;
                self.set_mode(&session, mode).await?;
                Ok(json!({}))
            }
            IosCall::Prompt { session_id, text } => {
                let session = self.open(&session_id).await?;
                self.prompt(id, &session, text).await?;
                return Ok(None);
            }
            IosCall::Cancel { session_id } => {
                let cancelled = self.cancel(&session_id).await || cancelled;
                let status = if cancelled { "cancelled" } else { "no_active_session" };
                Ok(json!({"status": status}))
            }
            IosCall::Explore { root, goals } => {
                self.explore(id, root.as_deref(), goals).await?;
                return Ok(None);
            }
            IosCall::RecentSessions => threads::recent_sessions(&sessions).await,
            IosCall::SessionTimeline { session_id, limit } => {
                threads::timeline(&sessions, session_id, limit).await
            }
            IosCall::Threads { top_k } => threads::list_threads(&sessions, top_k).await,
            IosCall::LatestThread => threads::latest_thread(&sessions).await,
        }
        .map(Some)
    }

    /// Finds or creates a session: after a restart the app may continue with an unknown id.
    async fn open(&mut self, id: &str) -> Result<Arc<Session>, Fault> {
        let session = self.services.sessions.open(id, own_folder(&self.services.sessions)).await?;
        self.follow(&session).await;
        Ok(session)
    }

    async fn follow(&mut self, session: &Arc<Session>) {
        let since = session.head().seq;
        let Naming::First { instead_of } = self.phone.mark_named(session, since) else { return };
        let from = ReadFrom::Update(since);
        self.send(Out::Follow { session: session.clone(), from, queue: None, answer: None }).await;
        if let Some(oldest) = instead_of {
            self.modes.remove(oldest.id());
            self.send(Out::Leave(oldest)).await;
        }
    }

    /// Continues the session that an earlier, broken connection of the same address named last.
    async fn resume(&mut self) {
        let Some(position) = self.services.resumes.take_over(&self.live).await else { return };
        match self.services.sessions.find(&position.session_id).await {
            Ok(Some(session)) => {
                self.phone.resume(&session, position.own, position.written);
                let from = ReadFrom::Update(position.written);
                self.send(Out::Follow { session, from, queue: None, answer: None }).await;
            }
            Ok(None) => self.phone.forget(),
            // The next connection retries.
            Err(_) => {}
        }
    }

    async fn set_mode(&mut self, session: &Arc<Session>, mode: String) -> Result<(), Fault> {
        self.phone.set_modes();
        // The app knows few modes. Before every prompt it sends back the substitute that it was given for the real
        // mode, which is not a request to change the mode.
        let current = session.mode();
        if *current != *mode && to_wire::known_mode(&current) == mode {
            return Ok(());
        }
        let before = self.modes.insert(session.id().clone(), mode.clone());
        // The last generation of the app sets the same mode before every prompt. Another client may have changed the
        // mode since.
        if before.as_ref() != Some(&mode) || *session.mode() != *mode {
            let stored = session.set_mode(&mode).await;
            if stored.is_err() {
                self.modes.remove(session.id());
            }
            stored?;
        }
        Ok(())
    }

    async fn prompt(&self, id: &Id, session: &Arc<Session>, text: String) -> Result<(), Fault> {
        let status = if session.is_used() { "resumed" } else { "started" };
        let sessions = &self.services.sessions;
        let started = if text.is_empty() {
            Err(SessionError::Invalid("Empty prompt".to_owned()))
        } else {
            // Checked again, because the folder may have changed since the session began.
            let admitted = match session.cwd() {
                cwd if cwd.as_os_str().is_empty() => Err(SessionError::NoWorkspace),
                cwd => sessions.admit(cwd).await,
            };
            let turn = |cwd: &Path| self.services.turns.prompt(session, cwd, text.into(), &self.phone.id());
            let turn = match admitted {
                Ok(cwd) => turn(&cwd),
                Err(fault) => turn(session.cwd()).refusal(fault),
            };
            self.services.turns.submit(session, turn).await.map(drop)
        };
        match started {
            Ok(()) => self.respond(id, &json!({"status": status})).await,
            Err(error) => {
                let fault = Fault::from(error);
                show_error(session, &fault).await;
                return Err(fault);
            }
        }
        Ok(())
    }

    pub(super) async fn cancel(&mut self, session_id: &str) -> bool {
        match self.services.sessions.find(session_id).await {
            Ok(Some(session)) => {
                self.follow(&session).await;
                session.cancel()
            }
            _ => false,
        }
    }

    /// Returns an exploration of the server's own workspace, or a refusal if there is no workspace.
    fn own_workspace(&self, goals: Vec<String>, note: Option<String>) -> TurnRequest {
        let sessions = &self.services.sessions;
        let turn = TurnRequest::exploration(sessions.root().to_owned(), goals, note);
        if sessions.default_workspace().is_some() { turn } else { turn.refusal(SessionError::NoWorkspace) }
    }

    async fn explore(&mut self, id: &Id, root: Option<&str>, goals: Vec<String>) -> Result<(), Fault> {
        let sessions = self.services.sessions.clone();
        let turn = match root {
            None => self.own_workspace(goals, None),
            // Explores and stores the admitted path, because the requested one may be a symlink that changes.
            Some(root) => match sessions.admit(Path::new(root)).await {
                Ok(admitted) => TurnRequest::exploration(admitted, goals, None),
                // Most phones send a path of another machine. The answer does not reveal whether the path exists here.
                Err(_) => {
                    let note = format!(
                        "{} is not known on this computer",
                        openagents_core::text::prefix(root, NOTE)
                    );
                    self.own_workspace(goals, Some(note))
                }
            },
        };
        let session = sessions.create(turn.root().unwrap_or_else(|| own_folder(&sessions))).await?;
        let started = json!({"session_id": session.id(), "plan_id": turn.plan_id(), "status": "started"});
        self.respond(id, &started).await;
        self.follow(&session).await;
        if let Err(error) = self.services.turns.submit(&session, turn).await {
            show_error(&session, &error.into()).await;
        }
        Ok(())
    }
}

/// Returns the folder of the app's sessions, empty when the server has no workspace.
fn own_folder(sessions: &SessionRegistry) -> &Path {
    sessions.default_workspace().unwrap_or(Path::new(""))
}

/// Reports an error in the session, because the app shows no JSON-RPC errors.
async fn show_error(session: &Arc<Session>, fault: &Fault) {
    let text = format!("❌ {fault}");
    let message = AgentMessage { text, failed: true, ..AgentMessage::default() };
    let session = session.clone();
    run_blocking(move || session.append(vec![SessionUpdate::AgentMessage(message)])).await;
}
