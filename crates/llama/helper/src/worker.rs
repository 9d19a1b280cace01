//! The thread that owns model and context: takes jobs one at a time.

use crate::model;
use llama_cpp_2::model::LlamaModel;
use openagents_core::{
    CancellationToken,
    model::{Activity, ModelError, ModelEvent, ModelRequest},
};
use openagents_llama::{LoadRequest, protocol::Report};
use std::{sync::mpsc::Receiver, time::Instant};
use tokio::sync::mpsc;

/// Reports that may wait until somebody takes them. After that the model stops to compute.
pub(crate) const WAITING_REPORTS: usize = 64;

/// Something to do.
#[derive(Debug)]
pub(crate) struct Job {
    /// For its reports.
    pub(crate) id: u64,
    pub(crate) work: Work,
    pub(crate) cancel: CancellationToken,
    /// Bounded: see [`WAITING_REPORTS`].
    pub(crate) reports: mpsc::Sender<Report>,
    /// When it came.
    pub(crate) asked: Instant,
}

/// What to do.
#[derive(Debug)]
pub(crate) enum Work {
    Load(LoadRequest),
    Generate(Box<ModelRequest>),
    Unload,
}

impl Job {
    fn report(&self, report: Report) {
        // Nobody listens any more: then nobody misses it.
        let _ = self.reports.blocking_send(report);
    }

    fn failed(&self, error: ModelError) {
        self.report(Report::Failed { id: Some(self.id), error });
    }

    fn event(&self, event: ModelEvent) -> Result<(), ModelError> {
        let sent = self.reports.blocking_send(Report::Event { id: self.id, event });
        sent.map_err(|_| ModelError::Cancelled)
    }
}

/// Does jobs until no more can come.
pub(crate) fn run(jobs: &Receiver<Job>) {
    let mut next = jobs.recv().ok();
    while let Some(job) = next {
        next = match &job.work {
            _ if job.cancel.is_cancelled() => {
                job.failed(ModelError::Cancelled);
                jobs.recv().ok()
            }
            Work::Load(load) => match load_model(load, &job) {
                Ok(model) => with_model(&model, load, &job, jobs),
                Err(error) => {
                    job.failed(error);
                    jobs.recv().ok()
                }
            },
            Work::Generate(_) => {
                job.failed(ModelError::Failed("no model is loaded; load one first".to_owned()));
                jobs.recv().ok()
            }
            Work::Unload => {
                job.report(Report::Unloaded { id: job.id });
                jobs.recv().ok()
            }
        };
    }
}

fn load_model(load: &LoadRequest, job: &Job) -> Result<LlamaModel, ModelError> {
    let (id, reports) = (job.id, job.reports.clone());
    let mut told = None;
    model::load(load, &job.cancel, move |progress| {
        // llama.cpp tells it for each tensor; a person sees percents.
        let percent = (progress * 100.0) as u32;
        if told.replace(percent) != Some(percent) {
            let event = ModelEvent::Activity(Activity::Loading { progress });
            let _ = reports.blocking_send(Report::Event { id, event });
        }
    })
}

/// Answers with `model` and returns the first job that is not for it.
fn with_model(model: &LlamaModel, load: &LoadRequest, job: &Job, jobs: &Receiver<Job>) -> Option<Job> {
    let mut speaker = match model::speaker(model, load) {
        Ok((loaded, speaker)) => {
            job.report(Report::Loaded { id: job.id, loaded });
            speaker
        }
        Err(error) => {
            job.failed(error);
            return jobs.recv().ok();
        }
    };
    loop {
        let job = jobs.recv().ok()?;
        let Work::Generate(request) = &job.work else { return Some(job) };
        let answer = if job.cancel.is_cancelled() {
            Err(ModelError::Cancelled)
        } else {
            speaker.answer(request, job.asked, &job.cancel, &mut |event| job.event(event))
        };
        match answer {
            Ok(stop) => job.report(Report::Done { id: job.id, stop }),
            Err(error) => job.failed(error),
        }
    }
}
