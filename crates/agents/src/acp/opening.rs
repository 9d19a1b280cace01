//! Opens a session: `initialize`, then `session/resume`, `session/load` or `session/new`.

use super::{
    config::AcpAgentConfig,
    connection::Reply,
    frame::RpcError,
    live::Live,
    stage::{Reversion, Stage},
};
use crate::{
    asking::{AskingLevel, LevelSetting, Lowered, Report, Watch},
    limits::{ACP_CANCEL_CHECK, REVERSIONS},
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost},
    model::Activity,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, mpsc},
    time::Instant,
};

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

pub(super) struct OpenedSession {
    pub(super) session: String,
    /// Why the session lacks the earlier conversation; `None` if it has it, or if there was none.
    pub(super) lost: Option<String>,
}

impl Opening<'_> {
    /// Opens a session in which the agent asks before it acts. `known` is the agent's id of an earlier one.
    pub(super) fn open(&self, known: Option<String>) -> Result<OpenedSession, Stop> {
        self.report_progress(0.0);
        let answer = self.initialize()?;
        self.live.stage(|stage, _| stage.login = self.login_advice(&answer));
        self.report_progress(0.5);
        let mut lost = None;
        if let Some(id) = known {
            match self.reopen(&answer, &id)? {
                Ok(output) => {
                    self.set_level(&id, &output)?;
                    return Ok(OpenedSession { session: id, lost });
                }
                Err(why) => lost = Some(why),
            }
        }
        self.live.stage(|stage, _| (stage.session, stage.opening) = (None, true));
        let opened = match self.request_session("session/new", &self.session_params(), false)? {
            Ok(opened) => opened,
            Err(error) => return Err(self.refusal("session/new", &error)),
        };
        let Some(id) = opened["sessionId"].as_str().filter(|id| !id.is_empty()).map(str::to_owned) else {
            let name = &self.config.name;
            return Err(Stop::Failed(format!("{name} answered session/new without a session; update it")));
        };
        self.live.stage(|stage, _| stage.session = Some(id.clone()));
        self.host.remember(&id);
        self.set_level(&id, &opened)?;
        Ok(OpenedSession { session: id, lost })
    }

    /// Opens an earlier session. Returns the agent's response, or the reason why it cannot.
    fn reopen(&self, answer: &wire::InitializeResponse, id: &str) -> Result<Result<Value, String>, Stop> {
        let capabilities = &answer.agent_capabilities;
        let method = match capabilities.session_capabilities.resume {
            Some(_) => "session/resume",
            None if !capabilities.load_session => return Ok(Err("it keeps no sessions".to_owned())),
            None if !self.config.loads => {
                return Ok(Err("it can't open a session again without losing it".to_owned()));
            }
            None => "session/load",
        };
        let mut params = self.session_params();
        params["sessionId"] = id.into();
        self.live.stage(|stage, _| stage.session = Some(id.to_owned()));
        match self.request_session(method, &params, true)? {
            Ok(output) => Ok(Ok(output)),
            Err(error) if error.wants_login() => Err(self.refusal(method, &error)),
            Err(error) => Ok(Err(error.sentence())),
        }
    }

    /// Sets the asking level where the agent does not report that it already asks. `opened` is the response to the
    /// request that opened the session. Fails if the agent still does not ask, since no prompt may follow.
    fn set_level(&self, session: &str, opened: &Value) -> Result<(), Stop> {
        let AskingLevel::Settings(settings) = self.config.asks else { return Ok(()) };
        let (mut watched, mut newest) = (Vec::new(), None::<Value>);
        for setting in settings {
            let report = newest.as_ref().and_then(|newest| setting.report(newest));
            let mut report = report.or_else(|| setting.report(opened));
            let is_offered = report.as_ref().map_or(setting.is_always_offered, |it| it.offers(setting.asks));
            let is_set =
                report.as_ref().is_some_and(|report| report.current.as_deref() == Some(setting.asks));
            if !is_set && !is_offered && setting.is_always_offered {
                return Err(self.level_error(setting, report.as_ref(), "it does not offer that"));
            }
            if !is_set && is_offered {
                let (method, params) = setting.set_request(session, report.as_ref(), setting.asks);
                let (_, reply) = self.live.connection.call(method, &params);
                let answer = match self.wait_for_reply(method, &reply)? {
                    Ok(answer) => answer,
                    Err(error) if error.wants_login() => return Err(self.refusal(method, &error)),
                    Err(error) => {
                        return Err(self.level_error(setting, report.as_ref(), &error.sentence()));
                    }
                };
                report = Some(match setting.report(&answer).map(|now| now.named_as(report.as_ref())) {
                    Some(now) if now.current.as_deref() != Some(setting.asks) => {
                        return Err(self.level_error(setting, Some(&now), "it did not change"));
                    }
                    Some(now) => {
                        newest = Some(answer);
                        now
                    }
                    // A response that does not report the setting means that it is set.
                    None => Report::with(report, setting.asks),
                });
            }
            watched.push((setting, report));
        }
        self.live.stage(|stage, _| stage.level = Some(Watch::new(watched)));
        Ok(())
    }

    fn level_error(&self, setting: &LevelSetting, report: Option<&Report>, why: &str) -> Stop {
        let (name, what) = (&self.config.name, setting.word());
        let named = |value: &str| report.map_or_else(|| value.to_owned(), |report| report.named(value));
        let (wanted, why) = (named(setting.asks), why.trim_end_matches('.'));
        let now =
            report.and_then(|report| report.current.as_deref()).map_or_else(|| "unknown".to_owned(), named);
        Stop::Failed(format!(
            "{name} would act without asking, so nothing was sent. Its {what} should be {wanted} and is {now}: {why}. Update \
             {name}, or set its {what} to {wanted} in its own settings, then send the prompt again."
        ))
    }

    fn initialize(&self) -> Result<wire::InitializeResponse, Stop> {
        let params = json!({
            "protocolVersion": 1,
            "clientInfo": {"name": "openagents", "title": "OpenAgents", "version": env!("CARGO_PKG_VERSION")},
            "clientCapabilities": {
                "fs": {"readTextFile": self.config.reads_files_here, "writeTextFile": true},
                "terminal": true,
            },
        });
        let (_, reply) = self.live.connection.call("initialize", &params);
        let answer = match self.wait_for_reply("initialize", &reply)? {
            Ok(answer) => answer,
            Err(error) => return Err(self.refusal("initialize", &error)),
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

    fn session_params(&self) -> Value {
        json!({"cwd": self.live.root, "mcpServers": []})
    }

    /// Requests a session. For an earlier one, updates before the response are history.
    fn request_session(&self, method: &str, params: &Value, is_earlier: bool) -> Result<Reply, Stop> {
        let reply = self.live.stage(|stage, _| {
            let (id, reply) = self.live.connection.call(method, params);
            (stage.opening, stage.replaying, stage.opened_by) = (true, is_earlier, Some(id));
            reply
        });
        self.wait_for_reply(method, &reply)
    }

    fn wait_for_reply(&self, method: &str, reply: &mpsc::Receiver<Reply>) -> Result<Reply, Stop> {
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

    fn refusal(&self, method: &str, error: &RpcError) -> Stop {
        if error.wants_login() {
            return Stop::Failed(self.live.stage(|stage, _| error.login_sentence(&stage.login)));
        }
        let (name, why) = (&self.config.name, error.sentence());
        Stop::Failed(format!("{name} refused {method}: {why}{}", self.live.connection.last_words_paragraph()))
    }

    fn login_advice(&self, answer: &wire::InitializeResponse) -> String {
        let name = &self.config.name;
        if let Some(login) = &self.config.login {
            return format!("{name} wants you to log in first: run `{login}` in a terminal");
        }
        let ways = answer.auth_methods.iter().map(|method| match method.description() {
            Some(description) => format!("{} ({description})", method.name()),
            None => method.name().to_owned(),
        });
        let ways: Vec<_> = ways.collect();
        let ways =
            if ways.is_empty() { "start it in a terminal once".to_owned() } else { ways.join(", or ") };
        format!("{name} wants you to log in first: {ways}")
    }

    fn report_progress(&self, progress: f32) {
        self.host.emit(AgentEvent::Activity(Some(Activity::Loading { progress })));
    }
}

impl Live {
    /// Reverts a change that makes the agent ask less often than the user chose. `update` is an update, or
    /// the response to a request that changes the level.
    pub(super) fn watch_level(&self, stage: &mut Stage, now: Instant, update: &Value) {
        let may_change_approval_mode = stage.may_change_approval_mode;
        let lowered = stage
            .level
            .as_mut()
            .map(|level| level.apply_update(update, may_change_approval_mode))
            .unwrap_or_default();
        let Some(session) = stage.session.clone() else { return };
        for Lowered { setting, report, back_to } in lowered {
            let (name, what) = (&self.name, setting.word());
            let (from, to) =
                (report.named(report.current.as_deref().unwrap_or_default()), report.named(&back_to));
            let changed = format!("{name} changed its {what} to {from}, which asks for fewer approvals");
            stage.reverted += 1;
            if stage.reverted > REVERSIONS {
                return self.connection.stop(format!("{changed}, again and again, and was stopped"));
            }
            let (method, params) = setting.set_request(&session, Some(&report), &back_to);
            let number = self.connection.request(method, &params);
            let why = format!("{changed}, refused to change it back, and was stopped");
            stage.reversions.insert(number, Reversion { setting, value: back_to.clone(), why });
            stage.timeline.note(now, &format!("*{changed}. It was set back to {to}.*"));
        }
    }

    /// Handles the response to a request that sets the level back. Returns whether it was one.
    pub(super) fn handle_reversion(
        &self,
        stage: &mut Stage,
        now: Instant,
        number: u64,
        answer: &Reply,
    ) -> bool {
        let Some(Reversion { setting, value, why }) = stage.reversions.remove(&number) else {
            return false;
        };
        match answer {
            Ok(answer) => {
                if let Some(level) = &mut stage.level {
                    level.has_set(setting, &value);
                }
                self.watch_level(stage, now, answer);
            }
            Err(_) => self.connection.stop(why),
        }
        true
    }
}
