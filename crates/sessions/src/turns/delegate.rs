//! Delegation: another agent works on a task in its own session, which is mirrored in this one.

use super::context::{DELEGATES, TurnContext, ask_for_agent, refusal, show};
use crate::{
    blocking::run_blocking,
    error::SessionError,
    live::{Delegation, Mirror, Prompt, Session, TurnEnd, TurnRequest, final_message},
    policy::Policy,
    store::Parent,
};
use openagents_core::{
    CancellationToken,
    agent::CANCELLED,
    model::PromptOptions,
    update::{RunState, SessionUpdate, ToolCallStatus, ToolCallUpdate},
    workspace::Workspace,
};
use openagents_orchestration::{
    agent::{HistoryRead, SessionContext, SessionTool},
    delegate::{Delegate, DelegateOrder, DelegateReport, Delegator},
    route::{Candidate, Situation},
};
use openagents_tools::reading::Reader;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, time::Instant};

/// Maximum depth: a delegate may delegate, but its delegate may not.
pub(crate) const DEPTH: usize = 2;

/// Time for a cancelled delegate to end before its call is closed anyway.
const LAST_WORDS: Duration = Duration::from_millis(70);

/// Time limit of a summary.
const SUMMARY: Duration = Duration::from_secs(60);

const SUMMARIZE: &str = "Summarize what you did in a few sentences: what changed and where, and what is left to do. \
                         Do not change anything any more.";

#[derive(Debug)]
struct SessionDelegator {
    turns: TurnContext,
    session: Arc<Session>,
    /// The reader of the delegates' answers: a model, or the user and with them this machine.
    reader: Reader,
    runtime: Handle,
}

/// Returns the delegation tools for a model that reads as `reader`. Must be called on the thread of a turn.
pub(crate) fn tools(
    turns: &TurnContext,
    session: &Arc<Session>,
    reader: Reader,
) -> [Arc<dyn SessionTool>; 2] {
    let delegator = delegator(turns, session, reader);
    [Arc::new(Delegate::new(delegator.clone())), Arc::new(Delegate::to_codex(delegator))]
}

fn delegator(turns: &TurnContext, session: &Arc<Session>, reader: Reader) -> Arc<dyn Delegator> {
    let runtime = Handle::current();
    Arc::new(SessionDelegator { turns: turns.clone(), session: session.clone(), reader, runtime })
}

