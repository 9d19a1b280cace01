//! The main loop of the helper program: commands on standard input, reports on standard output, logs on standard error.

use crate::{
    limits::{EXIT, QUEUED_REPORTS},
    model,
};
use llama_cpp_2::model::LlamaModel;
use openagents_core::{
    CancellationToken,
    helper::{HelperReport, VERSION, read_messages, write_line},
    model::{Activity, ModelError, ModelEvent, ModelRequest},
};
use openagents_llama::{
    LoadRequest,
    protocol::{Command, MAX_LINE, Report},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
    sync::{Arc, mpsc::Receiver},
    thread,
    time::Instant,
};
use tokio::sync::mpsc;

/// Runs until standard input closes.
pub fn serve() -> Result<(), ModelError> {
    let (reports, outgoing) = mpsc::channel(QUEUED_REPORTS);
    let running = Running::default();
    let (jobs, work) = std::sync::mpsc::channel();
    let no_thread = |error: io::Error| {
        ModelError::Unavailable(format!("no thread for the helper program: {error}; close other programs"))
    };
    let writing = running.clone();
    let writer =
        thread::Builder::new().spawn(move || write_reports(outgoing, &writing)).map_err(no_thread)?;
    model::backend()?;
    let hello = Report::Hello { version: VERSION.to_owned(), devices: model::devices() };
    let _ = reports.blocking_send(hello);
    let reading = move || {
        Reader { jobs, reports, running }.read_commands();
        // The client has exited. The worker ends when its job sender is dropped; otherwise the process is terminated:
        // neither a long computation nor C++ destructors may keep it alive.
        thread::sleep(EXIT);
        let last = thread::Builder::new().spawn(|| {
            thread::sleep(EXIT);
            std::process::abort();
        });
        if last.is_err() {
            std::process::abort();
        }
        std::process::exit(0);
    };
    thread::Builder::new().spawn(reading).map_err(no_thread)?;
    run_jobs(&work);
    // Wait until the last reports are written. A client that does not read can't delay this: see above.
    let _ = writer.join();
    Ok(())
}

type Running = Arc<Mutex<HashMap<u64, CancellationToken>>>;

struct Reader {
    jobs: std::sync::mpsc::Sender<Job>,
    reports: mpsc::Sender<Report>,
    running: Running,
}

impl Reader {
    /// Reads commands until the input closes, then cancels those still running.
    fn read_commands(self) {
        let read = read_messages(io::stdin(), MAX_LINE, |read| match read {
            Ok(command) => self.command(command),
            Err(line) => self.report(Report::Failed { id: line.id, error: line.refusal() }),
        });
        if let Err(error) = read {
            tracing::warn!("cannot read commands: {error}");
        }
        self.running.lock().values().for_each(CancellationToken::cancel);
    }

    fn command(&self, command: Command) {
        match command {
            Command::Load { id, load } => self.job(id, Work::Load(load)),
            Command::Generate { id, request } => self.job(id, Work::Generate(request)),
            Command::Cancel { id } => {
                if let Some(command) = self.running.lock().get(&id) {
                    command.cancel();
                }
            }
        }
    }

    fn job(&self, id: u64, work: Work) {
        let cancel = CancellationToken::new();
        self.running.lock().insert(id, cancel.clone());
        let reports = self.reports.clone();
        // Fails only when the program is exiting.
        let _ = self.jobs.send(Job { id, work, cancel, reports, asked: Instant::now() });
    }

    /// Never blocks: a client that does not read can still cancel, and loses only the errors for invalid lines.
    fn report(&self, report: Report) {
        if self.reports.try_send(report).is_err() {
            tracing::warn!("the client does not read; a report is dropped");
        }
    }
}

fn write_reports(mut reports: mpsc::Receiver<Report>, running: &Running) {
    let mut output = BufWriter::new(io::stdout().lock());
    while let Some(mut report) = reports.blocking_recv() {
        loop {
            if let (Some(id), true) = (report.id(), report.ends_command()) {
                running.lock().remove(&id);
            }
            if write_line(&mut output, &report).is_err() {
                // The client has exited. Dropping the receiver cancels running commands.
                return;
            }
            match reports.try_recv() {
                Ok(next) => report = next,
                Err(_) => break,
            }
        }
        if output.flush().is_err() {
            return;
        }
    }
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) work: Work,
    pub(crate) cancel: CancellationToken,
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

/// Runs on the thread that owns the model and its context; one job at a time.
pub(crate) fn run_jobs(jobs: &Receiver<Job>) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| jobs.recv().ok()) {
        match &job.work {
            _ if job.cancel.is_cancelled() => job.failed(ModelError::Cancelled),
            Work::Load(load) => {
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
    let mut last = None;
    model::load(load, &job.cancel, move |progress| {
        // llama.cpp reports every tensor; only whole percents are forwarded.
        let percent = (progress * 100.0) as u32;
        if last.replace(percent) != Some(percent) {
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
    fn load_cancelled_at_end_drops_model() {
        let load = trap_tests::request(256);
        let model = trap_tests::loaded(&load);
        let (reports, mut reply) = mpsc::channel(QUEUED_REPORTS);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let job = Job { id: 1, work: Work::Load(load.clone()), cancel, reports, asked: Instant::now() };
        let (_, jobs) = std::sync::mpsc::channel();
        assert_eq!(with_model(&model, &load, &job, &jobs).unwrap_err(), ModelError::Cancelled);
        assert!(reply.try_recv().is_err(), "it is not reported as loaded");
    }
}
