//! Foundation Models as a language model, through the helper program.
//!
//! The framework runs tools in the middle of an answer; our agent loop expects an answer that ends with its calls,
//! followed by another request with the results. So an answer that calls a tool is suspended here and continued by
//! the request with the result. Several may wait at once: a tool may itself request an answer.

use crate::{
    availability::{Facts, Unavailability},
    limits::{CANCEL_CHECK, CONTEXT, HELPER, RECHECK, WAITING},
    protocol::{Client, Command, Report},
};
use openagents_core::{
    CancellationToken,
    agent_ids::LOCAL_FM,
    helper::{find, next_report},
    model::{
        Availability, Capabilities, LanguageModel, Message, ModelError, ModelEvent, ModelRequest, StopReason,
    },
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::VecDeque,
    fmt,
    io::{Read, Write},
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::Instant,
};
use tokio::sync::mpsc::Receiver;

/// Environment variable with the path of the helper program.
pub const HELPER_VARIABLE: &str = "OPENAGENTS_APPLE_HELPER";

type Connect = Box<dyn Fn() -> Result<Client, ModelError> + Send + Sync>;

/// Connects to a helper at the other end of these streams.
pub fn connect(
    output: impl Read + Send + 'static,
    input: impl Write + Send + 'static,
) -> Result<Client, ModelError> {
    Client::from_streams("for Foundation Models", HELPER, (output, input))
}

fn start_helper(program: &Path) -> Result<Client, ModelError> {
    Client::start(process::Command::new(program), HELPER, || ())
}

/// Apple's Foundation Models. Clones share the same state.
#[derive(Debug, Clone)]
pub struct FoundationModels(Arc<Inner>);

struct Inner {
    /// Set if this machine can't be supported; nothing is started then.
    impossible: Option<Unavailability>,
    connect: Connect,
    client: Mutex<Option<Arc<Client>>>,
    known: Mutex<Known>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Known {
    /// `None` until the helper has reported the availability.
    availability: Option<Availability>,
    checked_at: Option<Instant>,
    is_checking: bool,
}

impl FoundationModels {
    /// Returns Foundation Models, available or not. Starts the helper in the background if the machine may support it.
    pub fn start() -> Arc<dyn LanguageModel> {
        let connect = || {
            let program = find("openagents-apple", HELPER_VARIABLE).map_err(ModelError::Unavailable)?;
            start_helper(&program)
        };
        let models = Self::new(Facts::of_this_machine().unavailability(), connect);
        models.check_in_background();
        Arc::new(models)
    }

    /// Uses `connect` whenever no helper is running, on any machine.
    pub fn connecting(connect: impl Fn() -> Result<Client, ModelError> + Send + Sync + 'static) -> Self {
        Self::new(None, connect)
    }

    /// Uses this helper program, on any machine. Starts nothing yet.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self::connecting(move || start_helper(&program))
    }

    fn new(
        impossible: Option<Unavailability>,
        connect: impl Fn() -> Result<Client, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            impossible,
            connect: Box::new(connect),
            client: Mutex::default(),
            known: Mutex::default(),
            waiting: Mutex::default(),
        }))
    }

    /// Returns the process id of the helper; `None` if it is not running.
    pub fn process_id(&self) -> Option<u32> {
        let client = self.0.client.lock().clone().filter(|client| client.is_running());
        client?.process_id()
    }

    /// Asks for the availability and waits for the answer.
    pub fn check_availability(&self, cancel: &CancellationToken) -> Availability {
        let availability = self
            .0
            .check_availability(cancel)
            .unwrap_or_else(|error| Availability::Unavailable(error.to_string()));
        let mut known = self.0.known.lock();
        known.availability = Some(availability.clone());
        known.checked_at = Some(Instant::now());
        known.is_checking = false;
        availability
    }

    fn check_in_background(&self) {
        if self.0.impossible.is_some() || std::mem::replace(&mut self.0.known.lock().is_checking, true) {
            return;
        }
        let models = self.clone();
        let check = move || drop(models.check_availability(&CancellationToken::new()));
        if let Err(error) = thread::Builder::new().name("apple-ask".to_owned()).spawn(check) {
            tracing::warn!("no thread to check Foundation Models: {error}");
            self.0.known.lock().is_checking = false;
        }
    }
}

impl LanguageModel for FoundationModels {
    fn id(&self) -> &str {
        LOCAL_FM
    }

    fn name(&self) -> String {
        "Foundation Models".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        let loaded = self.0.known.lock().availability == Some(Availability::Ready);
        Capabilities { tools: true, local: true, loaded }
    }

    fn context_tokens(&self) -> Option<u32> {
        Some(CONTEXT)
    }

