//! Running answers, and answers that wait for a tool's result.

use crate::{
    limits::WAITING,
    protocol::{Client, Command, Report},
};
use openagents_core::{
    CancellationToken,
    helper::next_report,
    model::{Message, ModelError, ModelEvent, ModelRequest, StopReason},
};
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::mpsc::Receiver;

/// Cancels the answer if dropped before its end.
pub(super) struct Answer {
    id: u64,
    client: Arc<Client>,
    reports: Receiver<Report>,
}

pub(super) enum End {
    /// The answer is complete.
    Done(StopReason),
    /// The answer waits for the result of this call.
    Calls(String),
}

impl Answer {
    pub(super) fn start(client: Arc<Client>, request: &ModelRequest) -> Result<Self, ModelError> {
        let (id, reports) = client.ask(|id| Command::Respond { id, request: Box::new(request.clone()) })?;
        Ok(Self { id, client, reports })
    }

    pub(super) fn give(&self, call_id: String, text: String) -> Result<(), ModelError> {
        self.client.send(&Command::ToolResult { id: self.id, call_id, text })
    }

    /// Forwards the answer's text until it ends or calls a tool.
    pub(super) fn listen(
        &mut self,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<End, ModelError> {
        loop {
            match next_report(&mut self.reports, cancel)? {
                Some(Report::Text { text, .. }) => on_event(ModelEvent::Text(text)),
                Some(Report::Usage { usage, .. }) => on_event(ModelEvent::Usage(usage)),
                Some(Report::ToolCall { call, .. }) => {
                    let id = call.id.clone();
                    on_event(ModelEvent::ToolCall(call));
                    return Ok(End::Calls(id));
                }
                Some(Report::Done { stop, .. }) => return Ok(End::Done(stop)),
                Some(Report::Failed { error, .. }) => return Err(error),
                Some(other) => tracing::warn!(?other, "unexpected report"),
                None => return Err(ModelError::Crashed(self.client.exit_reason())),
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // An answer that failed here may still run in the helper.
        self.client.cancel(self.id);
    }
}

/// The answers that wait for the result of a call, oldest first.
#[derive(Default)]
pub(super) struct Waiting(VecDeque<(String, Answer)>);

impl Waiting {
    /// Keeps an answer until the result of its call arrives; drops the oldest if there are too many.
    pub(super) fn keep(&mut self, call_id: String, answer: Answer) {
        self.0.push_back((call_id, answer));
        if self.0.len() > WAITING {
            self.0.pop_front();
        }
    }

    /// Takes the answer waiting for one of the results at the end of this request, along
    /// with the call id and the result.
    pub(super) fn take(&mut self, request: &ModelRequest) -> Option<(Answer, String, String)> {
        let results = request.messages.iter().rev().map_while(|message| match message {
            Message::Tool { call_id, text, .. } => Some((call_id, text)),
            _ => None,
        });
        for (call_id, text) in results {
            if let Some(place) = self.0.iter().position(|(waiting, _)| waiting == call_id) {
                let (call_id, answer) = self.0.remove(place)?;
                return Some((answer, call_id, text.clone()));
            }
        }
        None
    }
}
