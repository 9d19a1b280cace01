//! The work that a log leaves open: waiting prompts, the running turn with its calls and its plan, pending approvals.
//!
//! The writer applies every update to it and keeps it in a table, so that a crash leaves nothing open forever.

use super::reader::{Stored, read_update};
use crate::scope::{Scope, scoped, unscoped};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{AgentMessage, PlanSnapshot, RunState, SessionUpdate, ToolCallStatus},
};
use rusqlite::{Connection, Transaction, params};
use std::{collections::HashSet, sync::Arc};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A prompt whose turn has not begun.
    Prompt,
    /// The running turn: an exploration.
    Exploration,
    /// The running turn: an answer of a model or an agent.
    Answer,
    Call,
    Approval,
    /// The last plan of the turn.
    Plan,
    /// The last message of the turn, which may continue.
    Message,
}

const PARTS: [(Part, &str); 7] = [
    (Part::Prompt, "prompt"),
    (Part::Exploration, "exploration"),
    (Part::Answer, "answer"),
    (Part::Call, "call"),
    (Part::Approval, "approval"),
    (Part::Plan, "plan"),
    (Part::Message, "message"),
];

impl Part {
    pub(super) fn name(self) -> &'static str {
        PARTS.iter().find(|(part, _)| *part == self).map_or("", |(_, name)| name)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        PARTS.iter().find(|(_, known)| *known == name).map(|(part, _)| *part)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Open {
    pub(crate) part: Part,
    /// The delegate that it belongs to; `None` for the session itself.
    pub(crate) scope: Scope,
    pub(crate) by: Arc<Stored>,
}

impl Open {
    pub(super) fn new(part: Part, by: Arc<Stored>) -> Self {
        Self { part, scope: scoped(&by.update).0, by }
    }

    pub(crate) fn approval(&self) -> Option<&Approval> {
        match unscoped(&self.by.update) {
            SessionUpdate::Approval(approval) if self.part == Part::Approval => Some(approval),
            _ => None,
        }
    }

    pub(crate) fn plan(&self) -> Option<&PlanSnapshot> {
        match unscoped(&self.by.update) {
            SessionUpdate::Plan(plan) if self.part == Part::Plan => Some(plan),
            _ => None,
        }
    }

    pub(crate) fn id(&self) -> Option<&str> {
        match unscoped(&self.by.update) {
            SessionUpdate::UserMessage(message) => message.message_id.as_deref(),
            SessionUpdate::AgentMessage(message) => message.message_id.as_deref(),
            SessionUpdate::ToolCall(call) => Some(&call.call_id),
            SessionUpdate::Approval(approval) => Some(&approval.id),
            SessionUpdate::Plan(plan) => Some(&plan.plan_id),
            _ => None,
        }
    }

    /// Returns whether it must be closed. A message and an ended plan only matter to the rest of their turn.
    fn is_unfinished(&self) -> bool {
        match self.part {
            Part::Message => false,
            Part::Plan => self.is_running_plan(),
            Part::Prompt | Part::Exploration | Part::Answer | Part::Call | Part::Approval => true,
        }
    }

    fn is_running_plan(&self) -> bool {
        self.plan().is_some_and(|plan| plan.state == RunState::Running)
    }
}

/// All open work of a session, in the order in which it was opened. Empty unless something must be closed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpenWork(pub(super) Vec<Open>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Opened(Part, u64),
    Closed(Part, u64),
}

