//! The engine in a separate process: a failed C++ assertion or a lost GPU becomes an error, followed by a restart.
//!
//! The helper is started when needed and exits when its input closes, so it never survives this process.

use crate::{
    engine::{Device, Engine, LoadRequest, Loaded, resident_bytes},
    limits::HELPER,
    protocol::{Command, Report},
};
use openagents_core::{
    CancellationToken,
    helper::{self, HelperClient, next_report},
    model::{Activity, ModelError, ModelEvent, ModelRequest, StopReason},
};
use parking_lot::Mutex;
use std::{fmt, path::PathBuf, sync::Arc};

/// Environment variable with the path of the helper program.
pub const HELPER_VARIABLE: &str = "OPENAGENTS_LLAMA_HELPER";

type Client = HelperClient<Command, Report>;

type OnEnd = Arc<dyn Fn() + Send + Sync>;

/// Runs models in the helper program. Concurrent requests wait for each other.
#[derive(Default)]
pub struct Helper {
    /// The program; `None` to use [`helper::find`].
    program: Option<PathBuf>,
    client: Mutex<Option<Arc<Client>>>,
    devices: Mutex<Vec<Device>>,
    loaded: Mutex<Option<Loaded>>,
    on_end: Arc<Mutex<Option<OnEnd>>>,
    /// Held while a command runs.
    turn: Mutex<()>,
}

impl Helper {
    /// Uses the program next to this one, or the one in [`HELPER_VARIABLE`]. Does not start it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this program. Does not start it.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: Some(program.into()), ..Self::default() }
    }

    /// Returns the process id of the helper; `None` if it is not running.
    pub fn process_id(&self) -> Option<u32> {
        self.running()?.process_id()
    }

    fn running(&self) -> Option<Arc<Client>> {
        self.client.lock().clone().filter(|client| client.is_running())
    }

    fn start_if_needed(&self, cancel: &CancellationToken) -> Result<Arc<Client>, ModelError> {
        self.settle(cancel)?;
        if let Some(client) = self.running() {
            return Ok(client);
        }
        *self.loaded.lock() = None;
        let program = match &self.program {
            Some(program) => program.clone(),
            None => helper::find("openagents-llama", HELPER_VARIABLE).map_err(ModelError::Unavailable)?,
        };
        let mut command = std::process::Command::new(program);
        // Otherwise a failed assertion starts a debugger first.
        command.env("GGML_NO_BACKTRACE", "1");
        let on_end = self.on_end.clone();
        let client = Arc::new(Client::start(command, HELPER, move || {
            let on_end = on_end.lock().clone();
            if let Some(on_end) = on_end {
                on_end();
            }
        })?);
        *self.client.lock() = Some(client.clone());
        let hello = client.greet(cancel).inspect_err(|_| client.stop())?;
        if let Report::Hello { devices, .. } = hello {
            *self.devices.lock() = devices;
        }
        Ok(client)
    }

    fn run(
        client: &Client,
        command: impl FnOnce(u64) -> Command,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<Report, ModelError> {
        let (id, mut reports) = client.ask(command)?;
        loop {
            match next_report(&mut reports, cancel) {
                Ok(Some(Report::Event { event, .. })) => on_event(event),
                // A command that failed here may still run in the helper.
                Ok(Some(Report::Failed { error, .. })) | Err(error) => {
                    drop(reports);
                    client.cancel(id);
                    return Err(error);
                }
                Ok(Some(report)) => return Ok(report),
                Ok(None) if client.was_stopped() => {
                    return Err(ModelError::Unavailable(
                        "the model was unloaded before it had answered; try again".to_owned(),
                    ));
                }
                Ok(None) => return Err(ModelError::Crashed(client.exit_reason())),
            }
        }
    }
}

impl Engine for Helper {
    fn load(
        &self,
        load: &LoadRequest,
        cancel: &CancellationToken,
        on_progress: &mut dyn FnMut(f32),
    ) -> Result<Loaded, ModelError> {
        let _turn = self.turn.lock();
        // If a load fails for any reason, no model is loaded afterwards.
        let client = self.start_if_needed(cancel).inspect_err(|_| self.unload())?;
        *self.loaded.lock() = None;
        let command = |id| Command::Load { id, load: load.clone() };
        let report = Self::run(&client, command, cancel, &mut |event| {
            if let ModelEvent::Activity(Activity::Loading { progress }) = event {
                on_progress(progress);
            }
        })?;
        let Report::Loaded { loaded, .. } = report else { return Err(unexpected(&report)) };
        *self.loaded.lock() = Some(loaded.clone());
        Ok(loaded)
    }

    fn generate(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let _turn = self.turn.lock();
        self.settle(cancel)?;
        let Some(client) = self.running() else {
            return Err(ModelError::Failed("no model is loaded; load one first".to_owned()));
        };
        let command = |id| Command::Generate { id, request: Box::new(request.clone()) };
        match Self::run(&client, command, cancel, on_event)? {
            Report::Done { stop, .. } => Ok(stop),
            report => Err(unexpected(&report)),
        }
    }

    fn unload(&self) {
        *self.loaded.lock() = None;
        // Stopped outside the lock, which a running request needs.
        let client = self.client.lock().take();
        if let Some(client) = client {
            client.stop();
        }
    }

    fn loaded(&self) -> Option<Loaded> {
        self.running()?;
        self.loaded.lock().clone()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.loaded()?;
        resident_bytes(self.process_id()?)
    }

    fn settle(&self, cancel: &CancellationToken) -> Result<(), ModelError> {
        self.running().map_or(Ok(()), |client| client.settle(cancel))
    }

    fn devices(&self, cancel: &CancellationToken) -> Result<Vec<Device>, ModelError> {
        if self.running().is_none() {
            let _turn = self.turn.lock();
            self.start_if_needed(cancel)?;
        }
        Ok(self.devices.lock().clone())
    }

    fn on_end(&self, on_exit: OnEnd) {
        *self.on_end.lock() = Some(on_exit);
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Helper").field("program", &self.program).finish_non_exhaustive()
    }
}

fn unexpected(report: &Report) -> ModelError {
    tracing::warn!(?report, "unexpected report");
    ModelError::Failed("the helper program sent an unexpected response; try again".to_owned())
}

#[cfg(test)]
mod tests;
