//! Opens a session: `initialize`, then `session/resume`, `session/load` or `session/new`.

use super::{
    config::AcpAgentConfig,
    connection::Reply,
    frame::RpcError,
    live::{Abilities, Live},
    stage::{PendingSet, SetAnswer, SetBy, Stage},
    tools::{Servers, servers},
    watch::{Lowered, Watch, current, named},
};
use crate::{
    asking::{AskingLevel, LevelSetting},
    limits::{ACP_CANCEL_CHECK, REVERSIONS, SET_OPTION},
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost, EarlierKind, EarlierSession, ToolServer},
    model::Activity,
    update::{AgentPart, OptionValue, SessionOption, in_setting_order},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
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
    pub(super) tools: &'a [ToolServer],
    /// Of the agent's command.
    pub(super) environment: &'a BTreeMap<String, String>,
}

pub(super) struct OpenedSession {
    pub(super) session: String,
    /// Why the session lacks the earlier conversation; `None` if it has it, or if there was none.
    pub(super) lost: Option<String>,
    /// What the user should know about the start.
    pub(super) notes: Vec<String>,
}

impl Opening<'_> {
    /// Opens a session in which the agent asks before it acts. `known` is an earlier one.
    pub(super) fn open(&self, known: Option<EarlierSession>) -> Result<OpenedSession, Stop> {
        self.report_progress(0.0);
        let answer = self.initialize()?;
        self.live.stage(|stage, _| stage.login = self.login_advice(&answer));
        self.report_progress(0.5);
        let mut lost = None;
        let can = &answer.agent_capabilities.mcp_capabilities;
        let Servers { params, problems: mut notes } =
            servers(self.tools, can, self.config.own_tools.as_ref(), self.environment, &self.live.root);
        let params = json!({"cwd": self.live.root, "mcpServers": params});
        match known {
            Some(EarlierSession { kind: EarlierKind::Passed, .. }) => {
                lost = Some("the session that it branched from has had more turns".to_owned());
            }
            Some(EarlierSession { id, kind: EarlierKind::Branched }) => {
                match self.fork(&id, params.clone(), &mut notes)? {
                    Ok(session) => return Ok(OpenedSession { session, lost, notes }),
                    Err(why) => lost = Some(why),
                }
            }
            Some(EarlierSession { id, kind: EarlierKind::Own }) => {
                match self.reopen(&answer, &id, params.clone())? {
                    Ok(_) => {
                        self.set_options(&id, &mut notes)?;
                        return Ok(OpenedSession { session: id, lost, notes });
                    }
                    Err(why) => lost = Some(why),
                }
            }
            None => {}
        }
        let session = match self.create("session/new", &params, None)? {
            Ok(session) => session,
            Err(error) => return Err(self.refusal("session/new", &error)),
        };
        Ok(OpenedSession { session, lost, notes })
    }

    /// Introduces us to an agent that gets no session. Returns what it can do with sessions.
    pub(super) fn introduce(&self) -> Result<Value, Stop> {
        let answer = self.initialize()?;
        self.live.stage(|stage, _| stage.login = self.login_advice(&answer));
        let can = serde_json::to_value(&answer.agent_capabilities).unwrap_or_default();
        Ok(can["sessionCapabilities"].clone())
    }

    /// Calls the agent and returns its answer.
    pub(super) fn call(&self, method: &str, params: &Value) -> Result<Value, Stop> {
        let (_, reply) = self.live.connection.call(method, params);
        self.wait_for_reply(method, &reply)?.map_err(|error| self.refusal(method, &error))
    }

    /// Creates a session of the agent and returns its id. The copy of an earlier one adds what the user should know
    /// to `notes`.
    fn create(
        &self,
        method: &str,
        params: &Value,
        notes: Option<&mut Vec<String>>,
    ) -> Result<Result<String, RpcError>, Stop> {
        self.live.stage(|stage, _| (stage.session, stage.opening) = (None, true));
        let opened = match self.request_session(method, params, notes.is_some())? {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let Some(id) = opened["sessionId"].as_str().filter(|id| !id.is_empty()).map(str::to_owned) else {
            let name = &self.config.name;
            return Err(Stop::Failed(format!("{name} answered {method} without a session; update it")));
        };
        self.live.stage(|stage, _| stage.session = Some(id.clone()));
        self.host.remember(&id);
        self.set_options(&id, notes.unwrap_or(&mut Vec::new()))?;
        Ok(Ok(id))
    }

    /// Has the agent copy an earlier session. Returns the copy, or the reason why it cannot.
    fn fork(
        &self,
        id: &str,
        mut params: Value,
        notes: &mut Vec<String>,
    ) -> Result<Result<String, String>, Stop> {
        if !self.live.abilities().fork {
            return Ok(Err("it cannot branch a session".to_owned()));
        }
        params["sessionId"] = id.into();
        match self.create("session/fork", &params, Some(notes))? {
            Ok(session) => Ok(Ok(session)),
            Err(error) if error.wants_login() => Err(self.refusal("session/fork", &error)),
            Err(error) => Ok(Err(error.sentence())),
        }
    }

    /// Opens an earlier session. Returns the agent's response, or the reason why it cannot.
    fn reopen(
        &self,
        answer: &wire::InitializeResponse,
        id: &str,
        mut params: Value,
    ) -> Result<Result<Value, String>, Stop> {
        let capabilities = &answer.agent_capabilities;
        let method = match capabilities.session_capabilities.resume {
            Some(_) => "session/resume",
            None if !capabilities.load_session => return Ok(Err("it keeps no sessions".to_owned())),
            None if !self.config.loads => {
                return Ok(Err("it can't open a session again without losing it".to_owned()));
            }
            None => "session/load",
        };
        params["sessionId"] = id.into();
        self.live.stage(|stage, _| stage.session = Some(id.to_owned()));
        match self.request_session(method, &params, true)? {
            Ok(output) => Ok(Ok(output)),
            Err(error) if error.wants_login() => Err(self.refusal(method, &error)),
            Err(error) => Ok(Err(error.sentence())),
        }
    }

    fn set_options(&self, session: &str, notes: &mut Vec<String>) -> Result<(), Stop> {
        self.set_level(session, notes)?;
        self.set_choices(session)
    }

    /// Sets the asking level where the agent does not report that it already asks. Fails if the agent still does not
    /// ask, since no prompt may follow. A level of an earlier session that no client chose here is named in `notes`.
    fn set_level(&self, session: &str, notes: &mut Vec<String>) -> Result<(), Stop> {
        let AskingLevel::Settings(settings) = self.config.asks else { return Ok(()) };
        for setting in settings {
            let wanted = OptionValue::Select(setting.asks.to_owned());
            let option = self.live.stage(|stage, _| stage.options.find(|it| setting.is_for(it)).cloned());
            let wanted = option.as_ref().map_or(wanted.clone(), |option| option.typed(wanted));
            let is_offered =
                option.as_ref().map_or(setting.is_always_offered, |option| option.offers(&wanted));
            if option.as_ref().is_some_and(|option| option.current() == wanted) {
                continue;
            }
            notes.extend(option.as_ref().and_then(|option| self.earlier_level(setting, option)));
            if !is_offered && setting.is_always_offered {
                return Err(self.level_error(setting, "it does not offer that"));
            }
            if !is_offered {
                continue;
            }
            let id = option.map_or_else(|| setting.id.to_owned(), |option| option.id);
            match self.set(session, &id, &wanted)? {
                Ok(_) => {}
                Err(error) if error.wants_login() => return Err(self.refusal("set_config_option", &error)),
                Err(error) => return Err(self.level_error(setting, &error.sentence())),
            }
            let is_set = self
                .live
                .stage(|stage, _| current(setting, &stage.options).is_none_or(|value| value == setting.asks));
            if !is_set {
                return Err(self.level_error(setting, "it did not change"));
            }
        }
        // Checked together with the start of the watch, which takes what holds now for what was set.
        let unset = self.live.stage(|stage, _| {
            stage.level = Some(Watch::new(settings, &stage.options));
            settings.iter().find(|setting| {
                current(setting, &stage.options).is_some_and(|value| !setting.asks_with(value))
            })
        });
        unset.map_or(Ok(()), |setting| Err(self.level_error(setting, "it did not change")))
    }

    /// Returns the level in which a session ran before, in a sentence with the way back.
    fn earlier_level(&self, setting: &LevelSetting, option: &SessionOption) -> Option<String> {
        let before = option.current();
        let OptionValue::Select(value) = &before else { return None };
        if setting.asks_with(value) || self.host.choices().get(&option.id) == Some(&before) {
            return None;
        }
        let (what, name) = (setting.word(), named(Some(option), value));
        Some(format!("Its {what} was {name}. Here it asks first; choose that {what} to use it again."))
    }

    /// Sets the values that clients chose. The agent works without one that it refuses.
    fn set_choices(&self, session: &str) -> Result<(), Stop> {
        let choices = self.host.choices();
        let options = self.live.stage(|stage, _| stage.options.all());
        for id in in_setting_order(&options).into_iter().map(|option| &option.id) {
            let Some(wanted) = choices.get(id) else { continue };
            // Another model may have brought other options.
            let option = self.live.stage(|stage, _| stage.options.find(|option| option.id == *id).cloned());
            if option.is_none_or(|option| option.current() == *wanted || !option.offers(wanted)) {
                continue;
            }
            if let Err(error) = self.set(session, id, wanted)? {
                tracing::warn!(agent = self.config.id, id, error = error.sentence(), "an option was not set");
            }
        }
        Ok(())
    }

    fn set(&self, session: &str, id: &str, value: &OptionValue) -> Result<SetAnswer, Stop> {
        let (method, answered) = self.live.request_set(session, id, value);
        self.wait_for_reply(method, &answered)
    }

    fn level_error(&self, setting: &LevelSetting, why: &str) -> Stop {
        let option = self.live.stage(|stage, _| stage.options.find(|it| setting.is_for(it)).cloned());
        let (name, what) = (&self.config.name, setting.word());
        let wanted = match &option {
            Some(option) => named(Some(option), setting.asks),
            None => setting.asks.to_owned(),
        };
        let now = match option.as_ref().map(|option| option.current()) {
            Some(OptionValue::Select(current)) => named(option.as_ref(), &current),
            _ => "unknown".to_owned(),
        };
        let why = why.trim_end_matches('.');
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
                "plan": {},
                "subagents": {},
                "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
                "elicitation": {"form": {}, "url": {}},
            },
        });
        let (_, reply) = self.live.connection.call("initialize", &params);
        let answer = match self.wait_for_reply("initialize", &reply)? {
            Ok(answer) => answer,
            Err(error) => return Err(self.refusal("initialize", &error)),
        };
        self.live.set_abilities(Abilities::of(&answer));
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

    /// Requests a session. For an earlier one, updates before the response are history.
    fn request_session(&self, method: &str, params: &Value, is_earlier: bool) -> Result<Reply, Stop> {
        let reply = self.live.stage(|stage, _| {
            let (id, reply) = self.live.connection.call(method, params);
            (stage.opening, stage.replaying, stage.opened_by) = (true, is_earlier, Some(id));
            reply
        });
        self.wait_for_reply(method, &reply)
    }

    fn wait_for_reply<T>(&self, method: &str, reply: &mpsc::Receiver<T>) -> Result<T, Stop> {
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
            self.host.report(AgentPart::LoggedOut(true));
            return Stop::Failed(self.live.stage(|stage, _| error.login_sentence(&stage.login)));
        }
        let (name, why) = (&self.config.name, error.sentence());
        Stop::Failed(format!("{name} refused {method}: {why}{}", self.live.connection.last_words_paragraph()))
    }

    fn login_advice(&self, answer: &wire::InitializeResponse) -> String {
        let name = &self.config.name;
        if let Some(login) = &self.config.login {
            return format!("{name} wants you to log in first: {login}");
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
    /// Applies what an update or a response reports about the options. Reverts a change that makes the agent ask less
    /// often than the user chose.
    pub(super) fn apply_options(&self, stage: &mut Stage, now: Instant, reply: &Value) {
        if stage.options.apply(reply) {
            self.check_options(stage, now);
        }
    }

    fn check_options(&self, stage: &mut Stage, now: Instant) {
        stage.record(AgentPart::Options(stage.options.all()));
        let may_change_approval_mode = stage.may_change_approval_mode;
        let lowered = match &mut stage.level {
            Some(level) => level.check(&stage.options, may_change_approval_mode),
            None => return,
        };
        let Some(session) = stage.session.clone() else { return };
        for Lowered { setting, value, back_to } in lowered {
            let option = stage.options.find(|option| setting.is_for(option));
            let (name, what) = (&self.name, setting.word());
            let (from, to) = (named(option, &value), named(option, &back_to));
            let id = option.map_or(setting.id, |option| &option.id).to_owned();
            let changed = format!("{name} changed its {what} to {from}, which asks for fewer approvals");
            stage.reverted += 1;
            if stage.reverted > REVERSIONS {
                return self.connection.stop(format!("{changed}, again and again, and was stopped"));
            }
            let value = OptionValue::Select(back_to);
            let value = option.map_or(value.clone(), |option| option.typed(value));
            let (method, params) = stage.options.set_request(&session, &id, &value);
            let number = self.connection.request(method, &params);
            let by = SetBy::Reversion(format!("{changed}, refused to change it back, and was stopped"));
            stage.sets.insert(number, PendingSet { option: id, value, by });
            stage.timeline.note(now, &format!("*{changed}. It was set back to {to}.*"));
        }
    }

    /// Requests that an option is set. Returns the method, and where the answer arrives; it never does if the agent
    /// exits.
    pub(super) fn request_set(
        &self,
        session: &str,
        id: &str,
        value: &OptionValue,
    ) -> (&'static str, mpsc::Receiver<SetAnswer>) {
        let (answered, answer) = mpsc::channel();
        let method = self.stage(|stage, _| {
            // Recorded first, because an agent may report the change before it answers.
            let option = stage.options.find(|option| option.id == id);
            let chosen_before =
                option.zip(stage.level.as_mut()).and_then(|(it, level)| level.choose(it, value));
            let (method, params) = stage.options.set_request(session, id, value);
            let number = self.connection.request(method, &params);
            let by = SetBy::Request { answered, chosen_before };
            stage.sets.insert(number, PendingSet { option: id.to_owned(), value: value.clone(), by });
            stage.idle_since = Instant::now();
            method
        });
        (method, answer)
    }

    /// Sets an option for a client and returns all options; `None` if the agent does not run. Waits while it starts.
    pub(super) fn set_option(
        &self,
        id: &str,
        value: &OptionValue,
    ) -> Result<Option<Vec<SessionOption>>, String> {
        let Some(session) = self.wait_for_session() else { return Ok(None) };
        let is_set = |stage: &Stage| {
            stage.sets.is_empty()
                && stage.options.find(|it| it.id == id).is_some_and(|it| it.current() == *value)
        };
        if let Some(options) = self.stage(|stage, _| is_set(stage).then(|| stage.options.all())) {
            return Ok(Some(options));
        }
        let (_, answer) = self.request_set(&session, id, value);
        match answer.recv_timeout(SET_OPTION) {
            Ok(answer) => answer.map(Some).map_err(|error| format!("{}: {}", self.name, error.sentence())),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let seconds = SET_OPTION.as_secs();
                Err(format!("{} did not answer within {seconds} s; try again", self.name))
            }
        }
    }

    /// Handles the response to a request that set an option.
    pub(super) fn handle_set(&self, stage: &mut Stage, now: Instant, set: PendingSet, answer: &Reply) {
        let PendingSet { option, value, by } = set;
        let mut is_set = answer.is_ok();
        if let Ok(answer) = answer {
            stage.options.apply_set(&option, &value, answer);
            // The answer may report that nothing has changed.
            is_set = stage.options.find(|it| it.id == option).is_none_or(|it| it.current() == value);
            self.check_options(stage, now);
        }
        match (by, answer) {
            (SetBy::Reversion(_), _) if is_set => {}
            (SetBy::Reversion(why), _) => self.connection.stop(why),
            (SetBy::Request { answered, chosen_before }, answer) => {
                if answer.is_err()
                    && let Some((option, level)) =
                        stage.options.find(|it| it.id == option).zip(stage.level.as_mut())
                {
                    level.unchoose(option, &value, chosen_before);
                }
                stage.news.expedite(&"options");
                // The caller may have given up.
                let _ = answered.send(answer.as_ref().map(|_| stage.options.all()).map_err(Clone::clone));
            }
        }
    }
}