impl OpenWork {
    /// Returns whether the log ends outside any turn.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn in_scope<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Open> {
        self.0.iter().filter(move |open| open.scope == *scope)
    }

    pub(crate) fn delegates(&self) -> Vec<Scope> {
        let mut delegates: Vec<Scope> =
            self.0.iter().map(|open| open.scope.clone()).filter(Option::is_some).collect();
        delegates.sort();
        delegates.dedup();
        delegates
    }

    /// Returns the pending approvals of the session and its delegates, oldest first.
    pub(crate) fn approvals(&self) -> impl Iterator<Item = &Approval> {
        self.0.iter().filter_map(Open::approval)
    }

    /// Returns the running turn of a scope, if any. A call or plan without a turn belongs to an exploration.
    pub(crate) fn turn(&self, scope: &Scope) -> Option<Part> {
        let is_turn = |part: &Part| matches!(part, Part::Exploration | Part::Answer);
        let turn = self.in_scope(scope).map(|open| open.part).find(is_turn);
        turn.or_else(|| self.is_working(scope).then_some(Part::Exploration))
    }

    fn is_working(&self, scope: &Scope) -> bool {
        self.in_scope(scope).any(|open| open.part == Part::Call || open.is_running_plan())
    }

    /// Returns the number of prompts of a scope whose turn has not begun.
    pub(crate) fn waiting(&self, scope: &Scope) -> usize {
        self.in_scope(scope).filter(|open| open.part == Part::Prompt).count()
    }

    pub(crate) fn apply(&mut self, next: &Arc<Stored>) -> Vec<Change> {
        let (scope, update) = scoped(&next.update);
        let mut fold = Fold { work: self, scope, next, changes: Vec::new() };
        fold.apply(update);
        if !fold.work.in_scope(&fold.scope).any(Open::is_unfinished) {
            fold.close(|_| true);
        }
        fold.changes
    }
}

struct Fold<'a> {
    work: &'a mut OpenWork,
    scope: Scope,
    next: &'a Arc<Stored>,
    changes: Vec<Change>,
}

