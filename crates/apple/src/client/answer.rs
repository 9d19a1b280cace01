//! Running answers, and those waiting for the result of a tool.

use super::connection::{Connection, LOOK};
use crate::protocol::{Command, Report};
use openagents_core::{
    CancellationToken,
    model::{Message, ModelError, ModelEvent, ModelRequest, StopReason},
};
use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
};

/// Cancels the answer if dropped before its end.
pub(super) struct Answer {
    id: u64,
    connection: Arc<Connection>,
    reports: Receiver<Report>,
    ended: Cell<bool>,
}

/// The state after listening to an answer.
pub(super) enum End {
    /// It is complete.
    Done(StopReason),
    /// It waits for the result of this call.
    Calls(String),
}

impl Answer {
    pub(super) fn start(connection: Arc<Connection>, request: &ModelRequest) -> Result<Self, ModelError> {
        let (id, reports) =
            connection.ask(|id| Command::Respond { id, request: Box::new(request.clone()) })?;
        Ok(Self { id, connection, reports, ended: Cell::new(false) })
    }

    /// Sends the result it waits for.
    pub(super) fn give(&self, call_id: String, text: String) -> Result<(), ModelError> {
        self.connection.send(&Command::ToolResult { id: self.id, call_id, text })
    }

    /// Forwards its text until it ends or calls a tool.
    pub(super) fn listen(
        &self,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<End, ModelError> {
        loop {
            match next(&self.reports, cancel)? {
                Some(Report::Text { text, .. }) => on_event(ModelEvent::Text(text)),
                Some(Report::Usage { usage, .. }) => on_event(ModelEvent::Usage(usage)),
                Some(Report::ToolCall { call, .. }) => {
                    let id = call.id.clone();
                    on_event(ModelEvent::ToolCall(call));
                    return Ok(End::Calls(id));
                }
                Some(Report::Done { stop, .. }) => {
                    self.ended.set(true);
                    return Ok(End::Done(stop));
                }
                // An answer that failed here may still run in the helper: dropping it cancels it.
                Some(Report::Failed { error, .. }) => return Err(error),
                Some(other) => tracing::warn!(?other, "unexpected report"),
                None => {
                    self.ended.set(true);
                    return Err(ModelError::Crashed(self.connection.describe_end()));
                }
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.connection.forget(self.id);
        if !self.ended.get() {
            let _ = self.connection.send(&Command::Cancel { id: self.id });
        }
    }
}

/// Waits for the next report; `None` if there are no more.
pub(super) fn next(
    reports: &Receiver<Report>,
    cancel: &CancellationToken,
) -> Result<Option<Report>, ModelError> {
    loop {
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        match reports.recv_timeout(LOOK) {
            Ok(report) => return Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// The waiting answers, oldest first.
pub(super) struct Waiting {
    answers: VecDeque<(String, Answer)>,
    limit: usize,
}

impl Waiting {
    pub(super) fn new(limit: usize) -> Self {
        Self { answers: VecDeque::new(), limit }
    }

    /// Keeps an answer until the result of its call arrives; drops the oldest if there are too many.
    pub(super) fn keep(&mut self, call_id: String, answer: Answer) {
        self.answers.push_back((call_id, answer));
        if self.answers.len() > self.limit {
            self.answers.pop_front();
        }
    }

    /// Takes the answer whose result ends this request, along with the call id and the result.
    pub(super) fn take(&mut self, request: &ModelRequest) -> Option<(Answer, String, String)> {
        let results = request.messages.iter().rev().map_while(|message| match message {
            Message::Tool { call_id, text, .. } => Some((call_id, text)),
            _ => None,
        });
        for (call_id, text) in results {
            if let Some(place) = self.answers.iter().position(|(waiting, _)| waiting == call_id) {
                let (call_id, answer) = self.answers.remove(place)?;
                return Some((answer, call_id, text.clone()));
            }
        }
        None
    }
}
