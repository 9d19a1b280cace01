//! One answer: forwards the model's text and tool calls to the client, and results back to the model.

use crate::{
    backend::{Backend, Exchange},
    limits::{CANCEL_CHECK, SHORTEST_RESULT, WRONG_CALLS},
};
use openagents_apple::{
    budget::{self, Fitted},
    protocol::Report,
    schema::OfferedTool,
};
use openagents_core::{
    CancellationToken,
    model::{CallRequest, ModelError, ModelRequest, StopReason, Usage},
};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Instant,
};

/// Sends a report to the client; fails if it has exited.
pub(crate) type SendReport = dyn Fn(&Report) -> Result<(), ModelError> + Send + Sync;

#[derive(Debug, Default)]
pub(crate) struct Handle {
    cancel: CancellationToken,
    ended: AtomicBool,
    waiting: Mutex<HashMap<String, mpsc::Sender<String>>>,
}

impl Handle {
    /// Cancels the answer. The client is notified at once, even if the model is still computing.
    pub(crate) fn cancel(&self, id: u64, send: &SendReport) {
        self.cancel.cancel();
        self.report_end(&Report::Failed { id: Some(id), error: ModelError::Cancelled }, send);
    }

    /// Delivers the result of a tool. Unexpected results are dropped.
    pub(crate) fn deliver_result(&self, call_id: &str, text: String) {
        if let Some(sender) = self.waiting.lock().remove(call_id) {
            let _ = sender.send(text);
        }
    }

    fn report_end(&self, report: &Report, send: &SendReport) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            // Fails only if the client has exited.
            let _ = send(report);
        }
    }
}

/// Generates an answer on this thread and always reports its end.
pub(crate) fn answer(
    id: u64,
    request: &ModelRequest,
    backend: Arc<dyn Backend>,
    handle: Arc<Handle>,
    send: Arc<SendReport>,
) {
    let started = Instant::now();
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let fitted = budget::fit(request, &|text| count(&*backend, text));
        if !fitted.left_out.is_empty() {
            tracing::info!(tools = ?fitted.left_out, "no room for some tools");
        }
        let answering = Arc::new(Answering {
            id,
            handle: handle.clone(),
            send: send.clone(),
            backend: backend.clone(),
            fitted,
            progress: Mutex::default(),
        });
        backend.respond(&answering.fitted, &request.options, answering.clone())?;
        Ok(answering.usage_and_stop(started))
    }));
    let report = match answered {
        _ if handle.cancel.is_cancelled() => Report::Failed { id: Some(id), error: ModelError::Cancelled },
        Ok(Ok((usage, stop))) => {
            let _ = send(&Report::Usage { id, usage });
            Report::Done { id, stop }
        }
        Ok(Err(error)) => Report::Failed { id: Some(id), error },
        Err(_) => {
            let error = ModelError::Failed("Foundation Models stopped unexpectedly; try again".to_owned());
            Report::Failed { id: Some(id), error }
        }
    };
    handle.report_end(&report, &*send);
}

/// Counts tokens with the model's tokenizer if possible, otherwise estimates them.
fn count(backend: &dyn Backend, text: &str) -> usize {
    backend.count(text).unwrap_or_else(|| budget::estimate(text))
}

struct Answering {
    id: u64,
    handle: Arc<Handle>,
    send: Arc<SendReport>,
    backend: Arc<dyn Backend>,
    fitted: Fitted,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    text: String,
    first: Option<Instant>,
    wrong_calls: usize,
    tool_tokens: usize,
}

impl Answering {
    fn count(&self, text: &str) -> usize {
        count(&*self.backend, text)
    }

    fn usage_and_stop(&self, started: Instant) -> (Usage, StopReason) {
        let progress = self.progress.lock();
        let tokens = self.count(&progress.text);
        let first = progress.first.unwrap_or(started);
        let seconds = first.elapsed().as_secs_f32();
        let usage = Usage {
            prompt_tokens: (self.fitted.prompt_tokens + progress.tool_tokens) as u32,
            tokens: tokens as u32,
            tokens_per_second: if seconds > 0.0 { tokens as f32 / seconds } else { 0.0 },
            first_token_ms: first.duration_since(started).as_millis() as u32,
            ..Usage::default()
        };
        // The framework reports no stop reason. An exact token count reveals a limit that
        // was reached; an estimate does not.
        let counted = self.backend.count(&progress.text);
        let is_cut = counted.is_some_and(|tokens| tokens >= self.fitted.answer_tokens as usize);
        (usage, if is_cut { StopReason::MaxTokens } else { StopReason::EndTurn })
    }

    fn check_cancelled(&self) -> Result<(), ModelError> {
        if self.handle.cancel.is_cancelled() { Err(ModelError::Cancelled) } else { Ok(()) }
    }

    fn wait_for_result(&self, results: &mpsc::Receiver<String>) -> Result<String, ModelError> {
        loop {
            match results.recv_timeout(CANCEL_CHECK) {
                Ok(text) => return Ok(text),
                Err(RecvTimeoutError::Timeout) => self.check_cancelled()?,
                Err(RecvTimeoutError::Disconnected) => return Err(ModelError::Cancelled),
            }
        }
    }
}

impl Exchange for Answering {
    fn send_text(&self, text: &str) -> Result<(), ModelError> {
        self.check_cancelled()?;
        {
            let mut progress = self.progress.lock();
            progress.first.get_or_insert_with(Instant::now);
            progress.text.push_str(text);
        }
        (self.send)(&Report::Text { id: self.id, text: text.to_owned() })
    }

    fn call(&self, tool: &OfferedTool, generated: Value) -> Result<String, ModelError> {
        self.check_cancelled()?;
        let spent = self.count(&tool.name) + self.count(&generated.to_string());
        let arguments = match tool.parse_arguments(generated) {
            Ok(arguments) => arguments,
            Err(wrong) => {
                let mut progress = self.progress.lock();
                progress.wrong_calls += 1;
                progress.tool_tokens += spent + self.count(&wrong);
                return if progress.wrong_calls > WRONG_CALLS {
                    Err(ModelError::Malformed)
                } else {
                    Ok(wrong)
                };
            }
        };
        let call = CallRequest { id: uuid::Uuid::new_v4().to_string(), name: tool.name.clone(), arguments };
        let (sender, results) = mpsc::channel();
        self.handle.waiting.lock().insert(call.id.clone(), sender);
        (self.send)(&Report::ToolCall { id: self.id, call })?;
        let text = self.wait_for_result(&results)?;

        let mut progress = self.progress.lock();
        let used = progress.tool_tokens + spent + self.count(&progress.text);
        let room = self.fitted.room(used).max(SHORTEST_RESULT);
        let text = budget::cut(&text, room, &|text| self.count(text));
        progress.tool_tokens += spent + self.count(&text);
        Ok(text)
    }

    fn cancel(&self) -> &CancellationToken {
        &self.handle.cancel
    }
}
