//! An agent's tool calls, indexed by its ids and ours.

use super::call::{Call, CallNews, CallStatus, Shown, ShownTerminal, bounded, failure_reason, one_line};
use crate::limits::{CALLS, RECENT_CALLS, RESENT_BYTES, TERMINAL_UPDATE};
use openagents_core::update::{
    Cut, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolKind, new_id,
};
use serde_json::{Map, Value};
use std::{collections::HashMap, time::Instant};

#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) turn: u64,
    pub(super) running: bool,
    pub(super) calls: Vec<Call>,
    pub(super) by_their_id: HashMap<String, usize>,
    pub(super) terminals: HashMap<String, ShownTerminal>,
    /// Calls of this turn, and skipped updates of calls over the limit.
    count: usize,
    passed_over: u64,
}

pub(super) type Ready = Vec<SessionUpdate>;

impl Calls {
    pub(super) fn begin_turn(&mut self) {
        self.turn += 1;
        self.running = true;
        self.count = 0;
        if self.calls.len() > CALLS {
            self.calls.clear();
            self.by_their_id.clear();
            self.terminals.clear();
        }
    }

    pub(super) fn is_over(&self, their_id: &str) -> bool {
        self.by_their_id.get(their_id).is_some_and(|at| !self.calls[*at].open)
    }

    /// Applies an update of a call, or a `tool_call` that `announces` one. Returns our id of
    /// the call; `None` over the limit.
    pub(super) fn apply_news(
        &mut self,
        now: Instant,
        news: CallNews,
        announces: bool,
        ready: &mut Ready,
    ) -> Option<String> {
        let mut news = news;
        let is_known = self.by_their_id.contains_key(&news.id);
        if !is_known && self.is_full() {
            return None;
        }
        self.read_terminals(&mut news);
        let known = self.by_their_id.get(&news.id).copied().or_else(|| self.take_over(&news));
        let at = match known {
            // Only an agent whose counter restarts announces a call with the id of an ended one.
            Some(at) if announces && self.running && !self.calls[at].open => {
                if self.is_full() {
                    return None;
                }
                self.announce(&mut news, ready)
            }
            Some(at) => at,
            None => self.announce(&mut news, ready),
        };
        self.by_their_id.insert(std::mem::take(&mut news.id), at);
        self.update(now, at, news, ready);
        Some(self.calls[at].id.clone())
    }

    pub(super) fn is_full(&mut self) -> bool {
        let is_full = self.count >= CALLS;
        if is_full {
            self.passed_over += 1;
            tracing::debug!(count = self.passed_over, "passed over a call: there are too many in one turn");
        }
        is_full
    }

    /// Turns a row made for a terminal into the call that shows this terminal.
    fn take_over(&mut self, news: &CallNews) -> Option<usize> {
        let shows = |terminal: &String| {
            let is_it = |piece: &Shown| matches!(piece, Shown::Terminal(id) if id == terminal);
            news.shown.iter().flatten().any(is_it)
        };
        let turn = self.turn;
        let at = self
            .calls
            .iter()
            .rposition(|call| call.turn == turn && call.made_for.as_ref().is_some_and(shows))?;
        self.calls[at].made_for = None;
        self.calls[at].open = true;
        Some(at)
    }

