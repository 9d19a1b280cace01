//! Blocking work beside the event loop.

/// Runs blocking work on a thread of its own. `None` when it panicked or the runtime is going down.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "blocking work ended badly");
            None
        }
    }
}
