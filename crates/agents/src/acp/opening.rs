//! Opens a session: `initialize`, then `session/resume`, `session/load` or `session/new`.

use super::{config::AcpAgentConfig, connection::Reply, frame::RpcError, live::Live};
use crate::limits::ACP_CANCEL_CHECK;
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost},
    model::Activity,
    update::{AgentMessage, SessionUpdate, new_id},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, mpsc},
    time::Instant,
};

/// The reason a turn does not start.
#[derive(Debug)]
pub(super) enum Stop {
    Cancelled,
    /// One sentence, followed by the end of standard error.
    Failed(String),
}

pub(super) struct Opening<'a> {
    pub(super) config: &'a AcpAgentConfig,
    pub(super) live: &'a Arc<Live>,
    pub(super) host: &'a dyn AgentHost,
    pub(super) cancel: &'a CancellationToken,
    pub(super) deadline: Instant,
}

impl Opening<'_> {
    /// Returns the agent's own id of the session. `known` is the id of an earlier one.
    pub(super) fn open(&self, known: Option<String>) -> Result<String, Stop> {
        self.progress(0.0);
        let answer = self.initialize()?;
        self.progress(0.5);
        let capabilities = &answer.agent_capabilities;
        let way_back = match known {
            Some(id) if capabilities.session_capabilities.resume.is_some() => Some(("session/resume", id)),
            Some(id) if capabilities.load_session => Some(("session/load", id)),
            Some(_) => {
                self.note("it keeps no sessions");
                None
            }
            None => None,
        };
        if let Some((method, id)) = way_back {
            let mut params = self.place();
            params["sessionId"] = id.clone().into();
            self.live.stage(|stage, _| stage.session = Some(id.clone()));
            match self.session(method, &params)? {
                Ok(_) => return Ok(id),
                Err(error) if error.wants_login() => return Err(self.login(&answer)),
                Err(error) => self.note(&error.sentence()),
            }
        }
        self.live.stage(|stage, _| (stage.session, stage.opening) = (None, true));
        let opened = match self.session("session/new", &self.place())? {
            Ok(opened) => opened,
            Err(error) if error.wants_login() => return Err(self.login(&answer)),
            Err(error) => return Err(self.refused("session/new", &error)),
        };
        let Some(id) = opened["sessionId"].as_str().filter(|id| !id.is_empty()) else {
            let name = &self.config.name;
            return Err(Stop::Failed(format!("{name} answered session/new without a session; update it")));
        };
        self.live.stage(|stage, _| stage.session = Some(id.to_owned()));
        self.host.remember(id);
        Ok(id.to_owned())
    }

    fn initialize(&self) -> Result<wire::InitializeResponse, Stop> {
        let params = json!({
            "protocolVersion": 1,
            "clientInfo": {"name": "openagents", "title": "OpenAgents", "version": env!("CARGO_PKG_VERSION")},
            "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true},
        });
        let (_, reply) = self.live.connection.call("initialize", &params);
        let answer = match self.wait("initialize", &reply)? {
            Ok(answer) => answer,
            Err(error) => return Err(self.refused("initialize", &error)),
        };
        let name = &self.config.name;
        match answer["protocolVersion"].as_u64() {
            Some(1) => {}
            Some(version) => {
                let why =
                    format!("{name} speaks version {version} of ACP, and this app version 1; update them");
                return Err(Stop::Failed(why));
            }
            None => return Err(Stop::Failed(format!("{name} does not say which version of ACP it speaks"))),
        }
        let parsed = serde_json::from_value(answer);
        parsed.map_err(|error| Stop::Failed(format!("{name} sent an invalid answer to initialize: {error}")))
    }

    fn place(&self) -> Value {
        json!({"cwd": self.live.root, "mcpServers": []})
    }

    /// Requests a session. Updates before the response are history.
    fn session(&self, method: &str, params: &Value) -> Result<Reply, Stop> {
        let reply = self.live.stage(|stage, _| {
            let (id, reply) = self.live.connection.call(method, params);
            (stage.opening, stage.opened_by) = (true, Some(id));
            reply
        });
        self.wait(method, &reply)
    }

    fn wait(&self, method: &str, reply: &mpsc::Receiver<Reply>) -> Result<Reply, Stop> {
        let name = &self.config.name;
        loop {
            match reply.recv_timeout(ACP_CANCEL_CHECK) {
                Ok(reply) => return Ok(reply),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if self.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if self.live.is_gone() {
                break;
            }
            if Instant::now() >= self.deadline {
                let seconds = self.config.timeouts.start.as_secs();
                let why = format!("{name} did not answer {method} within {seconds} s and was stopped");
                self.live.connection.stop(why);
                break;
            }
        }
        Err(Stop::Failed(self.live.connection.exit_reason()))
    }

    fn refused(&self, method: &str, error: &RpcError) -> Stop {
        let (name, why) = (&self.config.name, error.sentence());
        Stop::Failed(format!("{name} refused {method}: {why}{}", self.live.connection.said_last()))
    }

    fn login(&self, answer: &wire::InitializeResponse) -> Stop {
        let name = &self.config.name;
        if let Some(login) = &self.config.login {
            return Stop::Failed(format!("{name} wants you to log in first: run `{login}` in a terminal"));
        }
        let ways = answer.auth_methods.iter().map(|method| match method.description() {
            Some(description) => format!("{} ({description})", method.name()),
            None => method.name().to_owned(),
        });
        let ways: Vec<_> = ways.collect();
        let ways =
            if ways.is_empty() { "start it in a terminal once".to_owned() } else { ways.join(", or ") };
        Stop::Failed(format!("{name} wants you to log in first: {ways}"))
    }

    fn progress(&self, progress: f32) {
        self.host.emit(AgentEvent::Activity(Some(Activity::Loading { progress })));
    }

    /// Tells the person that the earlier conversation is lost.
    fn note(&self, why: &str) {
        let name = &self.config.name;
        let text = format!("*{name} starts a new session and does not know what was said before: {why}.*");
        self.host.emit(AgentEvent::Update(SessionUpdate::AgentMessage(AgentMessage {
            text,
            message_id: Some(new_id()),
            ..AgentMessage::default()
        })));
    }
}