    pub(super) fn announce(&mut self, news: &mut CallNews, ready: &mut Ready) -> usize {
        let shown = bounded(news.shown.take().unwrap_or_default());
        let mut details = std::mem::take(&mut news.details);
        let kind = details.kind.unwrap_or(ToolKind::Other);
        let by_kind = Some(kind).filter(|kind| *kind != ToolKind::Other);
        let by_kind = by_kind.and_then(|kind| Some(serde_json::to_value(kind).ok()?.as_str()?.to_owned()));
        let name = news.name.take().as_deref().and_then(one_line);
        let name = name.or(by_kind).or_else(|| details.title.clone()).unwrap_or_else(|| "tool".to_owned());
        let title = details.title.clone();
        let raw_input = details.raw_input.clone();
        let arguments = match details.raw_input.take() {
            Some(Value::Object(arguments)) => arguments,
            other => {
                details.raw_input = other;
                Map::new()
            }
        };
        let at = self.calls.len();
        self.count += 1;
        if let Some(old) = at.checked_sub(RECENT_CALLS) {
            self.forget(old);
        }
        self.name_terminals(&shown, title.as_deref());
        details.content = self.content(&shown);
        self.calls.push(Call {
            id: new_id(),
            turn: self.turn,
            open: true,
            started: false,
            kind,
            title,
            raw_input,
            locations: details.locations.clone(),
            shown,
            made_for: None,
            forgotten: false,
            last_sent: None,
            dirty: false,
        });
        ready.push(SessionUpdate::ToolCall(ToolCall {
            call_id: self.calls[at].id.clone(),
            name,
            arguments,
            details,
            ..ToolCall::default()
        }));
        if self.is_late(&self.calls[at]) {
            // The announcement itself has no status, so an update marks it as late.
            let update = ToolCallUpdate::new(&self.calls[at].id, ToolCallStatus::Unchanged);
            ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate { late: true, ..update }));
        }
        at
    }

    pub(super) fn update(&mut self, now: Instant, at: usize, news: CallNews, ready: &mut Ready) {
        let CallNews { status, mut details, shown, raw_output, .. } = news;
        self.calls[at].forget_repeated(&mut details);
        let call = &mut self.calls[at];
        let shown = shown.map(bounded).filter(|shown| !call.forgotten && *shown != call.shown);
        let is_new = shown.is_some();
        if let Some(shown) = shown {
            call.show(shown);
        }
        let ends = matches!(status, Some(CallStatus::Completed | CallStatus::Failed));
        let (shown, title) = (self.calls[at].shown.clone(), self.calls[at].title.clone());
        self.name_terminals(&shown, title.as_deref());
        if is_new || (ends && self.calls[at].dirty) {
            details.content = self.content(&shown);
            (self.calls[at].dirty, self.calls[at].last_sent) = (false, Some(now));
        }
        let late = self.is_late(&self.calls[at]);
        let failed = || failure_reason(raw_output.as_ref(), &self.content(&shown));
        let failed = (status == Some(CallStatus::Failed)).then(failed);
        let call = &mut self.calls[at];
        let status = match status {
            Some(CallStatus::Completed) => {
                ToolCallStatus::Completed { output: raw_output.unwrap_or(Value::Null), cut: Cut::default() }
            }
            Some(CallStatus::Failed) => ToolCallStatus::Error { message: failed.unwrap_or_default() },
            Some(CallStatus::Running) if call.open && !call.started => {
                ToolCallStatus::Started { progress: 0.0, note: None }
            }
            // Any other status means no change.
            _ => ToolCallStatus::Unchanged,
        };
        call.started |= matches!(status, ToolCallStatus::Started { .. });
        call.open &= !ends;
        if status != ToolCallStatus::Unchanged || !details.is_empty() {
            let call_id = call.id.clone();
            ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late, details }));
        }
        self.resend_content(now, at, ready);
        // Nothing more to report, unless a terminal is still running.
        let runs = |id: &str| self.terminals.get(id).is_some_and(|terminal| !terminal.has_ended());
        let call = &self.calls[at];
        if at + RECENT_CALLS < self.calls.len()
            || !(call.dirty || call.made_for.is_some() || call.terminals().any(runs))
        {
            self.forget(at);
        }
    }

    /// Drops the content of an ended call; the call keeps its index.
    fn forget(&mut self, at: usize) {
        let call = &mut self.calls[at];
        if call.open {
            return;
        }
        (call.raw_input, call.locations, call.dirty) = (None, Vec::new(), false);
        let shown = std::mem::take(&mut call.shown);
        call.forgotten |= shown.iter().any(|piece| matches!(piece, Shown::Terminal(_)));
        for piece in shown {
            if let Shown::Terminal(id) = piece {
                self.terminals.remove(&id);
            }
        }
    }

    /// Returns the known details of an open call, which its permission request need not repeat.
    pub(super) fn details(&self, their_id: &str) -> ToolCallDetails {
        let Some(call) = self.by_their_id.get(their_id).map(|at| &self.calls[*at]) else {
            return ToolCallDetails::default();
        };
        ToolCallDetails {
            title: call.title.clone(),
            kind: Some(call.kind),
            raw_input: call.raw_input.clone(),
            locations: call.locations.clone(),
            content: self.content(&call.shown),
        }
    }

    pub(super) fn resend_content(&mut self, now: Instant, at: usize, ready: &mut Ready) {
        let call = &self.calls[at];
        if call.open && call.fixed_bytes() > RESENT_BYTES {
            // The rest is sent when the call ends.
            return;
        }
        if call.dirty && self.due_of(call).is_none_or(|due| now >= due) {
            self.send_content(at, ready);
            self.calls[at].last_sent = Some(now);
        }
    }

    fn send_content(&mut self, at: usize, ready: &mut Ready) {
        let call = &self.calls[at];
        let late = self.is_late(call);
        let details = ToolCallDetails { content: self.content(&call.shown), ..ToolCallDetails::default() };
        let (call_id, status) = (call.id.clone(), ToolCallStatus::Unchanged);
        ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late, details }));
        self.calls[at].dirty = false;
    }

    fn due_of(&self, call: &Call) -> Option<Instant> {
        let bytes = call.shown.iter().map(|piece| match piece {
            Shown::Terminal(id) => self.terminals.get(id).map_or(0, |terminal| terminal.output.len()),
            Shown::Fixed(_) => 0,
        });
        let factor = 1 + u32::try_from(bytes.sum::<usize>() / (8 << 10)).unwrap_or(8).min(8);
        call.last_sent.map(|last_sent| last_sent + TERMINAL_UPDATE * factor)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let recent = self.calls.iter().rev().take(RECENT_CALLS);
        let is_due = |call: &&Call| call.dirty && !(call.open && call.fixed_bytes() > RESENT_BYTES);
        recent.filter(is_due).filter_map(|call| self.due_of(call)).min()
    }

    pub(super) fn tick(&mut self, now: Instant, ready: &mut Ready) {
        for at in self.calls.len().saturating_sub(RECENT_CALLS)..self.calls.len() {
            self.resend_content(now, at, ready);
        }
    }

    /// Returns whether a call outlasted its turn or was made outside of one.
    fn is_late(&self, call: &Call) -> bool {
        !self.running || call.turn != self.turn
    }

    pub(super) fn end_turn(&mut self, why: &str, ready: &mut Ready) {
        self.close_open(why, ready);
        self.running = false;
    }

    /// Closes the open calls, and sends the output of closed ones that waits for its time.
    pub(super) fn close_open(&mut self, why: &str, ready: &mut Ready) {
        for at in 0..self.calls.len() {
            if self.calls[at].open {
                self.close(at, why, ready);
            } else if self.calls[at].dirty {
                self.send_content(at, ready);
            }
        }
    }

    pub(super) fn close(&mut self, at: usize, why: &str, ready: &mut Ready) {
        let call = &self.calls[at];
        let mut details = ToolCallDetails::default();
        if call.dirty {
            details.content = self.content(&call.shown);
        }
        let (call_id, late) = (call.id.clone(), self.is_late(call));
        let status = ToolCallStatus::Error { message: why.to_owned() };
        ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late, details }));
        let call = &mut self.calls[at];
        (call.open, call.dirty) = (false, false);
    }
}
