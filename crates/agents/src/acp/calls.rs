//! The tool calls of an agent, by its ids and by ours, and the terminals that they show.

use super::{
    from_wire::{self, CallNews, Shown},
    timeline::fresh_id,
};
use crate::process::{Tail, signal_name};
use agent_client_protocol_schema::v1::ToolCallStatus as Status;
use openagents_core::update::{
    Cut, Location, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolContent,
    ToolKind,
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::{Duration, Instant},
};

/// Bytes of a terminal that a call shows; see [`ToolContent::Terminal`].
const SHOWN: usize = 64 << 10;
/// A terminal is shown again this long after the last time, later the more it shows: each time the whole of it goes
/// into the log.
const AGAIN: Duration = Duration::from_millis(250);
/// Calls that are remembered from one turn to the next.
const REMEMBERED: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Calls {
    turn: u64,
    running: bool,
    calls: Vec<Call>,
    by_their_id: HashMap<String, usize>,
    terminals: HashMap<String, Terminal>,
}

#[derive(Debug)]
struct Call {
    /// Ours.
    id: String,
    turn: u64,
    open: bool,
    started: bool,
    kind: ToolKind,
    /// As they were told last, until it ends: agents repeat themselves.
    title: Option<String>,
    raw_input: Option<Value>,
    locations: Vec<Location>,
    /// Kept while it is open, and for as long as it shows a terminal, which is told again and again.
    shown: Vec<Shown>,
    /// The terminal that this row was made for, until a call of the agent takes it over.
    made_for: Option<String>,
    /// When a terminal of it was shown last, and whether there is more.
    told: Option<Instant>,
    dirty: bool,
}

#[derive(Debug)]
struct Terminal {
    command: Option<String>,
    output: Tail,
    exit_code: Option<i32>,
    signal: Option<String>,
}

impl Default for Terminal {
    fn default() -> Self {
        Self { command: None, output: Tail::new(SHOWN), exit_code: None, signal: None }
    }
}

type Ready = Vec<SessionUpdate>;

impl Calls {
    pub(super) fn begin_turn(&mut self) {
        self.turn += 1;
        self.running = true;
        if self.calls.len() > REMEMBERED {
            self.calls.clear();
            self.by_their_id.clear();
            self.terminals.clear();
        }
    }

    /// Returns whether this is known as a call that has ended.
    pub(super) fn is_over(&self, their_id: &str) -> bool {
        self.by_their_id.get(their_id).is_some_and(|at| !self.calls[*at].open)
    }

    /// Takes what is told of a call and returns our id of it. `announces`: it came as a `tool_call`.
    pub(super) fn news(
        &mut self,
        now: Instant,
        news: CallNews,
        announces: bool,
        ready: &mut Ready,
    ) -> String {
        let mut news = news;
        self.read_meta(&mut news);
        let known = self.by_their_id.get(&news.id).copied().or_else(|| self.take_over(&news));
        let at = match known {
            // The id of a call that is over, for a new one: only an agent that counts from 1 again does so.
            Some(at) if announces && self.running && !self.calls[at].open => self.announce(&mut news, ready),
            Some(at) => at,
            None => self.announce(&mut news, ready),
        };
        self.by_their_id.insert(std::mem::take(&mut news.id), at);
        self.tell(now, at, news, ready);
        self.calls[at].id.clone()
    }

