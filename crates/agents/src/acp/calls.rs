//! The tool calls of an agent, by its ids and ours, and the terminals they show.

use super::{
    call::{Call, ShownTerminal, bounded, fresh_id, reason},
    from_wire::{self, CallNews, Shown},
};
use crate::process::signal_name;
use agent_client_protocol_schema::v1::ToolCallStatus as Status;
use openagents_core::update::{
    Cut, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolContent, ToolKind,
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::{Duration, Instant},
};

/// Minimum time between two updates of one terminal; more for a longer one, since every update logs all of it.
const AGAIN: Duration = Duration::from_millis(250);
/// Calls remembered from one turn to the next, and the limit of calls per turn.
const REMEMBERED: usize = 10_000;
/// Calls, newest first, whose terminals are updated while they grow.
const RECENT: usize = 100;
/// Terminals whose text is kept.
const TERMINALS: usize = 1_000;
/// A call with more bytes of text and diffs than this updates its terminals only when it ends, since every update logs
/// all of its content.
const FIXED: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct Calls {
    turn: u64,
    running: bool,
    calls: Vec<Call>,
    by_their_id: HashMap<String, usize>,
    terminals: HashMap<String, ShownTerminal>,
    /// Calls of this turn, and updates of calls over the limit.
    count: usize,
    passed_over: u64,
}

type Ready = Vec<SessionUpdate>;

impl Calls {
    pub(super) fn begin_turn(&mut self) {
        self.turn += 1;
        self.running = true;
        self.count = 0;
        if self.calls.len() > REMEMBERED {
            self.calls.clear();
            self.by_their_id.clear();
            self.terminals.clear();
        }
    }

    /// Returns whether this call has ended.
    pub(super) fn is_over(&self, their_id: &str) -> bool {
        self.by_their_id.get(their_id).is_some_and(|at| !self.calls[*at].open)
    }

