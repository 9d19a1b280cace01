//! Runs a stage on a separate thread, so that a hanging file system or a panic affects neither the turn nor a cancel.

use crate::CancellationToken;
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

/// Time between two checks for cancellation.
const POLL: Duration = Duration::from_millis(10);
/// Time limit of a stage that reads files; such a stage has its own shorter deadlines.
pub const FILES: Duration = Duration::from_secs(10);
/// Time limit of a stage that asks a model, including loading it on a slow machine.
pub const MODEL: Duration = Duration::from_secs(120);

/// Why a stage failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    #[error("Cancelled")]
    Cancelled,
    /// The stage with this name panicked.
    #[error("{0} stopped unexpectedly")]
    Panicked(String),
    /// The stage with this name did not end within its time limit.
    #[error("{0} gave no answer within {seconds} s", seconds = .1.as_secs())]
    NoAnswer(String, Duration),
    /// The operating system refused a thread for the stage with this name, for this reason.
    #[error("{0}: {1}")]
    NoThread(String, String),
}

/// A message of a stage: progress, and finally the result.
#[derive(Debug)]
pub enum StageMessage<N, T> {
    News(N),
    Done(T),
}

/// Runs `work` on a separate thread. Its progress is passed to `on_news` on the calling thread, never after the end.
pub fn run<N, T>(
    name: &str,
    limit: Duration,
    cancel: &CancellationToken,
    work: impl FnOnce(&mpsc::Sender<StageMessage<N, T>>) -> T + Send + 'static,
    on_news: impl FnMut(N),
) -> Result<T, Lost>
where
    N: Send + 'static,
    T: Send + 'static,
{
    Stage::start(name, limit, work)?.wait(cancel, on_news)
}

/// A stage that runs on a separate thread.
#[derive(Debug)]
pub struct Stage<N, T> {
    name: String,
    limit: Duration,
    give_up: Instant,
    messages: mpsc::Receiver<StageMessage<N, T>>,
}

impl<N: Send + 'static, T: Send + 'static> Stage<N, T> {
    /// Starts `work`, which has `limit` from now.
    pub fn start(
        name: &str,
        limit: Duration,
        work: impl FnOnce(&mpsc::Sender<StageMessage<N, T>>) -> T + Send + 'static,
    ) -> Result<Self, Lost> {
        let (sender, messages) = mpsc::channel();
        let stage = move || {
            let result = work(&sender);
            // The receiver is dropped once the stage is abandoned.
            let _ = sender.send(StageMessage::Done(result));
        };
        let spawned = std::thread::Builder::new().name(thread_name(name)).spawn(stage);
        spawned.map_err(|error| Lost::NoThread(name.to_owned(), error.to_string()))?;
        Ok(Self { name: name.to_owned(), limit, give_up: Instant::now() + limit, messages })
    }

    /// Waits for its result, and passes its progress on, never after the end.
    pub fn wait(self, cancel: &CancellationToken, mut on_news: impl FnMut(N)) -> Result<T, Lost> {
        loop {
            match self.messages.recv_timeout(POLL) {
                Ok(StageMessage::Done(result)) => return Ok(result),
                Ok(StageMessage::News(news)) => on_news(news),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Lost::Panicked(self.name)),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if cancel.is_cancelled() {
                return Err(Lost::Cancelled);
            }
            if Instant::now() >= self.give_up {
                return Err(Lost::NoAnswer(self.name, self.limit));
            }
        }
    }
}

/// Thread names may not contain NUL, and a name may come from a model.
fn thread_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_accepts_name_with_nul() {
        let ran = run("rm\0 -rf\n", FILES, &CancellationToken::new(), |_| 7, |()| ());
        assert_eq!(ran, Ok(7));
    }
}
