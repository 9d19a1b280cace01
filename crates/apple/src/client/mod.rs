//! Foundation Models as one of our language models, through the helper program.
//!
//! The framework runs the tools itself, in the middle of an answer; our loop wants an answer that ends with what it asks
//! for, and another request with the results. So an answer that asks for a tool is kept waiting here, and the request that
//! brings the result goes on with it. Several may wait at once: a tool may itself ask for an answer.

mod answer;
mod connection;
mod process;

pub use connection::Connection;

use crate::{
    availability::{Facts, Unavailability},
    budget::CONTEXT,
    protocol::{Command, Report},
};
use answer::{Answer, Waiting};
use connection::LOOK;
use openagents_core::{
    CancellationToken,
    agent_ids::LOCAL_FM,
    helper,
    model::{Availability, Capabilities, LanguageModel, ModelError, ModelEvent, ModelRequest, StopReason},
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    thread,
    time::{Duration, Instant},
};

/// Names the helper program.
pub const HELPER_VARIABLE: &str = "OPENAGENTS_APPLE_HELPER";

const HELPER: &str = "openagents-apple";

/// After this time macOS is asked again whether what was missing is there: a person may have switched it on.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// Answers that wait for the result of a tool. The oldest is given up when there are more: nobody may come back to it.
const WAITING: usize = 8;

type Connect = Box<dyn Fn() -> Result<Connection, ModelError> + Send + Sync>;

/// Apple's Foundation Models. Clones are the same.
#[derive(Debug, Clone)]
pub struct FoundationModels(Arc<Inner>);

struct Inner {
    /// Nothing on this machine could answer: nothing is started.
    impossible: Option<Unavailability>,
    connect: Connect,
    /// The helper that runs.
    connection: Mutex<Option<Arc<Connection>>>,
    known: Mutex<Known>,
    waiting: Mutex<Waiting>,
}

/// What is known about the availability.
#[derive(Debug, Default)]
struct Known {
    /// `None` until the helper has said it.
    availability: Option<Availability>,
    asked: Option<Instant>,
    is_asking: bool,
}

impl FoundationModels {
    /// Returns Apple's Foundation Models, available or not. Where they could be, the helper program is asked in the
    /// background; elsewhere nothing is started.
    pub fn start() -> Arc<dyn LanguageModel> {
        let connect = || {
            let program = helper::find(HELPER, HELPER_VARIABLE).map_err(ModelError::Unavailable)?;
            Connection::start(&program)
        };
        let models = Self::new(Facts::of_this_machine().unavailability(), connect);
        models.ask_in_background();
        Arc::new(models)
    }

    /// Answers through what `connect` connects with, whenever there is no connection; whatever machine this is.
    pub fn connecting(connect: impl Fn() -> Result<Connection, ModelError> + Send + Sync + 'static) -> Self {
        Self::new(None, connect)
    }

    /// Answers through this program, whatever machine this is. Starts nothing yet.
    pub fn at(program: impl Into<std::path::PathBuf>) -> Self {
        let program = program.into();
        Self::connecting(move || Connection::start(&program))
    }

    fn new(
        impossible: Option<Unavailability>,
        connect: impl Fn() -> Result<Connection, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            impossible,
            connect: Box::new(connect),
            connection: Mutex::default(),
            known: Mutex::default(),
            waiting: Mutex::new(Waiting::new(WAITING)),
        }))
    }

    /// Returns the process id of the helper; `None` when none runs.
    pub fn process_id(&self) -> Option<u32> {
        let connection = lock(&self.0.connection).clone()?;
        connection.is_open().then(|| connection.process_id()).flatten()
    }

    /// Asks whether an answer could be had, and waits for the word.
    pub fn ask(&self, cancel: &CancellationToken) -> Availability {
        let availability =
            self.0.ask(cancel).unwrap_or_else(|error| Availability::Unavailable(error.to_string()));
        let mut known = lock(&self.0.known);
        known.availability = Some(availability.clone());
        known.asked = Some(Instant::now());
        known.is_asking = false;
        availability
    }

    fn ask_in_background(&self) {
        if self.0.impossible.is_some() || std::mem::replace(&mut lock(&self.0.known).is_asking, true) {
            return;
        }
        let models = self.clone();
        let ask = move || drop(models.ask(&CancellationToken::new()));
        if let Err(error) = thread::Builder::new().name("apple-ask".to_owned()).spawn(ask) {
            tracing::warn!("no thread that asks for Foundation Models: {error}");
            lock(&self.0.known).is_asking = false;
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
        let loaded = lock(&self.0.known).availability == Some(Availability::Ready);
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
            let known = lock(&self.0.known);
            let is_old = known.asked.is_none_or(|asked| asked.elapsed() > ASK_AGAIN);
            (known.availability.clone(), is_old)
        };
        if is_old && availability != Some(Availability::Ready) {
            self.ask_in_background();
        }
        availability.unwrap_or_else(|| {
            Availability::Unavailable(
                "macOS is being asked whether Foundation Models are ready; try again in a moment".to_owned(),
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
        let waiting = lock(&self.0.waiting).take(request);
        let answer = match waiting {
            Some((answer, call_id, text)) => {
                answer.give(call_id, text)?;
                answer
            }
            None => Answer::start(self.0.connected(cancel)?.0, request)?,
        };
        match answer.listen(cancel, on_event)? {
            answer::End::Done(stop) => Ok(stop),
            answer::End::Calls(call_id) => {
                lock(&self.0.waiting).keep(call_id, answer);
                Ok(StopReason::ToolCalls)
            }
        }
    }
}

impl Inner {
    fn ask(&self, cancel: &CancellationToken) -> Result<Availability, ModelError> {
        let (connection, said) = self.connected(cancel)?;
        let unavailable = match said {
            Some(unavailable) => unavailable,
            None => {
                let (id, reports) = connection.ask(|id| Command::Availability { id })?;
                let report = answer::next(&reports, cancel);
                connection.forget(id);
                match report? {
                    Some(Report::Availability { unavailable, .. }) => unavailable,
                    Some(Report::Failed { error, .. }) => return Err(error),
                    Some(_) => Some(Unavailability::Unknown),
                    None => return Err(ModelError::Crashed(connection.describe_end())),
                }
            }
        };
        Ok(unavailable.map_or(Availability::Ready, |reason| Availability::Unavailable(reason.to_string())))
    }

    /// Returns a helper that is there, and what it has just said when it was started for this.
    fn connected(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(Arc<Connection>, Option<Option<Unavailability>>), ModelError> {
        let mut place = self.locked(cancel)?;
        if let Some(connection) = place.clone().filter(|connection| connection.is_open()) {
            return Ok((connection, None));
        }
        let connection = Arc::new((self.connect)()?);
        let said = connection.greet(cancel)?;
        *place = Some(connection.clone());
        Ok((connection, Some(said)))
    }

    /// Somebody else may be starting the helper, which takes longer than a cancel may.
    fn locked(
        &self,
        cancel: &CancellationToken,
    ) -> Result<MutexGuard<'_, Option<Arc<Connection>>>, ModelError> {
        loop {
            match self.connection.try_lock() {
                Ok(place) => return Ok(place),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if cancel.is_cancelled() => return Err(ModelError::Cancelled),
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            }
        }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