    /// Applies an update of a call and returns our id of it; `None` over the limit. `announces` is true for a
    /// `tool_call`.
    pub(super) fn news(
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
        self.read_meta(&mut news);
        let known = self.by_their_id.get(&news.id).copied().or_else(|| self.take_over(&news));
        let at = match known {
            // Only an agent whose counter restarts reuses the id of an ended call.
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
        self.tell(now, at, news, ready);
        Some(self.calls[at].id.clone())
    }

    /// Returns whether the turn has reached its limit of calls.
    fn is_full(&mut self) -> bool {
        let is_full = self.count >= REMEMBERED;
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

    fn announce(&mut self, news: &mut CallNews, ready: &mut Ready) -> usize {
        let shown = bounded(news.shown.take().unwrap_or_default());
        let mut details = std::mem::take(&mut news.details);
        let kind = details.kind.unwrap_or(ToolKind::Other);
        let by_kind = (kind != ToolKind::Other).then(|| from_wire::kind_word(kind).to_owned());
        let name = news.name.take().as_deref().and_then(from_wire::one_line);
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
        if let Some(old) = at.checked_sub(RECENT) {
            self.forget(old);
        }
        self.name_terminals(&shown, title.as_deref());
        details.content = self.content(&shown);
        self.calls.push(Call {
            id: fresh_id(),
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
            told: None,
            dirty: false,
        });
        ready.push(SessionUpdate::ToolCall(ToolCall {
            call_id: self.calls[at].id.clone(),
            name,
            arguments,
            op_hash: None,
            stage: None,
            details,
        }));
        if self.is_late(&self.calls[at]) {
            // The announcement itself has no status.
            let (call_id, status) = (self.calls[at].id.clone(), ToolCallStatus::Unchanged);
            let details = ToolCallDetails::default();
            ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                call_id,
                status,
                late: true,
                details,
            }));
        }
        at
    }

    fn tell(&mut self, now: Instant, at: usize, news: CallNews, ready: &mut Ready) {
        let CallNews { status, mut details, shown, raw_output, .. } = news;
        self.calls[at].forget_repeated(&mut details);
        let call = &mut self.calls[at];
        let shown = shown.map(bounded).filter(|shown| !call.forgotten && *shown != call.shown);
        let is_new = shown.is_some();
        if let Some(shown) = shown {
            call.show(shown);
        }
        let ends = matches!(status, Some(Status::Completed | Status::Failed));
        let (shown, title) = (self.calls[at].shown.clone(), self.calls[at].title.clone());
        self.name_terminals(&shown, title.as_deref());
        if is_new || (ends && self.calls[at].dirty) {
            details.content = self.content(&shown);
            (self.calls[at].dirty, self.calls[at].told) = (false, Some(now));
        }
        let late = self.is_late(&self.calls[at]);
        let failed = || reason(raw_output.as_ref(), &self.content(&shown));
        let failed = (status == Some(Status::Failed)).then(failed);
        let call = &mut self.calls[at];
        let status = match status {
            Some(Status::Completed) => {
                ToolCallStatus::Completed { output: raw_output.unwrap_or(Value::Null), cut: Cut::default() }
            }
            Some(Status::Failed) => ToolCallStatus::Error { message: failed.unwrap_or_default() },
            Some(Status::InProgress) if call.open && !call.started => {
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
        self.retell(now, at, ready);
        // Nothing more to report, unless a terminal still runs.
        let runs = |id: &str| self.terminals.get(id).is_some_and(|terminal| !terminal.has_ended());
        let call = &self.calls[at];
        if at + RECENT < self.calls.len()
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

    /// Codex and Claude Code run commands themselves and send the output in `_meta` of the update.
    fn read_meta(&mut self, news: &mut CallNews) {
        let Some(meta) = news.meta.take() else { return };
        if self.by_their_id.get(&news.id).is_some_and(|at| self.calls[*at].forgotten) {
            return;
        }
        let mut touched = None;
        for word in ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"] {
            let Some(said) = meta.get(word) else { continue };
            let Some(id) = said["terminal_id"].as_str() else { continue };
            let Some(terminal) = self.terminal(id) else { continue };
            if let Some(data) = said["data"].as_str() {
                terminal.output.push(data.as_bytes());
            }
            if word == "terminal_exit" {
                terminal.exit_code = said["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
                terminal.signal = said["signal"].as_str().map(str::to_owned);
            }
            touched = Some((id.to_owned(), word));
        }
        let Some((id, _)) = touched.filter(|(_, word)| *word != "terminal_info") else { return };
        let piece = Shown::Terminal(id);
        match self.by_their_id.get(&news.id).map(|at| &mut self.calls[*at]) {
            Some(call) if news.shown.is_none() => {
                if !call.shown.contains(&piece) {
                    call.shown.push(piece);
                    call.shown = bounded(std::mem::take(&mut call.shown));
                }
                call.dirty = true;
            }
            _ => {
                let shown = news.shown.get_or_insert_default();
                if !shown.contains(&piece) {
                    shown.push(piece);
                }
            }
        }
    }

    /// Returns a terminal, creating it; `None` over the limit.
    fn terminal(&mut self, id: &str) -> Option<&mut ShownTerminal> {
        if !self.terminals.contains_key(id) && self.terminals.len() >= TERMINALS {
            return None;
        }
        Some(self.terminals.entry(id.to_owned()).or_default())
    }

    fn name_terminals(&mut self, shown: &[Shown], title: Option<&str>) {
        for piece in shown {
            if let Shown::Terminal(id) = piece {
                let Some(terminal) = self.terminal(id) else { continue };
                if terminal.command.is_none() {
                    terminal.command = title.map(str::to_owned);
                }
            }
        }
    }

    fn content(&self, shown: &[Shown]) -> Vec<ToolContent> {
        let piece = |piece: &Shown| match piece {
            Shown::Fixed(content) => content.clone(),
            Shown::Terminal(id) => {
                let terminal = self.terminals.get(id);
                ToolContent::Terminal {
                    terminal_id: id.clone(),
                    command: terminal.and_then(|terminal| terminal.command.clone()),
                    output: terminal.map(|terminal| terminal.output.text()).unwrap_or_default(),
                    truncated: terminal.is_some_and(|terminal| terminal.output.is_truncated()),
                    exit_code: terminal.and_then(|terminal| terminal.exit_code),
                    signal: terminal.and_then(|terminal| terminal.signal.clone()),
                }
            }
        };
        shown.iter().map(piece).collect()
    }

    pub(super) fn terminal_row(
        &mut self,
        now: Instant,
        terminal: &str,
        command: &str,
        raw_input: Value,
        ready: &mut Ready,
    ) -> Option<String> {
        let known = ShownTerminal { command: Some(command.to_owned()), ..ShownTerminal::default() };
        let shown = Some(vec![Shown::Terminal(terminal.to_owned())]);
        if let Some(at) = self.waiting_for(command) {
            self.terminals.insert(terminal.to_owned(), known);
            self.tell(now, at, CallNews { shown, ..CallNews::default() }, ready);
            return Some(self.calls[at].id.clone());
        }
        if self.is_full() {
            return None;
        }
        self.terminals.insert(terminal.to_owned(), known);
        let details = ToolCallDetails {
            title: from_wire::one_line(command),
            kind: Some(ToolKind::Execute),
            raw_input: Some(raw_input),
            ..ToolCallDetails::default()
        };
        let mut news = CallNews { details, shown, ..CallNews::default() };
        let at = self.announce(&mut news, ready);
        self.calls[at].made_for = Some(terminal.to_owned());
        Some(self.calls[at].id.clone())
    }

    /// Returns the call that a command runs for: the only one waiting for a command, or else the first that names it.
    fn waiting_for(&self, command: &str) -> Option<usize> {
        let waits = |call: &Call| {
            let is_idle = call.open && call.shown.is_empty() && call.made_for.is_none();
            call.turn == self.turn && is_idle && call.kind == ToolKind::Execute
        };
        let waiting: Vec<_> = (0..self.calls.len()).filter(|at| waits(&self.calls[*at])).collect();
        match waiting[..] {
            [only] => Some(only),
            _ => waiting.into_iter().find(|at| self.calls[*at].names(command)),
        }
    }

    pub(super) fn terminal_output(&mut self, now: Instant, id: &str, bytes: &[u8], ready: &mut Ready) {
        if let Some(terminal) = self.terminals.get_mut(id) {
            terminal.output.push(bytes);
            self.terminal_changed(now, id, ready);
        }
    }

    pub(super) fn terminal_ended(&mut self, now: Instant, id: &str, status: ExitStatus, ready: &mut Ready) {
        let Some(terminal) = self.terminals.get_mut(id) else { return };
        terminal.exit_code = status.code();
        terminal.signal = status.signal().map(signal_name);
        let ended = match (terminal.exit_code, &terminal.signal) {
            (Some(0), _) => Status::Completed,
            _ => Status::Failed,
        };
        match self.made_for(id) {
            Some(at) if self.calls[at].open => {
                self.calls[at].dirty = true;
                let news = CallNews { status: Some(ended), ..CallNews::default() };
                self.tell(now, at, news, ready);
            }
            _ => self.terminal_changed(now, id, ready),
        }
    }

    pub(super) fn terminal_refused(&mut self, id: &str, why: &str, ready: &mut Ready) {
        if let Some(at) = self.made_for(id).filter(|at| self.calls[*at].open) {
            self.close(at, why, ready);
        }
    }

    /// Content of an open call that its permission request does not repeat.
    pub(super) fn shown(&self, their_id: &str) -> Vec<ToolContent> {
        self.by_their_id.get(their_id).map(|at| self.content(&self.calls[*at].shown)).unwrap_or_default()
    }

    fn made_for(&self, terminal: &str) -> Option<usize> {
        self.calls.iter().rposition(|call| call.made_for.as_deref() == Some(terminal))
    }

    fn terminal_changed(&mut self, now: Instant, id: &str, ready: &mut Ready) {
        let shows =
            |call: &Call| call.shown.iter().any(|piece| matches!(piece, Shown::Terminal(it) if it == id));
        if let Some(at) = self.calls.iter().rposition(shows) {
            self.calls[at].dirty = true;
            self.retell(now, at, ready);
        }
    }

    fn retell(&mut self, now: Instant, at: usize, ready: &mut Ready) {
        let call = &self.calls[at];
        if call.open && call.fixed_bytes() > FIXED {
            // The rest is sent when the call ends.
            return;
        }
        if !call.dirty || self.due_of(call).is_some_and(|due| now < due) {
            return;
        }
        let late = self.is_late(call);
        let details = ToolCallDetails { content: self.content(&call.shown), ..ToolCallDetails::default() };
        let (call_id, status) = (call.id.clone(), ToolCallStatus::Unchanged);
        ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late, details }));
        let call = &mut self.calls[at];
        (call.dirty, call.told) = (false, Some(now));
    }

    fn due_of(&self, call: &Call) -> Option<Instant> {
        let bytes = call.shown.iter().map(|piece| match piece {
            Shown::Terminal(id) => self.terminals.get(id).map_or(0, |terminal| terminal.output.len()),
            Shown::Fixed(_) => 0,
        });
        let factor = 1 + u32::try_from(bytes.sum::<usize>() / (8 << 10)).unwrap_or(8).min(8);
        call.told.map(|told| told + AGAIN * factor)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let recent = self.calls.iter().rev().take(RECENT);
        let is_retold = |call: &&Call| call.dirty && !(call.open && call.fixed_bytes() > FIXED);
        recent.filter(is_retold).filter_map(|call| self.due_of(call)).min()
    }

    pub(super) fn tick(&mut self, now: Instant, ready: &mut Ready) {
        for at in self.calls.len().saturating_sub(RECENT)..self.calls.len() {
            self.retell(now, at, ready);
        }
    }

    /// Returns whether a call outlasted its turn, or was made outside of one.
    fn is_late(&self, call: &Call) -> bool {
        !self.running || call.turn != self.turn
    }

    pub(super) fn end_turn(&mut self, why: &str, ready: &mut Ready) {
        self.close_open(why, ready);
        self.running = false;
    }

    /// Closes the open calls.
    pub(super) fn close_open(&mut self, why: &str, ready: &mut Ready) {
        for at in 0..self.calls.len() {
            if self.calls[at].open {
                self.close(at, why, ready);
            }
        }
    }

    fn close(&mut self, at: usize, why: &str, ready: &mut Ready) {
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
