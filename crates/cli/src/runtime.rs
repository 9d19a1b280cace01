//! The runtime of a command.

/// Runs a command to its end. A thread that still reads standard input, or a dead file system, must not block the exit.
pub(crate) fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(command);
    runtime.shutdown_background();
    ended
}
