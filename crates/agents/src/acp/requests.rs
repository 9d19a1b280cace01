//! What an agent asks of us: permissions, files, terminals.

use super::{
    files::Access,
    frame::RpcError,
    from_wire,
    live::{Live, lock},
    stage::Stage,
    terminals,
    timeline::fresh_id,
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::AgentHost,
    approval::{ApprovalOption, ApprovalOutcome, ApprovalRequest, OptionKind},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};

/// Questions and waits at a time; more than that is no agent at work.
const AT_ONCE: usize = 64;

type Answer = Result<Value, RpcError>;

/// Whom to ask, and until when.
struct Asking {
    host: Arc<dyn AgentHost>,
    until: CancellationToken,
    access: Arc<Access>,
}

impl Live {
    pub(super) fn asked(self: &Arc<Self>, id: Value, method: &str, params: Value) {
        let answer = match method {
            "session/request_permission" => return self.ask_permission(id, params),
            "terminal/create" => return self.aside(id, |live, id| live.create_terminal(id, params)),
            "terminal/wait_for_exit" => match self.terminals.get(&params) {
                Ok(terminal) => return self.aside(id, move |_, _| Ok(terminal.wait())),
                Err(error) => Err(error),
            },
            "fs/read_text_file" => self.access().and_then(|access| access.read(params)),
            "fs/write_text_file" => self.access().and_then(|access| access.write(params)),
            "terminal/output" => self.terminals.get(&params).map(|terminal| terminal.output()),
            "terminal/kill" => self.terminals.get(&params).map(|terminal| terminal.kill()),
            "terminal/release" => self.terminals.release(&params),
            _ => Err(RpcError::method_not_found(method)),
        };
        self.connection.respond(&id, answer);
    }

    fn access(&self) -> Result<Arc<Access>, RpcError> {
        let access = self.stage(|stage, _| stage.turn.as_ref().map(|turn| turn.access.clone()));
        access.ok_or_else(|| RpcError::refused("no turn is running"))
    }

    /// Answers from a thread of its own, which may wait.
    fn aside(self: &Arc<Self>, id: Value, work: impl FnOnce(&Arc<Self>, &Value) -> Answer + Send + 'static) {
        let key = id.to_string();
        let too_many = {
            let mut asks = lock(&self.asks);
            let too_many = asks.len() >= AT_ONCE;
            if !too_many {
                asks.insert(key.clone(), CancellationToken::new());
            }
            too_many
        };
        if too_many {
            let most = RpcError::refused(format!("{AT_ONCE} requests wait already"));
            return self.connection.respond(&id, Err(most));
        }
        let (live, request) = (self.clone(), id.clone());
        let spawned = std::thread::Builder::new().name("agent asks".to_owned()).spawn(move || {
            let answer = work(&live, &request);
            lock(&live.asks).remove(&key);
            live.connection.respond(&request, answer);
        });
        if let Err(error) = spawned {
            lock(&self.asks).remove(&id.to_string());
            self.connection.respond(&id, Err(RpcError::refused(error.to_string())));
        }
    }

    /// Prepares a question of the turn that runs; `None` when none does.
    fn asking(&self, stage: &Stage, id: &Value) -> Option<Asking> {
        let turn = stage.turn.as_ref()?;
        let until = turn.asks.child_token();
        // A request without a place among those that wait is still withdrawn with its turn.
        if let Some(ask) = lock(&self.asks).get_mut(&id.to_string()) {
            *ask = until.clone();
        }
        Some(Asking { host: stage.host.0.clone()?, until, access: turn.access.clone() })
    }

    /// Asks, and returns what was chosen; `None` when nobody has.
    fn ask(&self, asking: &Asking, request: ApprovalRequest) -> Option<ApprovalOption> {
        let options = request.options.clone();
        match asking.host.ask(request, &asking.until) {
            ApprovalOutcome::Selected { option_id } if !asking.until.is_cancelled() => {
                let chosen = options.into_iter().find(|option| option.id == option_id)?;
                if matches!(chosen.kind, OptionKind::RejectOnce | OptionKind::RejectAlways) {
                    self.stage(|stage, _| {
                        if let Some(turn) = &mut stage.turn {
                            turn.refused = true;
                        }
                    });
                }
                Some(chosen)
            }
            _ => None,
        }
    }

    fn ask_permission(self: &Arc<Self>, id: Value, params: Value) {
        let cancelled = || Ok(json!({"outcome": {"outcome": "cancelled"}}));
        let stated = params["toolCall"].clone();
        let request: wire::RequestPermissionRequest = match serde_json::from_value(params) {
            Ok(request) => request,
            Err(error) => return self.connection.respond(&id, Err(RpcError::invalid_params(error))),
        };
        let options: Vec<_> = request.options.iter().map(option).collect();
        // Announced here and now, so that what the agent tells next comes after it.
        let asked = self.stage(|stage, now| {
            if stage.turn.is_none() || options.is_empty() {
                return None;
            }
            Some(self.approval(stage, now, request.tool_call, stated, options))
        });
        let Some(approval) = asked else { return self.connection.respond(&id, cancelled()) };
        self.aside(id, move |live, id| {
            let asking = live.stage(|stage, _| live.asking(stage, id));
            let chosen = asking.and_then(|asking| live.ask(&asking, approval));
            match chosen {
                Some(option) => Ok(json!({"outcome": {"outcome": "selected", "optionId": option.id}})),
                None => cancelled(),
            }
        });
    }