    fn availability(&self) -> Availability {
        if let Some(reason) = &self.0.impossible {
            return Availability::Unavailable(reason.to_string());
        }
        let (availability, is_old) = {
            let known = self.0.known.lock();
            let is_old = known.checked_at.is_none_or(|checked_at| checked_at.elapsed() > RECHECK);
            (known.availability.clone(), is_old)
        };
        if is_old && availability != Some(Availability::Ready) {
            self.check_in_background();
        }
        availability.unwrap_or_else(|| {
            Availability::Unavailable(
                "checking whether Foundation Models are ready; try again in a moment".to_owned(),
            )
        })
    }

    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        if let Some(reason) = &self.0.impossible {
            return Err(ModelError::Unavailable(reason.to_string()));
        }
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        let waiting = self.0.waiting.lock().take_for(request);
        let mut answer = match waiting {
            Some((answer, call_id, text)) => {
                answer.send_result(call_id, text)?;
                answer
            }
            None => Answer::start(self.0.connected_client(cancel)?.0, request)?,
        };
        match answer.forward_until_end(cancel, on_event)? {
            End::Done(stop) => Ok(stop),
            End::Calls(call_id) => {
                self.0.waiting.lock().add(call_id, answer);
                Ok(StopReason::ToolCalls)
            }
        }
    }
}

impl Inner {
    fn check_availability(&self, cancel: &CancellationToken) -> Result<Availability, ModelError> {
        let (client, reported) = self.connected_client(cancel)?;
        let unavailable = match reported {
            Some(unavailable) => unavailable,
            None => {
                let (_, mut reports) = client.ask(|id| Command::Availability { id })?;
                match next_report(&mut reports, cancel)? {
                    Some(Report::Availability { unavailable, .. }) => unavailable,
                    Some(Report::Failed { error, .. }) => return Err(error),
                    Some(_) => Some(Unavailability::Unknown),
                    None => return Err(ModelError::Crashed(client.exit_reason())),
                }
            }
        };
        Ok(unavailable.map_or(Availability::Ready, |reason| Availability::Unavailable(reason.to_string())))
    }

    /// Returns a running helper, and the availability it reported if it was just started.
    fn connected_client(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(Arc<Client>, Option<Option<Unavailability>>), ModelError> {
        let mut client_slot = self.lock_client(cancel)?;
        if let Some(client) = client_slot.clone().filter(|client| client.is_running()) {
            return Ok((client, None));
        }
        let client = Arc::new((self.connect)()?);
        let reported = match client.greet(cancel)? {
            Report::Hello { unavailable, .. } => Some(unavailable),
            _ => None,
        };
        *client_slot = Some(client.clone());
        Ok((client, reported))
    }

    /// Locks the helper, checking for a cancel meanwhile: another thread may be starting it.
    fn lock_client(
        &self,
        cancel: &CancellationToken,
    ) -> Result<MutexGuard<'_, Option<Arc<Client>>>, ModelError> {
        while !cancel.is_cancelled() {
            if let Some(client_slot) = self.client.try_lock_for(CANCEL_CHECK) {
                return Ok(client_slot);
            }
        }
        Err(ModelError::Cancelled)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FoundationModels")
            .field("impossible", &self.impossible)
            .finish_non_exhaustive()
    }
}

/// Cancels the answer if dropped before its end.
struct Answer {
    id: u64,
    client: Arc<Client>,
    reports: Receiver<Report>,
}

enum End {
    Done(StopReason),
    Calls(String),
}

impl Answer {
    fn start(client: Arc<Client>, request: &ModelRequest) -> Result<Self, ModelError> {
        let (id, reports) = client.ask(|id| Command::Respond { id, request: Box::new(request.clone()) })?;
        Ok(Self { id, client, reports })
    }

    fn send_result(&self, call_id: String, text: String) -> Result<(), ModelError> {
        self.client.send(&Command::ToolResult { id: self.id, call_id, text })
    }

    fn forward_until_end(
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
struct Waiting(VecDeque<(String, Answer)>);

impl Waiting {
    /// Keeps an answer until the result of its call arrives; drops the oldest if there are too many.
    fn add(&mut self, call_id: String, answer: Answer) {
        self.0.push_back((call_id, answer));
        if self.0.len() > WAITING {
            self.0.pop_front();
        }
    }

    fn take_for(&mut self, request: &ModelRequest) -> Option<(Answer, String, String)> {
        let results = request.messages.iter().rev().map_while(|message| match message {
            Message::Tool { call_id, text, .. } => Some((call_id, text)),
            _ => None,
        });
        for (call_id, text) in results {
            if let Some(at) = self.0.iter().position(|(waiting, _)| waiting == call_id) {
                let (call_id, answer) = self.0.remove(at)?;
                return Some((answer, call_id, text.clone()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
