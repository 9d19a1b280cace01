//! Runs a stage on a separate thread, so that a hanging file system or a panic affects neither the turn nor a cancel.

use crate::{CancellationToken, limits::isolated::POLL};
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

pub(crate) use crate::limits::isolated::{FILES, MODEL};

/// Why a stage failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lost {
    #[error("Cancelled")]
    Cancelled,
    #[error("{0} stopped unexpectedly")]
    Panicked(String),
    #[error("{0} gave no answer within {seconds} s", seconds = .1.as_secs())]
    NoAnswer(String, Duration),
    #[error("{0}: {1}")]
    NoThread(String, String),
}

/// A message of a stage: progress, and finally the result.
pub(crate) enum StageMessage<N, T> {
    News(N),
    Done(T),
}

/// Runs `work`, which may send progress to `on_news` on this thread, never after the end.
pub(crate) fn run<N, T>(
    name: &str,
    limit: Duration,
    cancel: &CancellationToken,
    work: impl FnOnce(&mpsc::Sender<StageMessage<N, T>>) -> T + Send + 'static,
    mut on_news: impl FnMut(N),
) -> Result<T, Lost>
where
    N: Send + 'static,
    T: Send + 'static,
{
    let (sender, words) = mpsc::channel();
    let stage = move || {
        let result = work(&sender);
        // The receiver is dropped once the stage is abandoned.
        let _ = sender.send(StageMessage::Done(result));
    };
    let spawned = std::thread::Builder::new().name(thread_name(name)).spawn(stage);
    spawned.map_err(|error| Lost::NoThread(name.to_owned(), error.to_string()))?;
    let give_up = Instant::now() + limit;
    loop {
        match words.recv_timeout(POLL) {
            Ok(StageMessage::Done(result)) => return Ok(result),
            Ok(StageMessage::News(news)) => on_news(news),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Lost::Panicked(name.to_owned())),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if cancel.is_cancelled() {
            return Err(Lost::Cancelled);
        }
        if Instant::now() >= give_up {
            return Err(Lost::NoAnswer(name.to_owned(), limit));
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
    fn a_name_that_no_thread_may_have_costs_nothing() {
        let ran = run("rm\0 -rf\n", FILES, &CancellationToken::new(), |_| 7, |()| ());
        assert_eq!(ran, Ok(7));
    }
}