    /// A row that was made for a terminal becomes the call that shows this terminal.
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
        let shown = news.shown.take().unwrap_or_default();
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
            // The announcement itself has no word for it.
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
        let shown = shown.filter(|shown| *shown != self.calls[at].shown);
        let call = &mut self.calls[at];
        let is_new = shown.is_some();
        if let Some(shown) = shown {
            // A terminal that was shown stays: agents tell its text without it at the end.
            let terminals = call.shown.drain(..).filter(|piece| matches!(piece, Shown::Terminal(_)));
            let mut all: Vec<_> = terminals.filter(|piece| !shown.contains(piece)).collect();
            all.extend(shown);
            call.shown = all;
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
            // Whatever else it says: it is as it was.
            _ => ToolCallStatus::Unchanged,
        };
        call.started |= matches!(status, ToolCallStatus::Started { .. });
        call.open &= !ends;
        if status != ToolCallStatus::Unchanged || !details.is_empty() {
            let call_id = call.id.clone();
            ready.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late, details }));
        }
        // There is nothing more to be told of it; only terminals go on.
        let call = &mut self.calls[at];
        if !call.open && !call.shown.iter().any(|piece| matches!(piece, Shown::Terminal(_))) {
            (call.shown, call.raw_input, call.locations) = (Vec::new(), None, Vec::new());
        }
        self.retell(now, at, ready);
    }

    /// Codex and Claude Code run commands themselves and tell the output beside the update.
    fn read_meta(&mut self, news: &mut CallNews) {
        let Some(meta) = news.meta.take() else { return };
        let mut touched = None;
        for word in ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"] {
            let Some(said) = meta.get(word) else { continue };
            let Some(id) = said["terminal_id"].as_str() else { continue };
            let terminal = self.terminals.entry(id.to_owned()).or_default();
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

    fn name_terminals(&mut self, shown: &[Shown], title: Option<&str>) {
        for piece in shown {
            if let Shown::Terminal(id) = piece {
                let terminal = self.terminals.entry(id.clone()).or_default();
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
    ) -> String {
        let known = Terminal { command: Some(command.to_owned()), ..Terminal::default() };
        self.terminals.insert(terminal.to_owned(), known);
        let turn = self.turn;
        let waits = |call: &Call| {
            call.turn == turn && call.open && call.kind == ToolKind::Execute && call.shown.is_empty()
        };
        let shown = Some(vec![Shown::Terminal(terminal.to_owned())]);
        if let Some(at) = self.calls.iter().rposition(waits) {
            self.tell(now, at, CallNews { shown, ..CallNews::default() }, ready);
            return self.calls[at].id.clone();
        }
        let details = ToolCallDetails {
            title: from_wire::one_line(command),
            kind: Some(ToolKind::Execute),
            raw_input: Some(raw_input),
            ..ToolCallDetails::default()
        };
        let mut news = CallNews { details, shown, ..CallNews::default() };
        let at = self.announce(&mut news, ready);
        self.calls[at].made_for = Some(terminal.to_owned());
        self.calls[at].id.clone()
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

    /// What is known of an open call beside what a permission says of it.
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
        let recent = self.calls.iter().rev().take(100);
        recent.filter(|call| call.dirty).filter_map(|call| self.due_of(call)).min()
    }

    pub(super) fn tick(&mut self, now: Instant, ready: &mut Ready) {
        for at in self.calls.len().saturating_sub(100)..self.calls.len() {
            self.retell(now, at, ready);
        }
    }

    /// What an agent tells of a call after the turn that made it, or when nothing runs.
    fn is_late(&self, call: &Call) -> bool {
        !self.running || call.turn != self.turn
    }

    pub(super) fn end_turn(&mut self, why: &str, ready: &mut Ready) {
        self.close_open(why, ready);
        self.running = false;
    }

    /// Closes what is open.
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

impl Call {
    /// Remembers what is new, and takes out what is not: whole files would go into the log twice.
    fn forget_repeated(&mut self, details: &mut ToolCallDetails) {
        if details.title.is_some() && details.title == self.title {
            details.title = None;
        }
        if details.kind == Some(self.kind) {
            details.kind = None;
        }
        if details.raw_input.is_some() && details.raw_input == self.raw_input {
            details.raw_input = None;
        }
        if details.locations == self.locations {
            details.locations.clear();
        }
        self.kind = details.kind.unwrap_or(self.kind);
        if details.title.is_some() {
            self.title.clone_from(&details.title);
        }
        if details.raw_input.is_some() {
            self.raw_input.clone_from(&details.raw_input);
        }
        if !details.locations.is_empty() {
            self.locations.clone_from(&details.locations);
        }
    }
}

/// Why a call failed, one line.
fn reason(raw_output: Option<&Value>, content: &[ToolContent]) -> String {
    let text = content.iter().find_map(|piece| match piece {
        ToolContent::Text { text } => Some(text.trim_matches(['`', '\n']).to_owned()),
        ToolContent::Terminal { exit_code: Some(code), .. } => Some(format!("exit code {code}")),
        _ => None,
    });
    let said = match raw_output {
        Some(Value::String(said)) => Some(said.clone()),
        Some(Value::Object(said)) => match (said.get("error"), said.get("exit_code")) {
            (Some(Value::String(error)), _) => Some(error.clone()),
            (_, Some(Value::Number(code))) => Some(format!("exit code {code}")),
            _ => text,
        },
        _ => text,
    };
    said.as_deref().and_then(from_wire::one_line).unwrap_or_else(|| "it failed".to_owned())
}
