//! The main loop of the helper program: commands on standard input, reports on standard output, logs on standard error.

use crate::{
    backend,
    limits::{EXIT, QUEUED_REPORTS},
    worker::{self, Job, Work},
};
use openagents_core::{
    CancellationToken,
    helper::{HelperReport, VERSION, read_messages, write_line},
    model::ModelError,
};
use openagents_llama::protocol::{Command, MAX_LINE, Report};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
    sync::{Arc, mpsc},
    thread,
    time::Instant,
};

/// Runs until standard input closes.
pub fn serve() -> Result<(), ModelError> {
    let (reports, outgoing) = tokio::sync::mpsc::channel(QUEUED_REPORTS);
    let running = Running::default();
    let (jobs, work) = mpsc::channel();
    let no_thread = |error: io::Error| {
        ModelError::Unavailable(format!("no thread for the helper program: {error}; close other programs"))
    };
    let writing = running.clone();
    let writer = thread::Builder::new().spawn(move || write(outgoing, &writing)).map_err(no_thread)?;
    backend::backend()?;
    let hello = Report::Hello { version: VERSION.to_owned(), devices: backend::devices() };
    let _ = reports.blocking_send(hello);
    let reading = move || {
        Reader { jobs, reports, running }.read();
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
    worker::run(&work);
    // Wait until the last reports are written. A client that does not read can't delay this: see above.
    let _ = writer.join();
    Ok(())
}

/// The running and queued commands, for cancellation.
type Running = Arc<Mutex<HashMap<u64, CancellationToken>>>;

struct Reader {
    jobs: mpsc::Sender<Job>,
    reports: tokio::sync::mpsc::Sender<Report>,
    running: Running,
}

impl Reader {
    /// Reads commands until the input closes, then cancels those still running.
    fn read(self) {
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

    /// Never blocks: a client that does not read can still cancel, and only loses answers to invalid lines.
    fn report(&self, report: Report) {
        if self.reports.try_send(report).is_err() {
            tracing::warn!("the client does not read; a report is dropped");
        }
    }
}

/// Writes reports until the channel closes, batching queued ones.
fn write(mut reports: tokio::sync::mpsc::Receiver<Report>, running: &Running) {
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
