//! One ACP connection as its calls see it: who calls, and what they reach.

use super::{approvals::PermissionRequests, from_wire, from_wire::Call, to_wire};
use crate::{
    base::{error::Fault, pass::Who, scope::Scope},
    connection::{inspect::Line, outbox::orders::Out, outbox::orders::Outbox},
    devices::{audit_rows::Actor, lease::ConnectionLease},
    protocol::services::Services,
};
use agent_client_protocol_schema::v1::SessionModeState;
use openagents_sessions::{By, Session};
use serde_json::Value;
use std::sync::Arc;

/// Answers an approval.
const ANSWER: &str = "_openagents/approvals/answer";

/// Prefix of the device methods.
const DEVICES: &str = "_openagents/devices/";

/// The calls of one connection, with what they need to run.
pub(super) struct Methods {
    pub(super) services: Arc<Services>,
    pub(super) line: Arc<Line>,
    pub(super) outbox: Outbox,
    pub(super) requests: Arc<PermissionRequests>,
    pub(super) lease: Arc<ConnectionLease>,
}

impl Methods {
    pub(super) fn new(
        services: Arc<Services>,
        line: Arc<Line>,
        outbox: Outbox,
        requests: Arc<PermissionRequests>,
        lease: Arc<ConnectionLease>,
    ) -> Self {
        if matches!(lease.pass.who, Who::Device(_)) {
            // A device is shown by the name that a person gave it, not by its own.
            line.introduce(&lease.pass.name());
        }
        Self { services, line, outbox, requests, lease }
    }

    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    /// Queues a frame for the client. Does nothing once the client is gone.
    pub(super) async fn send(&self, out: Out) {
        let _ = self.outbox.send(out).await;
    }

    /// Returns the caller, for the audit log.
    pub(super) fn actor(&self) -> Actor {
        let ConnectionLease { pass, address, .. } = &*self.lease;
        self.services.devices.actor(&pass.who, &self.line.client(), *address)
    }

    pub(super) fn modes(&self, session: &Session) -> SessionModeState {
        to_wire::modes(&session.mode(), &self.services.turns.modes())
    }

    pub(super) fn by(&self, prompt_id: Option<String>) -> By {
        By {
            connection: self.line.id.to_string(),
            client: self.line.client().to_string(),
            prompt_id,
            shows_cards: true,
        }
    }

    /// Finds a session, live or stored.
    pub(super) async fn session(&self, id: &str) -> Result<Arc<Session>, Fault> {
        let found = self.services().sessions.find(id).await?;
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
        // Device and approval decisions are audited where they are made.
        let is_audited = name.starts_with(DEVICES) || name == ANSWER;
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
}
