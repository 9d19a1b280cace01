//! The terminals shown in calls: those of the agent, and ours that run commands for it.

use super::{
    call::{Call, CallNews, CallStatus, Shown, ShownTerminal, bounded, one_line},
    calls::{Calls, Ready},
};
use crate::{limits::TERMINALS, process::signal_name};
use openagents_core::update::{ToolCallDetails, ToolContent, ToolKind};
use serde_json::Value;
use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Instant};

impl Calls {
    /// Applies the output of terminals that the agent runs itself.
    pub(super) fn read_terminals(&mut self, news: &mut CallNews) {
        let terminals = std::mem::take(&mut news.terminals);
        let known = self.by_their_id.get(&news.id).copied();
        if known.is_some_and(|at| self.calls[at].forgotten) {
            return;
        }
        let mut touched = None;
        for update in terminals {
            let Some(terminal) = self.terminal(&update.id) else { continue };
            terminal.output.push(update.data.as_bytes());
            if let Some(exit) = update.exit {
                (terminal.exit_code, terminal.signal) = exit;
            }
            touched = Some((update.id, update.shows));
        }
        let Some((id, true)) = touched else { return };
        let piece = Shown::Terminal(id);
        match known.map(|at| &mut self.calls[at]) {
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

    /// Returns a terminal, creating it if necessary; `None` over the limit.
    fn terminal(&mut self, id: &str) -> Option<&mut ShownTerminal> {
        if !self.terminals.contains_key(id) && self.terminals.len() >= TERMINALS {
            return None;
        }
        Some(self.terminals.entry(id.to_owned()).or_default())
    }

    pub(super) fn name_terminals(&mut self, shown: &[Shown], title: Option<&str>) {
        for piece in shown {
            if let Shown::Terminal(id) = piece {
                let Some(terminal) = self.terminal(id) else { continue };
                if terminal.command.is_none() {
                    terminal.command = title.map(str::to_owned);
                }
            }
        }
    }

    pub(super) fn content(&self, shown: &[Shown]) -> Vec<ToolContent> {
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
            self.update(now, at, CallNews { shown, ..CallNews::default() }, ready);
            return Some(self.calls[at].id.clone());
        }
        if self.is_full() {
            return None;
        }
        self.terminals.insert(terminal.to_owned(), known);
        let details = ToolCallDetails {
            title: one_line(command),
            kind: Some(ToolKind::Execute),
            raw_input: Some(raw_input),
            ..ToolCallDetails::default()
        };
        let mut news = CallNews { details, shown, ..CallNews::default() };
        let at = self.announce(&mut news, ready);
        self.calls[at].made_for = Some(terminal.to_owned());
        Some(self.calls[at].id.clone())
    }

    /// Returns the call that a command runs for: the only one waiting for a command, otherwise the first that names it.
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
            (Some(0), _) => CallStatus::Completed,
            _ => CallStatus::Failed,
        };
        match self.made_for(id) {
            Some(at) if self.calls[at].open => {
                self.calls[at].dirty = true;
                let news = CallNews { status: Some(ended), ..CallNews::default() };
                self.update(now, at, news, ready);
            }
            _ => self.terminal_changed(now, id, ready),
        }
    }

    pub(super) fn terminal_refused(&mut self, id: &str, why: &str, ready: &mut Ready) {
        if let Some(at) = self.made_for(id).filter(|at| self.calls[*at].open) {
            self.close(at, why, ready);
        }
    }

    fn made_for(&self, terminal: &str) -> Option<usize> {
        self.calls.iter().rposition(|call| call.made_for.as_deref() == Some(terminal))
    }

    fn terminal_changed(&mut self, now: Instant, id: &str, ready: &mut Ready) {
        let shows =
            |call: &Call| call.shown.iter().any(|piece| matches!(piece, Shown::Terminal(it) if it == id));
        if let Some(at) = self.calls.iter().rposition(shows) {
            self.calls[at].dirty = true;
            self.resend_content(now, at, ready);
        }
    }
}
