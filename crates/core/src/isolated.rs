//! Runs a stage on a thread of its own, so that a file system that hangs or a panic costs that stage and neither the
//! turn nor a cancel.

use crate::CancellationToken;
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

/// How soon a cancel is noticed.
const POLL: Duration = Duration::from_millis(10);

/// Every stage that looks at files ends by its own deadlines; what does not answer even then is given up.
pub(crate) const FILES: Duration = Duration::from_secs(10);

/// A stage that asks a model: it may have to be loaded first, and slow machines think slowly.
pub(crate) const MODEL: Duration = Duration::from_secs(120);

/// Why a stage gave nothing.
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

/// What a stage says while it works: news, and at last its result.
pub(crate) enum Word<N, T> {
    News(N),
    Done(T),
}

/// Runs `work`, which may send news; `on_news` hears it on this thread and never after the end.
pub(crate) fn run<N, T>(
    name: &str,
    limit: Duration,
    cancel: &CancellationToken,
    work: impl FnOnce(&mpsc::Sender<Word<N, T>>) -> T + Send + 'static,
    mut on_news: impl FnMut(N),
) -> Result<T, Lost>
where
    N: Send + 'static,
    T: Send + 'static,
{
    let (sender, words) = mpsc::channel();
    let stage = move || {
        let result = work(&sender);
        // Nobody listens any more once the stage was given up.
        let _ = sender.send(Word::Done(result));
    };
    let spawned = std::thread::Builder::new().name(thread_name(name)).spawn(stage);
    spawned.map_err(|error| Lost::NoThread(name.to_owned(), error.to_string()))?;
    let give_up = Instant::now() + limit;
    loop {
        match words.recv_timeout(POLL) {
            Ok(Word::Done(result)) => return Ok(result),
            Ok(Word::News(news)) => on_news(news),
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

/// A name may be a model's own text, and a thread's may have no NUL.
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
