//! The engine in a separate process: an assertion in C++ or a lost GPU is an error followed by a restart.
//!
//! The helper program is started when needed and exits when its standard input closes, so it never survives this
//! process, even after a crash.

mod listener;
mod process;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use crate::{
    engine::{Device, Engine, LoadRequest, Loaded, memory::resident_bytes},
    protocol::{Command, Report},
    reports::{Next, next_report},
};
use openagents_core::{
    CancellationToken, helper,
    model::{Activity, ModelError, ModelEvent, ModelRequest, StopReason},
};
use process::Process;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Environment variable with the path of the helper program.
pub const HELPER_VARIABLE: &str = "OPENAGENTS_LLAMA_HELPER";

/// Runs models in the helper program. Concurrent requests wait for each other.
#[derive(Debug, Default)]
pub struct Helper {
    /// The program; `None` to use [`helper::find`].
    program: Option<PathBuf>,
    process: Mutex<Option<Arc<Process>>>,
    loaded: Mutex<Option<Loaded>>,
    listener: listener::Listener,
    /// Held while a command runs.
    turn: Mutex<()>,
}

impl Helper {
    /// Uses the program next to this one, or the one in [`HELPER_VARIABLE`]. Starts nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this program. Starts nothing.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: Some(program.into()), ..Self::default() }
    }

    /// Returns the process id of the helper; `None` if it is not running.
    pub fn process_id(&self) -> Option<u32> {
        self.running().map(|process| process.id())
    }

    /// Returns the running process without starting one.
    fn running(&self) -> Option<Arc<Process>> {
        let process = lock(&self.process).clone()?;
        process.is_running().then_some(process)
    }

    /// Returns an idle process, starting one if there is none.
    fn started(&self, cancel: &CancellationToken) -> Result<Arc<Process>, ModelError> {
        self.settle(cancel)?;
        if let Some(process) = self.running() {
            return Ok(process);
        }
        *lock(&self.loaded) = None;
        let program = match &self.program {
            Some(program) => program.clone(),
            None => helper::find("openagents-llama", HELPER_VARIABLE).map_err(ModelError::Unavailable)?,
        };
        let process = Arc::new(Process::start(&program, self.listener.clone())?);
        *lock(&self.process) = Some(process.clone());
        if let Err(error) = process.greet(cancel) {
            process.end();
            return Err(error);
        }
        Ok(process)
    }

    /// Sends a command and forwards its events until it ends.
    fn run(
        process: &Arc<Process>,
        command: impl FnOnce(u64) -> Command,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<Report, ModelError> {
        let (id, mut reports) = process.send(command)?;
        loop {
            match next_report(&mut reports, cancel) {
                Next::Report(Report::Event { event, .. }) => on_event(event),
                Next::Report(Report::Failed { error, .. }) => {
                    // A command that failed here may still run in the helper.
                    process.cancel(id);
                    return Err(error);
                }
                Next::Report(report) => return Ok(report),
                Next::Cancelled => {
                    drop(reports);
                    process.cancel(id);
                    return Err(ModelError::Cancelled);
                }
                Next::Gone => return Err(process.why_it_ended()),
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
        let _turn = lock(&self.turn);
        // Whatever stops a load, no model is loaded afterwards.
        let process = self.started(cancel).inspect_err(|_| self.unload())?;
        *lock(&self.loaded) = None;
        let command = |id| Command::Load { id, load: load.clone() };
        let report = Self::run(&process, command, cancel, &mut |event| {
            if let ModelEvent::Activity(Activity::Loading { progress }) = event {
                on_progress(progress);
            }
        })?;
        let Report::Loaded { loaded, .. } = report else { return Err(unexpected(&report)) };
        *lock(&self.loaded) = Some(loaded.clone());
        Ok(loaded)
    }

    fn generate(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let _turn = lock(&self.turn);
        self.settle(cancel)?;
        let Some(process) = self.running() else {
            return Err(ModelError::Failed("no model is loaded; load one first".to_owned()));
        };
        let command = |id| Command::Generate { id, request: Box::new(request.clone()) };
        match Self::run(&process, command, cancel, on_event)? {
            Report::Done { stop, .. } => Ok(stop),
            report => Err(unexpected(&report)),
        }
    }

    fn unload(&self) {
        *lock(&self.loaded) = None;
        // Not under the lock: a running request needs it.
        let process = lock(&self.process).take();
        if let Some(process) = process {
            process.end();
        }
    }

    fn loaded(&self) -> Option<Loaded> {
        self.running()?;
        lock(&self.loaded).clone()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.loaded()?;
        resident_bytes(self.process_id()?)
    }

    fn settle(&self, cancel: &CancellationToken) -> Result<(), ModelError> {
        self.running().map_or(Ok(()), |process| process.settle(cancel))
    }

    fn devices(&self, cancel: &CancellationToken) -> Result<Vec<Device>, ModelError> {
        if let Some(process) = self.running() {
            return Ok(process.devices());
        }
        let _turn = lock(&self.turn);
        Ok(self.started(cancel)?.devices())
    }

    fn on_end(&self, told: Arc<dyn Fn() + Send + Sync>) {
        self.listener.set(told);
    }
}

fn unexpected(report: &Report) -> ModelError {
    tracing::warn!(?report, "unexpected report");
    ModelError::Failed("the helper program sent an unexpected response; try again".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