/// Runs a turn that consists of one call of `delegate.run`. Its final message is the delegate's report.
pub(crate) fn call(
    turns: &TurnContext,
    delegation: &Delegation,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> RunState {
    let emit = |event| show(session, event);
    let workspace = match Workspace::open(&delegation.root) {
        Ok(workspace) => workspace,
        Err(error) => {
            session.append(vec![refusal(&SessionError::invalid(error.to_string()))]);
            return RunState::Failed;
        }
    };
    let context = SessionContext {
        workspace: &workspace,
        call_id: &delegation.call_id,
        prompt: &delegation.text,
        caller: None,
        read: HistoryRead::Nothing,
        cancel,
        emit: &emit,
    };
    let called =
        Delegate::new(delegator(turns, session, Reader::Local)).call(&context, delegation.arguments.clone());
    let (state, last) = match called {
        _ if cancel.is_cancelled() => (RunState::Cancelled, CANCELLED.to_owned()),
        Ok(report) => {
            let report: Value = serde_json::from_str(&report).unwrap_or_default();
            let notes = report["notes"].as_str().unwrap_or_default();
            match report["ok"].as_bool() {
                Some(true) => (RunState::Complete, notes.to_owned()),
                _ => (RunState::Failed, format!("❌ {notes}")),
            }
        }
        Err(error) => (RunState::Failed, format!("❌ {error}")),
    };
    session.append(vec![final_message(&last, state)]);
    state
}

impl Delegator for SessionDelegator {
    fn situation(&self) -> Situation {
        self.turns.situation(&self.session)
    }

    fn ask(
        &self,
        brief: &str,
        offered: &[Candidate],
        call_id: &str,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let question = (json!({"brief": brief}), &*self.session.mode());
        let chosen = ask_for_agent(&self.turns, &self.session, call_id, question, offered, cancel);
        chosen.map(|agent| agent.id)
    }

    fn run(&self, order: &DelegateOrder, call_id: &str, cancel: &CancellationToken) -> DelegateReport {
        let report = |ok, session: Option<&Arc<Session>>, notes: String| DelegateReport {
            ok,
            provider: order.provider.clone(),
            dispatched: session.is_some(),
            session_id: session.map(|session| session.id().to_string()),
            tool_call_id: call_id.to_owned(),
            notes,
        };
        let Some(_slot) = self.turns.delegate_slot() else {
            let notes = format!("{DELEGATES} delegates are at work already; wait for one or stop one");
            return report(false, None, notes);
        };
        let child = match self.open(order, call_id) {
            Ok(child) => child,
            Err(fault) => return report(false, None, fault.to_string()),
        };
        let work = Delegated { delegator: self, order, call_id, child: &child, cancel };
        let (state, mut notes) = work.run();
        if state != RunState::Complete {
            // A failed turn's message starts with ❌; the caller adds its own.
            notes = notes.trim_start_matches(['❌', ' ']).to_owned();
        }
        report(state == RunState::Complete, Some(&child), notes)
    }
}

impl SessionDelegator {
    /// Creates the delegate's session, unless the depth limit is reached.
    fn open(&self, order: &DelegateOrder, call_id: &str) -> Result<Arc<Session>, SessionError> {
        let mut depth = 0;
        let mut parent = self.session.parent().cloned();
        while let Some(above) = parent.filter(|_| depth < DEPTH) {
            depth += 1;
            parent = self.turns.store().session(&above.session_id)?.and_then(|row| row.parent);
        }
        if depth >= DEPTH {
            let message = format!("delegates are {DEPTH} deep already; this one has to do the task itself");
            return Err(SessionError::busy(message));
        }
        let link = Parent { session_id: self.session.id().to_string(), call_id: call_id.to_owned() };
        let policy = Policy { answers: Some(self.reader), ..self.session.policy() };
        let limits = order.limits.clone();
        let child = self.turns.sessions.create_child(&order.root, &order.provider, link, policy, limits);
        let child = self.runtime.block_on(child)?;
        child.mirror_to(Mirror::new(self.session.clone(), call_id, child.id()));
        Ok(child)
    }
}

struct Delegated<'a> {
    delegator: &'a SessionDelegator,
    order: &'a DelegateOrder,
    call_id: &'a str,
    child: &'a Arc<Session>,
    cancel: &'a CancellationToken,
}

