//! Runs the calls of one connection of the app, one after the other.

use super::{from_wire::Call, history, phone::Phone, threads, to_wire};
use crate::{
    error::Fault,
    outbox::{Out, Outbox},
    rpc::{self, Id},
    sessions::{Session, TurnRequest, beside},
    shared::Shared,
};
use openagents_core::update::{AgentMessage, ModeChange, SessionUpdate};
use serde_json::{Value, json};
use std::{collections::HashMap, net::IpAddr, path::Path, sync::Arc};

pub(super) struct Methods {
    shared: Arc<Shared>,
    phone: Arc<Phone>,
    address: IpAddr,
    outbox: Outbox,
    /// The sessions that this connection has named, and the mode that it was last told.
    named: HashMap<Arc<str>, (Arc<Session>, Option<String>)>,
}

impl Methods {
    pub(super) fn new(shared: Arc<Shared>, phone: Arc<Phone>, address: IpAddr, outbox: Outbox) -> Self {
        Self { shared, phone, address, outbox, named: HashMap::new() }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Queues something for the app; one that is gone needs nothing.
    pub(super) async fn send(&self, out: Out) {
        let _ = self.outbox.send(out).await;
    }

    pub(super) async fn request(&mut self, id: &Id, call: Result<Call, Fault>) {
        let result = match call {
            Ok(call) => self.run(id, call).await,
            Err(fault) => Err(fault),
        };
        match result {
            Ok(Some(result)) => self.respond(id, &result).await,
            Ok(None) => {}
            Err(fault) => self.send(Out::Text(rpc::error(Some(id), &fault))).await,
        }
    }

    async fn respond(&self, id: &Id, result: &Value) {
        self.send(Out::Text(rpc::response(id, result))).await;
    }

    /// Returns the result, or `None` when it was sent already because updates had to come after it.
    async fn run(&mut self, id: &Id, call: Call) -> Result<Option<Value>, Fault> {
        let hub = self.shared.hub.clone();
        match call {
            Call::Initialize { .. } => {
                self.respond(id, &to_wire::initialized(hub.root())).await;
                self.resume().await;
                return Ok(None);
            }
            Call::NewSession => {
                let session = hub.create(hub.root()).await?;
                self.name(&session).await;
                Ok(json!({"session_id": session.id()}))
            }
            Call::SetMode { session_id, mode } => {
                let session_id = session_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
                let session = self.open(&session_id).await?;
                self.set_mode(&session, mode).await;
                Ok(json!({}))
            }
            Call::Prompt { session_id, text } => {
                let session = self.open(&session_id).await?;
                self.prompt(id, &session, text).await?;
                return Ok(None);
            }
            Call::Cancel { session_id } => {
                let status = if self.cancel(&session_id).await { "cancelled" } else { "no_active_session" };
                Ok(json!({"status": status}))
            }
            Call::Explore { root, goals } => {
                self.explore(id, root.as_deref(), goals).await?;
                return Ok(None);
            }
            Call::RecentSessions => history::recent_sessions(&hub).await,
            Call::SessionTimeline { session_id, limit } => history::timeline(&hub, session_id, limit).await,
            Call::Threads { top_k } => threads::list(&hub, top_k).await,
            Call::LatestThread => threads::latest(&hub).await,
        }
        .map(Some)
    }

    /// Finds or creates a session: after a restart the app goes on with an id that nobody here knows.
    async fn open(&mut self, id: &str) -> Result<Arc<Session>, Fault> {
        let session = self.shared.hub.open(id, self.shared.hub.root()).await?;
        self.name(&session).await;
        Ok(session)
    }

    /// From now on the connection gets this session's updates.
    async fn name(&mut self, session: &Arc<Session>) {
        self.phone.name(session);
        if !self.named.contains_key(session.id()) {
            self.named.insert(session.id().clone(), (session.clone(), None));
            let since = session.head().seq;
            self.send(Out::Follow { session: session.clone(), since }).await;
        }
    }

    /// After a broken connection its address goes on with the session that it named last.
    async fn resume(&mut self) {
        let Some(place) = self.shared.resumes.take(self.address) else { return };
        if let Ok(Some(session)) = self.shared.hub.find(&place.session_id).await {
            self.phone.resume(&session, place.own);
            self.named.insert(session.id().clone(), (session.clone(), None));
            self.send(Out::Follow { session, since: place.written }).await;
        }
    }

    async fn set_mode(&mut self, session: &Arc<Session>, mode: String) {
        self.phone.set_modes();
        // The last generation of the app sets the same mode before every prompt.
        let told = self.named.get_mut(session.id()).map(|(_, told)| told.replace(mode.clone()));
        if told.flatten().as_ref() != Some(&mode) {
            append(session, SessionUpdate::Mode(ModeChange { mode_id: mode })).await;
        }
    }

    async fn prompt(&self, id: &Id, session: &Arc<Session>, text: String) -> Result<(), Fault> {
        let status = if session.is_used() { "resumed" } else { "started" };
        let hub = &self.shared.hub;
        let started = if text.is_empty() {
            Err(Fault::invalid_params("Empty prompt"))
        } else {
            let turn = TurnRequest::prompt(session.cwd(), text, &self.phone.id());
            let homeless = hub.offered().is_none() && session.cwd() == hub.root();
            let turn = if homeless { turn.refusal(Fault::no_workspace()) } else { turn };
            hub.submit(session, turn).map(drop)
        };
        match started {
            Ok(()) => self.respond(id, &json!({"status": status})).await,
            Err(fault) => {
                // The app shows no errors: the session does.
                let text = format!("❌ {fault}");
                append(
                    session,
                    SessionUpdate::AgentMessage(AgentMessage { text, ..AgentMessage::default() }),
                )
                .await;
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Cancels the running turn of a session. Returns whether there was one.
    pub(super) async fn cancel(&mut self, session_id: &str) -> bool {
        match self.shared.hub.find(session_id).await {
            Ok(Some(session)) => {
                self.name(&session).await;
                session.cancel()
            }
            _ => false,
        }
    }

    /// An exploration of the server's own workspace, or the reason why there is none.
    fn own_workspace(&self, goals: Vec<String>, note: Option<String>) -> TurnRequest {
        let hub = &self.shared.hub;
        let turn = TurnRequest::exploration(hub.root().to_owned(), goals, note);
        if hub.offered().is_some() { turn } else { turn.refusal(Fault::no_workspace()) }
    }

    async fn explore(&mut self, id: &Id, root: Option<&str>, goals: Vec<String>) -> Result<(), Fault> {
        let hub = self.shared.hub.clone();
        let turn = match root.map(Path::new) {
            None => self.own_workspace(goals, None),
            Some(path) if path.is_absolute() && path.exists() => {
                let turn = TurnRequest::exploration(path.to_owned(), goals, None);
                match hub.admit(path).await {
                    // A file is refused by the run itself, in its own words.
                    Ok(_) => turn,
                    Err(_) if !path.is_dir() => turn,
                    Err(fault) => turn.refusal(fault),
                }
            }
            // Most phones name a path that exists on another machine.
            Some(path) => {
                let note = format!("{} is not on this computer", path.display());
                self.own_workspace(goals, Some(note))
            }
        };
        let session = hub.create(turn.root().unwrap_or(hub.root())).await?;
        let started = json!({"session_id": session.id(), "plan_id": turn.plan_id(), "status": "started"});
        self.respond(id, &started).await;
        self.name(&session).await;
        // A new session has no queue that could be full.
        hub.submit(&session, turn).map(drop)
    }
}

async fn append(session: &Arc<Session>, update: SessionUpdate) {
    let session = session.clone();
    beside(move || session.append(vec![update])).await;
}
