//! The engine in this process, for tests: the code of the helper program without the program.

use crate::{
    backend,
    limits::QUEUED_REPORTS,
    worker::{self, Job, Work},
};
use openagents_core::{
    CancellationToken,
    helper::next_report,
    model::{Activity, ModelError, ModelEvent, ModelRequest, StopReason},
};
use openagents_llama::{
    Engine, LoadRequest, Loaded,
    engine::{Device, memory::resident_bytes},
    protocol::Report,
};
use parking_lot::Mutex;
use std::{sync::mpsc, time::Instant};

/// See the module documentation. Dropping it ends its thread.
#[derive(Debug)]
pub struct InProcess {
    jobs: mpsc::Sender<Job>,
    loaded: Mutex<Option<Loaded>>,
}

impl InProcess {
    /// Starts the thread.
    pub fn start() -> Self {
        let (jobs, work) = mpsc::channel();
        std::thread::spawn(move || worker::run(&work));
        Self { jobs, loaded: Mutex::default() }
    }

    fn run(
        &self,
        work: Work,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<Report, ModelError> {
        let gone = || ModelError::Crashed("its thread has ended".to_owned());
        let (sender, mut reports) = tokio::sync::mpsc::channel(QUEUED_REPORTS);
        // Dropped on return, which cancels whatever still runs.
        let cancel = cancel.child_token();
        let _stop = cancel.clone().drop_guard();
        let job = Job { id: 0, work, cancel: cancel.clone(), reports: sender, asked: Instant::now() };
        self.jobs.send(job).map_err(|_| gone())?;
        loop {
            match next_report(&mut reports, &cancel)?.ok_or_else(gone)? {
                Report::Event { event, .. } => on_event(event),
                Report::Failed { error, .. } => return Err(error),
                report => return Ok(report),
            }
        }
    }
}

impl Engine for InProcess {
    fn load(
        &self,
        load: &LoadRequest,
        cancel: &CancellationToken,
        on_progress: &mut dyn FnMut(f32),
    ) -> Result<Loaded, ModelError> {
        *self.loaded.lock() = None;
        let report = self.run(Work::Load(load.clone()), cancel, &mut |event| {
            if let ModelEvent::Activity(Activity::Loading { progress }) = event {
                on_progress(progress);
            }
        })?;
        let Report::Loaded { loaded, .. } = report else {
            return Err(ModelError::Failed("the engine did not report the loaded model".to_owned()));
        };
        *self.loaded.lock() = Some(loaded.clone());
        Ok(loaded)
    }

    fn generate(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        match self.run(Work::Generate(Box::new(request.clone())), cancel, on_event)? {
            Report::Done { stop, .. } => Ok(stop),
            _ => Err(ModelError::Failed("the engine did not report a stop reason".to_owned())),
        }
    }

    fn unload(&self) {
        *self.loaded.lock() = None;
        // Fails only if the thread has ended, and the model with it.
        let _ = self.run(Work::Unload, &CancellationToken::new(), &mut |_| ());
    }

    fn loaded(&self) -> Option<Loaded> {
        self.loaded.lock().clone()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.loaded()?;
        resident_bytes(std::process::id())
    }

    fn devices(&self, _cancel: &CancellationToken) -> Result<Vec<Device>, ModelError> {
        backend::backend().map(|_| backend::devices())
    }
}
