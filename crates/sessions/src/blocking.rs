//! Blocking work off the event loop.

/// Runs blocking work on its own thread. `None` if it panicked or the runtime is shutting down.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "a blocking task failed");
            None
        }
    }
}
