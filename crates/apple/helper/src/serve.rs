//! The main loop: commands in, reports out.

use crate::{
    answering::{Handle, SendReport, answer},
    backend::Backend,
    limits::ANSWERS,
};
use openagents_apple::protocol::{Command, MAX_LINE, Report};
use openagents_core::{
    helper::{VERSION, read_messages, write_line},
    model::{ModelError, ModelRequest},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io::{BufWriter, Read, Write},
    sync::Arc,
    thread,
};

/// Serves the protocol until `input` closes, then cancels all running answers.
pub fn serve(input: impl Read, output: impl Write + Send + 'static, backend: Arc<dyn Backend>) {
    let output = Mutex::new(BufWriter::new(output));
    let send = move |report: &Report| {
        let mut output = output.lock();
        write_line(&mut *output, report).and_then(|()| output.flush()).map_err(|_| ModelError::Cancelled)
    };
    let server = Server { backend, send: Arc::new(send), running: Arc::default() };
    let hello = Report::Hello { version: VERSION.to_owned(), unavailable: server.backend.unavailability() };
    server.send(&hello);

    let read = read_messages(input, MAX_LINE, |read| match read {
        Ok(command) => server.command(command),
        Err(line) => server.send(&Report::Failed { id: line.id, error: line.refusal() }),
    });
    if let Err(error) = read {
        tracing::warn!("cannot read commands: {error}");
    }
    let running: Vec<_> = server.running.lock().drain().collect();
    running.into_iter().for_each(|(id, handle)| handle.cancel(id, &*server.send));
}

struct Server {
    backend: Arc<dyn Backend>,
    send: Arc<SendReport>,
    running: Arc<Mutex<HashMap<u64, Arc<Handle>>>>,
}

impl Server {
    fn command(&self, command: Command) {
        match command {
            Command::Availability { id } => {
                self.send(&Report::Availability { id, unavailable: self.backend.unavailability() });
            }
            Command::Respond { id, request } => self.respond(id, request),
            Command::ToolResult { id, call_id, text } => {
                if let Some(handle) = self.running(id) {
                    handle.deliver_result(&call_id, text);
                }
            }
            Command::Cancel { id } => {
                if let Some(handle) = self.running(id) {
                    handle.cancel(id, &*self.send);
                }
            }
        }
    }

    fn running(&self, id: u64) -> Option<Arc<Handle>> {
        self.running.lock().get(&id).cloned()
    }

    fn respond(&self, id: u64, request: Box<ModelRequest>) {
        let handle = Arc::new(Handle::default());
        {
            let mut running = self.running.lock();
            if running.len() >= ANSWERS {
                drop(running);
                return self
                    .refuse(id, &format!("{ANSWERS} answers are running; try again when one is done"));
            }
            running.insert(id, handle.clone());
        }
        let (backend, send, running) = (self.backend.clone(), self.send.clone(), self.running.clone());
        let work = move || {
            answer(id, &request, backend, handle, send);
            running.lock().remove(&id);
        };
        if let Err(error) = thread::Builder::new().name("answer".to_owned()).spawn(work) {
            self.running.lock().remove(&id);
            self.refuse(id, &format!("no thread for an answer: {error}; close other programs"));
        }
    }

    fn refuse(&self, id: u64, why: &str) {
        self.send(&Report::Failed { id: Some(id), error: ModelError::Failed(why.to_owned()) });
    }

    fn send(&self, report: &Report) {
        if (self.send)(report).is_err() {
            tracing::warn!("the client does not read; a report is dropped");
        }
    }
}
