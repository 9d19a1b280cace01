//! The reason llama.cpp failed to load a file. Its API returns no reason, but its log has one.

use parking_lot::Mutex;
use std::{io, sync::Arc};
use tracing::Level;

/// Runs `load` and returns the first error that it logged. All its events go to the log of the process afterwards.
pub(crate) fn with_log<T>(load: impl FnOnce() -> T) -> (T, Option<String>) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer({
            let log = log.clone();
            move || log.clone()
        })
        .with_max_level(Level::INFO)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .finish();
    let result = tracing::subscriber::with_default(subscriber, load);
    let text = std::mem::take(&mut *log.0.lock());
    let text = String::from_utf8_lossy(&text);
    let mut reason = None;
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("ERROR ") {
            Some(error) => {
                tracing::warn!(target: "llama.cpp", "{error}");
                // Later errors only report the failure; the first one has the reason.
                reason.get_or_insert_with(|| plain(error));
            }
            None => tracing::debug!(target: "llama.cpp", "{line}"),
        }
    }
    (result, reason)
}

/// Removes prefixes such as `error loading model: ` and the suffix ` module="llama.cpp::…"`.
fn plain(error: &str) -> String {
    let error = error.rsplit_once(" module=").map_or(error, |(error, _)| error);
    let words = ["llama_model_load: ", "error loading model: ", "error loading model hyperparameters: "];
    let error = words.iter().fold(error, |error, word| error.strip_prefix(word).unwrap_or(error));
    error.trim().to_owned()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_the_reason() {
        let (value, reason) = with_log(|| {
            tracing::info!("loading");
            tracing::error!("error loading model: unknown model architecture: 'x'");
            tracing::error!("failed to load model");
            7
        });
        assert_eq!((value, reason.as_deref()), (7, Some("unknown model architecture: 'x'")));
        assert_eq!(with_log(|| tracing::warn!("only a warning")).1, None);
    }
}