    fn approval(
        &self,
        stage: &mut Stage,
        now: Instant,
        call: wire::ToolCallUpdate,
        mut stated: Value,
        options: Vec<ApprovalOption>,
    ) -> ApprovalRequest {
        let news = from_wire::news(call);
        let their_id = news.id.clone();
        let title = news.details.title.clone();
        let raw_input = news.details.raw_input.clone();
        let call_id = stage.timeline.call_to_allow(now, news);
        let raw_input = raw_input.unwrap_or_else(|| {
            // What it is about, all of it, or two questions would look like one; but not the id, or one like two.
            if let Some(stated) = stated.as_object_mut() {
                stated.retain(|key, _| !["toolCallId", "status", "_meta"].contains(&key.as_str()));
                if !stated.contains_key("content") {
                    stated.insert("content".to_owned(), json!(stage.timeline.shown(&their_id)));
                }
            }
            stated
        });
        ApprovalRequest {
            call_id,
            agent: self.name.clone(),
            title: title.unwrap_or_else(|| "Use a tool".to_owned()),
            raw_input: Some(raw_input),
            command: None,
            options,
        }
    }

    /// `terminal/create`: asks first, and then runs what was shown. Blocks.
    fn create_terminal(self: &Arc<Self>, id: &Value, params: Value) -> Answer {
        let asking = self.stage(|stage, _| self.asking(stage, id));
        let asking = asking.ok_or_else(|| RpcError::refused("no turn is running"))?;
        let request: wire::CreateTerminalRequest =
            serde_json::from_value(params.clone()).map_err(RpcError::invalid_params)?;
        let frozen = terminals::freeze(&request, &asking.access.workspace, &self.environment)?;
        let terminal = format!("terminal-{}", fresh_id());
        let mut raw_input = params;
        if let Some(raw_input) = raw_input.as_object_mut() {
            // It is another one after a restart, and the question is the same.
            raw_input.remove("sessionId");
        }
        let row = raw_input.clone();
        let call_id =
            self.stage(|stage, now| stage.timeline.terminal_row(now, &terminal, &frozen.shown, row));
        let started = self.allow(&asking, &frozen, call_id, raw_input).and_then(|()| {
            let (output, end) = (Arc::downgrade(self), Arc::downgrade(self));
            let (output_id, end_id) = (terminal.clone(), terminal.clone());
            self.terminals.run(
                &terminal,
                &frozen,
                &self.environment,
                move |bytes| {
                    if let Some(live) = output.upgrade() {
                        live.stage(|stage, now| stage.timeline.terminal_output(now, &output_id, bytes));
                    }
                },
                move |status| {
                    if let Some(live) = end.upgrade() {
                        live.stage(|stage, now| stage.timeline.terminal_ended(now, &end_id, status));
                    }
                },
            )
        });
        match started {
            // The turn ended between the answer and the start.
            Ok(()) if asking.until.is_cancelled() => {
                self.terminals.release(&json!({"terminalId": terminal}))?;
                Err(RpcError::refused("the turn has ended"))
            }
            Ok(()) => Ok(json!({"terminalId": terminal})),
            Err(error) => {
                self.stage(|stage, _| stage.timeline.terminal_refused(&terminal, &error.message));
                Err(error)
            }
        }
    }

    fn allow(
        &self,
        asking: &Asking,
        frozen: &terminals::Frozen,
        call_id: String,
        raw_input: Value,
    ) -> Result<(), RpcError> {
        let is_same = |known: &terminals::Frozen| {
            known.command == frozen.command && known.environment == frozen.environment
        };
        if lock(&self.always).iter().any(is_same) {
            return Ok(());
        }
        let option =
            |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
        let request = ApprovalRequest {
            call_id,
            agent: self.name.clone(),
            title: from_wire::one_line(&frozen.shown).unwrap_or_default(),
            raw_input: Some(raw_input),
            command: Some(frozen.command.clone()),
            options: vec![
                option("allow_once", "Run it", OptionKind::AllowOnce),
                option(
                    "allow_always",
                    "Run it whenever it is asked for in this session",
                    OptionKind::AllowAlways,
                ),
                option("reject_once", "Do not run it", OptionKind::RejectOnce),
            ],
        };
        match self.ask(asking, request).map(|option| option.kind) {
            Some(OptionKind::AllowOnce) => Ok(()),
            Some(OptionKind::AllowAlways) => {
                lock(&self.always).push(frozen.clone());
                Ok(())
            }
            Some(_) => Err(RpcError::refused(format!("{} was not allowed", frozen.shown))),
            None => Err(RpcError::refused(format!("{}: nobody has allowed it", frozen.shown))),
        }
    }
}

fn option(option: &wire::PermissionOption) -> ApprovalOption {
    let kind = match option.kind {
        wire::PermissionOptionKind::AllowOnce => OptionKind::AllowOnce,
        wire::PermissionOptionKind::AllowAlways => OptionKind::AllowAlways,
        wire::PermissionOptionKind::RejectAlways => OptionKind::RejectAlways,
        _ => OptionKind::RejectOnce,
    };
    ApprovalOption {
        id: option.option_id.to_string(),
        name: from_wire::one_line(&option.name).unwrap_or_else(|| option.option_id.to_string()),
        kind,
    }
}
