//! Approvals, from an agent's question to the first answer.

use super::session::Session;
use crate::{
    prune,
    store::{ApprovalChange, Decided, StoreError, now_ms},
};
use futures::{executor::block_on, future::select_all};
use openagents_core::{
    CancellationToken,
    approval::{Approval, ApprovalOutcome, ApprovalRequest, ApprovalState, ApprovalSubject, OptionKind},
    visible::escaped,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::{Arc, mpsc::sync_channel};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Maximum size of the raw input, in bytes. It is stored with every state and sent to every client.
const RAW_INPUT: usize = 256 << 10;

pub(crate) struct Question {
    approval: Approval,
    agent_id: String,
}

impl Question {
    pub(crate) fn new(request: ApprovalRequest, agent_id: &str) -> Self {
        let (hash, is_whole) = (hash(&request), request.is_whole());
        let ApprovalRequest { subject, call_id, agent, title, raw_input, command, cut, mut options } =
            request;
        let (raw_input, raw_input_cut) = match raw_input {
            Some(input) if prune::size(&input) > RAW_INPUT => {
                let (input, cut) = prune::to_fit(&input, RAW_INPUT);
                (Some(input), cut)
            }
            input => (input, false),
        };
        // A question that the user cannot read in full can only be rejected.
        let is_whole = is_whole && (command.is_some() || !raw_input_cut);
        options.retain(|option| match option.kind {
            // An "always" for an action that the agent runs itself is remembered by the agent and is not a rule here.
            OptionKind::AllowOnce | OptionKind::AllowAlways | OptionKind::Other => is_whole,
            OptionKind::RejectOnce | OptionKind::RejectAlways => true,
        });
        let approval = Approval {
            id: Uuid::new_v4().to_string(),
            subject,
            call_id,
            agent: escaped(&agent).into_owned(),
            title: escaped(&title).into_owned(),
            raw_input,
            hash,
            command,
            options,
            state: ApprovalState::Pending,
            asked_at: now_ms(),
            raw_input_cut,
            cut,
            unheard: false,
            resumed: false,
        };
        Self { approval, agent_id: agent_id.to_owned() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.approval.id
    }

    pub(crate) fn call_id(&self) -> &str {
        &self.approval.call_id
    }

    pub(crate) fn title(&self) -> &str {
        &self.approval.title
    }

    pub(crate) fn raw_input(&self) -> Option<&Value> {
        self.approval.raw_input.as_ref()
    }

    /// Stores and shows the question. It stays open until [`OpenQuestion::wait`] closes it.
    pub(crate) fn ask(self, session: &Arc<Session>) -> OpenQuestion {
        let id = self.approval.id.clone();
        let (answered, answer) = oneshot::channel();
        session.waiting.lock().insert(id.clone(), answered);
        let stored = session.decide(ApprovalChange::Ask { approval: self.approval, agent_id: self.agent_id });
        OpenQuestion { session: session.clone(), id, answer, stored }
    }
}

pub(crate) struct OpenQuestion {
    session: Arc<Session>,
    id: String,
    answer: oneshot::Receiver<ApprovalOutcome>,
    stored: Result<Decided, StoreError>,
}

impl OpenQuestion {
    /// Waits for the first answer. `given_up` returns the approval's state if the wait is cancelled. Blocks.
    pub(crate) fn wait(
        self,
        cancels: &[&CancellationToken],
        given_up: impl Fn() -> ApprovalState,
    ) -> ApprovalOutcome {
        let Self { session, id, answer, stored } = self;
        let outcome = match stored.map(|decided| decided.approval.map(|approval| approval.state)) {
            // Already answered: by a standing rule, or because an earlier process asked the same question and exited.
            Ok(Some(state)) => match selected(&state).or_else(|| first_answer(answer, cancels)) {
                Some(outcome) => Ok(outcome),
                None => give_up(&session, &id, given_up()),
            },
            Ok(None) => Ok(ApprovalOutcome::Cancelled),
            Err(error) => Err(error),
        };
        session.waiting.lock().remove(&id);
        outcome.unwrap_or_else(|error| {
            tracing::error!(%error, "an approval could not be stored");
            ApprovalOutcome::Cancelled
        })
    }
}

/// Waits for an answer; `None` if one of `cancels` comes first. Uses `block_on`, because an agent's thread is outside
/// the runtime.
fn first_answer(
    answer: oneshot::Receiver<ApprovalOutcome>,
    cancels: &[&CancellationToken],
) -> Option<ApprovalOutcome> {
    block_on(async {
        tokio::select! {
            biased;
            answer = answer => answer.ok(),
            _ = select_all(cancels.iter().map(|cancel| Box::pin(cancel.cancelled()))) => None,
        }
    })
}

impl Session {
    /// Changes an approval in the store and in the log, atomically. Blocks.
    pub(crate) fn decide(self: &Arc<Self>, change: ApprovalChange) -> Result<Decided, StoreError> {
        let mirror = self.mirror.lock();
        let (done, result) = sync_channel(1);
        let session = self.clone();
        self.store.decide_then(self.id().clone(), change, move |appended| {
            let decided = appended.as_ref().map(|appended| appended.decided.clone()).map_err(Clone::clone);
            // Cannot fail while the receiver waits: the channel has room for the only answer.
            session.publish_or_fail(appended);
            let _ = done.try_send(decided);
        })?;
        let decided = result.recv().unwrap_or(Err(StoreError::Closed))?;
        if let (Some(mirror), Some(update)) = (mirror.as_ref(), decided.update()) {
            mirror.show(mirror.copy(&[update]));
        }
        drop(mirror);
        if let Decided { approval: Some(approval), changed: true } = &decided
            && let Some(outcome) = selected(&approval.state)
            && let Some(waiting) = self.waiting.lock().remove(&approval.id)
        {
            // The asker may have given up.
            let _ = waiting.send(outcome);
        }
        Ok(decided)
    }
}

/// Stops waiting. An answer that came first still counts: clients have seen it.
fn give_up(session: &Arc<Session>, id: &str, state: ApprovalState) -> Result<ApprovalOutcome, StoreError> {
    let decided = session.decide(ApprovalChange::End { id: id.to_owned(), state })?;
    let outcome = decided.approval.and_then(|approval| selected(&approval.state));
    Ok(outcome.unwrap_or(ApprovalOutcome::Cancelled))
}

fn selected(state: &ApprovalState) -> Option<ApprovalOutcome> {
    let ApprovalState::Answered { option_id, message, content, .. } = state else { return None };
    let (option_id, message, content) = (option_id.clone(), message.clone(), content.clone());
    Some(ApprovalOutcome::Selected { option_id, message, content })
}

/// Returns a hash of the question that is independent of the order of JSON members.
fn hash(request: &ApprovalRequest) -> String {
    let mut question = json!({
        "agent": request.agent,
        "title": request.title,
        "rawInput": request.raw_input,
        "command": request.command,
    });
    // Keeps the answer to an agent's identical question from counting as trust.
    if request.subject != ApprovalSubject::Action {
        question["subject"] = json!(request.subject);
    }
    question.sort_all_objects();
    let digest = Sha256::digest(question.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{NewSession, Store};
    use openagents_core::approval::{ApprovalCommand, ApprovalOption, FrozenCommand};

    fn hash_of(request: &ApprovalRequest) -> String {
        hash(request)
    }

    fn asks(raw_input: Value) -> ApprovalRequest {
        ApprovalRequest {
            subject: ApprovalSubject::Action,
            call_id: "c".to_owned(),
            agent: "Codex".to_owned(),
            title: "Edit a.rs".to_owned(),
            raw_input: Some(raw_input),
            command: None,
            cut: false,
            options: Vec::new(),
        }
    }

    #[test]
    fn question_hash_ignores_member_order() {
        let one = hash_of(&asks(json!({"a": 1, "b": [{"x": 1, "y": 2}]})));
        let two = hash_of(&asks(json!({"b": [{"y": 2, "x": 1}], "a": 1})));
        assert_eq!(one, two);
        assert_eq!(one.len(), 64);
        let other_call = ApprovalRequest { call_id: "d".to_owned(), ..asks(json!({"a": 1})) };
        assert_eq!(hash_of(&other_call), hash_of(&asks(json!({"a": 1}))));
        for different in [
            asks(json!({"a": 2})),
            asks(json!(["a", 1])),
            ApprovalRequest { raw_input: None, ..asks(Value::Null) },
            ApprovalRequest { title: "Edit b.rs".to_owned(), ..asks(json!({"a": 1})) },
            ApprovalRequest { agent: "Claude".to_owned(), ..asks(json!({"a": 1})) },
        ] {
            assert_ne!(hash_of(&different), hash_of(&asks(json!({"a": 1}))), "{different:?}");
        }
        let trust = ApprovalRequest { subject: ApprovalSubject::Trust, ..asks(json!({"a": 1})) };
        assert_ne!(hash(&trust), hash_of(&asks(json!({"a": 1}))));
    }

    #[test]
    fn give_up_keeps_answer_that_came_first() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let new = NewSession { id: "s".to_owned(), cwd: "/projects/demo".into(), mode: "codex".to_owned() };
        store.create_session(new).unwrap();
        let session = Arc::new(Session::new(store.session("s").unwrap().unwrap(), store, Arc::default()));
        let ask = || {
            let approval = Question::new(asks(json!({"a": 1})), "codex").approval;
            let id = approval.id.clone();
            session.decide(ApprovalChange::Ask { approval, agent_id: "codex".to_owned() }).unwrap();
            id
        };
        let given_up = |id: &str| give_up(&session, id, ApprovalState::Expired);
        let id = ask();
        let (option_id, by) = ("allow".to_owned(), "Phone".to_owned());
        let change = ApprovalChange::Answer {
            id: id.clone(),
            option_id: option_id.clone(),
            by,
            message: None,
            content: None,
        };
        session.decide(change).unwrap();
        assert_eq!(given_up(&id), Ok(ApprovalOutcome::Selected { option_id, message: None, content: None }));
        assert_eq!(given_up(&ask()), Ok(ApprovalOutcome::Cancelled));
    }

    #[test]
    fn truncated_question_offers_only_denial() {
        use OptionKind::{AllowAlways, AllowOnce, Other, RejectAlways, RejectOnce};
        let options = |command, cut| {
            let kinds = [AllowOnce, Other, AllowAlways, RejectOnce, RejectAlways];
            let option = |kind| ApprovalOption { id: String::new(), name: String::new(), kind };
            let request =
                ApprovalRequest { command, cut, options: kinds.map(option).to_vec(), ..asks(Value::Null) };
            let options = Question::new(request, "codex").approval.options;
            options.into_iter().map(|option| option.kind).collect::<Vec<_>>()
        };
        let exact = |argument: String| {
            let (program, cwd) = ("/bin/echo".into(), "/".into());
            let (environment, digests) = (Vec::new(), Vec::new());
            let args = vec![argument];
            ApprovalCommand::exact(FrozenCommand {
                program,
                called: None,
                args,
                cwd,
                environment,
                digests,
                unpinned: Vec::new(),
            })
        };
        let all = vec![AllowOnce, Other, AllowAlways, RejectOnce, RejectAlways];
        assert_eq!(options(None, false), all);
        assert_eq!(options(None, true), [RejectOnce, RejectAlways]);
        let options = |command| options(Some(command), false);
        assert_eq!(options(exact("a".to_owned())), all);
        assert_eq!(options(exact("a".repeat(17 << 10))), [RejectOnce, RejectAlways]);
        let reported = ApprovalCommand::reported("echo a");
        assert_eq!(options(reported), all, "the agent remembers its own always");
        assert_eq!(options(ApprovalCommand::reported(&"a".repeat(17 << 10))), [RejectOnce, RejectAlways]);
    }

    #[test]
    fn question_escapes_names_and_titles() {
        let request = ApprovalRequest { title: "Edit a\u{202e}sr.b".to_owned(), ..asks(json!({"a": 1})) };
        assert_eq!(Question::new(request, "codex").title(), "Edit a\\u{202e}sr.b");
    }

    #[test]
    fn long_raw_input_is_cut_but_hashed_in_full() {
        let long = |end: &str| json!({"content": "x".repeat(RAW_INPUT) + end});
        let options = [OptionKind::AllowOnce, OptionKind::AllowAlways, OptionKind::RejectOnce];
        let options = options.map(|kind| ApprovalOption { id: String::new(), name: String::new(), kind });
        let asks = |input| ApprovalRequest { options: options.to_vec(), ..asks(input) };
        let question = |input| Question::new(asks(input), "codex").approval;
        let (one, two) = (question(long("1")), question(long("2")));
        assert!(one.raw_input_cut && one.hash != two.hash);
        let kinds: Vec<_> = one.options.iter().map(|option| option.kind).collect();
        assert_eq!(kinds, [OptionKind::RejectOnce], "it is not shown whole");
        assert!(prune::size(one.raw_input.as_ref().unwrap()) <= RAW_INPUT);
        assert!(!question(json!({"a": 1})).raw_input_cut);
    }
}
