//! The thread that owns the model and its context; runs one job at a time.

use crate::model;
use llama_cpp_2::model::LlamaModel;
use openagents_core::{
    CancellationToken,
    model::{Activity, ModelError, ModelEvent, ModelRequest},
};
use openagents_llama::{LoadRequest, protocol::Report};
use std::{sync::mpsc::Receiver, time::Instant};
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) work: Work,
    pub(crate) cancel: CancellationToken,
    /// Bounded: see [`QUEUED_REPORTS`](crate::limits::QUEUED_REPORTS).
    pub(crate) reports: mpsc::Sender<Report>,
    pub(crate) asked: Instant,
}

#[derive(Debug)]
pub(crate) enum Work {
    Load(LoadRequest),
    Generate(Box<ModelRequest>),
}

impl Job {
    fn report(&self, report: Report) {
        // Fails only if the receiver is gone.
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

pub(crate) fn run(jobs: &Receiver<Job>) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| jobs.recv().ok()) {
        match &job.work {
            _ if job.cancel.is_cancelled() => job.failed(ModelError::Cancelled),
            Work::Load(load) => {
                // Returns after the model was unloaded.
                let done = load_model(load, &job).and_then(|model| with_model(&model, load, &job, jobs));
                match done {
                    Ok(other) => next = other,
                    Err(error) => job.failed(error),
                }
            }
            Work::Generate(_) => {
                job.failed(ModelError::Failed("no model is loaded; load one first".to_owned()));
            }
        }
    }
}

fn load_model(load: &LoadRequest, job: &Job) -> Result<LlamaModel, ModelError> {
    let (id, reports) = (job.id, job.reports.clone());
    let mut told = None;
    model::load(load, &job.cancel, move |progress| {
        // llama.cpp reports every tensor; only whole percents are forwarded.
        let percent = (progress * 100.0) as u32;
        if told.replace(percent) != Some(percent) {
            let event = ModelEvent::Activity(Activity::Loading { progress });
            let _ = reports.blocking_send(Report::Event { id, event });
        }
    })
}

/// Answers with `model` and returns the first job that is not for it; `None` when the channel closes.
fn with_model(
    model: &LlamaModel,
    load: &LoadRequest,
    job: &Job,
    jobs: &Receiver<Job>,
) -> Result<Option<Job>, ModelError> {
    let (loaded, mut generator) = model::generator(model, load)?;
    // Creating the context is not cancellable, and a cancelled load must not keep the model.
    if job.cancel.is_cancelled() {
        return Err(ModelError::Cancelled);
    }
    job.report(Report::Loaded { id: job.id, loaded });
    loop {
        let Ok(job) = jobs.recv() else { return Ok(None) };
        let Work::Generate(request) = &job.work else { return Ok(Some(job)) };
        let answer = if job.cancel.is_cancelled() {
            Err(ModelError::Cancelled)
        } else {
            generator.answer(request, job.asked, &job.cancel, &mut |event| job.event(event))
        };
        match answer {
            Ok(stop) => job.report(Report::Done { id: job.id, stop }),
            Err(error) => job.failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{limits::QUEUED_REPORTS, trap_tests};

    #[test]
    fn a_load_cancelled_in_its_last_step_left_the_model_in_memory() {
        let load = trap_tests::request(256);
        let model = trap_tests::loaded(&load);
        let (reports, mut said) = mpsc::channel(QUEUED_REPORTS);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let job = Job { id: 1, work: Work::Load(load.clone()), cancel, reports, asked: Instant::now() };
        let (_, jobs) = std::sync::mpsc::channel();
        assert_eq!(with_model(&model, &load, &job, &jobs).unwrap_err(), ModelError::Cancelled);
        assert!(said.try_recv().is_err(), "it is not reported as loaded");
    }
}