/// Stops the delegate, even if the waiting turn panics.
impl Drop for Delegated<'_> {
    fn drop(&mut self) {
        self.child.cancel();
        let reason = if self.cancel.is_cancelled() { "Cancelled" } else { "the delegate is gone" };
        self.child.stop_mirroring(reason, &self.delegator.turns.given_up());
        if let Some(agent) = self.delegator.turns.runner.agent(&self.order.provider) {
            agent.close(self.child.id());
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Budget {
    /// Past this time, a note is added to the call.
    soft: Option<Duration>,
    /// Past this time, the turn is cancelled.
    hard: Option<Duration>,
}

enum Ended {
    By(TurnEnd),
    /// Cancelled by the delegating turn.
    Cancelled,
    OutOfTime,
    Refused(SessionError),
}

impl Delegated<'_> {
    fn run(&self) -> (RunState, String) {
        let soft = self.order.time_budget;
        let hard = soft.map(|budget| budget.saturating_mul(2));
        let since = self.child.head().seq;
        let ended = self.turn(&self.order.text, self.order.description.as_deref(), Budget { soft, hard });
        let is_cut = matches!(&ended, Ended::By(TurnEnd { cut_off: true, .. }));
        let state = match ended {
            Ended::Refused(fault) => return (RunState::Failed, fault.to_string()),
            Ended::Cancelled => return (RunState::Cancelled, "cancelled".to_owned()),
            Ended::By(TurnEnd { state: RunState::Cancelled, .. }) => {
                return (RunState::Cancelled, "cancelled".to_owned());
            }
            Ended::OutOfTime => RunState::Cancelled,
            Ended::By(TurnEnd { failure: Some(failure), .. }) => return (RunState::Failed, failure),
            Ended::By(end) => end.state,
        };
        let [last, before] = self.last_messages(since);
        let asks = self.order.summarize && state != RunState::Failed;
        let summary = if asks { self.summary() } else { None };
        // If an answer was cut off, its last message says so.
        let reply = match (summary, last) {
            (Some(summary), Some(note)) if is_cut => Some(format!("{note}\n\nIts summary: {summary}")),
            (Some(summary), _) => Some(summary),
            (None, _) if asks && state != RunState::Complete => None,
            (None, Some(note)) if is_cut => Some(format!("{note}\n\n{}", before.unwrap_or_default())),
            // Without a summary, the answer to the task itself.
            (None, last) => last,
        };
        let out_of_time = state == RunState::Cancelled;
        let notes = match (out_of_time, reply) {
            (false, Some(reply)) => reply,
            (false, None) => "it ended without an answer".to_owned(),
            (true, Some(reply)) if self.order.summarize => {
                format!("cancelled at twice its time budget; its summary: {reply}")
            }
            (true, _) => "cancelled at twice its time budget".to_owned(),
        };
        (state, notes)
    }

    /// Asks for a summary; `None` if it does not arrive in time.
    fn summary(&self) -> Option<String> {
        let since = self.child.head().seq;
        let budget = Budget { soft: None, hard: Some(SUMMARY) };
        match self.turn(SUMMARIZE, None, budget) {
            Ended::By(TurnEnd { state: RunState::Complete, cut_off: false, .. }) => {
                let [last, _] = self.last_messages(since);
                last
            }
            _ => None,
        }
    }

    fn turn(&self, text: &str, title: Option<&str>, budget: Budget) -> Ended {
        let prompt = Prompt {
            provider: self.order.provider.clone(),
            root: self.order.root.clone(),
            content: text.to_owned().into(),
            options: PromptOptions::default(),
        };
        let turns = &self.delegator.turns;
        self.delegator.runtime.block_on(async {
            let begun = Instant::now();
            let mut ticket =
                match turns.turns.clone().start(self.child.clone(), TurnRequest::task(prompt, title)).await {
                    Ok(ticket) => ticket,
                    Err(fault) => return Ended::Refused(fault),
                };
            let mut soft = budget.soft;
            let at = |wait: Option<Duration>| async move {
                match wait.and_then(|wait| begun.checked_add(wait)) {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let ended = loop {
                tokio::select! {
                    biased;
                    end = &mut ticket => {
                        let gone = || SessionError::internal("the delegate ended unexpectedly");
                        return end.map_or_else(|_| Ended::Refused(gone()), Ended::By);
                    }
                    () = self.cancel.cancelled() => break Ended::Cancelled,
                    () = at(budget.hard) => break Ended::OutOfTime,
                    () = at(soft) => {
                        soft = None;
                        self.note("time budget reached — Stop to end it").await;
                    }
                }
            };
            self.child.cancel();
            // Give it a moment to end, so that its last messages are shown.
            drop(tokio::time::timeout(LAST_WORDS, ticket).await);
            ended
        })
    }

    async fn note(&self, note: &str) {
        let status = ToolCallStatus::Started { progress: 0.5, note: Some(note.to_owned()) };
        let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(self.call_id, status));
        let session = self.delegator.session.clone();
        run_blocking(move || session.append(vec![update])).await;
    }

    /// Returns the texts of the last message in the delegate's log after update `since`, and of the one before it.
    fn last_messages(&self, since: u64) -> [Option<String>; 2] {
        let store = self.delegator.turns.store();
        let (mut last, mut before, mut id, mut since) = (String::new(), String::new(), None, since);
        loop {
            let page = match store.updates_after(self.child.id(), since, 256) {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "could not read a delegate's answer");
                    return [None, None];
                }
            };
            let Some(end) = page.last() else { break };
            since = end.seq;
            for stored in &page {
                let SessionUpdate::AgentMessage(message) = &stored.update else { continue };
                if message.late || message.text.is_empty() {
                    continue;
                }
                if message.message_id.is_none() || message.message_id != id {
                    before = std::mem::take(&mut last);
                    id.clone_from(&message.message_id);
                }
                last.push_str(&message.text);
            }
        }
        [last, before].map(|text| Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
    }
}