impl Fold<'_> {
    fn apply(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::UserMessage(message) if message.removed || message.steered => {
                self.close_one(Part::Prompt, message.message_id.as_deref());
            }
            SessionUpdate::UserMessage(_) => self.open(Part::Prompt),
            // An explicitly requested exploration starts its session with the title; later titles do not start a turn.
            SessionUpdate::Title(_) if self.next.seq == 1 => self.open(Part::Exploration),
            // Late updates open nothing.
            SessionUpdate::AgentMessage(AgentMessage { late: true, .. }) => {}
            SessionUpdate::AgentThought(thought) if thought.late => {}
            SessionUpdate::Routed(_) | SessionUpdate::AgentThought(_) => self.begin(Part::Answer),
            SessionUpdate::Approval(approval) => {
                self.close_one(Part::Approval, Some(&approval.id));
                if approval.state == ApprovalState::Pending {
                    self.open(Part::Approval);
                }
            }
            SessionUpdate::Plan(plan) => self.plan(plan),
            SessionUpdate::ToolCall(call) => {
                let is_step = call.op_hash.is_some() || call.stage.is_some();
                self.begin(if is_step { Part::Exploration } else { Part::Answer });
                self.close_one(Part::Call, Some(&call.call_id));
                self.open(Part::Call);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                if !matches!(update.status, ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged) {
                    self.close_one(Part::Call, Some(&update.call_id));
                }
            }
            SessionUpdate::AgentMessage(message) => self.agent_message(message),
            SessionUpdate::Title(_)
            | SessionUpdate::Mode(_)
            | SessionUpdate::Delegated(_)
            | SessionUpdate::AgentState(_)
            | SessionUpdate::AgentNote(_) => {}
        }
    }

    fn plan(&mut self, plan: &PlanSnapshot) {
        let is_known = self.any(|open| open.part == Part::Plan && open.id() == Some(&plan.plan_id));
        // An agent may plan during its turn.
        if !is_known && !self.has(Part::Answer) {
            self.close_oldest_prompt();
            self.close_all(Part::Call);
            if !self.has(Part::Exploration) {
                self.open(Part::Exploration);
            }
        }
        self.close_all(Part::Plan);
        self.open(Part::Plan);
    }

    fn agent_message(&mut self, message: &AgentMessage) {
        let id = message.message_id.as_deref();
        let ends = message.ends_turn();
        if id.is_some() && self.any(|open| open.part == Part::Message && open.id() == id) {
            // This continues the last message, whose earlier part did not end the turn.
            if ends {
                self.end();
            } else if !self.has_turn() {
                self.open(Part::Answer);
            }
            return;
        }
        let is_working = self.work.is_working(&self.scope);
        // A message outside the turn, such as the refusal of another prompt.
        if id.is_none() && !ends && (is_working || self.has(Part::Answer)) {
            return;
        }
        // An exploration, and a turn that was refused, has one message, even if it is not marked as the end.
        let is_refusal = message.text.starts_with("❌ ") || id.is_none();
        let ends = ends
            || self.has(Part::Exploration) && !is_working && message.findings.is_none()
            || !self.has_turn() && is_refusal;
        self.close_all(Part::Message);
        self.begin(Part::Answer);
        if id.is_some() {
            self.open(Part::Message);
        }
        if ends {
            self.end();
        }
    }

    /// Begins a turn, unless one is running: its prompt no longer waits.
    fn begin(&mut self, turn: Part) {
        if !self.has_turn() {
            self.close_oldest_prompt();
            self.open(turn);
        }
    }

    fn end(&mut self) {
        self.close(|open| matches!(open.part, Part::Exploration | Part::Answer));
    }

    fn has_turn(&self) -> bool {
        self.has(Part::Exploration) || self.has(Part::Answer)
    }

    fn has(&self, part: Part) -> bool {
        self.any(|open| open.part == part)
    }

    fn any(&self, is: impl Fn(&Open) -> bool) -> bool {
        self.work.in_scope(&self.scope).any(is)
    }

    fn open(&mut self, part: Part) {
        self.work.0.push(Open { part, scope: self.scope.clone(), by: self.next.clone() });
        self.changes.push(Change::Opened(part, self.next.seq));
    }

    fn close_all(&mut self, part: Part) {
        self.close(|open| open.part == part);
    }

    fn close_one(&mut self, part: Part, id: Option<&str>) {
        self.close(|open| open.part == part && open.id() == id);
    }

    fn close(&mut self, closes: impl Fn(&Open) -> bool) {
        let closed = self.work.0.extract_if(.., |open| open.scope == self.scope && closes(open));
        self.changes.extend(closed.map(|open| Change::Closed(open.part, open.by.seq)));
    }

    fn close_oldest_prompt(&mut self) {
        let oldest = self.work.in_scope(&self.scope).find(|open| open.part == Part::Prompt);
        if let Some(seq) = oldest.map(|open| open.by.seq) {
            self.close(|open| open.part == Part::Prompt && open.by.seq == seq);
        }
    }
}

pub(super) fn load_open_work(connection: &Connection, session_id: &str) -> rusqlite::Result<OpenWork> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, ts, update_json, part FROM open_work JOIN events USING (session_id, seq)
         WHERE session_id = ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map([session_id], |row| {
        let part = Part::from_name(row.get_ref(3)?.as_str()?);
        Ok(part.zip(Some(read_update(row)?)))
    })?;
    let open = rows.filter_map(Result::transpose).map(|row| row.map(|(part, by)| Open::new(part, by)));
    Ok(OpenWork(open.collect::<Result<_, _>>()?))
}

pub(super) fn left_open(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection.prepare("SELECT DISTINCT session_id FROM open_work")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

pub(super) fn store_changes(
    transaction: &Transaction<'_>,
    session_id: &str,
    changes: &[Change],
) -> rusqlite::Result<()> {
    for change in changes {
        let (sql, part, seq) = match change {
            Change::Opened(part, seq) => {
                ("INSERT INTO open_work (session_id, seq, part) VALUES (?1, ?2, ?3)", part, seq)
            }
            Change::Closed(part, seq) => {
                ("DELETE FROM open_work WHERE session_id = ?1 AND seq = ?2 AND part = ?3", part, seq)
            }
        };
        transaction.prepare_cached(sql)?.execute(params![session_id, seq, part.name()])?;
    }
    Ok(())
}
